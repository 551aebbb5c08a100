// SPDX-License-Identifier: Apache-2.0
// Workload: does it need what it holds? What it was charged for, hour by hour: memory
// it held, and memory it kept from others and did not hold.
import { html, useMemo } from '../lib.js';
import { t } from '../i18n.js';
import { useAsk } from '../api.js';
import { span, hours, hourSpan, link, kept, set, flags } from '../state.js';
import { number, percent, money, gpuHours, unknown, shortUUID, keyTime } from '../format.js';
import { Head, Wait, Trouble, Range, Empty, Fact, Command, Mix } from '../parts.js';
import { colourOf } from '../colour.js';
import { Plot } from '../plot.js';
import { workloadOf } from '../said.js';
import { Memory } from './memory.js';
import { Hours } from './hours.js';

const esc = (v) => v.replace(/\\/g, '\\\\').replace(/,/g, '\\,');

// find lists what there is, for those who come without a name.
function Find({ q }) {
  const s = span(q, '7d');
  const { data, loading, error, retry } = useAsk('/report?by=namespace,workload_kind,workload&top=200&where=class%3Dworkload&' + hours(s));
  const sections = data ? data.sections.filter((x) => x.rows.length) : [];
  return html`<${Head} title=${t('page.workload')} question=${t('work.question')}><${Range} q=${q} standard="7d" months only=${['24h', '7d', '30d']}/><//><${Wait} on=${loading}/><${Trouble} error=${error} retry=${retry}/>
    ${data && !sections.length && html`<${Empty} title=${t('cost.none.title')}><p>${t('cost.none.how')}</p><p><code>gputally status</code></p><//>`}
    ${sections.map((x) => html`<div class="panel scroll"><table><thead><tr><th>${t('dim.workload')}</th><th>${t('dim.namespace')}</th><th class="num">${t('cost.cost')} ${x.currency}</th><th class="num">${t('cost.allocated')}</th><th class="num">${t('cost.used')}</th><th class="num">${t('work.unused')}</th></tr></thead><tbody>
      ${x.rows.filter((r) => r.keys.workload).map((r) => html`<tr><td><span class=${'chip b-' + colourOf(r.keys.namespace)}></span><a href=${link('workload', r.keys.namespace + '/' + r.keys.workload_kind + '/' + r.keys.workload, kept(q))}>${workloadOf(r.keys.workload_kind, r.keys.workload)}</a></td><td>${r.keys.namespace}</td><td class="num">${r.cost ? money(r.cost.total) : t('unknown')}<${Mix} parts=${r.cost && r.cost.grades}/></td><td class="num">${gpuHours(r.quantities.allocated_gpu_ms)}</td><td class="num">${r.quantities.allocated_gpu_ms ? percent(r.quantities.used_gpu_ms / r.quantities.allocated_gpu_ms) : unknown}</td><td class="num">${gpuHours(r.quantities.reserved_unused_gpu_ms)}</td></tr>`)}</tbody></table></div>`)}`;
}

function byHour(rows, from, to) {
  const n = Math.max(1, Math.round((to - from) / 3600000)), none = () => new Array(n).fill(null);
  const out = { used: none(), unused: none(), leaked: none(), held: none(), times: Array.from({ length: n }, (_, i) => (from + i * 3600000) / 1000) };
  for (const r of rows) {
    const i = Math.round((keyTime(r.keys.hour) - from) / 3600000);
    if (!(i >= 0 && i < n)) continue;
    const x = r.quantities;
    out.used[i] = (out.used[i] || 0) + (x.used_gpu_ms - x.leaked_gpu_ms) / 3600000;
    out.leaked[i] = (out.leaked[i] || 0) + x.leaked_gpu_ms / 3600000;
    out.unused[i] = (out.unused[i] || 0) + x.reserved_unused_gpu_ms / 3600000;
    out.held[i] = (out.held[i] || 0) + Number(BigInt(x.held_byte_ms) / 3600000n);
  }
  return out;
}

function One({ arg, q, theme }) {
  const [ns, kind, ...rest] = arg.split('/'), name = rest.join('/');
  const s = span(q, '7d'), hs = hourSpan(s), from = s.month ? s.from : Date.parse(hs.from), to = s.month ? s.to : Date.parse(hs.to);
  const where = '&where=' + encodeURIComponent('namespace=' + esc(ns)) + '&where=' + encodeURIComponent('workload_kind=' + esc(kind)) + '&where=' + encodeURIComponent('workload=' + esc(name));
  const hour = useAsk('/report?by=hour,model,mode,profile&' + hours(s) + where), cards = useAsk('/report?by=gpu,model,mode&top=50&' + hours(s) + where);
  const did = useAsk('/advice/hours?namespace=' + encodeURIComponent(ns) + '&workload=' + encodeURIComponent(kind + '/' + name) + '&' + hours(s));
  const section = hour.data && hour.data.sections.find((x) => x.rows.length);
  const d = useMemo(() => (section ? byHour(section.rows, from, to) : null), [section]);
  const series = useMemo(() => d && [
    { label: t('work.used'), values: d.used, colour: colourOf(ns) }, { label: t('work.unused'), values: d.unused, colour: colourOf(ns), hatched: true }, { label: t('bar.leak'), values: d.leaked, colour: 'bad' }].filter((x) => x.values.some((v) => v)), [d, theme]);
  const total = section && section.total, x = total && total.quantities, span2 = { from: from / 1000, to: to / 1000, step: 3600, theme };
  const zoom = (a, b) => set({ from: new Date(a * 1000).toISOString().slice(0, 19) + 'Z', to: new Date(b * 1000).toISOString().slice(0, 19) + 'Z', range: '', month: '' });
  return html`<ul class="crumbs"><li><a href=${link('workload', '', kept(q))}>${t('page.workload')}</a></li><li>${ns}</li></ul>
    <${Head} title=${workloadOf(kind, name)} question=${t('work.question')}><${Range} q=${q} standard="7d" months only=${['24h', '7d', '30d']}/><//>
    <${Wait} on=${hour.loading || did.loading}/><${Trouble} error=${hour.error || did.error} retry=${hour.error ? hour.retry : did.retry}/>
    ${hour.data && !section && html`<${Empty} title=${t('cost.none.title')}><p>${t('cost.none.how')}</p><//>`}
    ${section && html`<div class="facts"><${Fact} k=${t('cost.cost')} v=${html`${total.cost ? money(total.cost.total) : t('unknown')}`} unit=${section.currency} s=${html`<${Mix} parts=${total.cost && total.cost.grades}/><a href=${link('cost', '', { ...kept(q), by: 'pod', ns, workload: kind + '/' + name })}>${t('work.tocost')}</a>`}/>
      <${Fact} k=${t('cost.allocated')} v=${gpuHours(x.allocated_gpu_ms)} s=${t('work.allocated.why')}/>
      <${Fact} k=${t('cost.used')} v=${x.allocated_gpu_ms ? percent(x.used_gpu_ms / x.allocated_gpu_ms) : unknown} s=${t('work.used.why')}/>
      <${Fact} k=${t('work.unused')} v=${gpuHours(x.reserved_unused_gpu_ms)} s=${t('work.unused.why')}/></div>
    <div class="panel"><h2>${t('work.gpus')}</h2><ul class="legend"><li><span class=${'chip b-' + colourOf(ns)}></span>${t('work.used')}</li><li><span class="chip b-hatch"></span>${t('work.unused')}</li><li><span class="chip b-leak"></span>${t('bar.leak')}</li></ul>
      <${Plot} times=${d.times} series=${series} stacked height=${200} format=${(v) => number(v, v < 4 ? 1 : 0)} label=${t('work.gpus')} onZoom=${zoom} sync="work" ...${span2}/></div>
    <${Memory} rows=${section.rows} held=${d.held} hours=${did.data && did.data.hours} ns=${ns} times=${d.times} theme=${theme} onZoom=${zoom} span=${span2}/>
    <${Hours} data=${did.data} from=${from} to=${to}/>`}
    ${cards.data && cards.data.sections.filter((y) => y.rows.length).map((y) => html`<div class="panel scroll"><h2>${t('work.where')}</h2><table><thead><tr><th>GPU</th><th>${t('dim.model')}</th><th>${t('dim.mode')}</th><th class="num">${t('cost.allocated')}</th><th class="num">${t('cost.used')}</th><th class="num">${t('cost.cost')} ${y.currency}</th></tr></thead><tbody>${y.rows.map((r) => html`<tr><td>${r.keys.gpu ? html`<a class="mono nowrap" href=${link('gpu', r.keys.gpu, kept(q))}>${shortUUID(r.keys.gpu)}</a>` : t('work.nogpu')}</td><td>${r.keys.model || unknown}</td><td>${r.keys.mode || unknown}</td><td class="num">${gpuHours(r.quantities.allocated_gpu_ms)}</td><td class="num">${r.quantities.allocated_gpu_ms ? percent(r.quantities.used_gpu_ms / r.quantities.allocated_gpu_ms) : unknown}</td><td class="num">${r.cost ? money(r.cost.total) : t('unknown')}</td></tr>`)}</tbody></table></div>`)}
    <${Command} line=${'gputally explain --workload ' + arg + ' ' + flags(s)}/>`;
}

// Whose page it is stands in its address: namespace, kind and name.
const Misspelt = ({ arg, q }) => html`<${Head} title=${arg} question=${t('work.question')}/><${Empty} title=${t('work.misspelt')}><p>${t('work.misspelt.how')} <code>${'namespace/Deployment/name'}</code></p><p><a href=${link('workload', '', kept(q))}>${t('page.workload')}</a></p><//>`;

export const Workload = (props) => (props.arg && props.arg.split('/').length < 3 ? html`<${Misspelt} ...${props}/>` : props.arg ? html`<${One} ...${props}/>` : html`<${Find} q=${props.q}/>`);
