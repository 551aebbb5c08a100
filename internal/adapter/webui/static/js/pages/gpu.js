// SPDX-License-Identifier: Apache-2.0
// GPU: who had this GPU when?
import { html, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk } from '../api.js';
import { span, moments, set, link, kept, iso } from '../state.js';
import { bytes, percent, duration, time, shortTime, number, grade, unknown } from '../format.js';
import { Head, Wait, Trouble, Range, Command, Drag, Empty, Severity } from '../parts.js';
import { Bar, Legend, nameOf } from '../bar.js';
import { colourOf } from '../colour.js';
import { Plot } from '../plot.js';
import { Lanes } from './lanes.js';
import { because, detailOf, accountOf } from '../said.js';

const last = (values) => { for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return i; return -1; };

// held are those on a partition at a step: who holds memory, and who was given it and
// holds none.
function held(p, i, grants) {
  const out = p.holders.filter((h) => h.bytes[i] > 0).map((h) => ({ ...h, bytes: h.bytes[i] }));
  const same = (g, h) => g.pod_uid === h.pod_uid && g.pod === h.pod;
  for (const g of grants) {
    const h = out.find((x) => same(g, x));
    if (h) h.reserved_bytes = g.reserved_bytes;
    else out.push({ kind: 'pod', namespace: g.namespace, pod: g.pod, pod_uid: g.pod_uid, reserved_bytes: g.reserved_bytes });
  }
  return out;
}

// merged puts MIG instances that stood in the same place one after another into one:
// an instance that was made anew is another, and the same slices.
function merged(partitions) {
  const out = new Map();
  for (const p of partitions) {
    const at = p.profile ? p.profile + '@' + (p.start || 0) : p.key, have = out.get(at);
    if (!have) { out.set(at, p); continue; }
    // In a step that both were in the newer one counts.
    const either = (a, b) => a.map((v, i) => b[i] ?? v), known = either(have.free_bytes, p.free_bytes);
    const filled = (older) => (h) => ({ ...h, bytes: h.bytes.map((v, i) => (known[i] === null ? null : older && p.free_bytes[i] !== null ? 0 : v ?? 0)) });
    const next = { ...have, holders: have.holders.map(filled(true)).concat(p.holders.map(filled(false))) };
    for (const k of ['reserve_bytes', 'unattributed_bytes', 'free_bytes', 'busy', 'sm', 'tensor', 'dram', 'power_mw']) next[k] = either(have[k], p[k]);
    out.set(at, next);
  }
  return [...out.values()];
}

// now is the newest moment of a timeline as a device, for the bar.
function now(line) {
  const parent = line.partitions.find((p) => p.mig_parent);
  const device = { uuid: line.uuid, partitions: [], slices: 0, stranded_slices: parent && parent.stranded_slices };
  const ends = line.partitions.map((p) => last(p.free_bytes));
  const newest = Math.max(...ends);
  line.partitions.forEach((p, k) => {
    const i = ends[k];
    if (p.mig_parent || i < 0 || i < newest - 1) return;
    const grants = line.grants.filter((g) => g.partition === p.key && Date.parse(g.to) >= Date.parse(line.from) + i * line.step_ms && Date.parse(g.from) <= Date.parse(line.from) + (i + 1) * line.step_ms);
    device.partitions.push({ key: p.profile ? p.key : undefined, profile: p.profile, start: p.start || 0, size: p.size, state: 'measured', mode: p.mode, grade: p.grade, capacity_bytes: p.capacity_bytes, reserve_bytes: p.reserve_bytes[i], unattributed_bytes: p.unattributed_bytes[i], free_bytes: p.free_bytes[i],
      holders: held(p, i, grants) });
    if (p.profile) device.slices = Math.max(device.slices, p.device_slices || 0);
  });
  if (parent && !device.partitions.length) device.slices = parent.device_slices;
  return { device, at: Date.parse(line.from) + (newest + 1) * line.step_ms, known: newest >= 0 };
}

const zoom = (a, b) => set({ from: iso(Math.round(a) * 1000), to: iso(Math.round(b) * 1000), range: '', month: '' });

