// SPDX-License-Identifier: Apache-2.0
// The memory bar: a GPU whose length is its capacity. From left to right holders (used
// solid, reserved and unused hatched), driver reserve, unattributed, free. MIG cuts it
// at its memory slices. The same pieces are drawn as SVG (Bar) and on a canvas (paint).
import { html } from './lib.js';
import { t } from './i18n.js';
import { bytes, percent, grade } from './format.js';
import { because } from './said.js';
import { colourOf, version } from './colour.js';

export const nameOf = (h) => (h.kind === 'pod' ? (h.pod ? h.namespace + '/' + h.pod : 'uid:' + h.pod_uid) : h.kind === 'daemon' ? t('holder.daemon') + ' ' + (h.pod || h.unit || '') : h.kind === 'host' ? t('holder.host') + ' ' + (h.unit || '') : t('holder.unknown'));
const rough = (g) => g && g !== 'measured' && g !== 'derived';

// piecesOf cuts one partition into pieces of its own length: [{kind, from, to, …}].
export function piecesOf(p) {
  const cap = p.capacity_bytes;
  if (p.state === 'unavailable') return [{ kind: 'lost', from: 0, to: 1 }];
  if (p.state === 'unmeasured' || !cap || p.free_bytes === undefined) return [{ kind: 'unmeasured', from: 0, to: 1 }];
  const out = [];
  let at = 0, spare = p.free_bytes;
  const add = (kind, n, more) => { if (n > 0) { out.push({ kind, from: at / cap, to: (at + n) / cap, bytes: n, ...more }); at += n; } };
  const holders = p.holders || [];
  // What a pod's grant keeps from others stands once for all its containers.
  for (const h of holders) {
    const used = h.bytes || 0;
    const look = h.kind === 'pod' ? { colour: colourOf(h.namespace), leak: !!h.leak, rough: rough(h.grade), holder: h } : { colour: 'reserve', rough: rough(h.grade), holder: h, leak: h.kind === 'host' };
    add('used', used, look);
    if (h.reserved_bytes) {
      const all = holders.reduce((n, x) => n + (x.pod_uid === h.pod_uid && x.pod === h.pod ? x.bytes || 0 : 0), 0);
      const unused = Math.min(Math.max(h.reserved_bytes - all, 0), spare);
      spare -= unused;
      add('unused', unused, look);
    }
  }
  add('reserve', p.reserve_bytes);
  add('unattributed', p.unattributed_bytes);
  add('free', Math.max(cap - at, 0));
  return out;
}

// layout puts the partitions of a device on one bar: [{p, from, to, pieces}], and the
// slices that no instance can cover. It is kept for as long as the device and the
// colours: a bar is drawn, added up and painted, of a large fleet all of them.
const laid = new WeakMap();
export function layout(g) {
  const have = laid.get(g);
  if (have && have.version === version()) return have;
  const l = { ...lay(g), version: version() };
  laid.set(g, l);
  return l;
}

function lay(g) {
  const mig = g.partitions.filter((p) => p.key);
  if (!mig.length) {
    const p = g.partitions[0];
    if (g.slices) return { parts: [], stranded: g.stranded_slices || 0, slices: g.slices };
    return { parts: p ? [{ p, from: 0, to: 1, pieces: piecesOf(p) }] : [], stranded: 0 };
  }
  const slices = g.slices || 8;
  return { slices, stranded: g.stranded_slices || 0, parts: mig.map((p) => ({ p, from: (p.start || 0) / slices, to: ((p.start || 0) + (p.size || 1)) / slices, pieces: piecesOf(p) })) };
}

// strandedAt is where crossed slices stand: the last of those that nobody has.
function strandedAt(l) {
  if (!l.stranded) return [];
  const taken = new Set();
  for (const x of l.parts) for (let s = Math.round(x.from * l.slices); s < Math.round(x.to * l.slices); s++) taken.add(s);
  const open = [];
  for (let s = 0; s < l.slices; s++) if (!taken.has(s)) open.push(s);
  return open.slice(-l.stranded);
}

