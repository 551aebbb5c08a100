// SPDX-License-Identifier: Apache-2.0
// Series over time with uPlot: stacked areas with gaps as gaps, and lines. Dragging
// picks a time.
import { html, useEffect, useLayoutEffect, useRef, useState } from './lib.js';
import { cssColour, paper } from './colour.js';
import { t } from './i18n.js';
import { shortTime, dates } from './format.js';

export const LEFT = 74, RIGHT = 28;
// SHEET is how wide A4 is within its margins.
const SHEET = 686;

// stack adds series up, from the bottom: null where any of them is unknown.
export function stack(series) {
  const sum = [];
  return series.map((s) => s.map((v, i) => (v === null || sum[i] === null ? (sum[i] = null) : (sum[i] = (sum[i] || 0) + v))));
}

// The library is as large as all the rest, and the first page has no plot: it is fetched
// when one is drawn.
let library = null;
const load = () => { library ||= import('../vendor/uplot-1.6.32.js').then((m) => m.default, (error) => { library = null; throw error; }); return library; };

// hatch is a pattern in a colour on the panel's, so that nothing below shows through.
function hatch(ctx, colour) {
  const p = document.createElement('canvas');
  p.width = p.height = 8;
  const c = p.getContext('2d');
  c.fillStyle = cssColour('panel'); c.fillRect(0, 0, 8, 8);
  c.strokeStyle = colour; c.lineWidth = 2;
  c.beginPath(); c.moveTo(-2, 2); c.lineTo(2, -2); c.moveTo(0, 8); c.lineTo(8, 0); c.moveTo(6, 10); c.lineTo(10, 6); c.stroke();
  return ctx.createPattern(p, 'repeat');
}

// Plot draws series: [{label, values, colour, fill, dash, hatched}] over times (seconds).
// With stacked, they are areas on one another.
export function Plot({ times, series, stacked, height, binary, format, max, theme, onZoom, sync, label, step, from, to }) {
  const box = useRef(), plot = useRef();
  const [uPlot, setLibrary] = useState(null);
  useEffect(() => { load().then((x) => setLibrary(() => x), () => {}); }, []);
  // Before the page is shown or printed, and not after.
  useLayoutEffect(() => {
    if (!uPlot) return undefined;
    const stepped = uPlot.paths.stepped({ align: 1 });
    const el = box.current, wide = () => (paper() ? SHEET : el.clientWidth), tip = document.createElement('div');
    tip.className = 'tip'; tip.hidden = true;
    const line = cssColour('line'), soft = cssColour('soft');
    const values = stacked ? stack(series.map((s) => s.values)) : series.map((s) => s.values);
    // The highest is drawn first, so that each covers what is below it.
    const order = series.map((_, i) => i);
    if (stacked) order.reverse();
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: '11px system-ui, sans-serif' };
    const end = times.length ? times[times.length - 1] + step : 0;
    const u = new uPlot({
      width: wide(), height, padding: [8, RIGHT, 0, 0], legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, sync: sync ? { key: sync } : undefined, points: { show: false } },
      select: { show: true },
      scales: { x: { time: true, range: () => [from ?? times[0], to ?? end] }, y: { range: (_, lo, hi) => [0, max || (hi || 1) * 1.02] } },
      axes: [{ ...axis, space: 84, values: (_, ticks) => labels(ticks) }, { ...axis, size: LEFT, ...(binary ? { incrs: [1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64].map((n) => n * 1024 ** 3) } : {}), values: (_, ticks) => ticks.map((v) => (v === null ? '' : format(v))) }],
      series: [{}, ...order.map((i) => {
        const s = series[i], c = s.css || cssColour(s.colour);
        return { label: s.label, stroke: stacked ? cssColour('panel') : c, width: stacked ? 0.6 : 1.6, dash: s.dash, spanGaps: false, paths: stacked || s.stepped ? stepped : undefined, points: { show: false },
          fill: stacked ? (x) => (s.hatched ? hatch(x.ctx, c) : c) : undefined };
      })],
      hooks: { setCursor: [(x) => say(tip, x, series, times, format)], setSelect: [(x) => { if (x.select.width > 4 && onZoom) onZoom(x.posToVal(x.select.left, 'x'), x.posToVal(x.select.left + x.select.width, 'x')); }] },
    }, [[...times, end], ...order.map((i) => [...values[i], values[i].length ? values[i][values[i].length - 1] : null])], el);
    plot.current = u;
    u.over.append(tip);
    u.over.addEventListener('mouseleave', () => { tip.hidden = true; });
    const fit = () => u.setSize({ width: wide(), height });
    addEventListener('resize', fit);
    return () => { removeEventListener('resize', fit); u.destroy(); };
  }, [uPlot, times, series, theme, height]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${(el) => { box.current = el; if (el) el.style.minHeight = height + 'px'; }}></div>`;
}

// most is how many values a note has room for.
const most = 14;

// say tells the values under the pointer. Unknown is a word, and what is nothing is
// left out.
function say(tip, u, series, times, format) {
  const i = u.cursor.idx, left = u.cursor.left;
  tip.hidden = i === null || i === undefined || left < 0 || i >= times.length;
  if (tip.hidden) return;
  const rows = series.filter((s) => s.values[i] !== 0).reverse();
  const known = rows.some((s) => s.values[i] !== null);
  tip.replaceChildren();
  const add = (text, colour, strong) => {
    const row = document.createElement(strong ? 'strong' : 'div');
    if (colour) { const chip = document.createElement('span'); chip.className = 'chip'; chip.style.background = cssColour(colour); row.append(chip); }
    row.append(text);
    tip.append(row);
  };
  add(shortTime(times[i] * 1000), '', true);
  if (!known) add(rows.length ? t('unknown') : format(0));
  else {
    for (const s of rows.slice(0, most)) if (s.values[i] !== null) add(s.label + '  ' + format(s.values[i]) + (s.grade ? ' · ' + s.grade : ''), s.colour);
    if (rows.length > most) add('+ ' + (rows.length - most));
  }
  const right = left > u.over.clientWidth / 2;
  tip.style.left = right ? 'auto' : left + 14 + 'px';
  tip.style.right = right ? u.over.clientWidth - left + 14 + 'px' : 'auto';
  tip.style.top = '4px';
}

function labels(ticks) {
  let before = '';
  const day = dates({ month: 'short', day: 'numeric' }), clock = dates({ hour: '2-digit', minute: '2-digit' });
  const wide = ticks.length > 1 && ticks[1] - ticks[0] >= 86400;
  return ticks.map((s) => {
    const d = day.format(new Date(s * 1000)), text = wide ? d : (d !== before ? d + '\n' : '') + clock.format(new Date(s * 1000));
    before = d;
    return text;
  });
}
