// SPDX-License-Identifier: Apache-2.0
// The levels of a fleet: cluster, node pool, node, GPU. Pools and nodes are one bar
// each with their sums, and open on a click; small fleets are open to begin with. Only
// what is on the screen is drawn.
import { html, useState, useRef, useMemo, useLayoutEffect } from '../lib.js';
import { t } from '../i18n.js';
import { link } from '../state.js';
import { bytes, number, duration, shortUUID, unknown, inOrder } from '../format.js';
import { paper } from '../colour.js';
import { Bar, Signals, nameOf, describe } from '../bar.js';
import { because } from '../said.js';
import { SumBar, Sums, sumOf } from '../sum.js';

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
    <div class="w">${pods.length ? pods.join(', ') : lost ? (lost.reason && because(lost.reason)) || t('state.' + lost.state) : t('fleet.nobody')}</div></a>`;
}

const HEAD = 34, TILE = 100, CLUSTER = 44, POOL = 42;

// poolOf is the group of a node within its cluster: its pool, or where no label names
// one, its kind of machine.
export const poolOf = (n) => (n.pool ? { key: n.pool, name: n.pool } : n.instance_type ? { key: 'type:' + n.instance_type, name: n.instance_type } : { key: '', name: '' });

// once makes something when it is first asked for: what is not on the screen is not added up.
const once = (make) => { let made; return () => (made ||= make()); };

// tree sorts nodes into clusters and pools, with what each comes to.
function tree(nodes) {
  const clusters = new Map();
  for (const n of nodes) {
    const c = n.cluster || '', p = poolOf(n);
    if (!clusters.has(c)) clusters.set(c, new Map());
    const pools = clusters.get(c);
    if (!pools.has(p.key)) pools.set(p.key, { ...p, nodes: [] });
    pools.get(p.key).nodes.push(n);
  }
  return [...clusters].sort((a, b) => inOrder(a[0], b[0])).map(([name, pools]) => ({ name, pools: [...pools.values()].sort((a, b) => inOrder(a.key, b.key)).map((p) => ({ ...p, gpus: p.nodes.reduce((a, n) => a + n.shown.length, 0), sum: once(() => sumOf(p.nodes.flatMap((n) => n.shown))) })) }));
}

// rowsOf are the rows of the list with where each stands.
function rowsOf(clusters, columns, open) {
  const rows = [];
  let y = 0;
  const add = (height, row) => { rows.push({ y, height, ...row }); y += height; };
  for (const c of clusters) {
    add(CLUSTER, { key: 'c' + c.name, cluster: c });
    for (const p of c.pools) {
      const at = c.name + '/' + p.key;
      add(POOL, { key: 'p' + at, pool: p, at, open: open(at) });
      if (!open(at)) continue;
      for (const n of p.nodes) {
        const place = at + '/' + n.node, is = open(place);
        add(HEAD + (is ? Math.max(1, Math.ceil(n.shown.length / columns)) * TILE : 0) + 6, { key: 'n' + place, n, at: place, open: is });
      }
    }
  }
  return { rows, height: y };
}

const Opener = ({ open, at, turn, name }) => html`<button class="lv" aria-expanded=${open} onClick=${() => turn(at)}><span class="mark" aria-hidden="true">${open ? '▾' : '▸'}</span>${name}</button>`;

function Pool({ p, at, open, turn }) {
  return html`<div class="level pool"><div class="who"><${Opener} open=${open} at=${at} turn=${turn} name=${p.name || t('level.nopool')}/> <span class="soft small nowrap">${t('fleet.nodes', { nodes: number(p.nodes.length) })}</span></div><${SumBar} of=${p.sum()}/><div class="sums small"><${Sums} of=${p.sum()}/></div></div>`;
}

function Node({ n, at, open, turn, now, columns }) {
  const sum = useMemo(() => sumOf(n.shown), [n]);
  return html`<div class="level"><div class="who"><${Opener} open=${open} at=${at} turn=${turn} name=${n.node}/></div>${open ? html`<${NodeFacts} n=${n} now=${now}/>` : html`<${SumBar} of=${sum}/><div class="sums small"><${Sums} of=${sum}/><${Warnings} n=${n} now=${now}/></div>`}</div>
    ${open && html`<div class="gpus" ref=${(el) => el && (el.style.gridTemplateColumns = 'repeat(' + columns + ', minmax(0, 1fr))')}>${n.shown.map(({ g, i }) => html`<${Tile} key=${g.uuid} n=${n} g=${g} i=${i}/>`)}</div>`}`;
}

// Levels draws what is on the screen. small: all is open unless it was closed.
export function Levels({ nodes, now, small, turned, turn }) {
  const box = useRef();
  // Nothing is in view until it is known where the list stands, which is before it is shown.
  const [view, setView] = useState({ top: 0, bottom: -Infinity, width: 1400 });
  useLayoutEffect(() => {
    const look = () => {
      if (!box.current) return;
      const r = box.current.getBoundingClientRect();
      setView((v) => (v.bottom > -Infinity && Math.abs(v.top + r.top) < 60 && v.width === r.width ? v : { top: -r.top, bottom: -r.top + innerHeight, width: r.width }));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => { removeEventListener('scroll', look); removeEventListener('resize', look); };
  }, [nodes.length > 0]);
  const columns = Math.max(1, Math.floor((view.width + 12) / 312));
  const clusters = useMemo(() => tree(nodes), [nodes]);
  const open = (at) => turned.has(at) !== small;
  const { rows, height } = useMemo(() => rowsOf(clusters, columns, open), [clusters, columns, turned, small]);
  const seen = paper() ? rows : rows.filter((r) => r.y + r.height > view.top - 400 && r.y < view.bottom + 400);
  return html`<div class="virtual" ref=${(el) => { box.current = el; if (el) el.style.height = height + 'px'; }}>
    ${seen.map((r) => html`<section class="node" key=${r.key} ref=${(el) => el && (el.style.top = r.y + 'px')}>
      ${r.cluster ? html`<div class="cluster"><h2>${r.cluster.name || t('fleet.nocluster')}</h2><span class="soft">${t('fleet.of', { nodes: number(r.cluster.pools.reduce((a, p) => a + p.nodes.length, 0)), gpus: number(r.cluster.pools.reduce((a, p) => a + p.gpus, 0)) })}</span></div>`
      : r.pool ? html`<${Pool} p=${r.pool} at=${r.at} open=${r.open} turn=${turn}/>` : html`<${Node} n=${r.n} at=${r.at} open=${r.open} turn=${turn} now=${now} columns=${columns}/>`}
    </section>`)}</div>`;
}

function Warnings({ n, now }) {
  const age = now - Date.parse(n.at), stale = age > 5 * 60000 + n.duration_ms;
  const grave = (n.findings || []).filter((f) => f.severity !== 'info').length;
  return html`${stale && html`<span class="tag warning">${t('fleet.stale')}</span>`}${n.cordoned && html`<span class="tag">${t('fleet.cordoned')}</span>`}${n.gap && html`<span class="tag warning">${because(n.gap)}</span>`}
    ${grave > 0 && html`<a href=${link('guardrails', '', { node: n.node })}>${t('fleet.nodefindings', { n: grave })}</a>`}`;
}

const NodeFacts = ({ n, now }) => html`<div class="sums small">${n.instance_type && html`<span class="soft">${n.instance_type}</span>`}<span class="soft nowrap">${t('fleet.age', { age: duration(now - Date.parse(n.at)) })}</span><${Warnings} n=${n} now=${now}/></div>`;
