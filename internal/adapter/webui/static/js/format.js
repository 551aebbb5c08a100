// SPDX-License-Identifier: Apache-2.0
// Figures as people read them, each with its unit. Money stays the exact decimal
// string of the API: it is grouped and cut, never turned into a float.
import { locale, t } from './i18n.js';

const GiB = 1024 ** 3;
export const unknown = '—';

// To make one of the browser's formats takes a hundred times as long as to use it, and
// a page of a large fleet has thousands of figures: each is made once.
const made = new Map();
function format(kind, options) {
  const key = kind.name + locale() + (options ? JSON.stringify(options) : '');
  if (!made.has(key)) made.set(key, new kind(locale(), options));
  return made.get(key);
}
const numbers = (digits) => format(Intl.NumberFormat, { minimumFractionDigits: digits, maximumFractionDigits: digits });
// inOrder sorts names as the language does.
export const inOrder = (a, b) => format(Intl.Collator).compare(a, b);
export const dates = (options) => format(Intl.DateTimeFormat, options);

export function bytes(n) {
  if (n === null || n === undefined) return unknown;
  if (n >= 1024 * GiB) return number(n / GiB / 1024, 2) + ' TiB';
  if (n >= 10 * GiB) return number(n / GiB, 1) + ' GiB';
  if (n >= GiB) return number(n / GiB, 2) + ' GiB';
  return number(n / 1024 / 1024, 0) + ' MiB';
}

export function number(n, digits = 0) {
  if (n === null || n === undefined) return unknown;
  return numbers(digits).format(n);
}

export function percent(share, digits = 0) {
  if (share === null || share === undefined || !isFinite(share)) return unknown;
  return number(share * 100, digits) + ' %';
}

// part is a share of a whole: what is more than nothing is not said to be 0.0 %.
export const part = (share) => (share > 0 && share < 0.0005 ? '< ' + percent(0.001, 1) : percent(share, 1));

// compare is the sign of a − b of two decimal strings, exactly.
export function isZero(text) { return /^-?0*(\.0*)?$/.test(text || '0'); }

// money groups a decimal string and rounds it to two digits, half away from zero.
export function money(text, digits = 2) {
  if (text === null || text === undefined) return unknown;
  const negative = text.startsWith('-');
  let [whole, part = ''] = text.replace('-', '').split('.');
  const more = part.length > digits && part[digits] >= '5';
  let all = whole + part.padEnd(digits, '0').slice(0, digits);
  if (more) all = (BigInt(all) + 1n).toString().padStart(all.length, '0');
  whole = all.slice(0, all.length - digits);
  part = all.slice(all.length - digits);
  const grouped = numbers(0).format(BigInt(whole || '0'));
  return (negative && /[1-9]/.test(all) ? '−' : '') + grouped + (digits ? decimalPoint() + part : '');
}

function decimalPoint() {
  return numbers(1).formatToParts(1.5).find((p) => p.type === 'decimal').value;
}

// sums of decimal strings, exact: as nano-units in a BigInt.
export function nano(text) {
  if (!text) return 0n;
  const [whole, part = ''] = text.replace('-', '').split('.');
  const v = BigInt(whole + part.padEnd(9, '0').slice(0, 9));
  return text.startsWith('-') ? -v : v;
}
export function fromNano(v) {
  const negative = v < 0n;
  const text = (negative ? -v : v).toString().padStart(10, '0');
  return (negative ? '-' : '') + text.slice(0, -9) + '.' + text.slice(-9);
}

export function gpuHours(ms) { return ms === undefined ? unknown : number(ms / 3600000, 1) + ' GPU-h'; }

export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 90) return s + ' s';
  if (s < 5400) return Math.round(s / 60) + ' min';
  if (s < 172800) return number(s / 3600, s < 36000 ? 1 : 0) + ' h';
  return number(s / 86400, 0) + ' ' + t('unit.days');
}

export function time(ms) {
  return dates({ dateStyle: 'medium', timeStyle: 'short' }).format(new Date(ms));
}
export function shortTime(ms) {
  return dates({ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' }).format(new Date(ms));
}
export function day(ms) {
  return dates({ month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(ms));
}
// keyTime is the moment of a report's hour (2026-11-03T14Z) or day (2026-11-03).
export const keyTime = (key) => Date.parse(key.includes('T') ? key.replace(/Z$/, ':00Z') : key + 'T00:00:00Z');
export const grade = (g) => (g ? t('grade.' + g) : '');
// worse is the grade that is trusted less.
const ranks = ['', 'measured', 'derived', 'estimated', 'indivisible', 'skewed', 'unmeasured'];
export const worse = (a, b) => (ranks.indexOf(b) > ranks.indexOf(a) ? b : a);
export const shortUUID = (u) => (u.length > 16 && u.startsWith('GPU-') ? u.slice(0, 12) : u);
