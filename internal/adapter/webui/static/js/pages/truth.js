// SPDX-License-Identifier: Apache-2.0
// Truth check: what would a naive dashboard have told me? The same records, counted as
// is usual elsewhere, beside what they come to here.
import { html, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk } from '../api.js';
import { span, hours, link, kept } from '../state.js';
import { number, percent, money, bytes, unknown } from '../format.js';
import { Head, Wait, Trouble, Range, Empty, Command } from '../parts.js';
import { colourOf } from '../colour.js';

// moment is the fleet as it stands, counted both ways.
function moment(nodes) {
  const f = { gpus: 0, busy: 0, read: 0, copied: 0, pods: 0, requested: 0, held: 0, used: 0, usedCopied: 0, most: null };
  for (const n of nodes) {
    for (const g of n.gpus) {
      f.gpus++;
      const pods = new Set(), given = new Set();
      let used = 0;
      for (const p of g.partitions) {
        if (p.free_bytes !== undefined) used += p.capacity_bytes - p.free_bytes;
        for (const h of p.holders || []) {
          if (h.kind !== 'pod') continue;
          const id = h.pod_uid || h.namespace + '/' + h.pod;
          if (h.bytes > 0) pods.add(id);
          if (h.granted) given.add(id + '\0' + (p.key || ''));
        }
      }
      f.requested += given.size;
      if (pods.size || given.size) f.held++;
      f.used += used;
      f.usedCopied += used * pods.size;
      f.pods += pods.size;
      const busy = g.signals && g.signals.busy;
      if (busy === undefined || busy === null) continue;
      f.read++;
      f.busy += busy;
      f.copied += busy * pods.size;
      if (pods.size > 1 && (!f.most || busy * pods.size > f.most.copied)) f.most = { copied: busy * pods.size, busy, pods: pods.size, uuid: g.uuid, node: n.node };
    }
  }
  return f;
}

// bills are what each namespace pays if everyone who was given a GPU, or a part of it,
// pays all of it for that time: the usual bill by requests. True is the ledger's.
function bills(section) {
  const cards = new Map();
  for (const r of section.rows) {
    const c = cards.get(r.keys.gpu) || { cost: 0, ms: 0 };
    c.cost += r.cost ? Number(r.cost.gpu) : 0;
    c.ms += r.quantities.gpu_ms;
    cards.set(r.keys.gpu, c);
  }
  const teams = new Map();
  const sum = { naive: 0, true: 0, assets: 0, idle: 0 };
  const seen = new Map();
  for (const r of section.rows) {
    const own = r.cost ? Number(r.cost.gpu) : 0;
    sum.assets += own;
    if (r.class === 'platform') { if (r.account === 'idle') sum.idle += own; continue; }
    const card = cards.get(r.keys.gpu), q = r.quantities;
    const naive = card.ms ? (card.cost / card.ms) * q.granted_ms : 0;
    const name = r.keys.namespace || r.account || unknown;
    const x = teams.get(name) || { name, naive: 0, true: 0, leaked: 0, shared: false, held: 0 };
    x.naive += naive; x.true += own; x.leaked += q.leaked_gpu_ms; x.held += q.used_gpu_ms;
    seen.set(r.keys.gpu, (seen.get(r.keys.gpu) || 0) + 1);
    x.shared = x.shared || q.granted_ms > q.allocated_gpu_ms * 1.05;
    teams.set(name, x);
    sum.naive += naive; sum.true += own;
  }
  return { teams: [...teams.values()].filter((x) => x.naive > 0.005 || x.true > 0.005).sort((a, b) => Math.abs(b.naive - b.true) - Math.abs(a.naive - a.true)), sum };
}

function why(x) {
  if (x.leaked > 0 && x.naive < x.true) return t('truth.why.leak');
  if (x.naive > x.true * 1.02) return x.shared ? t('truth.why.shared') : t('truth.why.part');
  if (x.true > x.naive * 1.02) return t('truth.why.more');
  return t('truth.why.same');
}

const Row = ({ what, naive, truth, reason }) => html`<tr><td><strong>${what}</strong></td><td class="num naive">${naive}</td><td class="num real">${truth}</td><td class="small">${reason}</td></tr>`;

