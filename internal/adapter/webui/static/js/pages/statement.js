// SPDX-License-Identifier: Apache-2.0
// Statement: what does this team owe for this month, and is it final?
import { html, useState } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk, save } from '../api.js';
import { set } from '../state.js';
import { money, gpuHours, percent, time, unknown, isZero, nano, fromNano } from '../format.js';
import { workloadOf } from '../said.js';
import { sorted } from './cost.js';
import { Head, Wait, Trouble, Empty, Mix, Command } from '../parts.js';

function Save({ path, name, children }) {
  const [state, setState] = useState('');
  const go = () => { setState(t('stmt.saving')); save(path, name).then(() => setState(''), (e) => setState(e.message)); };
  return html`<button onClick=${go} disabled=${state === t('stmt.saving')}>${state || children}</button>`;
}

function Lines({ s, team }) {
  const rows = sorted(s.rows);
  return html`<table><thead><tr><th>${team ? t('dim.workload') : t('dim.namespace')}</th><th class="num">${t('cost.allocated')}</th><th class="num">${t('stmt.held')}</th><th class="num">${t('stmt.gpu')}</th><th class="num">${t('stmt.host')}</th><th class="num">${t('stmt.corrected')}</th><th class="num">${t('cost.cost')} ${s.currency}</th></tr></thead><tbody>
    ${rows.map((r) => html`<tr class=${r.class === 'platform' ? 'platform' : ''}><td>${team ? workloadOf(r.keys.workload_kind, r.keys.workload) : r.class === 'platform' ? t('account.' + r.account) : r.keys.namespace || r.account}</td><td class="num">${r.class === 'platform' ? unknown : gpuHours(r.quantities.allocated_gpu_ms)}</td><td class="num">${r.class === 'platform' || !r.quantities.allocated_gpu_ms ? unknown : percent(r.quantities.used_gpu_ms / r.quantities.allocated_gpu_ms)}</td>
      <td class="num">${r.cost ? money(r.cost.gpu) : unknown}</td><td class="num">${r.cost ? money(addTwo(r.cost)) : unknown}</td><td class="num">${r.cost && !isZero(r.cost.corrected) ? money(r.cost.corrected) : unknown}</td><td class="num">${r.cost ? money(r.cost.total) : t('unknown')}<${Mix} parts=${r.cost && r.cost.grades}/></td></tr>`)}
    <tr class="total"><td>${t('cost.sum')}</td><td class="num">${gpuHours(s.total.quantities.allocated_gpu_ms)}</td><td></td><td class="num">${s.total.cost ? money(s.total.cost.gpu) : unknown}</td><td class="num">${s.total.cost ? money(addTwo(s.total.cost)) : unknown}</td><td class="num">${s.total.cost && !isZero(s.total.cost.corrected) ? money(s.total.cost.corrected) : unknown}</td><td class="num">${s.total.cost ? money(s.total.cost.total) : unknown}<${Mix} parts=${s.total.cost && s.total.cost.grades}/></td></tr></tbody></table>`;
}

const addTwo = (c) => fromNano(nano(c.cpu) + nano(c.memory));

// Corrections are what is booked in this month for hours of earlier, closed ones.
function Corrections({ report, currency }) {
  const s = report && report.sections.find((x) => x.currency === currency), rows = s ? s.rows.filter((r) => r.cost && !isZero(r.cost.total)) : [];
  if (!report) return unknown;
  if (!rows.length) return t('stmt.nocorrections');
  return html`<ul class="reasons">${rows.map((r) => html`<li>${t('stmt.correctionof', { month: r.keys.month })} <span class="nowrap">${money(r.cost.total)} ${currency}</span></li>`)}</ul>`;
}

// waits says what stands in the way of closing an open month, as the server does.
function waits(m) {
  const earlier = /^(\d{4}-\d{2}) is open/.exec(m.why || ''), [y, month] = m.month.split('-').map(Number);
  if (Date.now() < Date.UTC(y, month, 1)) return t('wait.notover');
  if (earlier) return t('wait.earlier', { month: earlier[1] });
  if (m.unrated_hours > 0) return t('wait.unrated', { n: m.unrated_hours });
  return m.unpriced_hours > 0 ? t('wait.unpriced', { n: m.unpriced_hours }) : m.why || '';
}

// policiesOf are the rules that the booked lines were divided by, by name.
const policiesOf = (report, currency) => { const s = report && report.sections.find((x) => x.currency === currency); return s ? [...new Set(s.rows.map((r) => r.keys.policy).filter(Boolean))].sort().join(', ') : ''; };

// Splits are the rules by which the booked lines' prices were split, with what each
// priced where there are several. A price that was not split has none.
function Splits({ report, currency }) {
  const s = report && report.sections.find((x) => x.currency === currency), all = s ? s.rows.filter((r) => r.keys.split && r.cost) : [];
  const some = all.filter((r) => !isZero(r.cost.total)), rows = some.length ? some : all;
  const name = (r) => (r.keys.split === '(unknown)' ? t('stmt.splitunknown') : r.keys.split), means = (r) => (r.keys.split === '(unknown)' ? '' : ' — ' + t('split.' + r.keys.split));
  if (!rows.length) return unknown;
  if (rows.length === 1) return name(rows[0]) + means(rows[0]);
  return html`<ul class="reasons">${rows.map((r) => html`<li>${name(r)} <span class="nowrap">${money(r.cost.total)} ${currency}</span>${means(r)}</li>`)}</ul>`;
}

