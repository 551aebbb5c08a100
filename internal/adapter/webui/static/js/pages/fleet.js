// SPDX-License-Identifier: Apache-2.0
// Fleet: what is on my GPUs now, and what is wrong?
import { html, useState, useEffect, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { get } from '../api.js';
import { link, set, hours } from '../state.js';
import { bytes, number, percent, money, duration, time, unknown, inOrder } from '../format.js';
import { Head, Wait, Trouble, Empty, Fact } from '../parts.js';
import { Legend } from '../bar.js';
import { offer, loadColours, version, named, colourOf } from '../colour.js';
import { Heat } from './heat.js';
import { Levels } from './levels.js';

// Colours tells whose they are: those with one of their own, and how many share the neutral.
function Colours({ owners }) {
  const own = named(owners), others = owners.size - own.length;
  return owners.size > 0 && html`<ul class="legend"><li>${t('fleet.colours')}</li>${own.map((n) => html`<li><span class=${'chip b-' + colourOf(n)}></span>${n}</li>`)}
    ${others > 0 && html`<li><span class="chip b-cx"></span>${t('cost.others', { n: number(others) })}</li>`}</ul>`;
}

// AWAY is how old a node's newest record may be before the node counts as gone.
const POLL = 10000, AWAY = 3600000, PATIENCE = 300;

// useFleet polls, and takes over only the nodes that changed. Where none did, the list
// is the same again and nothing is drawn anew.
function useFleet() {
  const [state, setState] = useState({ loading: true, nodes: [] });
  useEffect(() => {
    let stopped = false, timer, revision = 0, list;
    const nodes = new Map(), began = performance.now(), key = (n) => (n.cluster || '') + '\0' + n.node;
    const round = async () => {
      try {
        const f = await get('/fleet' + (revision ? '?since=' + revision : ''));
        if (stopped) return;
        if (f.full) nodes.clear();
        for (const n of f.gone || []) nodes.delete(key(n));
        for (const n of f.nodes) nodes.set(key(n), n);
        revision = f.revision;
        const first = !list;
        if (first || f.full || f.nodes.length || f.gone) list = [...nodes.values()].sort((a, b) => inOrder(a.cluster || '', b.cluster || '') || inOrder(a.node, b.node));
        if (first) { await coloured(list, () => !stopped && setState((s) => ({ ...s }))); performance.measure('fleet-data', { start: began }); }
        setState({ nodes: list, now: Date.parse(f.now) });
      } catch (error) {
        if (!stopped) setState((s) => ({ ...s, loading: false, error }));
      }
      if (!stopped) timer = setTimeout(round, POLL);
    };
    round();
    return () => { stopped = true; clearTimeout(timer); };
  }, []);
  return state;
}

// coloured waits a little for the colours that the bill gives. Where the server takes
// longer, all is neutral until they are there, rather than in colours that change.
function coloured(nodes, late) {
  let waited = false;
  const there = loadColours().then(() => { offerOwners(nodes); if (waited) late(); });
  return Promise.race([there, new Promise((done) => { setTimeout(() => { waited = true; done(); }, PATIENCE); })]);
}

// offerOwners gives colours to those who hold most, where no bill knows them yet.
function offerOwners(nodes) {
  const held = new Map();
  for (const n of nodes) for (const g of n.gpus) for (const p of g.partitions) for (const h of p.holders || []) if (h.kind === 'pod' && h.namespace) held.set(h.namespace, (held.get(h.namespace) || 0) + (h.bytes || 1));
  offer([...held].sort((a, b) => b[1] - a[1] || inOrder(a[0], b[0])).map(([k]) => k));
}

function matches(text, n, g) {
  if (!text) return true;
  const has = (s) => s && s.toLowerCase().includes(text);
  if (has(n.node) || has(n.cluster) || has(g.uuid) || has(g.model)) return true;
  return g.partitions.some((p) => has(p.profile) || has(p.mode) || (p.holders || []).some((h) => has(h.namespace) || has(h.pod) || has(h.workload) || has(h.unit)));
}

// picked is a node with those of its GPUs that are looked for. The same node is the same
// again, so that what is made of it need not be made again.
const before = new WeakMap();
function picked(n, text) {
  const have = before.get(n);
  if (have && have.text === text) return have;
  const out = { ...n, text, shown: n.gpus.map((g, i) => ({ g, i })).filter(({ g }) => matches(text, n, g)) };
  before.set(n, out);
  return out;
}

// figures are what the fleet is, in sums.
function figures(nodes) {
  const f = { nodes: nodes.length, gpus: 0, capacity: 0, used: 0, free: 0, idle: 0, dark: 0, owners: new Set(), findings: { critical: 0, warning: 0, info: 0 } };
  for (const n of nodes) {
    for (const x of n.findings || []) f.findings[x.severity]++;
    for (const g of n.gpus) {
      f.gpus++;
      let held = false, seen = false;
      for (const p of g.partitions) {
        for (const h of p.holders || []) {
          if (h.kind === 'pod' || h.kind === 'host') held = true;
          if (h.kind === 'pod' && h.namespace) f.owners.add(h.namespace);
        }
        if (p.free_bytes === undefined) continue;
        seen = true;
        f.capacity += p.capacity_bytes;
        f.free += p.free_bytes;
        f.used += p.capacity_bytes - p.free_bytes;
      }
      if (!seen) f.dark++;
      else if (!held) f.idle++;
    }
  }
  return f;
}

// useCost is what the last whole hours cost: the newest that is rated.
function useCost() {
  const [cost, setCost] = useState({});
  useEffect(() => {
    let stopped = false;
    (async () => {
      try {
        const status = await get('/status');
        const to = status.rating.rated_to ? Date.parse(status.rating.rated_to) : 0;
        if (!to) { if (!stopped) setCost({ none: true }); return; }
        const all = await get('/report?' + hours({ from: to - 3600000, to }) + '&by=account');
        if (!stopped) setCost({ to, all });
      } catch (error) { if (!stopped) setCost({ error }); }
    })();
    return () => { stopped = true; };
  }, []);
  return cost;
}

function CostFacts({ cost }) {
  const sections = cost.all ? cost.all.sections.filter((s) => s.currency && s.total.cost) : [];
  if (!sections.length) return html`<${Fact} k=${t('fleet.cost')} v=${unknown} s=${cost.none || cost.all ? t('fleet.cost.none') : cost.error ? cost.error.message : t('loading')}/>`;
  const when = time(cost.to - 3600000);
  return sections.map((s) => {
    const row = s.rows.find((r) => r.keys.account === 'idle'), idle = row && row.cost ? row.cost.total : '0';
    return html`<${Fact} k=${t('fleet.cost')} v=${money(s.total.cost.total)} unit=${s.currency + ' / h'} s=${t('fleet.cost.when', { when })}/>
      <${Fact} k=${t('fleet.idle')} v=${percent(Number(idle) / Number(s.total.cost.total))} unit=${'= ' + money(idle) + ' ' + s.currency + ' / h'} s=${t('fleet.idle.why')}/>`;
  });
}

export function Fleet({ q, theme }) {
  const fleet = useFleet(), cost = useCost();
  const text = (q.get('search') || '').toLowerCase();
  const now = fleet.now || Date.now();
  // What was not heard of for long is told apart, and counts for nothing of now.
  const old = (n) => now - Date.parse(n.at) > AWAY + n.duration_ms, gone = fleet.nodes.filter(old).length;
  const [here, away] = useMemo(() => [fleet.nodes.filter((n) => !old(n)), fleet.nodes.filter(old)], [fleet.nodes, gone]);
  const shown = useMemo(() => here.map((n) => picked(n, text)).filter((n) => n.shown.length || (!text && !n.gpus.length)), [here, text]);
  const f = useMemo(() => figures(here), [here]);
  // Large fleets are closed to begin with, what is looked for is open.
  const small = f.gpus <= 64 || !!text, parts = (q.get('open') || '').split(',').filter(Boolean).map(decodeURIComponent), key = parts.join();
  const turned = useMemo(() => new Set(parts), [key]);
  const turn = (at) => { const next = new Set(turned); if (!next.delete(at)) next.add(at); set({ open: [...next].map(encodeURIComponent).join(',') }, true); };
  const grave = f.findings.critical + f.findings.warning;
  return html`<${Head} title=${t('page.fleet')} question=${t('fleet.question')}>
      <label class="vh" for="search">${t('fleet.search')}</label><input id="search" type="search" size="34" placeholder=${t('fleet.search')} value=${q.get('search') || ''} onInput=${(e) => set({ search: e.target.value, open: '' }, true)}/>
    <//><${Wait} on=${fleet.loading} what=${t('fleet.loading')}/><${Trouble} error=${fleet.error}/>
    <div class="facts">
      <${Fact} k=${t('fleet.gpus')} v=${number(f.gpus)} s=${t('fleet.nodes', { nodes: number(f.nodes) }) + (f.dark ? ' · ' + t('fleet.dark', { n: f.dark }) : '')}/>
      <${Fact} k=${t('fleet.memory')} v=${f.capacity ? percent(f.used / f.capacity) : unknown} s=${f.capacity ? t('fleet.memory.why', { used: bytes(f.used), all: bytes(f.capacity) }) : t('unknown')}/>
      <${Fact} k=${t('fleet.empty')} v=${number(f.idle)} unit=${'/ ' + number(f.gpus)} s=${t('fleet.empty.why')}/>
      <${CostFacts} cost=${cost}/>
      <${Fact} k=${t('fleet.findings')} v=${html`<a href=${link('guardrails')}>${number(grave)}</a>`} s=${t('fleet.findings.why', { critical: f.findings.critical, warning: f.findings.warning })}/>
    </div>
    ${!fleet.loading && !fleet.error && !fleet.nodes.length && html`<${Empty} title=${t('fleet.none')}><p>${t('fleet.none.how')}</p><p><code>helm install gputally deploy/chart --namespace gputally --set cluster=my-cluster</code></p><p><code>gputally-agent --server URL --cluster NAME</code></p><//>`}
    ${fleet.nodes.length > 0 && html`<${Colours} owners=${f.owners}/><${Legend}/>
      <ul class="legend"><li>${t('signals.legend')}</li>${['busy', 'sm', 'tensor', 'dram'].map((k) => html`<li><span class="chip" ref=${(el) => el && (el.style.background = 'var(--s-' + k + ')')}></span>${t('signal.' + k)}</li>`)}</ul>`}
    ${f.gpus > 64 && html`<${Heat} nodes=${shown} theme=${theme + version()}/>`}
    ${text && !shown.length && fleet.nodes.length > 0 && html`<${Empty} title=${t('fleet.nomatch', { text: q.get('search') })}><button onClick=${() => set({ search: '' })}>${t('fleet.clear')}</button><//>`}
    ${shown.length > 0 && html`<${Levels} nodes=${shown} now=${now} small=${small} turned=${turned} turn=${turn}/>`}
    ${away.length > 0 && html`<div class="panel"><h2>${t('fleet.away', { n: number(away.length) })}</h2><p class="soft small">${t('fleet.away.why')}</p><ul class="away">${away.map((n) => html`<li>${n.node} <span class="soft small">${(n.cluster || '') + ' · ' + t('level.gpus', { n: number(n.gpus.length) }) + ' · ' + t('fleet.age', { age: duration(now - Date.parse(n.at)) })}</span></li>`)}</ul></div>`}`;
}
