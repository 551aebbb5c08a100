// SPDX-License-Identifier: Apache-2.0
// Small parts that every page is made of.
import { html, useState } from './lib.js';
import { t, has, lang } from './i18n.js';
import { ranges, set, iso } from './state.js';
import { grade } from './format.js';

export const Head = ({ title, question, children }) => html`<div class="head"><div class="t"><h1>${title}</h1><p>${question}</p></div><div class="bar-tools">${children}</div></div>`;

// Wait takes the same room whether or not something loads.
export const Wait = ({ on, what }) => html`<div class=${on ? 'wait on' : 'wait'} role="status">${on && html`<span class="vh">${what || t('loading')}</span>`}</div>`;

export function Trouble({ error, retry }) {
  if (!error) return null;
  return html`<div class="note bad" role="alert"><${What} error=${error}/>
    ${retry && html`<p></p><button onClick=${retry}>${t('retry')}</button>`}</div>`;
}

// What went wrong and what to do, in the language of whoever looks; what exactly, the
// server says in its own.
function What({ error }) {
  const key = 'trouble.' + (error.status === 503 ? 'busy' : error.code);
  if (error.status === undefined) return html`<strong>${t('error.unreachable')}</strong><div>${t('error.unreachable.hint')}</div>`;
  if (!has(key)) return html`<strong>${error.message}</strong><div>${error.hint || ''}</div>`;
  const own = lang === 'en' && error.hint;
  return html`<strong>${t(key)}</strong><div lang="en">${error.message}</div>${error.allowed.length > 0 && html`<div class="small">${t('trouble.allowed')} <code>${error.allowed.join(', ')}</code></div>`}<div>${own || t(key + '.do')}</div>${!own && error.hint && html`<div class="small soft" lang="en">${error.hint}</div>`}`;
}

// Drag says what a plot can do, on a screen.
export const Drag = () => html`<span class="noprint">${t('plot.drag')}</span>`;
export const Empty = ({ title, children }) => html`<div class="panel empty"><h2>${title}</h2>${children}</div>`;
export const Fact = ({ k, v, unit, s, title }) => html`<div class="fact" title=${title}><div class="k">${k}</div><div class="v">${v}${unit && html` <small>${unit}</small>`}</div><div class="s">${s}</div></div>`;

// Range is the one control of time.
export function Range({ q, standard, months, only }) {
  const told = (k) => (isNaN(Date.parse(q.get(k))) ? '' : q.get(k));
  const month = q.get('month'), from = told('from'), until = told('to');
  const current = month || from ? '' : ranges[q.get('range')] ? q.get('range') : standard;
  const [open, setOpen] = useState(false);
  const pick = (r) => set({ range: r, from: '', to: '', month: '' });
  const thisMonth = iso(Date.now()).slice(0, 7), last = new Date(); last.setUTCDate(0);
  const lastMonth = iso(last.getTime()).slice(0, 7);
  const local = (text) => { const d = new Date(text || Date.now()); d.setMinutes(d.getMinutes() - d.getTimezoneOffset()); return d.toISOString().slice(0, 16); };
  const custom = (e) => {
    e.preventDefault();
    const f = new FormData(e.target), a = new Date(f.get('a')), b = new Date(f.get('b'));
    if (a < b) { set({ from: iso(a), to: iso(b), range: '', month: '' }); setOpen(false); }
  };
  return html`<div class="bar-tools" role="group" aria-label=${t('range')}>
    ${Object.keys(ranges).filter((r) => !only || only.includes(r)).map((r) => html`<button class=${current === r ? 'on' : ''} aria-pressed=${current === r} onClick=${() => pick(r)}>${t('range.' + r)}</button>`)}
    ${months && [[thisMonth, 'range.thismonth'], [lastMonth, 'range.lastmonth']].map(([m, k]) => html`<button class=${month === m ? 'on' : ''} aria-pressed=${month === m} onClick=${() => set({ month: m, range: '', from: '', to: '' })}>${t(k)}</button>`)}
    <button class=${from ? 'on' : ''} aria-pressed=${!!from} aria-expanded=${open} onClick=${() => setOpen(!open)}>${from ? local(from).replace('T', ' ') + ' – ' + (until ? local(until).replace('T', ' ') : t('range.now')) : t('range.custom')}</button>
    ${open && html`<form class="bar-tools" onSubmit=${custom}><label class="vh" for="ra">${t('range.from')}</label><input id="ra" name="a" type="datetime-local" value=${local(from || Date.now() - ranges[standard])} required/><label class="vh" for="rb">${t('range.to')}</label><input id="rb" name="b" type="datetime-local" value=${local(until)} required/><button class="primary">${t('range.apply')}</button></form>`}
  </div>`;
}

// Command shows how to get the same with the program.
export function Command({ line }) {
  const [done, setDone] = useState(false);
  const copy = () => navigator.clipboard && navigator.clipboard.writeText(line).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); });
  return html`<p class="small soft noprint">${t('command')} <code>${line}</code> ${navigator.clipboard && html`<button class="linky small" onClick=${copy}>${done ? t('copied') : t('copy')}</button>`}</p>`;
}

const order = ['measured', 'derived', 'estimated', 'indivisible', 'skewed', 'unmeasured'];
// Mix is a hairline of the grades that a sum is made of: parts are [{name, amount}].
export function Mix({ parts }) {
  const all = (parts || []).map((p) => ({ name: p.name, n: Math.abs(Number(p.amount)) })).filter((p) => p.n > 0);
  const sum = all.reduce((n, p) => n + p.n, 0);
  if (!sum) return null;
  all.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const text = all.map((p) => grade(p.name) + ' ' + (p.n / sum > 0.995 && p.n < sum ? '>99' : p.n / sum < 0.005 ? '<1' : Math.round((p.n / sum) * 100)) + ' %').join(' · ');
  return html`<div class="mix" role="img" aria-label=${text} title=${text}>${all.map((p) => html`<i class=${'g-' + p.name} ref=${(el) => el && (el.style.width = (p.n / sum) * 100 + '%')}></i>`)}</div>`;
}

export const Share = ({ of, colour }) => html`<span class="share" aria-hidden="true"><i class=${'b-' + colour} ref=${(el) => el && (el.style.width = Math.max(0, Math.min(1, of)) * 100 + '%')}></i></span>`;
export const Severity = ({ of }) => html`<span class=${'tag ' + of}>${t('severity.' + of)}</span>`;
