// SPDX-License-Identifier: Apache-2.0
// A workload's memory over time: what it held, what it held or kept from others, and
// what of that its engines say they need. Where nobody says it there is a gap.
import { html, useMemo } from '../lib.js';
import { t, has } from '../i18n.js';
import { bytes, grade, keyTime, number } from '../format.js';
import { Mix } from '../parts.js';
import { colourOf } from '../colour.js';
import { Plot } from '../plot.js';

const HOUR = 3600000;
const none = (n) => new Array(n).fill(null);

const kindOf = (k) => JSON.stringify([k.model, k.mode, k.profile]);

// charged are the bytes that a workload held or kept from others, by hour. The ledger
// has that in shares of GPUs; the size of GPUs of a kind is what the workload held for
// its share of them, over all of the time. Where an hour has one of unknown size the hour
// is unknown.
function charged(rows, at, n) {
  const size = new Map(), out = none(n), dark = new Set();
  for (const r of rows) {
    const x = r.quantities, s = size.get(kindOf(r.keys)) || { bytes: 0n, ms: 0n };
    s.bytes += BigInt(x.held_byte_ms); s.ms += BigInt(x.used_gpu_ms);
    size.set(kindOf(r.keys), s);
  }
  for (const r of rows) {
    const i = at(keyTime(r.keys.hour)), ms = r.quantities.allocated_gpu_ms, s = size.get(kindOf(r.keys));
    if (!(i >= 0 && i < n) || !ms) continue;
    if (!s.ms) dark.add(i);
    else out[i] = (out[i] || 0) + Number((s.bytes * BigInt(ms)) / (s.ms * BigInt(HOUR)));
  }
  for (const i of dark) out[i] = null;
  return out;
}

// demanded is what the engines of an hour's pods say they need, null where any pod of
// the hour has none that says it; and why it is not known, by how many hours of pods.
function demanded(hours, at, n) {
  const out = none(n), dark = new Set(), why = new Map(), grades = new Map();
  let told = 0, spoken = false;
  for (const h of hours) {
    const i = at(Date.parse(h.start));
    grades.set(h.grade, (grades.get(h.grade) || 0) + h.duration_ms);
    if (h.pool_use_max !== null || h.pool_bytes !== null || h.need_bytes !== null || h.need_missing) spoken = true;
    for (const c of h.need_missing || []) why.set(c, (why.get(c) || 0) + 1);
    if (!(i >= 0 && i < n)) continue;
    if (h.need_bytes === null) { dark.add(i); continue; }
    out[i] = (out[i] || 0) + Number((BigInt(h.need_bytes) * BigInt(h.duration_ms)) / BigInt(HOUR));
    told++;
  }
  for (const i of dark) out[i] = null;
  return { values: out, told, spoken, why: [...why].sort((a, b) => b[1] - a[1]), grades: [...grades].map(([name, amount]) => ({ name, amount })) };
}

export function Memory({ rows, held, hours, ns, times, theme, onZoom, span }) {
  const from = span.from * 1000, n = times.length, at = (ms) => Math.round((ms - from) / HOUR);
  const kept = useMemo(() => charged(rows, at, n), [rows, n]);
  const need = useMemo(() => demanded(hours || [], at, n), [hours, n]);
  const series = useMemo(() => [
    { label: t('work.kept'), values: kept, colour: 'soft', dash: [4, 3], stepped: true, grade: grade('derived') },
    { label: t('work.held'), values: held, colour: colourOf(ns), stepped: true },
    ...(need.told ? [{ label: t('work.demanded'), values: need.values, colour: 's-tensor', stepped: true, grade: grade('estimated') }] : []),
  ], [kept, held, need, theme]);
  const most = Math.max(...series.flatMap((s) => s.values.map((v) => v || 0)));
  return html`<div class="panel"><h2>${t('work.memory')}</h2>
    <ul class="legend">${series.map((s) => html`<li><span class="chip" ref=${(el) => el && (el.style.background = 'var(--' + s.colour + ')')}></span>${s.label}${s.grade && ' (' + s.grade + ')'}</li>`)}</ul>
    <${Plot} times=${times} series=${series} height=${170} binary=${most < 640 * 1024 ** 3} format=${(v) => bytes(v)} label=${t('work.memory')} onZoom=${onZoom} sync="work" ...${span}/>
    ${need.grades.length > 0 && html`<p class="small soft">${t('work.graded')}<${Mix} parts=${need.grades}/></p>`}
    <p class="small soft demand">${!hours ? '' : need.told ? t('work.demanded.why') : need.spoken ? t('work.demanded.not') : t('work.demanded.silent')}
      ${need.why.map(([c, k]) => html` <span class="tag">${(has('code.' + c) ? t('code.' + c) : c) + ': ' + number(k) + ' h'}</span>`)}</p></div>`;
}
