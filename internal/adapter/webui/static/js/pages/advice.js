// SPDX-License-Identifier: Apache-2.0
// Advice: what would I change, and what would it bring? Charge, capacity and cash are
// three columns that are never added; refusals stand beside advice.
import { html, useState } from '../lib.js';
import { t } from '../i18n.js';
import { sayer, named } from '../said.js';
import { useAsk, post } from '../api.js';
import { link, set } from '../state.js';
import { number, percent, money, nano, fromNano, bytes, unknown, day, isZero } from '../format.js';
import { Head, Wait, Trouble, Empty, Fact, Command } from '../parts.js';
import { colourOf } from '../colour.js';

const figure = (v, unit) => (unit === 'bytes' ? bytes(v) : number(v, Number.isInteger(v) ? 0 : 3) + (unit && unit !== 'ratio' ? ' ' + named('unit.', unit) : ''));
const model = (name) => (name || '').replace(/^NVIDIA /, '');

function mostly(classes) {
  const all = classes.reduce((n, c) => n + c.ms, 0);
  if (!all) return t('unknown');
  const top = classes.reduce((a, c) => (c.ms > a.ms ? c : a));
  return named('does.', top.class) + ' ' + percent(top.ms / all);
}

function change(r) {
  const p = r.proposed;
  if (p.profile) return t('advice.to', { what: 'MIG ' + p.profile });
  if (p.fraction) return t('advice.fraction', { from: r.current.fraction || '?', to: p.fraction });
  if (p.stop_after_idle) return t('advice.stop', { time: p.stop_after_idle });
  if (p.model) return t('advice.to', { what: p.model });
  if (p.cpu_milli || p.host_bytes) return t('advice.host', { from: hostOf(r.current, p), to: hostOf(p, p) });
  if (r.kind === 'fewer-gpus') return t('advice.unused', { n: p.with ? p.with.length : 0 });
  return t('advice.share', { with: (p.with || []).join(', ') });
}

// hostOf is the CPU and memory of a request, of those that are to change.
function hostOf(c, changes) {
  const parts = [];
  if (changes.cpu_milli) parts.push(t('advice.cpus', { n: number(c.cpu_milli / 1000, c.cpu_milli % 1000 ? 1 : 0) }));
  if (changes.host_bytes) parts.push(bytes(c.host_bytes));
  return parts.join(' + ');
}

// freed is what others can have: idle and stranded together, exactly. What is no longer
// stranded is idle: it is counted there already.
const freed = (m) => fromNano(nano(m.freed_idle) + (nano(m.freed_stranded) > 0n ? nano(m.freed_stranded) : 0n));

function Details({ r, say }) {
  return html`<details class="small"><summary>${t('advice.evidence')}</summary>
    ${r.evidence.length > 0 && html`<ul>${r.evidence.map((e) => html`<li>${named('metric.', say(e.metric))}, ${named('statistic.', say(e.statistic))}: ${figure(e.value, e.unit)} <span class="soft">(${named('grade.', e.grade)})</span></li>`)}</ul>`}
    ${r.tests.length > 0 && html`<ul>${r.tests.map((x) => html`<li>${x.holds ? '✓' : '✗'} <strong>${say(x.of)}</strong> ${named('metric.', say(x.name))}: ${figure(x.value, x.unit)} ${x.holds ? '≤' : '>'} ${figure(x.limit, x.unit)} ${x.sum && html`<span class="soft">(${say(x.sum)})</span>`}</li>`)}</ul>`}
    ${r.money && !isZero(r.money.avoidable) && html`<p>${t('advice.avoidable', { amount: money(r.money.avoidable), currency: r.money.currency })}</p>`}
    ${r.money && r.money.charge_note && html`<p><strong>${t('advice.charge')}</strong> ${say(r.money.charge_note)}</p>`}
    ${r.risk.isolation && html`<p><strong>${t('advice.isolation')}</strong> ${say(r.risk.isolation)}</p>`}
    ${r.risk.slowdown_bound > 1 && html`<p>${t('advice.slower', { n: number(r.risk.slowdown_bound, 1) })}</p>`}
    ${(r.risk.notes || []).length > 0 && html`<ul>${r.risk.notes.map((n) => html`<li>${say(n)}</li>`)}</ul>`}
    ${r.refusals.length > 0 && html`<ul>${r.refusals.map((f) => html`<li><strong>${named('code.', f.code)}</strong> ${missing(f, say)} <span class="soft">${say(f.how_to_get)}</span></li>`)}</ul>`}
    ${(r.apply || []).length > 0 && html`<p><strong>${t('advice.apply')}</strong></p><pre class="mono scroll" tabindex="0">${r.apply.map(say).join('\n')}</pre>`}
    ${r.decision && html`<p><strong>${named('said.', r.decision.state)}</strong> ${r.decision.by || ''} ${day(Date.parse(r.decision.at))}: ${r.decision.reason || unknown}</p>`}</details>`;
}