// describe says a device in words, for those who do not see the bar.
export function describe(g) {
  const parts = [];
  for (const p of g.partitions) {
    if (p.mig_parent && g.partitions.length > 1) continue;
    if (p.profile) parts.push(p.profile + ':');
    if (p.state !== 'measured') { parts.push(t('state.' + p.state) + (p.reason ? ' (' + because(p.reason) + ')' : '')); continue; }
    for (const h of p.holders || []) parts.push(nameOf(h) + ' ' + (h.bytes === undefined ? t('bar.holdsnothing') : bytes(h.bytes) + ' (' + grade(h.grade) + ')') + (h.leak ? ', ' + t('bar.leak') : ''));
    if (p.free_bytes !== undefined) parts.push(t('bar.free') + ' ' + bytes(p.free_bytes) + ' / ' + bytes(p.capacity_bytes));
  }
  return parts.join('; ');
}

// Patterns stand once in the page; bars refer to them. Bars of tiles are a third as wide
// as they are drawn: theirs (-s) are as much wider, so that all look as in the legend.
export const Patterns = () => html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
  ${[['', ''], ['-s', 'scale(2.7 1) ']].map(([s, wide]) => html`<pattern id=${'p-hatch' + s} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform=${wide + 'rotate(45)'}><line class="line" x1="0" y1="0" x2="0" y2="6"/></pattern>
  <pattern id=${'p-dots' + s} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform=${wide}><circle class="dot" cx="1.5" cy="1.5" r="0.9"/></pattern>
  <pattern id=${'p-cross' + s} width="8" height="8" patternUnits="userSpaceOnUse" patternTransform=${wide}><path class="x" d="M0 0l8 8M8 0l-8 8"/></pattern>`)}
  <pattern id="p-gap" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(135)"><line class="gapline" x1="0" y1="0" x2="0" y2="5"/></pattern>
