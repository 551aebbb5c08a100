// SPDX-License-Identifier: Apache-2.0
// Where one is, what time is looked at, and every filter: all of it is in the part of
// the address after #, so that a link says it all.
const listeners = new Set();

export function where() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  return { page: page || 'fleet', arg: plain(rest.join('/')), q: new URLSearchParams(query) };
}

// plain is a part of an address as it was meant; what nobody can read stays as it is.
function plain(text) { try { return decodeURIComponent(text); } catch { return text; } }

export function link(page, arg, q) {
  const kept = new URLSearchParams();
  for (const [k, v] of Object.entries(q || {})) if (v !== undefined && v !== null && v !== '') kept.set(k, v);
  const text = kept.toString();
  return '#/' + page + (arg ? '/' + encodeURIComponent(arg) : '') + (text ? '?' + text : '');
}

// set changes some of the query; undefined or '' takes a key away.
export function set(changes, replace) {
  const w = where();
  const q = Object.fromEntries(w.q);
  for (const [k, v] of Object.entries(changes)) q[k] = v;
  const to = link(w.page, w.arg, q);
  if (replace) history.replaceState(null, '', to); else history.pushState(null, '', to);
  tell();
}

export function onChange(f) { listeners.add(f); return () => listeners.delete(f); }
export function tell() { for (const f of listeners) f(); }
addEventListener('hashchange', tell);
addEventListener('popstate', tell);

const HOUR = 3600000;
export const ranges = { '1h': HOUR, '6h': 6 * HOUR, '24h': 24 * HOUR, '7d': 7 * 24 * HOUR, '30d': 30 * 24 * HOUR };

// span is the time that is looked at: {from, to} in ms, and month where it is one. A time
// that nobody can read is the standard one.
export function span(q, standard) {
  const month = q.get('month');
  const first = Date.parse(month + '-01T00:00:00Z');
  if (month && !isNaN(first)) {
    const from = first;
    const d = new Date(from);
    return { from, to: Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 1), month };
  }
  const given = { from: Date.parse(q.get('from')), to: q.get('to') ? Date.parse(q.get('to')) : Date.now() };
  if (!isNaN(given.from) && !isNaN(given.to)) return given;
  const range = ranges[q.get('range')] ? q.get('range') : standard;
  const to = Date.now();
  return { from: to - ranges[range], to, range };
}

const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
export const moments = (s) => 'from=' + iso(s.from) + '&to=' + iso(s.to);
// hours is the time in whole hours of UTC, as the ledger counts.
export function hours(s) {
  if (s.month) return 'month=' + s.month;
  return 'from=' + iso(Math.floor(s.from / HOUR) * HOUR) + '&to=' + iso(Math.ceil(s.to / HOUR) * HOUR);
}
// flags are the time as the program takes it.
export function flags(s) {
  if (s.month) return '--month ' + s.month;
  const h = hourSpan(s);
  return s.range ? '--since ' + s.range : '--from ' + h.from + ' --to ' + h.to;
}
export function hourSpan(s) { return { from: iso(Math.floor(s.from / HOUR) * HOUR), to: iso(Math.ceil(s.to / HOUR) * HOUR) }; }
// kept is what goes along from page to page: the time.
export function kept(q) {
  const out = {};
  for (const k of ['range', 'from', 'to', 'month']) if (q.get(k)) out[k] = q.get(k);
  return out;
}
export { iso };
