// SPDX-License-Identifier: Apache-2.0
// Truth check: what would a naive dashboard have told me? The same records, counted as
// is usual elsewhere, beside what they come to here.
import { html, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk } from '../api.js';
import { span, hours, link, kept, flags } from '../state.js';
import { number, percent, money, bytes, fromNano, unknown, grade, worse } from '../format.js';
import { Head, Wait, Trouble, Range, Empty, Command, Mix } from '../parts.js';
import { bills, HALF_CENT } from '../naive.js';
import { accounts } from './cost.js';
import { colourOf } from '../colour.js';

const Graded = ({ v, g }) => html`${v}${g && html`<div class="small soft">${grade(g)}</div>`}`;

// moment is the fleet as it stands, counted both ways.
function moment(nodes) {
  const f = { gpus: 0, busy: 0, read: 0, copied: 0, pods: 0, requested: 0, held: 0, used: 0, usedCopied: 0, most: null, worst: '' };
  for (const n of nodes) {
    for (const g of n.gpus) {
      f.gpus++;
      const pods = new Set(), given = new Set();
      let used = 0;
      for (const p of g.partitions) {
        if (p.free_bytes !== undefined) { used += p.capacity_bytes - p.free_bytes; f.worst = worse(f.worst, p.grade); }
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
      if (pods.size > 1 && (!f.most || busy * pods.size > f.most.copied)) f.most = { copied: busy * pods.size, busy, pods: pods.size, uuid: g.uuid, node: n.node, grade: g.signals.grade };
    }
  }
  return f;
}

// words are why a team's two amounts differ: each reason with what it comes to.
function Why({ r, currency }) {
  if (!r.reasons.length) return t('reason.same');
  const signed = (v) => (v >= HALF_CENT ? '+' : '') + money(fromNano(v)) + ' ' + currency;
  const words = (e) => (e.why === 'others' && e.others.length ? t('reason.others', { who: e.others.map((o) => (o.account ? t('account.' + o.account) : t('truth.leaker', { who: o.leak }))).join(', ') }) : t('reason.' + (e.why === 'others' ? 'whole' : e.why)));
  return html`<ul class="reasons">${r.reasons.map((e) => html`<li><span class="nowrap">${signed(e.amount)}</span> ${words(e)}</li>`)}</ul>`;
}

const Row = ({ what, naive, truth, reason }) => html`<tr><td><strong>${what}</strong></td><td class="num naive">${naive}</td><td class="num real">${truth}</td><td class="small">${reason}</td></tr>`;

// Bill is one currency: each team both ways, then the platform's accounts, which a bill
// by requests has no line for.
function Bill({ x, q }) {
  const b = useMemo(() => bills(x), [x]);
  const two = (v) => money(fromNano(v)), signed = (v) => (v >= HALF_CENT ? '+' : '') + two(v), rest = b.sum.naive - b.sum.assets;
  return html`<div class="panel"><h2>${t('truth.bill', { currency: x.currency })}</h2><p class="soft">${t('truth.bill.why')}</p>
    <p>${t('truth.bill.sum', { naive: two(b.sum.naive), assets: two(b.sum.assets), currency: x.currency, share: percent(b.sum.assets ? Number(b.sum.naive * 10000n / b.sum.assets) / 10000 : null) })}</p>
    ${b.unpriced > 0 && html`<div class="note warn">${t('truth.unpriced', { n: b.unpriced })} <code>gputally price check</code></div>`}
    <div class="scroll"><table><thead><tr><th>${t('dim.namespace')}</th><th class="num">${t('truth.naive')} ${x.currency}</th><th class="num">${t('truth.true')} ${x.currency}</th><th class="num">${t('cost.difference')} ${x.currency}</th><th>${t('truth.why')}</th></tr></thead><tbody>
    ${b.teams.map((r) => html`<tr data-team=${r.name}><td><span class=${'chip b-' + colourOf(r.name)}></span><a href=${link('cost', '', { ...kept(q), by: 'workload', ns: r.name })}>${r.name || unknown}</a></td><td class="num naive">${two(r.naive)}</td><td class="num real">${two(r.own)}<${Mix} parts=${r.grades}/></td><td class="num">${signed(r.difference)}</td><td class="small"><${Why} r=${r} currency=${x.currency}/></td></tr>`)}
    <tr class="total"><td>${t('truth.workloads')}</td><td class="num naive">${two(b.sum.naive)}</td><td class="num real">${two(b.sum.own)}</td><td class="num">${signed(b.sum.naive - b.sum.own)}</td><td></td></tr>
    ${accounts.filter((k) => b.platform.get(k)).map((k) => html`<tr class="platform"><td>${t('account.' + k)}</td><td class="num naive">${unknown}</td><td class="num">${two(b.platform.get(k))}</td><td class="num">${signed(-b.platform.get(k))}</td><td class="small">${t('account.' + k + '.why')} ${t('truth.nobody.why')}</td></tr>`)}
    <tr class="total"><td>${t('truth.assets')}</td><td class="num naive">${two(b.sum.naive)}</td><td class="num real">${two(b.sum.assets)}</td><td class="num">${signed(rest)}</td><td class="small">${rest > 0n ? t('truth.over') : rest < 0n ? t('truth.under') : ''}</td></tr></tbody></table></div></div>`;
}

export function Truth({ q }) {
  const s = span(q, '24h'), time = hours(s);
  const fleet = useAsk('/fleet');
  const report = useAsk('/report?by=gpu,mode,namespace,entry_kind&' + time);
  const f = useMemo(() => (fleet.data ? moment(fleet.data.nodes) : null), [fleet.data]);
  const sections = report.data ? report.data.sections.filter((x) => x.currency && x.rows.length) : [];
  const empty = report.data && !sections.length && f && !f.gpus;
  return html`<${Head} title=${t('page.truth')} question=${t('truth.question')}><${Range} q=${q} standard="24h" months only=${['24h', '7d', '30d']}/><//>
    <${Wait} on=${fleet.loading || report.loading}/><${Trouble} error=${fleet.error || report.error} retry=${report.retry}/>
    ${empty && html`<${Empty} title=${t('fleet.none')}><p>${t('fleet.none.how')}</p><//>`}
    ${f && f.gpus > 0 && html`<div class="panel"><h2>${t('truth.now')}</h2><div class="scroll"><table><thead><tr><th>${t('truth.figure')}</th><th class="num">${t('truth.naive')}</th><th class="num">${t('truth.true')}</th><th>${t('truth.why')}</th></tr></thead><tbody>
      ${f.most && html`<${Row} what=${t('truth.one')} naive=${percent(f.most.copied)} truth=${html`<${Graded} v=${percent(f.most.busy)} g=${f.most.grade}/>`} reason=${html`${t('truth.one.why', { n: f.most.pods })} <a href=${link('gpu', f.most.uuid, { node: f.most.node })}>${f.most.node}</a>`}/>`}
      <${Row} what=${t('truth.busy')} naive=${f.read ? number(f.copied, 1) + ' GPU' : unknown} truth=${f.read ? html`<${Graded} v=${number(f.busy, 1) + ' GPU'} g="measured"/>` : unknown} reason=${t('truth.busy.why')}/>
      <${Row} what=${t('truth.requests')} naive=${number(f.requested) + ' / ' + number(f.gpus) + ' GPU'} truth=${html`<${Graded} v=${number(f.held) + ' / ' + number(f.gpus) + ' GPU'} g="measured"/>`} reason=${t('truth.requests.why')}/>
      <${Row} what=${t('truth.memory')} naive=${bytes(f.usedCopied)} truth=${html`<${Graded} v=${bytes(f.used)} g=${f.worst}/>`} reason=${t('truth.memory.why')}/>
    </tbody></table></div></div>`}
    ${report.data && !sections.length && !empty && html`<${Empty} title=${t('cost.none.title')}><p>${t('cost.none.how')}</p><p><code>gputally status</code></p><//>`}
    ${sections.map((x) => html`<${Bill} key=${x.currency} x=${x} q=${q}/>`)}
    <${Command} line=${'gputally report --by gpu,mode,namespace,entry_kind ' + flags(s)}/>`;
}
