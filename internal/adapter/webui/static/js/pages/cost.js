// SPDX-License-Identifier: Apache-2.0
// Cost: where does the money go? Down from namespaces to workloads, pods and how a
// charge came about; the total always beside what the nodes cost.
import { html, useMemo, useState } from '../lib.js';
import { t, has } from '../i18n.js';
import { useAsk, get, post, hand } from '../api.js';
import { span, hours, hourSpan, set, link, kept, flags } from '../state.js';
import { money, nano, fromNano, isZero, gpuHours, percent, part, unknown, number, keyTime } from '../format.js';
import { Head, Wait, Trouble, Range, Command, Drag, Empty, Mix, Share } from '../parts.js';
import { colourOf } from '../colour.js';
import { Plot } from '../plot.js';
import { workloadOf } from '../said.js';
import { accounts, Editor, read, variantOf, distributes } from './whatif.js';

// The platform accounts stand in their order after everybody else.
export { accounts };

const dims = ['namespace', 'workload', 'pod', 'cluster', 'node', 'model', 'mode', 'gpu', 'profile'];

// conditions are what the filters in the address say.
function conditions(q) {
  const out = [];
  const esc = (v) => v.replace(/\\/g, '\\\\').replace(/,/g, '\\,');
  if (q.get('ns')) out.push({ by: 'namespace', in: [q.get('ns')] });
  if (q.get('workload')) {
    const [kind, ...name] = q.get('workload').split('/');
    out.push({ by: 'workload_kind', in: [kind] }, { by: 'workload', in: [name.join('/')] });
  }
  if (q.get('pod')) out.push({ by: 'pod', in: [q.get('pod')] });
  if (q.get('in')) { const [by, ...v] = q.get('in').split('='); out.push({ by, in: [v.join('=')] }); }
  return { list: out, text: out.map((f) => '&where=' + encodeURIComponent(f.by + '=' + f.in.map(esc).join(','))).join('') };
}

const byOf = (by) => (by === 'workload' ? ['namespace', 'workload_kind', 'workload'] : by === 'pod' ? ['namespace', 'pod'] : [by]);

export function platformOf(row) { return row.class === 'platform' ? row.account : ''; }

function nameOf(row, by) {
  if (row.class === 'platform') return t('account.' + row.account);
  if (row.class && row.class !== 'workload') return row.account || t('class.' + row.class);
  if (row.others) return t('cost.others', { n: row.others });
  if (by === 'workload') return workloadOf(row.keys.workload_kind, row.keys.workload);
  return row.keys[by] || t('cost.none');
}

// order puts owners by cost, then the platform's accounts in their own order.
export function sorted(rows) {
  const place = (r) => (r.class === 'platform' ? 1 + accounts.indexOf(r.account) : r.class && r.class !== 'workload' ? 20 : 0);
  return [...rows].sort((a, b) => place(a) - place(b) || (b.cost ? 1 : 0) - (a.cost ? 1 : 0) || (b.cost && a.cost ? (nano(b.cost.total) > nano(a.cost.total) ? 1 : -1) : 0));
}

function Balance({ s }) {
  const total = s.total.cost ? s.total.cost.total : null, assets = s.balance.assets;
  if (total === null || assets === null) return html`<p class="soft">${t('cost.unpriced')}</p>`;
  const rest = fromNano(nano(total) - nano(assets));
  return html`<p>${t('cost.total')} <strong>${money(total)} ${s.currency}</strong> · ${t('cost.assets')} <strong>${money(assets)} ${s.currency}</strong>
    ${' '}${isZero(rest) ? html`<span class="tag ok" title=${t('cost.equal.why')}>✓ ${t('cost.equal')}</span>` : html`<span class="tag warning">${t('cost.differs', { by: money(rest) + ' ' + s.currency })}</span> ${s.balance.differences.map((d) => html`<span class="small soft">${has('diff.' + d.name) ? t('diff.' + d.name) : d.name}: ${money(d.amount)}${d.detail ? ' (' + d.detail + ')' : ''}; </span>`)}`}</p>`;
}

const usedOf = (x) => (x.quantities.allocated_gpu_ms ? x.quantities.used_gpu_ms / x.quantities.allocated_gpu_ms : null);

// colourFor is a row's colour in the chart: the owner's, or, of what no owner's colour
// tells apart, that of its place.
function colourFor(row, by, place) {
  if (row.class === 'platform') return 'idle';
  if (by === 'namespace') return colourOf(row.keys.namespace);
  return place < 10 && !row.others ? 'c' + place : 'cx';
}