// missing is what is, and of whom where several are looked at.
const missing = (f, say) => (f.of ? f.of + ': ' : '') + say(f.missing) + t('stop');

// Answer is accepting or dismissing.
function Answer({ r, done }) {
  const [open, setOpen] = useState(''), [error, setError] = useState(null);
  const say = (e) => {
    e.preventDefault();
    const f = new FormData(e.target), body = { state: open, reason: f.get('reason') };
    if (f.get('until')) body.until = f.get('until') + 'T00:00:00Z';
    if (f.get('applied')) body.applied = f.get('applied') + 'T00:00:00Z';
    post('/advice/' + encodeURIComponent(r.id) + '/decision', body).then(() => { setOpen(''); done(); }, setError);
  };
  const id = 'say-' + r.id;
  return html`<div class="bar-tools noprint"><button aria-expanded=${open === 'accepted'} onClick=${() => setOpen(open === 'accepted' ? '' : 'accepted')}>${t('advice.accept')}</button><button aria-expanded=${open === 'dismissed'} onClick=${() => setOpen(open === 'dismissed' ? '' : 'dismissed')}>${t('advice.dismiss')}</button></div>
    ${open && html`<form class="bar-tools" onSubmit=${say}><label class="small" for=${id}>${t('advice.reason')}</label><input id=${id} name="reason" size="24" required=${open === 'dismissed'}/>
      ${open === 'dismissed' ? html`<label class="small" for=${id + 'u'}>${t('advice.until')}</label><input id=${id + 'u'} name="until" type="date"/>` : html`<label class="small" for=${id + 'a'}>${t('advice.applied')}</label><input id=${id + 'a'} name="applied" type="date"/>`}
      <button class="primary">${t('advice.save')}</button></form>`}<${Trouble} error=${error}/>`;
}

function Row({ w, r, say, done }) {
  const m = r.money, name = w ? w.target.owner : r.current.with.join(' + '), ns = w ? w.target.namespace : '';
  return html`<tr><td>${ns && html`<span class=${'chip b-' + colourOf(ns)}></span>`}${w ? html`<a href=${link('workload', ns + '/' + name)}>${name}</a><div class="small soft">${ns}</div>` : name}</td>
    <td>${w ? w.partitions + ' × ' + (w.profile || model(w.model)) : model(r.current.model)}<div class="small soft">${w ? mostly(w.classes) : ''}</div></td>
    <td><strong>${change(r)}</strong><div class="small soft">${named('kind.', r.kind)} · ${named('said.', r.state)}</div><${Details} r=${r} say=${say}/></td>
    <td class="num">${m && m.charge_delta !== null ? html`${money(m.charge_delta)}<div class="small soft">${m.currency}</div>` : unknown}</td><td class="num">${m ? html`${money(freed(m))}<div class="small soft">${m.currency}</div>` : unknown}</td>
    <td class="num"><strong>${m ? money(m.cash_mean) : unknown}</strong><div class="small soft">${m ? m.currency : t('code.no_price')}</div></td>
    <td>${(r.confidence ? named('sure.', r.confidence) : unknown)}</td><td><${Answer} r=${r} done=${done}/></td></tr>`;
}

