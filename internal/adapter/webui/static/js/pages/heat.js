// SPDX-License-Identifier: Apache-2.0
// A heat map of bars: every GPU of a large fleet on one canvas, node after node.
import { html, useLayoutEffect, useRef, useState } from '../lib.js';
import { t } from '../i18n.js';
import { link } from '../state.js';
import { number } from '../format.js';
import { paint, describe } from '../bar.js';
import { cssColour } from '../colour.js';

const names = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9', 'cx', 'reserve', 'unattr', 'free', 'bad', 'soft', 'line'];

// SLICE is for how many milliseconds of a frame what is not in view is painted.
const SLICE = 8;

// Picture keeps what stands on a canvas: of a newer list only the bars that changed are
// painted again, those in view first, the others a slice for each frame.
class Picture {
  list = []; done = []; columns = 1; w = 1; h = 1; look = ''; frame = 0; bars = 0; first = true;

  show(canvas, list, theme) {
    const width = canvas.clientWidth, scale = devicePixelRatio || 1;
    this.list = list;
    if (!width) return;
    const few = list.length < 1500, w = few ? 44 : 24, h = few ? 12 : 7;
    const columns = Math.max(1, Math.floor(width / w)), rows = Math.ceil(list.length / columns), look = [theme, width, scale, w, rows].join();
    Object.assign(this, { canvas, columns, w, h, rows });
    if (look !== this.look) {
      canvas.width = width * scale; canvas.height = rows * h * scale;
      canvas.style.height = rows * h + 'px';
      this.c = canvas.getContext('2d');
      this.c.scale(scale, scale);
      this.colours = Object.fromEntries(names.map((k) => [k, cssColour(k)]));
      this.look = look; this.done = [];
    }
    for (let i = list.length; i < this.done.length; i++) this.clear(i);
    this.done.length = Math.min(this.done.length, list.length);
    this.bars = 0;
    this.view();
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => setTimeout(() => { if (this.first) this.say('fleet-view'); this.rest(0); }));
  }

  // say leaves a mark for whoever measures: when, and after how many bars.
  say(what) {
    performance.clearMarks(what);
    performance.mark(what, { detail: { bars: this.bars } });
  }

  // view paints the rows that can be seen.
  view() {
    if (!this.c) return;
    const box = this.canvas.parentNode.getBoundingClientRect(), top = this.canvas.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor((Math.max(box.top, 0) - top) / this.h)), to = Math.min(this.rows, Math.ceil((Math.min(box.bottom, innerHeight) - top) / this.h));
    this.cells(from * this.columns, to * this.columns);
  }

  // rest paints all others from a place on.
  rest(from) {
    const at = this.cells(from, this.list.length, performance.now() + SLICE);
    if (at < this.list.length) this.frame = requestAnimationFrame(() => this.rest(at));
    else { this.say(this.first ? 'fleet-painted' : 'fleet-updated'); this.first = false; }
  }

  // cells paints from one cell to another, until a moment, and says how far it came.
  cells(from, to, until) {
    const { c, list, done, columns, w, h } = this;
    for (let i = from; i < Math.min(to, list.length); i++) {
      if (done[i] === list[i].g) continue;
      if (i in done) this.clear(i);
      paint(c, list[i].g, (i % columns) * w, Math.floor(i / columns) * h, w - 2, h - 2, this.colours);
      done[i] = list[i].g;
      this.bars++;
      if (until && i % 64 === 63 && performance.now() > until) return i + 1;
    }
    return list.length;
  }

  clear(i) { this.c.clearRect((i % this.columns) * this.w - 1, Math.floor(i / this.columns) * this.h - 1, this.w, this.h); }

  whole() { if (this.c) this.cells(0, this.list.length); }
}

export function Heat({ nodes, theme }) {
  const canvas = useRef(), picture = useRef(null);
  if (!picture.current) picture.current = new Picture();
  const [tip, setTip] = useState(null);
  useLayoutEffect(() => { picture.current.show(canvas.current, nodes.flatMap((n) => n.shown.map(({ g }) => ({ n, g }))), theme); }, [nodes, theme]);
  useLayoutEffect(() => {
    const p = picture.current, wide = () => p.show(canvas.current, p.list, theme), all = () => p.whole(), box = canvas.current.parentNode, seen = () => p.view();
    const on = [[window, 'resize', wide], [window, 'beforeprint', all], [window, 'scroll', seen], [box, 'scroll', seen]];
    for (const [of, what, f] of on) of.addEventListener(what, f, { passive: true });
    return () => { cancelAnimationFrame(p.frame); for (const [of, what, f] of on) of.removeEventListener(what, f); };
  }, [theme]);
  const at = (e) => {
    const r = canvas.current.getBoundingClientRect(), { list, columns, w, h } = picture.current;
    const x = Math.floor((e.clientX - r.left) / w), y = Math.floor((e.clientY - r.top) / h);
    return x < columns ? list[y * columns + x] : undefined;
  };
  const count = nodes.reduce((n, x) => n + x.shown.length, 0);
  return html`<div class="panel heat"><h2>${t('heat.title', { n: number(count) })}</h2>
    <div class="heatbox" tabindex="0" role="group" aria-label=${t('heat.title', { n: number(count) })}><canvas ref=${canvas} role="img" aria-label=${t('heat.label', { n: number(count) })} onMouseMove=${(e) => { const x = at(e); setTip(x && { ...x, x: e.clientX, y: e.clientY }); }} onMouseLeave=${() => setTip(null)} onClick=${(e) => { const x = at(e); if (x) location.hash = link('gpu', x.g.uuid, { node: x.n.node }); }}></canvas></div>
    ${tip && html`<div class="tip" ref=${(el) => { if (el) { el.style.left = Math.min(tip.x + 12, innerWidth - 380) + 'px'; el.style.top = tip.y + 14 + 'px'; } }}><strong>${tip.n.node}</strong><div class="mono">${tip.g.uuid}</div>${describe(tip.g)}</div>`}</div>`;
}