// down is where a row leads.
function down(row, by, q) {
  if (row.class === 'platform' || row.others || (row.class && row.class !== 'workload')) return null;
  const time = kept(q), k = row.keys;
  switch (by) {
    case 'namespace': return k.namespace && link('cost', '', { ...time, by: 'workload', ns: k.namespace });
    case 'workload': return k.workload && link('cost', '', { ...time, by: 'pod', ns: k.namespace, workload: k.workload_kind + '/' + k.workload });
    case 'pod': return k.pod && link('cost', '', { ...time, by: 'gpu', ns: k.namespace, pod: k.pod, explain: k.pod });
    case 'gpu': return k.gpu && link('gpu', k.gpu, time);
    default: return k[by] && link('cost', '', { ...time, by: 'namespace', in: by + '=' + k[by] });
  }
}

const key = (r) => JSON.stringify([sortedKeys(r.keys), r.class, r.account]);
const sortedKeys = (keys) => Object.keys(keys).sort().map((k) => [k, keys[k]]);

// Table has a row for everybody who is in the bill or, with a what-if, in that alone.
function Table({ s, by, q, other }) {
  const before = other && new Map(other.rows.map((r) => [key(r), r])), have = new Set(s.rows.map(key));
  const rows = sorted(before ? s.rows.concat(other.rows.filter((r) => !have.has(key(r))).map((r) => ({ ...r, cost: null, booked: false, quantities: {} }))) : s.rows), total = s.total.cost ? Number(s.total.cost.total) : 0;
  return html`<div class="scroll"><table><thead><tr><th>${t('dim.' + by)}</th><th class="num">${t('cost.cost')} ${s.currency}</th>${before && html`<th class="num">${t('cost.whatif.col')} ${s.currency}</th><th class="num">${t('cost.difference')} ${s.currency}</th>`}<th>${t('cost.ofall')}</th><th class="num">${t('cost.allocated')}</th><th class="num" title=${t('cost.used.why')}>${t('cost.used')}</th></tr></thead><tbody>
    ${rows.map((r, place) => {
      const colour = colourFor(r, by, place), to = down(r, by, q), name = nameOf(r, by), c = r.cost, b = before && before.get(key(r)), then = b ? b.cost && b.cost.total : '0';
      return html`<tr class=${r.class === 'platform' ? 'platform' : ''}><td><span class=${'chip b-' + colour}></span>${to ? html`<a href=${to}>${name}</a>` : name}${by === 'workload' ? html` <span class="soft small">${r.keys.namespace || ''}</span>` : ''}
        ${r.class === 'platform' && html`<div class="small soft">${t('account.' + r.account + '.why')}</div>`}</td>
        <td class="num">${c ? money(c.total) : r.booked === false ? unknown : html`<span title=${t('cost.noprice')}>${t('unknown')}</span>`}<${Mix} parts=${c && c.grades}/></td>
        ${before && html`<td class="num">${then ? money(then) : unknown}</td><td class="num">${then && (c || r.booked === false) ? money(fromNano(nano(then) - nano(c ? c.total : '0'))) : unknown}</td>`}
        <td>${c && total ? html`<${Share} of=${Number(c.total) / total} colour=${colour}/> <span class="nowrap">${part(Number(c.total) / total)}</span>` : ''}</td>
        <td class="num">${r.class === 'platform' || r.booked === false ? unknown : gpuHours(r.quantities.allocated_gpu_ms)}</td><td class="num">${r.class === 'platform' || r.booked === false ? unknown : percent(usedOf(r))}</td></tr>`;
    })}
    <tr class="total"><td>${t('cost.sum')}</td><td class="num">${s.total.cost ? money(s.total.cost.total) : unknown}<${Mix} parts=${s.total.cost && s.total.cost.grades}/></td>${before && html`<td class="num">${other.total.cost ? money(other.total.cost.total) : unknown}</td><td class="num">${s.total.cost && other.total.cost ? money(fromNano(nano(other.total.cost.total) - nano(s.total.cost.total))) : unknown}</td>`}<td></td><td class="num">${gpuHours(s.total.quantities.allocated_gpu_ms)}</td><td class="num">${percent(usedOf(s.total))}</td></tr></tbody></table></div>`;
}

// TEN are the series that have a colour of their own: no more are asked for by time.
const TEN = 10;
const others = (rows) => rows.filter((r) => r.class !== 'platform').reduce((n, r) => n + (r.others || 1), -TEN);