function seriesOf(p) {
  const out = [];
  const shades = new Map();
  for (const h of p.holders) {
    const colour = h.kind === 'pod' ? colourOf(h.namespace) : 'reserve', seen = shades.get(colour) || 0;
    shades.set(colour, seen + 1);
    out.push({ label: nameOf(h), values: h.bytes, colour, css: undefined, holder: h, grade: grade(h.grade), n: seen });
  }
  out.push({ label: t('bar.reserve'), values: p.reserve_bytes, colour: 'reserve' });
  out.push({ label: t('bar.unattributed'), values: p.unattributed_bytes, colour: 'unattr' });
  return out;
}

function Memory({ p, times, theme, step, from, to }) {
  const series = useMemo(() => seriesOf(p), [p, theme]);
  return html`<${Plot} times=${times} series=${series} stacked binary height=${p.profile ? 120 : 220} max=${p.capacity_bytes} format=${(v) => bytes(v)} theme=${theme} onZoom=${zoom} sync="gpu" label=${t('gpu.memory')} step=${step} from=${from} to=${to}/>`;
}

function SignalPlot({ p, times, theme, step, from, to }) {
  const series = useMemo(() => [['busy', 's-busy', [4, 3]], ['sm', 's-sm'], ['tensor', 's-tensor'], ['dram', 's-dram']].filter(([k]) => p[k].some((v) => v !== null)).map(([k, colour, dash]) => ({ label: t('signal.' + k), values: p[k].map((v) => (v === null ? null : v * 100)), colour, dash, stepped: true })), [p]);
  if (!series.length) return html`<p class="soft">${t('signals.none')}</p>`;
  return html`<ul class="legend">${series.map((s) => html`<li><span class="chip" ref=${(el) => el && (el.style.background = 'var(--' + s.colour + ')')}></span>${s.label}</li>`)}<li>${t('gpu.signals.why')}</li></ul>
    <${Plot} times=${times} series=${series} height=${150} max=${100} format=${(v) => number(v) + ' %'} theme=${theme} onZoom=${zoom} sync="gpu" label=${t('gpu.signals')} step=${step} from=${from} to=${to}/>`;
}

function Holders({ line, q }) {
  const rows = line.partitions.flatMap((p) => p.holders.map((h) => ({ h, p })));
  if (!rows.length) return html`<p class="soft">${t('gpu.nobody')}</p>`;
  const present = (h) => h.bytes.filter((v) => v > 0).length * line.step_ms;
  const mean = (h) => { const v = h.bytes.filter((x) => x > 0); return v.length ? v.reduce((a, b) => a + b, 0) / v.length : null; };
  rows.sort((a, b) => (mean(b.h) || 0) * present(b.h) - (mean(a.h) || 0) * present(a.h));
  return html`<div class="scroll"><table><thead><tr><th>${t('gpu.holder')}</th><th>${t('gpu.workload')}</th><th>${t('gpu.partition')}</th><th class="num">${t('gpu.present')}</th><th class="num">${t('gpu.mean')}</th><th class="num">${t('gpu.peak')}</th><th>${t('grade')}</th></tr></thead><tbody>
    ${rows.map(({ h, p }) => html`<tr><td><span class=${'chip b-' + (h.kind === 'pod' ? colourOf(h.namespace) : 'reserve')}></span>${nameOf(h)} ${h.container && html`<span class="soft small">${h.container}</span>`} ${h.leak && html`<span class="tag critical">${t('bar.leak')}</span>`}</td>
      <td>${h.workload && h.namespace ? html`<a href=${link('workload', h.namespace + '/' + h.workload, kept(q))}>${h.workload}</a>` : unknown}</td><td>${p.profile || t('gpu.whole')}</td><td class="num">${duration(present(h))}</td><td class="num">${bytes(mean(h))}</td><td class="num">${bytes(h.peak_bytes)}</td><td>${grade(h.grade)}</td></tr>`)}</tbody></table></div>`;
}

