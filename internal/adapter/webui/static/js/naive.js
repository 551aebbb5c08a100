// SPDX-License-Identifier: Apache-2.0
// What a dashboard that counts requests would bill, beside the ledger's own figures, and
// why the two differ. Money is whole billionths (BigInt) here, from the API's exact
// decimals: nothing is rounded but the naive amounts, each to a billionth.
import { nano } from './format.js';

const PARTS = ['mig', 'fraction'], WHOLE = ['exclusive', 'none', ''];

// ratio is a × b / c, rounded half away from zero.
function ratio(a, b, c) {
  const x = a * b * 2n, y = x < 0n ? x - c : x + c;
  return y / (2n * c);
}

// besides says that a row is of somebody who may stand on a GPU beside whoever was given
// it: what holds memory there without a grant, and what is lost. Idle, stranded and
// unmeasured time is where nobody was given anything.
const besides = (r) => (r.class === 'platform' ? ['overhead', 'unattributed', 'host', 'unavailable'].includes(r.account) : r.quantities.leaked_gpu_ms > 0);

// cardsOf are what each GPU cost in the time, how long it was there, and who
// else had a part of it. A GPU of which anything has no price has none.
function cardsOf(rows) {
  const cards = new Map();
  for (const r of rows) {
    if (!r.keys.gpu) continue;
    const c = cards.get(r.keys.gpu) || { cost: 0n, ms: 0n, priced: true, others: [] };
    if (!r.cost || (r.unpriced && r.unpriced.gpu_ms > 0)) c.priced = c.priced && r.quantities.gpu_ms === 0;
    const own = r.cost ? nano(r.cost.gpu) : 0n;
    c.cost += own;
    c.ms += BigInt(r.quantities.gpu_ms);
    if (own > 0n && besides(r)) c.others.push({ mode: r.keys.mode || '', who: r.class === 'platform' ? { account: r.account } : { leak: r.keys.namespace } });
    cards.set(r.keys.gpu, c);
  }
  return cards;
}

// reasonOf is why a row's two amounts differ: one reason for each row, so that a team's
// reasons come to its difference.
function reasonOf(r, naive, own) {
  const mode = r.keys.mode || '';
  if (naive === own) return 'same';
  if (own > naive) return r.quantities.granted_ms === 0 || r.quantities.leaked_gpu_ms > 0 ? 'leak' : 'more';
  if (PARTS.includes(mode)) return 'part';
  return WHOLE.includes(mode) ? 'others' : 'shared';
}

function take(x, r, naive, own, card) {
  x.naive += naive; x.own += own;
  const why = reasonOf(r, naive, own);
  const e = x.reasons.get(why) || { why, amount: 0n, others: new Map() };
  e.amount += naive - own;
  // Who else had a part of a GPU that was given whole: nobody asked for that part.
  if (why === 'others') {
    for (const o of card.others) if (o.mode === (r.keys.mode || '')) e.others.set(o.who.account || 'leak ' + o.who.leak, o.who);
  }
  x.reasons.set(why, e);
  for (const g of r.cost.grades || []) x.grades.set(g.name, (x.grades.get(g.name) || 0n) + nano(g.amount));
}

const size = (v) => (v < 0n ? -v : v);
const larger = (a, b) => (a > b ? 1 : a < b ? -1 : 0);

// bills sets one section of a report by gpu, mode, namespace and entry_kind (what is held
// without a grant apart) beside what is billed where everyone who was given a GPU, or a
// part of one, pays all of it for that time. Amounts are of GPUs only, in billionths.
export function bills(section) {
  const cards = cardsOf(section.rows), teams = new Map(), platform = new Map();
  const sum = { naive: 0n, own: 0n, assets: 0n };
  for (const r of section.rows) {
    const card = cards.get(r.keys.gpu);
    if (!card || !card.priced || !r.cost) continue;
    const own = nano(r.cost.gpu);
    sum.assets += own;
    if (r.class === 'platform') { platform.set(r.account, (platform.get(r.account) || 0n) + own); continue; }
    const naive = card.ms ? ratio(card.cost, BigInt(r.quantities.granted_ms), card.ms) : 0n;
    const name = r.keys.namespace || r.account || '';
    if (!teams.has(name)) teams.set(name, { name, naive: 0n, own: 0n, reasons: new Map(), grades: new Map() });
    take(teams.get(name), r, naive, own, card);
    sum.naive += naive; sum.own += own;
  }
  const list = [...teams.values()].filter((x) => x.naive || x.own).sort((a, b) => larger(size(b.naive - b.own), size(a.naive - a.own)));
  return { teams: list.map(told), platform, sum, unpriced: [...cards.values()].filter((c) => !c.priced).length };
}

// HALF_CENT: what is less rounds to nothing and is nothing to tell of.
export const HALF_CENT = 5000000n;
// told is a team with the reasons that come to at least a cent, the largest first; none
// is left where the two ways say the same.
function told(x) {
  const reasons = [...x.reasons.values()].filter((e) => size(e.amount) >= HALF_CENT).sort((a, b) => larger(size(b.amount), size(a.amount)));
  for (const e of reasons) e.others = [...e.others.values()];
  return { ...x, difference: x.naive - x.own, reasons, grades: [...x.grades].map(([name, amount]) => ({ name, amount: amount.toString() })) };
}