// seriesOf are the ten largest and what is left, then the platform's accounts, by time. left
// is how many are in what is left.
function seriesOf(s, by, unit, began, to, left) {
  const step = unit === 'hour' ? 3600000 : 86400000, from = Math.floor(began / step) * step, n = Math.max(1, Math.ceil((to - from) / step));
  const at = (text) => Math.round((keyTime(text) - from) / step);
  const of = new Map();
  for (const r of s.rows) {
    if (!r.cost) continue;
    const i = at(r.keys[unit]);
    if (!(i >= 0 && i < n)) continue;
    const who = r.others ? '' : key({ ...r, keys: { ...r.keys, [unit]: '' } });
    if (!of.has(who)) of.set(who, { label: nameOf(r, by), row: r, values: new Array(n).fill(0), sum: 0 });
    const x = of.get(who), v = Number(r.cost.total);
    x.values[i] += v; x.sum += v;
  }
  // Where nothing at all was booked nothing is known: a gap, not zero.
  const known = new Array(n).fill(false);
  for (const x of of.values()) x.values.forEach((v, i) => { known[i] = known[i] || v !== 0; });
  for (const x of of.values()) x.values = x.values.map((v, i) => (known[i] ? v : null));
  const all = [...of.values()], own = all.filter((x) => x.row.class !== 'platform' && !x.row.others).sort((a, b) => b.sum - a.sum);
  const out = own.map((x, i) => ({ ...x, colour: by === 'namespace' ? colourOf(x.row.keys.namespace) : 'c' + i }));
  const rest = of.get('');
  if (rest) out.push({ ...rest, label: t('cost.others', { n: left }), colour: 'cx' });
  const platform = all.filter((x) => x.row.class === 'platform');
  if (platform.length) out.push({ label: t('cost.platform'), values: adding(platform, known), colour: 'idle' });
  return { series: out, times: Array.from({ length: n }, (_, i) => (from + i * step) / 1000), step: step / 1000 };
}

const adding = (list, known) => known.map((k, i) => (k ? list.reduce((a, x) => a + x.values[i], 0) : null));

function Chart({ s, by, unit, from, to, theme, left }) {
  const { series, times, step } = useMemo(() => seriesOf(s, by, unit, from, to, left), [s, by, theme, left]);
  if (!series.length) return html`<p class="soft">${t('cost.nothing')}</p>`;
  return html`<ul class="legend">${series.map((x) => html`<li><span class=${'chip ' + 'b-' + x.colour}></span>${x.label}</li>`)}</ul>
    <${Plot} times=${times} series=${series} stacked height=${230} format=${(v) => number(v, v && v < 10 ? 1 : 0)} theme=${theme} label=${t('cost.chart')} step=${step} from=${times[0]} to=${times[times.length - 1] + step}
      onZoom=${(a, b) => set({ from: new Date(a * 1000).toISOString().slice(0, 19) + 'Z', to: new Date(b * 1000).toISOString().slice(0, 19) + 'Z', range: '', month: '' })}/>
    <p class="small soft">${t(unit === 'hour' ? 'cost.perhour' : 'cost.perday', { currency: s.currency })} <${Drag}/></p>`;
}

