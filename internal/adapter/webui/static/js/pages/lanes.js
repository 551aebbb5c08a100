// SPDX-License-Identifier: Apache-2.0
// Grants, events and gaps over the time of a timeline: one lane for each pod that was
// given the GPU, gaps as hatched boxes behind all of them.
import { html, useEffect, useRef, useState } from '../lib.js';
import { t } from '../i18n.js';
import { shortTime, bytes } from '../format.js';
import { colourOf } from '../colour.js';
import { because } from '../said.js';
import { LEFT, RIGHT } from '../plot.js';

const ROW = 20, MOST = 12;

export function Lanes({ line }) {
  const box = useRef();
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const look = () => box.current && setWidth(box.current.clientWidth);
    look();
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  const from = Date.parse(line.from), to = Date.parse(line.to);
  const x = (at) => LEFT + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - LEFT - RIGHT);
  const lanes = new Map();
  for (const g of line.grants) {
    const name = g.namespace + '/' + (g.pod || g.pod_uid);
    if (!lanes.has(name)) lanes.set(name, []);
    lanes.get(name).push(g);
  }
  const shown = [...lanes].slice(0, MOST), height = Math.max(shown.length, 1) * ROW + 24;
  const title = (g) => g.namespace + '/' + g.pod + ' · ' + g.source + (g.resource ? ' · ' + g.resource : '') + ' · ' + g.mode + (g.reserved_bytes ? ' · ' + t('bar.unused.short') + ' ' + bytes(g.reserved_bytes) : '') + ' · ' + shortTime(Date.parse(g.from)) + ' – ' + shortTime(Date.parse(g.to));
  return html`<div ref=${box}><svg class="lanes" width=${width} height=${height} viewBox=${'0 0 ' + width + ' ' + height} role="img" aria-label=${t('gpu.grants') + ': ' + line.grants.map(title).join('; ')}>
    ${line.gaps.map((g) => { const a = x(Date.parse(g.from)), b = x(Date.parse(g.to)); return html`<g><title>${t('gap.' + g.kind) + ': ' + because(g.reason) + ' · ' + shortTime(Date.parse(g.from)) + ' – ' + shortTime(Date.parse(g.to))}</title><rect class="gapbox" x=${a} y="0" width=${Math.max(b - a, 1)} height=${height - 20}/></g>`; })}
    ${shown.map(([name, of], i) => html`<g key=${name}>${of.map((g) => { const a = x(Date.parse(g.from)), b = x(Date.parse(g.to)); return html`<g><title>${title(g)}</title><rect class=${'f-' + colourOf(g.namespace)} x=${a} y=${i * ROW + 3} width=${Math.max(b - a, 2)} height="6" rx="1"/></g>`; })}<text x=${Math.min(x(Date.parse(of[0].from)), width - 240)} y=${i * ROW + 19}>${name}</text></g>`)}
    ${!shown.length && html`<text class="lab" x=${LEFT} y="14">${t('gpu.nogrants')}</text>`}
    ${line.events.map((e) => { const a = x(Date.parse(e.at)); return html`<g><title>${e.kind + (e.xid ? ' XID ' + e.xid : '') + ' ' + (e.detail || '')}</title><path class="ev" d=${'M' + a + ' ' + (height - 20) + 'l5 9h-10z'}/></g>`; })}
    <text class="lab" x="0" y=${height - 6}>${t('gpu.events')}</text>
    ${lanes.size > MOST && html`<text class="lab" x=${LEFT} y=${height - 6}>${t('gpu.more', { n: lanes.size - MOST })}</text>`}
  </svg></div>`;
}
