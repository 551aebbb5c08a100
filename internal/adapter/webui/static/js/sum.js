// SPDX-License-Identifier: Apache-2.0
// Many GPUs as one memory bar: what stands in their own bars, added up. Bytes of one
// owner stand together; those of a leak apart, with its red edge.
import { html } from './lib.js';
import { t } from './i18n.js';
import { bytes, percent, number, inOrder } from './format.js';
import { layout, Piece } from './bar.js';
import { colourOf } from './colour.js';

const places = { pod: 0, reserve: 1, unattributed: 2, free: 3 };

// sumOf adds GPUs up: [{n, g}]. What cannot be measured has no size and is counted.
export function sumOf(list) {
  const of = new Map(), out = { gpus: list.length, capacity: 0, free: 0, idle: 0, dark: 0, busy: 0, read: 0 };
  for (const { g } of list) {
    let seen = false, held = false;
    for (const part of layout(g).parts) {
      for (const x of part.pieces) {
        if (x.bytes === undefined) continue;
        seen = true;
        const pod = (x.kind === 'used' || x.kind === 'unused') && x.holder && x.holder.kind === 'pod';
        const kind = pod ? 'pod' : x.kind === 'used' || x.kind === 'unused' ? 'reserve' : x.kind, owner = pod ? x.holder.namespace || '' : '';
        const key = kind + '\0' + owner + '\0' + (x.kind === 'unused') + '\0' + (x.leak ? 1 : 0);
        const have = of.get(key) || { kind, owner, unused: x.kind === 'unused', leak: !!x.leak, bytes: 0 };
        have.bytes += x.bytes;
        of.set(key, have);
        out.capacity += x.bytes;
        if (x.kind === 'free') out.free += x.bytes;
      }
      if ((part.p.holders || []).some((h) => h.kind === 'pod' || h.kind === 'host')) held = true;
    }
    if (!seen) out.dark++; else if (!held) out.idle++;
    if (g.signals && g.signals.busy !== undefined) { out.busy += g.signals.busy; out.read++; }
  }
  const owners = new Map();
  for (const x of of.values()) owners.set(x.owner, (owners.get(x.owner) || 0) + x.bytes);
  const all = [...of.values()].sort((a, b) => places[a.kind] - places[b.kind] || owners.get(b.owner) - owners.get(a.owner) || inOrder(a.owner, b.owner) || a.unused - b.unused || a.leak - b.leak);
  let at = 0;
  out.pieces = all.map((x) => { const from = at; at += x.bytes; return { ...x, from: from / out.capacity, to: at / out.capacity }; });
  return out;
}

const tipOf = (x, all) => (x.kind === 'pod' ? (x.owner || t('cost.none')) + ' — ' + t(x.unused ? 'bar.unused' : 'bar.used') + ' ' : t('bar.' + x.kind) + ' ') + bytes(x.bytes) + ' · ' + percent(x.bytes / all, 1) + (x.leak ? ' · ' + t('bar.leak') : '');

const look = (x) => ({ ...x, kind: x.kind === 'pod' ? (x.unused ? 'unused' : 'used') : x.kind, colour: x.kind === 'pod' ? colourOf(x.owner) : 'reserve' });

export function SumBar({ of }) {
  const text = of.pieces.map((x) => tipOf(x, of.capacity)).join('; ');
  return html`<svg class="bar" viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" aria-label=${text || t('state.unmeasured')}>
    <rect class="free" x="0" y="0" width="1000" height="22"/>
    ${of.capacity ? of.pieces.map((x) => html`<${Piece} x=${look(x)} a=${0} b=${1} tip=${tipOf(x, of.capacity)}/>`) : html`<rect class="rough" x="2" y="2" width="996" height="18"/>`}
    <rect class="frame" x="0" y="0" width="1000" height="22"/></svg>`;
}

// Sums are the figures of many GPUs in words.
export const Sums = ({ of }) => html`<span class="nowrap">${of.capacity ? bytes(of.capacity - of.free) + ' / ' + bytes(of.capacity) : t('state.unmeasured')}</span>
  <span class="nowrap soft">${t('level.gpus', { n: number(of.gpus) })}</span>
  ${of.read > 0 && html`<span class="nowrap soft">${t('signal.busy')} ${percent(of.busy / of.read)}</span>`}
  ${of.idle > 0 && html`<span class="nowrap soft">${t('level.idle', { n: number(of.idle) })}</span>`}
  ${of.dark > 0 && html`<span class="tag warning">${t('level.dark', { n: number(of.dark) })}</span>`}`;
