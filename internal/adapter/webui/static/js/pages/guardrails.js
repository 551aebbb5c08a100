// SPDX-License-Identifier: Apache-2.0
// Guardrails: who is where they should not be?
import { html, useMemo } from '../lib.js';
import { t, has } from '../i18n.js';
import { useAsk } from '../api.js';
import { span, moments, set, link, kept } from '../state.js';
import { bytes, duration, shortTime, number, shortUUID, money, unknown } from '../format.js';
import { Head, Wait, Trouble, Range, Empty, Severity, Command, Fact } from '../parts.js';
import { detailOf, evidenceOf, accountOf } from '../said.js';

// Paid is what a finding has cost so far, or why nobody knows.
function Paid({ cost: c }) {
  if (!c) return unknown;
  if (c.unknown) return html`${c.unknown === 'no_money' ? t('unpaid.nothing') : t('unknown')}<div class="small soft wrap">${t('unpaid.' + c.unknown)}</div>`;
  return html`${c.amounts.map((a) => html`<div>${money(a.amount)} ${a.currency}</div>`)}<div class="small soft wrap">${t('paid.' + c.of)}${c.until && ', ' + t('findings.cost.until', { when: shortTime(Date.parse(c.until)) })}</div>`;
}

function Finding({ f, q }) {
  const evidence = evidenceOf(f);
  const where = f.device || (f.partition || '').split('/')[0];
  return html`<tr><td><${Severity} of=${f.severity}/></td>
    <td><strong>${has('finding.' + f.kind) ? t('finding.' + f.kind) : f.kind}</strong><div class="mono soft nowrap noprint">${f.kind}</div></td>
    <td>${accountOf(f) || unknown}${f.workload && html`<div class="small soft">${f.workload}</div>`}</td>
    <td><span class="nowrap">${f.node}</span><div class="small soft">${f.cluster || ''}</div>${where && html`<a class="mono nowrap" href=${link('gpu', where, { ...kept(q), node: f.node })}>${shortUUID(where)}</a>`}</td>
    <td class="num">${bytes(f.bytes)}</td>
    <td class="num cost"><${Paid} cost=${f.cost}/></td>
    <td>${detailOf(f)}${f.victims && f.victims.length > 0 && html`<div class="small">${t('findings.victims')} ${f.victims.join(', ')}</div>`}
      <details class="small"><summary>${t('findings.more')}</summary><p><strong>${t('findings.evidence')}</strong></p>${evidence.length ? html`<ul>${evidence.map((e) => html`<li>${e}</li>`)}</ul>` : html`<p>${t('findings.noevidence')}</p>`}${has('fix.' + f.kind) && html`<p><strong>${t('findings.fix')}</strong> ${t('fix.' + f.kind)}</p>`}</details></td>
    <td class="small nowrap">${shortTime(Date.parse(f.first))} –<br/>${f.open ? html`<strong>${t('findings.open')}</strong>` : shortTime(Date.parse(f.last))}<div class="soft">${t('findings.for', { time: duration(f.stood_ms) })}</div></td></tr>`;
}

export function Guardrails({ q }) {
  const s = span(q, '24h');
  const key = s.range || moments(s);
  const path = useMemo(() => '/findings?cost=true&' + moments(s) + (q.get('node') ? '&node=' + encodeURIComponent(q.get('node')) : ''), [key, q.get('node')]);
  const { data, loading, error, retry } = useAsk(path);
  const all = data ? data.findings : [];
  const severity = q.get('severity') || '', text = (q.get('search') || '').toLowerCase();
  const list = all.filter((f) => (!severity || f.severity === severity) && (!text || (JSON.stringify(f) + detailOf(f) + t('finding.' + f.kind)).toLowerCase().includes(text)));
  const count = (k) => all.filter((f) => f.severity === k && f.open).length;
  return html`<${Head} title=${t('page.guardrails')} question=${t('findings.question')}><${Range} q=${q} standard="24h" only=${['1h', '6h', '24h', '7d', '30d']}/><//>
    <${Wait} on=${loading} what=${t('findings.loading')}/><${Trouble} error=${error} retry=${retry}/>
    <div class="facts">${['critical', 'warning', 'info'].map((k) => html`<${Fact} k=${t('severity.' + k)} v=${data ? number(count(k)) : unknown} unit=${t('findings.open')} s=${t('severity.' + k + '.why')}/>`)}</div>
    <div class="head"><div class="bar-tools" role="group" aria-label=${t('findings.filter')}>${['', 'critical', 'warning', 'info'].map((k) => html`<button class=${severity === k ? 'on' : ''} aria-pressed=${severity === k} onClick=${() => set({ severity: k })}>${k ? t('severity.' + k) : t('findings.all')}</button>`)}
      <label class="vh" for="fsearch">${t('findings.search')}</label><input id="fsearch" type="search" size="28" placeholder=${t('findings.search')} value=${q.get('search') || ''} onInput=${(e) => set({ search: e.target.value }, true)}/>
      ${q.get('node') && html`<button onClick=${() => set({ node: '' })}>${t('findings.node', { node: q.get('node') })} ×</button>`}</div></div>
    ${data && !list.length && html`<${Empty} title=${all.length ? t('findings.nomatch') : t('findings.none')}><p>${t('findings.none.why')}</p><p><code>gputally guard scan</code></p><//>`}
    ${list.length > 0 && html`<div class="panel scroll wide"><table><thead><tr><th>${t('findings.severity')}</th><th>${t('findings.what')}</th><th>${t('findings.who')}</th><th>${t('findings.where')}</th><th class="num">${t('findings.bytes')}</th><th class="num">${t('findings.cost')}</th><th>${t('findings.detail')}</th><th>${t('findings.since')}</th></tr></thead><tbody>${list.slice(0, 300).map((f) => html`<${Finding} f=${f} q=${q}/>`)}</tbody></table>${list.length > 300 && html`<p class="soft">${t('findings.cut', { n: list.length })}</p>`}</div>`}
    <${Command} line="gputally guard scan"/>`;
}
