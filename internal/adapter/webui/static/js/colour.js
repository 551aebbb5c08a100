// SPDX-License-Identifier: Apache-2.0
// One colour for each cost owner (the namespace), the same on every page: the ten that
// cost most in the last week have one each, all others are neutral.
import { get } from './api.js';

// paper says whether the page is drawn for paper: in light colours, as wide as a sheet,
// and with all that would have to be scrolled to.
let printing = false;
export const paper = () => printing;
export function onPaper(draw) {
  const turn = (to) => () => { printing = to; draw(); };
  for (const [what, f] of [['beforeprint', turn(true)], ['afterprint', turn(false)]]) addEventListener(what, f);
}

const of = new Map();
let ready = null;
let count = 0;
// version changes with the colours: what was drawn with others is drawn again.
export const version = () => count;

export function loadColours() {
  if (ready) return ready;
  const HOUR = 3600000, to = Math.ceil(Date.now() / HOUR) * HOUR;
  const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+Z/, 'Z');
  ready = get('/report?by=namespace&top=10&from=' + iso(to - 31 * 24 * HOUR) + '&to=' + iso(to)).then((r) => {
    for (const s of r.sections) {
      for (const row of s.rows) if (row.class === 'workload' || row.keys.namespace) owner(row.keys.namespace);
    }
  }).catch(() => { ready = null; });
  return ready;
}

// offer names owners that no bill knows yet, the most important first.
export function offer(names) { for (const n of names) owner(n); }

function owner(name) {
  if (name && !of.has(name) && of.size < 10) { of.set(name, of.size); count++; }
}

// named are those of some owners that have a colour of their own, in the order of these.
export const named = (owners) => [...of.keys()].filter((name) => owners.has(name));

// colourOf is the class of an owner's colour: c0 to c9, or cx.
export function colourOf(namespace) {
  return of.has(namespace) ? 'c' + of.get(namespace) : 'cx';
}

export const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