function Refused({ w, say }) {
  const seen = new Set(), list = [];
  for (const r of w.recommendations) for (const f of r.refusals) if (f.blocks && !seen.has(f.code)) { seen.add(f.code); list.push(f); }
  const ns = w.target.namespace;
  return html`<tr><td><span class=${'chip b-' + colourOf(ns)}></span><a href=${link('workload', ns + '/' + w.target.owner)}>${w.target.owner}</a><div class="small soft">${ns}</div></td>
    <td>${w.partitions} × ${w.profile || model(w.model)}<div class="small soft">${mostly(w.classes)}</div></td>
    <td>${list.map((f) => html`<details class="small"><summary>${named('code.', f.code)}</summary><p>${t('advice.missing')} ${missing(f, say)} ${say(f.how_to_get)}</p></details>`)}</td></tr>`;
}

// Saved is what a plan brings. Without a price of any node that is not known.
function Saved({ c, m }) {
  const cost = { before: money(c.before), after: money(c.after), bound: money(c.bound), currency: c.currency };
  if (c.cash === null) return html`<p>${c.currency ? t('advice.noplan', cost) : t('advice.noplan.unpriced')}</p>`;
  const of = { n: c.returns.length, of: c.nodes };
  if (!c.currency) return html`<p><strong>${t('advice.plan.unpriced', of)}</strong></p>`;
  return html`<p><strong>${t('advice.plan', { ...of, cash: money(c.cash), currency: m ? m.currency : c.currency })}</strong> ${t('advice.plan.hour', cost)}</p>`;
}

function Plan({ c, say }) {
  const r = c.recommendation, m = r.money;
  return html`<div class="panel"><h2>${t('advice.cluster', { name: c.cluster || unknown })}</h2>
    <${Saved} c=${c} m=${m} />
    ${c.unpriced_nodes > 0 && html`<p class="small">${t('advice.unpriced', { n: c.unpriced_nodes, of: c.nodes })} <code>gputally price check</code></p>`}
    ${c.kept.length > 0 && html`<details class="small"><summary>${t('advice.kept', { n: c.kept.length })}</summary><ul>${c.kept.slice(0, 100).map((k) => html`<li>${k.node}: ${say(k.why)}</li>`)}</ul></details>`}
    ${c.cash !== null && html`<details><summary>${t('advice.steps', { n: c.steps.length })}</summary><ol class="small">${c.steps.map((s) => html`<li>${named('step.', s.action)} ${s.node || ''} ${s.gpu || ''} ${(s.instances || []).map((i) => i.profile + '@' + i.start).join(' ')} ${(s.moves || []).map((x) => say(x.pod) + ' → ' + x.node + (x.instance ? ' ' + x.instance.profile : '')).join('; ')}</li>`)}</ol></details>
      <ul class="small soft">${(r.risk.notes || []).map((n) => html`<li>${say(n)}</li>`)}</ul>`}</div>`;
}

// Verdict compares before and after one change.
function Verdict({ d }) {
  const { data, loading, error } = useAsk(d.applied ? '/advice/' + encodeURIComponent(d.id) + '/verification' : null);
  const say = sayer(data);
  if (!d.applied) return html`<span class="soft">${t('advice.notapplied')}</span>`;
  return html`<${Wait} on=${loading}/><${Trouble} error=${error}/>${data && html`<strong>${named('said.', data.state)}</strong> ${t('advice.came', { cash: money(data.cash), charge: money(data.charge), currency: data.after.currency || '' })}<ul class="small">${data.guards.concat(data.notes).map((n) => html`<li>${say(n)}</li>`)}</ul>${(data.way_back || []).length > 0 && html`<pre class="mono scroll" tabindex="0">${data.way_back.map(say).join('\n')}</pre>`}`}`;
}