// csv is the table as it is on the screen, with exact amounts.
function csv(s, by) {
  const cell = (v) => '"' + String(v ?? '').replace(/"/g, '""') + '"';
  const head = byOf(by).concat('class', 'account', 'cost_' + s.currency, 'allocated_gpu_ms', 'used_gpu_ms', 'reserved_unused_gpu_ms');
  return [head].concat(sorted(s.rows).map((r) => byOf(by).map((k) => r.keys[k]).concat(r.class, r.account, r.cost && r.cost.total, r.quantities.allocated_gpu_ms, r.quantities.used_gpu_ms, r.quantities.reserved_unused_gpu_ms))).map((x) => x.map(cell).join(',')).join('\r\n') + '\r\n';
}

function Explain({ q, s }) {
  const pod = q.get('explain');
  const { data, loading, error } = useAsk(pod ? '/explanation?limit=3&pod=' + encodeURIComponent(pod) + '&' + hours(s) : null);
  if (!pod) return null;
  return html`<div class="panel"><h2>${t('cost.explain', { pod })}</h2><${Wait} on=${loading}/><${Trouble} error=${error}/>${data && data.traces.map((x, i) => html`<details open=${i === 0}><summary>${t('cost.trace', { n: i + 1, of: data.entries })}</summary><pre tabindex="0">${x.text}</pre></details>`)}
    <${Command} line=${'gputally explain --pod ' + pod + ' ' + flags(s)}/></div>`;
}

export function Cost({ q, theme }) {
  const s = span(q, '7d'), by = q.get('by') || 'namespace', choice = read(q.get('whatif')), editing = q.get('rules') === 'open' || Object.keys(choice).length > 0;
  const w = conditions(q);
  const time = hours(s), hs = hourSpan(s), from = Date.parse(s.month ? new Date(s.from).toISOString() : hs.from), to = Date.parse(s.month ? new Date(s.to).toISOString() : hs.to);
  const unit = to - from <= 3 * 86400000 ? 'hour' : 'day';
  const base = '/report?' + time + w.text + '&by=';
  const table = useAsk(base + byOf(by).join(',') + '&top=500');
  const chart = useAsk(base + byOf(by).concat(unit).join(',') + '&top=' + TEN);
  const status = useAsk(editing ? '/status' : null), variant = variantOf(choice, status.data && status.data.policy), what = !!variant && (variant.split || variant.policy);
  const body = what && { report: { ...(s.month ? { month: s.month } : hs), by: byOf(by), where: w.list, ...(distributes(variant) ? { view: 'distributed' } : {}) }, variants: [variant] };
  const asked = useAsk(what ? JSON.stringify(body) : null, (text, signal) => post('/whatif', JSON.parse(text), signal));
  const dimensions = useAsk('/dimensions', get);
  const [more] = useState(true);
  const labels = dimensions.data ? dimensions.data.labels.map((l) => 'label:' + l) : [];
  const sections = table.data ? table.data.sections : [];
  const crumbs = [[link('cost', '', kept(q)), t('cost.everything')]];
  if (q.get('in')) crumbs.push(['', q.get('in')]);
  if (q.get('ns')) crumbs.push([link('cost', '', { ...kept(q), by: 'workload', ns: q.get('ns') }), q.get('ns')]);
  if (q.get('workload')) crumbs.push([link('cost', '', { ...kept(q), by: 'pod', ns: q.get('ns'), workload: q.get('workload') }), q.get('workload')]);
  if (q.get('pod')) crumbs.push(['', q.get('pod')]);
  const empty = table.data && !sections.some((x) => x.rows.length);
  return html`${more && crumbs.length > 1 && html`<ul class="crumbs">${crumbs.map(([href, text], i) => html`<li>${href && i < crumbs.length - 1 ? html`<a href=${href}>${text}</a>` : text}</li>`)}</ul>`}
    <${Head} title=${t('page.cost')} question=${t('cost.question')}><${Range} q=${q} standard="7d" months only=${['24h', '7d', '30d']}/><//>
    <div class="head"><div class="bar-tools"><label for="by">${t('cost.by')}</label><select id="by" value=${by} onChange=${(e) => set({ by: e.target.value })}>${dims.concat(labels).map((d) => html`<option value=${d} selected=${d === by}>${has('dim.' + d) ? t('dim.' + d) : d}</option>`)}</select>
      <button id="rules" class=${editing ? 'on' : ''} aria-pressed=${editing} onClick=${() => set(editing ? { whatif: '', rules: '' } : { rules: 'open' })}>${t('whatif.open')}</button></div></div>
    ${editing && html`<${Editor} c=${choice} status=${status.data}/>`}
    <${Wait} on=${table.loading || asked.loading} what=${asked.loading ? t('cost.whatif.loading') : t('loading')}/><${Trouble} error=${table.error || asked.error} retry=${table.retry}/>
    ${what && html`<div class="note warn"><strong>${t('cost.whatif.title')}</strong> ${t('cost.whatif.note')}${asked.data && asked.data.missing_hours > 0 && html` <strong>${t('whatif.missing', { n: number(asked.data.missing_hours) })}</strong>`}</div>`}
    ${empty && html`<${Empty} title=${t('cost.none.title')}><p>${t('cost.none.how')}</p><p><code>gputally status</code> · <code>gputally report --open</code></p><//>`}
    ${sections.filter((x) => x.rows.length).map((x) => {
      const c = chart.data && chart.data.sections.find((y) => y.currency === x.currency);
      const other = asked.data && asked.data.variants[0].report.sections.find((y) => y.currency === x.currency);
      return html`<section key=${x.currency}>
        ${x.unpriced.gpu_ms > 0 && html`<div class="note warn">${t('cost.unpriced.note', { n: gpuHours(x.unpriced.gpu_ms) })} <code>gputally price check</code></div>`}
        ${x.currency && html`<div class="panel">${!w.list.length ? html`<${Balance} s=${x}/>` : html`<p>${t('cost.total')} <strong>${x.total.cost ? money(x.total.cost.total) : unknown} ${x.currency}</strong> <span class="soft small">${t('cost.filtered')}</span></p>`}${c && html`<${Chart} s=${c} by=${by} unit=${unit} from=${from} to=${to} theme=${theme} left=${others(x.rows)}/>`}</div>`}
        ${other && x.currency && !w.list.length && html`<div class="panel whatif-total"><h2>${t('whatif.total')}</h2><${Balance} s=${other}/></div>`}
        <div class="panel"><${Table} s=${x} by=${by} q=${q} other=${other}/><p></p><button class="noprint" onClick=${() => hand(new Blob([csv(x, by)], { type: 'text/csv' }), 'cost-' + by + '.csv')}>${t('cost.csv')}</button></div></section>`;
    })}
    <${Explain} q=${q} s=${s}/>
    <${Command} line=${'gputally report ' + flags(s) + ' --by ' + byOf(by).join(',') + w.list.map((f) => ' --where ' + f.by + '=' + f.in).join('')}/>`;
}