export function Truth({ q }) {
  const s = span(q, '24h'), time = hours(s);
  const fleet = useAsk('/fleet');
  const report = useAsk('/report?by=gpu,namespace,pod&' + time);
  const f = useMemo(() => (fleet.data ? moment(fleet.data.nodes) : null), [fleet.data]);
  const sections = report.data ? report.data.sections.filter((x) => x.currency && x.rows.length) : [];
  const empty = report.data && !sections.length && f && !f.gpus;
  const two = (v) => money(v.toFixed(2));
  return html`<${Head} title=${t('page.truth')} question=${t('truth.question')}><${Range} q=${q} standard="24h" months only=${['24h', '7d', '30d']}/><//>
    <${Wait} on=${fleet.loading || report.loading}/><${Trouble} error=${fleet.error || report.error} retry=${report.retry}/>
    ${empty && html`<${Empty} title=${t('fleet.none')}><p>${t('fleet.none.how')}</p><//>`}
    ${f && f.gpus > 0 && html`<div class="panel"><h2>${t('truth.now')}</h2><div class="scroll"><table><thead><tr><th>${t('truth.figure')}</th><th class="num">${t('truth.naive')}</th><th class="num">${t('truth.true')}</th><th>${t('truth.why')}</th></tr></thead><tbody>
      ${f.most && html`<${Row} what=${t('truth.one')} naive=${percent(f.most.copied)} truth=${percent(f.most.busy)} reason=${html`${t('truth.one.why', { n: f.most.pods })} <a href=${link('gpu', f.most.uuid, { node: f.most.node })}>${f.most.node}</a>`}/>`}
      <${Row} what=${t('truth.busy')} naive=${f.read ? number(f.copied, 1) : unknown} truth=${f.read ? number(f.busy, 1) : unknown} reason=${t('truth.busy.why')}/>
      <${Row} what=${t('truth.requests')} naive=${number(f.requested) + ' / ' + number(f.gpus)} truth=${number(f.held) + ' / ' + number(f.gpus)} reason=${t('truth.requests.why')}/>
      <${Row} what=${t('truth.memory')} naive=${bytes(f.usedCopied)} truth=${bytes(f.used)} reason=${t('truth.memory.why')}/>
    </tbody></table></div></div>`}
    ${sections.map((x) => {
      const b = bills(x);
      return html`<div class="panel" key=${x.currency}><h2>${t('truth.bill', { currency: x.currency })}</h2><p class="soft">${t('truth.bill.why')}</p>
        <p>${t('truth.bill.sum', { naive: two(b.sum.naive), assets: two(b.sum.assets), currency: x.currency, share: percent(b.sum.assets ? b.sum.naive / b.sum.assets : 0) })}</p>
        <div class="scroll"><table><thead><tr><th>${t('dim.namespace')}</th><th class="num">${t('truth.naive')} ${x.currency}</th><th class="num">${t('truth.true')} ${x.currency}</th><th class="num">${t('cost.difference')}</th><th>${t('truth.why')}</th></tr></thead><tbody>
        ${b.teams.map((r) => html`<tr><td><span class=${'chip b-' + colourOf(r.name)}></span><a href=${link('cost', '', { ...kept(q), by: 'workload', ns: r.name })}>${r.name}</a></td><td class="num naive">${two(r.naive)}</td><td class="num real">${two(r.true)}</td><td class="num">${(r.naive > r.true ? '+' : '') + two(r.naive - r.true)}</td><td class="small">${why(r)}</td></tr>`)}
        <tr class="total"><td>${t('truth.workloads')}</td><td class="num naive">${two(b.sum.naive)}</td><td class="num real">${two(b.sum.true)}</td><td class="num">${(b.sum.naive > b.sum.true ? '+' : '') + two(b.sum.naive - b.sum.true)}</td><td></td></tr>
        <tr><td>${t('truth.nobody')}</td><td class="num naive">${unknown}</td><td class="num">${two(b.sum.assets - b.sum.true)}</td><td></td><td class="small">${t('truth.nobody.why')}</td></tr></tbody></table></div></div>`;
    })}
    <${Command} line=${'gputally report --by gpu,namespace,pod ' + (s.month ? '--month ' + s.month : '--since ' + (s.range || '24h'))}/>`;
}