export function Advice({ q }) {
  const share = q.get('share') === 'true', search = (q.get('search') || '').toLowerCase();
  const { data, loading, error, retry } = useAsk('/advice' + (share ? '?share=true' : ''));
  const plans = useAsk('/advice/plans'), said = useAsk('/advice/decisions');
  const say = sayer(data), saidSo = sayer(said.data), planned = sayer(plans.data);
  const again = () => { retry(); said.retry(); };
  const all = (data ? data.workloads : []).filter((w) => !search || JSON.stringify(w.target).toLowerCase().includes(search));
  const rows = all.flatMap((w) => w.recommendations.filter((r) => r.proposed).map((r) => ({ w, r })));
  const shared = (data ? data.shared : []).filter((r) => r.proposed);
  const none = all.filter((w) => !w.recommendations.some((r) => r.proposed));
  const cash = data && data.cash.filter((c) => !isZero(c.amount));
  return html`<${Head} title=${t('page.advice')} question=${t('advice.question')}><button class=${share ? 'on' : ''} aria-pressed=${share} onClick=${() => set({ share: share ? '' : 'true' })}>${t('advice.tryshare')}</button>
      <label class="vh" for="asearch">${t('advice.search')}</label><input id="asearch" type="search" placeholder=${t('advice.search')} value=${q.get('search') || ''} onInput=${(e) => set({ search: e.target.value }, true)}/><//>
    <${Wait} on=${loading} what=${t('advice.loading')}/><${Trouble} error=${error} retry=${retry}/>
    <div class="facts"><${Fact} k=${t('advice.advised')} v=${data ? number(rows.length + shared.length) : unknown} s=${data ? t('advice.seen', { from: day(Date.parse(data.from)), to: day(Date.parse(data.to)) }) : ''}/>
      <${Fact} k=${t('advice.cash')} v=${cash ? (cash.length ? money(cash[0].amount) : money('0')) : unknown} unit=${cash && cash.length ? cash[0].currency : plans.data && plans.data.clusters.length ? plans.data.clusters[0].currency || '' : ''} s=${t('advice.cash.why')}/>
      <${Fact} k=${t('advice.refused')} v=${data ? number(none.length) : unknown} s=${t('advice.refused.why')}/></div>
    ${data && data.hours_behind > 0 && html`<div class="note warn">${t('advice.behind', { n: number(data.hours_behind) })}</div>`}
    ${data && !all.length && html`<${Empty} title=${t('advice.none')}><p>${t('advice.none.why')}</p><p><code>gputally status</code></p><//>`}
    ${rows.length + shared.length > 0 && html`<div class="panel scroll"><table><thead><tr><th>${t('dim.workload')}</th><th>${t('advice.has')}</th><th>${t('advice.change')}</th><th class="num">${t('advice.charge')}</th><th class="num">${t('advice.freed')}</th><th class="num">${t('advice.cash')}</th><th>${t('advice.sure')}</th><th>${t('advice.say')}</th></tr></thead>
      <tbody>${rows.slice(0, 300).map((x) => html`<${Row} ...${x} say=${say} done=${again}/>`)}${shared.map((r) => html`<${Row} r=${r} say=${say} done=${again}/>`)}</tbody></table><p class="small soft">${t('advice.never')}</p></div>`}
    ${(plans.data ? plans.data.clusters : []).map((c) => html`<${Plan} c=${c} say=${planned}/>`)}
    ${said.data && said.data.decisions.length > 0 && html`<div class="panel scroll"><h2>${t('advice.decisions')}</h2><table><thead><tr><th>${t('dim.workload')}</th><th>${t('advice.change')}</th><th>${t('advice.say')}</th><th>${t('advice.verdict')}</th></tr></thead><tbody>${said.data.decisions.slice(0, 50).map((d) => html`<tr><td>${d.target.owner}<div class="small soft">${d.target.namespace}</div></td><td>${named('kind.', d.kind)}</td><td>${named('said.', d.state)}<div class="small soft">${day(Date.parse(d.at))} ${d.by || ''} ${d.reason || ''}</div>${d.expired_because && html`<div class="small">${d.expired_because.map(saidSo).join('; ')}</div>`}</td><td><${Verdict} d=${d}/></td></tr>`)}</tbody></table></div>`}
    ${none.length > 0 && html`<div class="panel scroll"><h2>${t('advice.refused')}</h2><table><thead><tr><th>${t('dim.workload')}</th><th>${t('advice.has')}</th><th>${t('advice.why')}</th></tr></thead><tbody>${none.slice(0, 300).map((w) => html`<${Refused} w=${w} say=${say}/>`)}</tbody></table></div>`}
    <${Command} line="gputally advise"/>`;
}
