// SPDX-License-Identifier: Apache-2.0
// Fleet: what is on my GPUs now, and what is wrong?
import { html, useState, useEffect, useRef, useMemo, useLayoutEffect } from '../lib.js';
import { t, locale } from '../i18n.js';
import { get } from '../api.js';
import { link, set, hours } from '../state.js';
import { bytes, number, percent, money, duration, shortUUID, unknown } from '../format.js';
import { Head, Wait, Trouble, Empty, Fact } from '../parts.js';
import { Bar, Signals, Legend, nameOf, describe, signalText } from '../bar.js';
import { offer, loadColours } from '../colour.js';
import { Heat } from './heat.js';

const POLL = 10000;

// useFleet polls, and takes over only the nodes that changed.
function useFleet() {
  const [state, setState] = useState({ loading: true, nodes: [] });
  useEffect(() => {
    let stopped = false, timer, revision = 0, began = performance.now();
    const nodes = new Map();
    const round = async () => {
      try {
        const f = await get('/fleet' + (revision ? '?since=' + revision : ''));
        if (stopped) return;
        if (f.full) nodes.clear();
        for (const n of f.nodes) nodes.set((n.cluster || '') + '\0' + n.node, n);
        revision = f.revision;
        const list = [...nodes.values()].sort((a, b) => (a.cluster || '').localeCompare(b.cluster || '') || a.node.localeCompare(b.node));
        if (began) { await Promise.race([loadColours(), new Promise((done) => { setTimeout(done, 1500); })]); offerOwners(list); performance.measure('fleet-data', { start: began }); began = 0; }
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

// offerOwners gives colours to those who hold most, where no bill knows them yet.
function offerOwners(nodes) {
  const held = new Map();
  for (const n of nodes) for (const g of n.gpus) for (const p of g.partitions) for (const h of p.holders || []) if (h.kind === 'pod' && h.namespace) held.set(h.namespace, (held.get(h.namespace) || 0) + (h.bytes || 1));
  offer([...held].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([k]) => k));
}

function matches(text, n, g) {
  if (!text) return true;
  const has = (s) => s && s.toLowerCase().includes(text);
  if (has(n.node) || has(n.cluster) || has(g.uuid) || has(g.model)) return true;
  return g.partitions.some((p) => has(p.profile) || has(p.mode) || (p.holders || []).some((h) => has(h.namespace) || has(h.pod) || has(h.workload) || has(h.unit)));
}

// figures are what the fleet is, in sums.
function figures(nodes) {
  const f = { nodes: nodes.length, gpus: 0, capacity: 0, used: 0, free: 0, idle: 0, dark: 0, findings: { critical: 0, warning: 0, info: 0 } };
  for (const n of nodes) {
    for (const x of n.findings || []) f.findings[x.severity]++;
    for (const g of n.gpus) {
      f.gpus++;
      let held = false, seen = false;
      for (const p of g.partitions) {
        if ((p.holders || []).some((h) => h.kind === 'pod' || h.kind === 'host')) held = true;
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
        const r = await get('/report?' + hours({ from: to - 3600000, to }) + '&by=account&where=account%3Didle');
        const all = await get('/report?' + hours({ from: to - 3600000, to }));
        if (!stopped) setCost({ to, all, idle: r });
      } catch (error) { if (!stopped) setCost({ error }); }
    })();
    return () => { stopped = true; };
  }, []);
  return cost;
}

function CostFacts({ cost }) {
  const sections = cost.all ? cost.all.sections.filter((s) => s.currency && s.total.cost) : [];
  if (!sections.length) return html`<${Fact} k=${t('fleet.cost')} v=${unknown} s=${cost.none || cost.all ? t('fleet.cost.none') : cost.error ? cost.error.message : t('loading')}/>`;
  const when = new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(cost.to - 3600000));
  return sections.map((s) => {
    const idle = cost.idle.sections.find((x) => x.currency === s.currency);
    const share = idle && idle.total.cost ? Number(idle.total.cost.total) / Number(s.total.cost.total) : 0;
    return html`<${Fact} k=${t('fleet.cost')} v=${money(s.total.cost.total)} unit=${s.currency + ' / h'} s=${t('fleet.cost.when', { when })}/>
      <${Fact} k=${t('fleet.idle')} v=${percent(share)} unit=${'= ' + money(idle && idle.total.cost ? idle.total.cost.total : '0') + ' ' + s.currency + ' / h'} s=${t('fleet.idle.why')}/>`;
  });
}

function Tile({ n, g, i }) {
  const whole = g.partitions.filter((p) => !p.mig_parent);
  const holders = whole.flatMap((p) => (p.holders || []).map((h) => ({ h, p })));
  const cap = whole.reduce((a, p) => a + (p.capacity_bytes || 0), 0), free = whole.reduce((a, p) => a + (p.free_bytes || 0), 0);
  const lost = whole.find((p) => p.state !== 'measured');
  const names = holders.map(({ h }) => nameOf(h) + (h.leak ? ' ⚠ ' + t('bar.leak') : ''));
  const pods = [...new Set(names)];
  return html`<a class="gpu" href=${link('gpu', g.uuid, { node: n.node })} title=${describe(g)}>
    <div class="l"><span>${i} · ${g.model ? g.model.replace('NVIDIA ', '') : shortUUID(g.uuid)}${g.partitions.some((p) => p.key) ? ' · MIG' : whole[0] && whole[0].mode !== 'none' ? ' · ' + whole[0].mode : ''}</span>
    <span>${lost && whole.every((p) => p.state !== 'measured') ? html`<strong>${t('state.' + lost.state)}</strong>` : cap ? bytes(cap - free) + ' / ' + bytes(cap) : unknown}</span></div>
    <${Bar} gpu=${g}/><${Signals} s=${g.signals}/>
    <div class="w">${pods.length ? pods.join(', ') : lost ? lost.reason || t('state.' + lost.state) : t('fleet.nobody')}</div></a>`;
}

const HEAD = 30, TILE = 100, CLUSTER = 44;

// rowsOf are the rows of the list with where each stands: a cluster's head, or a node.
function rowsOf(nodes, columns) {
  const rows = [];
  let y = 0, cluster = null;
  for (const n of nodes) {
    if (n.cluster !== cluster) {
      cluster = n.cluster;
      const of = nodes.filter((x) => x.cluster === cluster);
      rows.push({ y, height: CLUSTER, cluster: cluster || '', nodes: of.length, gpus: of.reduce((a, x) => a + x.shown.length, 0) });
      y += CLUSTER;
    }
    const height = HEAD + Math.max(1, Math.ceil(n.shown.length / columns)) * TILE + 10;
    rows.push({ y, height, n });
    y += height;
  }
  return { rows, height: y };
}

// List draws only what is on the screen.
function List({ nodes, now }) {
  const box = useRef();
  const [view, setView] = useState({ top: 0, bottom: 1200, width: 1400 });
  useLayoutEffect(() => {
    const look = () => {
      if (!box.current) return;
      const r = box.current.getBoundingClientRect();
      setView((v) => (Math.abs(v.top + r.top) < 60 && v.width === r.width ? v : { top: -r.top, bottom: -r.top + innerHeight, width: r.width }));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => { removeEventListener('scroll', look); removeEventListener('resize', look); };
  }, [nodes.length > 0]);
  const columns = Math.max(1, Math.floor((view.width + 12) / 312));
  const { rows, height } = useMemo(() => rowsOf(nodes, columns), [nodes, columns]);
  const seen = rows.filter((r) => r.y + r.height > view.top - 400 && r.y < view.bottom + 400);
  return html`<div class="virtual" ref=${(el) => { box.current = el; if (el) el.style.height = height + 'px'; }}>
    ${seen.map((r) => html`<section class="node" key=${r.n ? r.n.cluster + '/' + r.n.node : 'c' + r.cluster} ref=${(el) => el && (el.style.top = r.y + 'px')}>
      ${r.n ? html`<${NodeHead} n=${r.n} now=${now}/><div class="gpus" ref=${(el) => el && (el.style.gridTemplateColumns = 'repeat(' + columns + ', minmax(0, 1fr))')}>${r.n.shown.map(({ g, i }) => html`<${Tile} key=${g.uuid} n=${r.n} g=${g} i=${i}/>`)}</div>`
      : html`<div class="cluster"><h2>${r.cluster || t('fleet.nocluster')}</h2><span class="soft">${t('fleet.of', { nodes: number(r.nodes), gpus: number(r.gpus) })}</span></div>`}
    </section>`)}</div>`;
}

function NodeHead({ n, now }) {
  const age = now - Date.parse(n.at), stale = age > 5 * 60000 + n.duration_ms;
  const grave = (n.findings || []).filter((f) => f.severity !== 'info').length;
  return html`<div class="nh"><h3>${n.node}</h3><span class="soft small">${n.instance_type || ''}</span>
    <span class="small soft">${t('fleet.age', { age: duration(age) })}</span>${stale && html`<span class="tag warning">${t('fleet.stale')}</span>`}
    ${n.cordoned && html`<span class="tag">${t('fleet.cordoned')}</span>`}${n.gap && html`<span class="tag warning">${n.gap}</span>`}
    ${grave > 0 && html`<a class="small" href=${link('guardrails', '', { node: n.node })}>${t('fleet.nodefindings', { n: grave })}</a>`}</div>`;
}

export function Fleet({ q, theme }) {
  const fleet = useFleet(), cost = useCost();
  const text = (q.get('search') || '').toLowerCase();
  const shown = useMemo(() => fleet.nodes.map((n) => ({ ...n, shown: n.gpus.map((g, i) => ({ g, i })).filter(({ g }) => matches(text, n, g)) })).filter((n) => n.shown.length || (!text && !n.gpus.length)), [fleet.nodes, text]);
  const f = useMemo(() => figures(fleet.nodes), [fleet.nodes]);
  const grave = f.findings.critical + f.findings.warning;
  return html`<${Head} title=${t('page.fleet')} question=${t('fleet.question')}>
      <label class="vh" for="search">${t('fleet.search')}</label><input id="search" type="search" size="34" placeholder=${t('fleet.search')} value=${q.get('search') || ''} onInput=${(e) => set({ search: e.target.value }, true)}/>
    <//><${Wait} on=${fleet.loading} what=${t('fleet.loading')}/><${Trouble} error=${fleet.error}/>
    <div class="facts">
      <${Fact} k=${t('fleet.gpus')} v=${number(f.gpus)} s=${t('fleet.nodes', { nodes: number(f.nodes) }) + (f.dark ? ' · ' + t('fleet.dark', { n: f.dark }) : '')}/>
      <${Fact} k=${t('fleet.memory')} v=${f.capacity ? percent(f.used / f.capacity) : unknown} s=${f.capacity ? t('fleet.memory.why', { used: bytes(f.used), all: bytes(f.capacity) }) : t('unknown')}/>
      <${Fact} k=${t('fleet.empty')} v=${number(f.idle)} unit=${'/ ' + number(f.gpus)} s=${t('fleet.empty.why')}/>
      <${CostFacts} cost=${cost}/>
      <${Fact} k=${t('fleet.findings')} v=${html`<a href=${link('guardrails')}>${number(grave)}</a>`} s=${t('fleet.findings.why', { critical: f.findings.critical, warning: f.findings.warning })}/>
    </div>
    ${!fleet.loading && !fleet.error && !fleet.nodes.length && html`<${Empty} title=${t('fleet.none')}><p>${t('fleet.none.how')}</p><p><code>helm install gputally deploy/chart --namespace gputally --set cluster=my-cluster</code></p><p><code>gputally-agent --server URL --cluster NAME</code></p><//>`}
    ${fleet.nodes.length > 0 && html`<${Legend}/>
      <p class="small soft">${t('signals.legend')} ${['busy', 'sm', 'tensor', 'dram'].map((k) => html`<span class="chip" ref=${(el) => el && (el.style.background = 'var(--s-' + k + ')')}></span>${t('signal.' + k)}  `)}</p>`}
    ${f.gpus > 64 && html`<${Heat} nodes=${shown} theme=${theme}/>`}
    ${text && !shown.length && fleet.nodes.length > 0 && html`<${Empty} title=${t('fleet.nomatch', { text: q.get('search') })}><button onClick=${() => set({ search: '' })}>${t('fleet.clear')}</button><//>`}
    <${List} nodes=${shown} now=${fleet.now || Date.now()}/>`;
}
export { signalText };