export function GPU({ arg, q, theme }) {
  const s = span(q, '24h');
  const key = s.range ? s.range : moments(s);
  const path = useMemo(() => '/gpus/' + encodeURIComponent(arg) + '/timeline?' + moments(s) + (q.get('node') ? '&node=' + encodeURIComponent(q.get('node')) : ''), [arg, key, q.get('node')]);
  const { data: line, loading, error, retry } = useAsk(arg ? path : null);
  const times = useMemo(() => (line ? Array.from({ length: line.steps }, (_, i) => Date.parse(line.from) / 1000 + (i * line.step_ms) / 1000) : []), [line]);
  const picture = line && now(line);
  const ends = line ? { from: Date.parse(line.from) / 1000, to: Date.parse(line.to) / 1000, step: line.step_ms / 1000 } : {};
  const memory = useMemo(() => (line ? merged(line.partitions.filter((p) => !p.mig_parent && p.free_bytes.some((v) => v !== null))) : []), [line]);
  const signals = line && (line.partitions.find((p) => !p.profile && p.busy.some((v) => v !== null)) || line.partitions.find((p) => p.busy.some((v) => v !== null)));
  if (!arg) return html`<${Head} title=${t('page.gpu')} question=${t('gpu.question')}/><${Empty} title=${t('gpu.which')}><a href=${link('fleet')}>${t('page.fleet')}</a><//>`;
  return html`<ul class="crumbs"><li><a href=${link('fleet')}>${t('page.fleet')}</a></li><li><a href=${link('fleet', '', { search: (line && line.node) || q.get('node') || '' })}>${(line && line.node) || q.get('node') || unknown}</a></li><li>GPU</li></ul>
    <${Head} title=${html`${(line && line.model) || 'GPU'} <span class="mono soft">${arg}</span>`} question=${t('gpu.question')}><${Range} q=${q} standard="24h"/><//>
    <${Wait} on=${loading} what=${t('gpu.loading')}/><${Trouble} error=${error} retry=${retry}/>
    ${line && html`
    <div class="panel"><h2>${picture.known ? t('gpu.now', { when: time(Math.min(picture.at, Date.parse(line.to), Date.now())) }) : t('gpu.nothing')}</h2>${picture.known && html`<${Bar} gpu=${picture.device} big/>`}</div><${Legend}/>
    <div class="panel"><h2>${t('gpu.grants')}</h2><${Lanes} line=${line}/></div>
    <div class="panel"><h2>${t('gpu.memory')}</h2>${memory.length ? memory.map((p) => html`${p.profile && html`<h3>${p.profile} <span class="soft small">${t('gpu.slices', { from: p.start || 0, to: (p.start || 0) + p.size })}</span></h3>`}<${Memory} p=${p} times=${times} theme=${theme} ...${ends}/>`) : html`<p class="soft">${t('gpu.nomemory')}</p>`}
      <p class="small soft"><${Drag}/> ${t('gpu.step', { step: duration(line.step_ms) })}</p></div>
    <div class="panel"><h2>${t('gpu.signals')}</h2>${signals ? html`<${SignalPlot} p=${signals} times=${times} theme=${theme} ...${ends}/>` : html`<p class="soft">${t('signals.none')}</p>`}</div>
    <div class="panel"><h2>${t('gpu.holders')}</h2><${Holders} line=${line} q=${q}/></div>
    <div class="cols2"><div class="panel"><h2>${t('gpu.findings')}</h2>${line.findings.length ? html`<table><tbody>${line.findings.map((f) => html`<tr><td><${Severity} of=${f.severity}/></td><td><strong>${t('finding.' + f.kind)}</strong> ${accountOf(f)}<div class="small">${detailOf(f)}</div></td><td class="small soft">${shortTime(Date.parse(f.first))} – ${f.open ? t('findings.open') : shortTime(Date.parse(f.last))}</td></tr>`)}</tbody></table>` : html`<p class="soft">${t('gpu.nofindings')}</p>`}</div>
    <div class="panel"><h2>${t('gpu.gaps')}</h2>${line.gaps.length || line.events.length ? html`<table><tbody>${line.events.map((e) => html`<tr><td>${e.kind}${e.xid ? ' XID ' + e.xid : ''}</td><td class="small">${e.detail || ''}</td><td class="small soft">${shortTime(Date.parse(e.at))}</td></tr>`)}${line.gaps.map((g) => html`<tr><td>${t('gap.' + g.kind)}</td><td class="small">${because(g.reason)}</td><td class="small soft">${shortTime(Date.parse(g.from))} – ${shortTime(Date.parse(g.to))} (${duration(Date.parse(g.to) - Date.parse(g.from))})</td></tr>`)}</tbody></table>` : html`<p class="soft">${t('gpu.nogaps')}</p>`}</div></div>
    <${Command} line=${'curl -s "' + location.origin + '/api/v1' + path + '"'}/>`}`;
}
export { percent };