</defs></svg>`;

function tipOf(x, p) {
  const share = p.capacity_bytes ? ' · ' + percent(x.bytes / p.capacity_bytes, 1) : '';
  switch (x.kind) {
    case 'used': return nameOf(x.holder) + (x.holder.container ? ' · ' + x.holder.container : '') + ' — ' + t('bar.used') + ' ' + bytes(x.bytes) + share + ' · ' + grade(x.holder.grade) + (x.holder.leak ? ' · ' + t('bar.leak') : '');
    case 'unused': return nameOf(x.holder) + ' — ' + t('bar.unused') + ' ' + bytes(x.bytes) + share;
    case 'reserve': return t('bar.reserve') + ' ' + bytes(x.bytes);
    case 'unattributed': return t('bar.unattributed') + ' ' + bytes(x.bytes);
    case 'free': return t('bar.free') + ' ' + bytes(x.bytes) + share;
    case 'lost': return t('state.unavailable') + (p.reason ? ': ' + because(p.reason) : '');
    default: return t('state.unmeasured') + (p.reason ? ': ' + because(p.reason) : '');
  }
}

const H = 22;
export function Piece({ x, a, b, p, tip }) {
  const at = (v) => (a + v * (b - a)) * 1000;
  const w = Math.max(at(x.to) - at(x.from), 0.5), rect = { x: at(x.from), y: 0, width: w, height: H };
  const title = html`<title>${tip || tipOf(x, p)}</title>`;
  const edge = x.leak ? html`<rect class="leak" x=${rect.x + 1} y="1" width=${Math.max(w - 2, 1)} height=${H - 2}/>` : x.rough ? html`<rect class="rough" x=${rect.x + 1} y="1" width=${Math.max(w - 2, 1)} height=${H - 2}/>` : html`<line class="seam" x1=${rect.x} y1="0" x2=${rect.x} y2=${H}/>`;
  switch (x.kind) {
    case 'used': return html`<g>${title}<rect class=${x.colour === 'reserve' ? 'reserve' : 'f-' + x.colour} ...${rect}/>${edge}</g>`;
    case 'unused': return html`<g>${title}<rect class=${'f-' + x.colour} ...${rect}/><rect class="hatch" ...${rect}/></g>`;
    case 'reserve': return html`<g>${title}<rect class="reserve" ...${rect}/></g>`;
    case 'unattributed': return html`<g>${title}<rect class="unattr" ...${rect}/><rect class="dots" ...${rect}/></g>`;
    case 'free': return html`<g>${title}<rect class="free" ...${rect}/></g>`;
    case 'lost': return html`<g>${title}<rect class="free" ...${rect}/><rect class="cross" ...${rect}/></g>`;
    default: return html`<g>${title}<rect class="free" ...${rect}/><rect class="rough" x=${rect.x + 2} y="2" width=${w - 4} height=${H - 4}/></g>`;
  }
}

export function Bar({ gpu, big }) {
  const l = layout(gpu);
  return html`<svg class=${big ? 'bar big' : 'bar'} viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" aria-label=${describe(gpu) || t('bar.free')}>
    <rect class="free" x="0" y="0" width="1000" height="22"/>
    ${l.parts.map((x) => x.pieces.map((piece) => html`<${Piece} x=${piece} a=${x.from} b=${x.to} p=${x.p}/>`))}
    ${strandedAt(l).map((s) => html`<g><title>${t('bar.stranded')}</title><rect class="cross" x=${(s / l.slices) * 1000} y="0" width=${1000 / l.slices} height="22"/></g>`)}
    ${l.parts.length > 1 ? l.parts.map((x) => x.from > 0 && html`<line class="cut" x1=${x.from * 1000} y1="0" x2=${x.from * 1000} y2="22"/>`) : ''}
    <rect class="frame" x="0" y="0" width="1000" height="22"/></svg>`;
}

// paint draws a device on a canvas, for thousands of them. colours are CSS colours by
// name.
export function paint(c, g, x, y, w, h, colours) {
  c.fillStyle = colours.free;
  c.fillRect(x, y, w, h);
  const l = layout(g);
  for (const part of l.parts) {
    const px = x + part.from * w, pw = (part.to - part.from) * w;
    for (const piece of part.pieces) {
      const from = px + piece.from * pw, width = (piece.to - piece.from) * pw;
      if (piece.kind === 'lost') { c.fillStyle = colours.bad; c.fillRect(from, y, width, h); c.fillStyle = colours.free; c.fillRect(from + 1, y + h / 2 - 0.5, width - 2, 1); continue; }
      if (piece.kind === 'unmeasured') { c.strokeStyle = colours.soft; c.setLineDash([2, 2]); c.strokeRect(from + 0.5, y + 0.5, width - 1, h - 1); c.setLineDash([]); continue; }
      if (piece.kind === 'free') continue;
      c.fillStyle = piece.kind === 'reserve' ? colours.reserve : piece.kind === 'unattributed' ? colours.unattr : colours[piece.colour];
      c.globalAlpha = piece.kind === 'unused' ? 0.35 : 1;
      c.fillRect(from, y, width, h);
      c.globalAlpha = 1;
      if (piece.leak) { c.strokeStyle = colours.bad; c.lineWidth = 1.5; c.strokeRect(from + 0.5, y + 0.75, Math.max(width - 1, 1), h - 1.5); c.lineWidth = 1; }
    }
  }
  c.strokeStyle = colours.line;
  c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
}

// Signals are thin lines on one axis, 0 to 100 %.
const signalNames = [['busy', 's-busy'], ['sm', 's-sm'], ['tensor', 's-tensor'], ['dram', 's-dram']];
export function Signals({ s }) {
  if (!s || !signalNames.some(([k]) => s[k] !== undefined)) return html`<div class="w">${t('signals.none')}</div>`;
  const text = signalNames.filter(([k]) => s[k] !== undefined).map(([k]) => t('signal.' + k) + ' ' + percent(s[k])).join(' · ');
  return html`<div title=${text + ' — ' + grade(s.grade)}><svg class="sig" viewBox="0 0 1000 17" preserveAspectRatio="none" aria-hidden="true">
    ${signalNames.map(([k, colour], i) => s[k] !== undefined && html`<rect x="0" y=${i * 4.2} width=${Math.max(s[k] * 1000, 2)} height="2.6" ref=${(el) => el && (el.style.fill = 'var(--' + colour + ')')}/>`)}
  </svg></div>`;
}

export const Legend = () => html`<ul class="legend">
  ${[['b-cx', 'bar.used'], ['b-hatch', 'bar.unused'], ['b-reserve', 'bar.reserve'], ['b-unattr', 'bar.unattributed'], ['b-free', 'bar.free'], ['b-leak', 'bar.leak'], ['b-rough', 'bar.rough'], ['b-cross', 'bar.crossed']].map(([c, k]) => html`<li><span class=${'chip ' + c}></span>${t(k)}</li>`)}
  </ul>`;
