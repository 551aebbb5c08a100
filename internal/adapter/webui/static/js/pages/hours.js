// SPDX-License-Identifier: Apache-2.0
// What a workload did, hour by hour: a strip of its classes. The height says how much
// was asked of the GPU, so that the colour is not needed to read it.
import { html, useMemo } from '../lib.js';
import { t, has } from '../i18n.js';
import { number, shortTime, percent } from '../format.js';

// looks: a colour and a height for each class, the least work first.
const looks = {
  unknown: ['unattr', 1], unused: ['free', 0.12], empty: ['cx', 0.25], waiting: ['c6', 0.4], busy: ['c0', 0.7], mixed: ['c0', 0.8],
  'launch-bound': ['c4', 0.7], 'memory-bound': ['c2', 1], 'compute-bound': ['c5', 1], 'suspect-stall': ['c1', 1],
};
const name = (c) => (has('does.' + c) ? t('does.' + c) : c);

// strips are the classes of each hour by time, and how long each class was.
function strips(list, from, to) {
  const n = Math.max(1, Math.round((to - from) / 3600000)), at = Array.from({ length: n }, () => ({})), sums = {};
  for (const h of list) {
    const i = Math.round((Date.parse(h.start) - from) / 3600000);
    if (i >= 0 && i < n) at[i][h.class] = (at[i][h.class] || 0) + h.duration_ms;
    sums[h.class] = (sums[h.class] || 0) + h.duration_ms;
  }
  const most = at.map((x) => Object.keys(x).reduce((a, c) => (a && x[a] >= x[c] ? a : c), ''));
  return { most, sums: Object.keys(looks).filter((c) => sums[c]).map((c) => [c, sums[c]]) };
}

export function Hours({ data, from, to }) {
  const d = useMemo(() => (data ? strips(data.hours, from, to) : null), [data]);
  if (!d || !d.sums.length) return null;
  const all = d.sums.reduce((n, [, ms]) => n + ms, 0), w = 1000 / d.most.length;
  return html`<div class="panel"><h2>${t('work.hours')}</h2><p class="small soft">${t('work.hours.why')} <a href="#/utilization">${t('page.utilization')}</a></p>
    <ul class="legend">${d.sums.map(([c, ms]) => html`<li><span class=${'chip b-' + (looks[c] || looks.unknown)[0]}></span>${name(c)} ${number(ms / 3600000, 1)} h (${percent(ms / all)})</li>`)}</ul>
    <svg class="lanes strip" viewBox="0 0 1000 60" height="60" preserveAspectRatio="none" role="img" aria-label=${d.sums.map(([c, ms]) => name(c) + ' ' + number(ms / 3600000, 1) + ' h').join(', ')}>
      ${d.most.map((c, i) => { const l = looks[c] || looks.unknown; return c && html`<rect class=${'f-' + l[0]} x=${i * w} width=${Math.max(w - (w > 4 ? 0.6 : 0), 0.5)} y=${58 - 56 * l[1]} height=${56 * l[1]}><title>${shortTime(from + i * 3600000)}: ${name(c)}</title></rect>`; })}</svg></div>`;
}
