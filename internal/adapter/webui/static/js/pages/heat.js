// SPDX-License-Identifier: Apache-2.0
// A heat map of bars: every GPU of a large fleet on one canvas, node after node.
import { html, useEffect, useRef, useState } from '../lib.js';
import { t } from '../i18n.js';
import { link } from '../state.js';
import { number } from '../format.js';
import { paint, describe } from '../bar.js';
import { cssColour } from '../colour.js';

const names = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9', 'cx', 'reserve', 'unattr', 'free', 'bad', 'soft', 'line'];

export function Heat({ nodes, theme }) {
  const canvas = useRef();
  const cells = useRef({ list: [], columns: 1, w: 1, h: 1 });
  const [tip, setTip] = useState(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const look = () => canvas.current && setWidth(canvas.current.clientWidth);
    look();
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  useEffect(() => {
    if (!width) return;
    const list = nodes.flatMap((n) => n.shown.map(({ g }) => ({ n, g })));
    const few = list.length < 1500, w = few ? 44 : 24, h = few ? 12 : 7;
    const columns = Math.max(1, Math.floor(width / w)), rows = Math.ceil(list.length / columns);
    const el = canvas.current, scale = devicePixelRatio || 1;
    el.width = width * scale; el.height = rows * h * scale;
    el.style.height = rows * h + 'px';
    const c = el.getContext('2d');
    c.scale(scale, scale);
    const colours = Object.fromEntries(names.map((k) => [k, cssColour(k)]));
    list.forEach(({ g }, i) => paint(c, g, (i % columns) * w, Math.floor(i / columns) * h, w - 2, h - 2, colours));
    cells.current = { list, columns, w, h };
    performance.mark('fleet-painted');
  }, [nodes, width, theme]);
  const at = (e) => {
    const r = canvas.current.getBoundingClientRect(), { list, columns, w, h } = cells.current;
    const x = Math.floor((e.clientX - r.left) / w), y = Math.floor((e.clientY - r.top) / h);
    return x < columns ? list[y * columns + x] : undefined;
  };
  const count = nodes.reduce((n, x) => n + x.shown.length, 0);
  return html`<div class="panel heat"><h2>${t('heat.title', { n: number(count) })}</h2>
    <div class="heatbox" tabindex="0" role="group" aria-label=${t('heat.title', { n: number(count) })}><canvas ref=${canvas} role="img" aria-label=${t('heat.label', { n: number(count) })} onMouseMove=${(e) => { const x = at(e); setTip(x && { ...x, x: e.clientX, y: e.clientY }); }} onMouseLeave=${() => setTip(null)} onClick=${(e) => { const x = at(e); if (x) location.hash = link('gpu', x.g.uuid, { node: x.n.node }); }}></canvas></div>
    ${tip && html`<div class="tip" ref=${(el) => { if (el) { el.style.left = Math.min(tip.x + 12, innerWidth - 380) + 'px'; el.style.top = tip.y + 14 + 'px'; } }}><strong>${tip.n.node}</strong><div class="mono">${tip.g.uuid}</div>${describe(tip.g)}</div>`}</div>`;
}