function Paper({ month, team, booked, m, all, corrections, policies, splits }) {
  const s = booked.sections.find((x) => x.currency === m.currency) || booked.sections[0];
  const closing = m.closing;
  const own = closing && team && all && all.closing.statements.find((x) => x.account === team && x.class === 'workload');
  if (!s || !s.rows.length) return html`<${Empty} title=${t('stmt.nothing', { month })}/>`;
  return html`<article class="panel stmt"><div class="head"><div class="t"><p class="soft">${t('stmt.title')} · ${month}</p><h1>${team || t('stmt.everyone')}</h1></div><div class="num"><div class="sum">${s.total.cost ? money(s.total.cost.total) : unknown} ${s.currency}</div>
      ${m.state === 'closed' ? html`<span class="tag ok">✓ ${t('stmt.closed')}</span>` : html`<span class="tag warning">${t('stmt.open')}</span>`}</div></div>
    <div class="scroll" tabindex="0" role="group" aria-label=${t('stmt.title')}><${Lines} s=${s} team=${team}/></div>
    <p></p><dl class="kv"><dt>${t('stmt.policy')}</dt><dd>${policiesOf(policies, s.currency) || unknown}</dd><dt>${t('stmt.split')}</dt><dd><${Splits} report=${splits} currency=${s.currency}/></dd><dt>${t('stmt.prices')}</dt><dd>${s.total.cost ? s.total.cost.prices.map((p) => t('price.' + p.name) + ' ' + money(p.amount) + ' ' + s.currency).join(' · ') : unknown}</dd>
      <dt>${t('stmt.grades')}</dt><dd>${s.total.cost ? s.total.cost.grades.map((p) => t('grade.' + p.name) + ' ' + money(p.amount) + ' ' + s.currency).join(' · ') : unknown}</dd>
      <dt>${t('stmt.corrections')}</dt><dd><${Corrections} report=${corrections} currency=${s.currency}/></dd>
      ${closing ? html`<dt>${t('stmt.closedat')}</dt><dd>${time(Date.parse(closing.at))} · ${closing.by}${closing.note ? ' · ' + closing.note : ''}</dd>${own && html`<dt>${t('stmt.hash')}</dt><dd class="mono">${own.sha256}</dd>`}<dt>${t('stmt.monthhash')}</dt><dd class="mono">${closing.sha256}</dd>` : html`<dt>${t('stmt.final')}</dt><dd>${waits(m) || t('stmt.notfinal')}</dd>`}</dl></article>`;
}

export function Statement({ q }) {
  const months = useAsk('/months');
  const list = months.data ? months.data.months : [];
  const names = [...new Set(list.map((m) => m.month))].sort().reverse();
  const month = q.get('month') || names[0] || '', team = q.get('team') || '';
  const m = list.find((x) => x.month === month && (!q.get('currency') || x.currency === q.get('currency')));
  const who = useAsk(month ? '/report?booked=true&month=' + month + '&by=namespace' : null);
  const booked = useAsk(month ? '/report?booked=true&month=' + month + (team ? '&by=namespace,workload_kind,workload&where=' + encodeURIComponent('namespace=' + team) : '&by=namespace') : null);
  const of = month ? '/report?booked=true&month=' + month + (team ? '&where=' + encodeURIComponent('namespace=' + team) : '') : null;
  const corrections = useAsk(of && of + '&where=kind%3Dcorrection&by=month'), policies = useAsk(of && of + '&by=policy'), splits = useAsk(of && of + '&by=split');
  const closed = useAsk(m && m.state === 'closed' ? '/months/' + month : null);
  const teams = who.data ? [...new Set(who.data.sections.flatMap((s) => s.rows.map((r) => r.keys.namespace)).filter(Boolean))].sort() : [];
  const all = closed.data && closed.data.months.find((x) => x.closing && x.currency === m.currency);
  const currency = m ? m.currency : '';
  return html`<${Head} title=${t('page.statement')} question=${t('stmt.question')}>
      <label for="month">${t('stmt.month')}</label><select id="month" onChange=${(e) => set({ month: e.target.value })}>${names.map((n) => html`<option value=${n} selected=${n === month}>${n}</option>`)}</select>
      <label for="team">${t('stmt.team')}</label><select id="team" onChange=${(e) => set({ team: e.target.value })}><option value="">${t('stmt.everyone')}</option>${teams.map((n) => html`<option value=${n} selected=${n === team}>${n}</option>`)}</select>
      <button onClick=${() => print()}>${t('stmt.print')}</button>
      ${month && html`<${Save} path=${'/export?kind=lines&format=csv&booked_month=' + month} name=${'lines-' + month + '.csv'}>${t('stmt.csv')}<//><${Save} path=${'/export?kind=focus&format=csv&booked_month=' + month} name=${'focus-' + month + '.csv'}>${t('stmt.focus')}<//>`}
      ${m && m.state === 'closed' && team && html`<${Save} path=${'/months/' + month + '/statement?currency=' + currency + '&account=' + encodeURIComponent(team)} name=${'statement-' + team + '-' + month + '.jsonl'}>${t('stmt.frozen')}<//>`}
    <//><${Wait} on=${months.loading || booked.loading || closed.loading || corrections.loading || policies.loading || splits.loading}/><${Trouble} error=${months.error || booked.error} retry=${booked.retry}/>
    ${months.data && !list.length && html`<${Empty} title=${t('stmt.none')}><p>${t('cost.none.how')}</p><p><code>gputally status</code></p><//>`}
    ${booked.data && months.data && !m && html`<${Empty} title=${t('stmt.nothing', { month })}/>`}
    ${booked.data && m && html`<${Paper} month=${month} team=${team} booked=${booked.data} m=${m} all=${all} corrections=${corrections.data} policies=${policies.data} splits=${splits.data}/>`}
    ${month && html`<${Command} line=${'gputally report --month ' + month + ' --booked' + (team ? ' --by workload --where namespace=' + team : ' --by namespace')}/>`}`;
}
