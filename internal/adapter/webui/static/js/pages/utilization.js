// SPDX-License-Identifier: Apache-2.0
// Utilization, explained: what do these signals mean here? Each definition with what
// this fleet's own newest records say.
import { html, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk } from '../api.js';
import { link } from '../state.js';
import { percent, number, bytes, unknown, grade, worse } from '../format.js';
import { Head, Wait, Trouble, Empty, Share, Command } from '../parts.js';

const signals = ['busy', 'sm', 'tensor', 'dram'];

function figures(nodes) {
  const out = { gpus: 0, held: 0, given: 0, capacity: 0, used: 0, of: {}, far: null, power: 0, limit: 0, shared: 0, worst: '' };
  for (const k of signals) out.of[k] = { sum: 0, n: 0 };
  for (const n of nodes) {
    for (const g of n.gpus) {
      out.gpus++;
      let pods = 0, given = false;
      for (const p of g.partitions) {
        if (p.free_bytes !== undefined) { out.capacity += p.capacity_bytes; out.used += p.capacity_bytes - p.free_bytes; out.worst = worse(out.worst, p.grade); }
        for (const h of p.holders || []) { if (h.kind === 'pod' && h.bytes > 0) pods++; if (h.granted) given = true; }
      }
      if (given) out.given++;
      if (pods) out.held++;
      const s = g.signals;
      if (!s) continue;
      if (s.grade === 'indivisible') out.shared++;
      for (const k of signals) if (s[k] !== undefined) { out.of[k].sum += s[k]; out.of[k].n++; }
      if (s.power_mw && s.power_limit_mw) { out.power += s.power_mw; out.limit += s.power_limit_mw; }
      if (s.busy !== undefined && s.sm !== undefined && (!out.far || s.busy - s.sm > out.far.by)) out.far = { by: s.busy - s.sm, s, g, n };
    }
  }
  return out;
}

function Line({ name, share, figure, means, not, colour, g }) {
  return html`<tr><td><strong>${name}</strong></td><td class="num">${figure}${g && html`<div class="small soft">${grade(g)}</div>`}</td><td>${share !== null && html`<${Share} of=${share} colour=${colour || 'c0'}/>`}</td><td>${means}</td><td class="soft">${not}</td></tr>`;
}

export function Utilization() {
  const { data, loading, error, retry } = useAsk('/fleet');
  const f = useMemo(() => (data ? figures(data.nodes) : null), [data]);
  const mean = (k) => (f.of[k].n ? f.of[k].sum / f.of[k].n : null);
  return html`<${Head} title=${t('page.utilization')} question=${t('util.question')}/>
    <${Wait} on=${loading}/><${Trouble} error=${error} retry=${retry}/>
    ${f && !f.gpus && html`<${Empty} title=${t('fleet.none')}><p>${t('fleet.none.how')}</p><//>`}
    ${f && f.gpus > 0 && html`<div class="panel scroll"><table><thead><tr><th>${t('util.word')}</th><th class="num">${t('util.here')}</th><th></th><th>${t('util.means')}</th><th>${t('util.not')}</th></tr></thead><tbody>
      <${Line} name=${t('util.given')} g="measured" figure=${number(f.given) + ' / ' + number(f.gpus) + ' GPU'} share=${f.given / f.gpus} means=${t('util.given.means')} not=${t('util.given.not')}/>
      <${Line} name=${t('util.held')} g="measured" figure=${number(f.held) + ' / ' + number(f.gpus) + ' GPU'} share=${f.held / f.gpus} means=${t('util.held.means')} not=${t('util.held.not')}/>
      <${Line} name=${t('util.memory')} g=${f.worst} figure=${f.capacity ? percent(f.used / f.capacity) + ' (' + bytes(f.used) + ')' : unknown} share=${f.capacity ? f.used / f.capacity : null} means=${t('util.memory.means')} not=${t('util.memory.not')}/>
      ${signals.map((k) => html`<${Line} name=${t('signal.' + k)} g=${f.of[k].n ? 'measured' : 'unmeasured'} figure=${percent(mean(k))} share=${mean(k)} means=${t('util.' + k + '.means')} not=${t('util.' + k + '.not')}/>`)}
      <${Line} name=${t('util.power')} g=${f.limit ? 'measured' : 'unmeasured'} figure=${f.limit ? percent(f.power / f.limit) : unknown} share=${f.limit ? f.power / f.limit : null} means=${t('util.power.means')} not=${t('util.power.not')}/>
    </tbody></table><p class="small soft">${t('util.read', Object.fromEntries(signals.map((k) => [k, f.of[k].n])))}</p></div>
    ${f.far && f.far.by > 0 && html`<div class="note"><strong>${t('util.example')}</strong> ${t('util.example.text', { busy: percent(f.far.s.busy), sm: percent(f.far.s.sm), tensor: percent(f.far.s.tensor) })} <a href=${link('gpu', f.far.g.uuid, { node: f.far.n.node })}>${f.far.n.node}</a></div>`}
    ${f.shared > 0 && html`<div class="note">${t('util.shared', { n: f.shared })}</div>`}`}
    <${Command} line="gputally top"/>`;
}
