// SPDX-License-Identifier: Apache-2.0
// What if: other rules for the hours on the screen, put together from all that the
// server knows: how a price is split, what counts, and who bears what is nobody's. The
// address has the choice; nothing of it is booked.
import { html } from '../lib.js';
import { t } from '../i18n.js';
import { set } from '../state.js';

export const accounts = ['idle', 'stranded', 'overhead', 'unattributed', 'host', 'unavailable', 'unmeasured'];
const splits = ['residual', 'opencost', 'aws-scad', 'all-gpu', 'fixed-ratio', 'gpu-rate'], bases = ['held', 'memory', 'reserved'];
const hows = ['apart', 'proportional', 'even', 'owner', 'fixed'];

// read gives the choice in the address: split:opencost;basis:memory;idle:owner:platform
export function read(text) {
  const out = {};
  for (const part of (text || '').split(';').filter(Boolean)) { const at = part.indexOf(':'); out[at < 0 ? part : part.slice(0, at)] = at < 0 ? 'yes' : part.slice(at + 1); }
  return out;
}
const write = (c) => Object.entries(c).filter(([, v]) => v).map(([k, v]) => k + ':' + v).join(';');
const choose = (c, k, v) => set({ whatif: write({ ...c, [k]: v }) });

// distribution is how one account is passed on; null where what was typed is not whole.
function distribution(account, text) {
  const [how, ...rest] = text.split(':'), names = rest.join(':');
  if (how === 'owner') return names ? { account, how, shares: [{ to: names, weight: 1 }] } : null;
  if (how !== 'fixed') return { account, how };
  const shares = names.split(',').map((x) => x.split('=')).filter(([to, weight]) => to && /^[1-9]\d*$/.test(weight || '')).map(([to, weight]) => ({ to: to.trim(), weight: Number(weight) }));
  return shares.length ? { account, how, shares } : null;
}

// variantOf is the choice as the API has it, on top of the policy in force; null while
// there is none.
export function variantOf(c, inForce) {
  if (!Object.keys(c).length || !inForce) return null;
  const out = { name: 'what-if' }, own = ['basis', 'turns', 'scope', ...accounts].some((k) => c[k]);
  if (c.split) out.split = c.split;
  if (own) {
    const kept = (inForce.distribute || []).filter((d) => !c[d.account]);
    const added = accounts.filter((k) => c[k] && c[k] !== 'apart').map((k) => distribution(k, c[k])).filter(Boolean);
    out.policy = { basis: c.basis || inForce.basis || 'held', turns_reserve: c.turns ? c.turns === 'yes' : !!inForce.turns_reserve, distribute: kept.concat(added), scope: c.scope || inForce.scope || 'node' };
  }
  return out;
}
export const distributes = (v) => !!(v && v.policy && v.policy.distribute.length);

const name = (v) => t('rule.' + v);

function Choice({ c, k, label, options, current }) {
  return html`<div class="choice"><label for=${'wi-' + k}>${label}</label><select id=${'wi-' + k} onChange=${(e) => choose(c, k, e.target.value)}><option value="" selected=${!c[k]}>${t('whatif.inforce')}${current ? ' (' + current + ')' : ''}</option>
    ${options.map(([v, text]) => html`<option value=${v} selected=${c[k] === v}>${text}</option>`)}</select></div>`;
}

function Account({ c, k }) {
  const [how, ...rest] = (c[k] || '').split(':'), named = rest.join(':');
  return html`<div class="choice"><label for=${'wi-' + k}>${t('account.' + k)}</label><select id=${'wi-' + k} onChange=${(e) => choose(c, k, e.target.value && (['owner', 'fixed'].includes(e.target.value) ? e.target.value + ':' : e.target.value))}><option value="" selected=${!how}>${t('whatif.inforce')}</option>${hows.map((v) => html`<option value=${v} selected=${how === v}>${name(v)}</option>`)}</select>
    ${['owner', 'fixed'].includes(how) && html`<input aria-label=${t('whatif.to') + ' ' + t('account.' + k)} placeholder=${how === 'owner' ? t('whatif.to') : 'research=3,platform=1'} value=${named} onChange=${(e) => choose(c, k, how + ':' + e.target.value.replace(/;/g, ''))}/>`}</div>`;
}

const presets = { memory: 'basis:memory', reserved: 'basis:reserved', 'idle-shared': 'idle:proportional', 'all-gpu': 'split:all-gpu', opencost: 'split:opencost' };

// Editor is where the rules are chosen.
export function Editor({ c, status }) {
  const policy = status ? status.policy : {};
  return html`<div class="panel whatif noprint"><h2>${t('whatif.title')}</h2><p class="soft">${t('whatif.why', { policy: policy.id || '', split: status ? status.split : '' })}</p>
    <div class="bar-tools" role="group" aria-label=${t('whatif.presets')}>${Object.entries(presets).map(([k, v]) => html`<button class=${write(c) === v ? 'on' : ''} aria-pressed=${write(c) === v} onClick=${() => set({ whatif: v })}>${t('variant.' + k)}</button>`)}<button onClick=${() => set({ whatif: '', rules: '' })}>${t('whatif.end')}</button></div>
    <div class="choices">
      <${Choice} c=${c} k="split" label=${t('whatif.split')} current=${status && status.split} options=${splits.map((v) => [v, v + ' — ' + t('split.' + v)])}/>
      <${Choice} c=${c} k="basis" label=${t('whatif.basis')} current=${policy.basis} options=${bases.map((v) => [v, name(v)])}/>
      <${Choice} c=${c} k="turns" label=${t('whatif.turns')} options=${['yes', 'no'].map((v) => [v, name(v)])}/>
      <${Choice} c=${c} k="scope" label=${t('whatif.scope')} options=${['node', 'given'].map((v) => [v, name(v)])}/></div>
    <h3>${t('whatif.bears')}</h3><div class="choices">${accounts.map((k) => html`<${Account} key=${k} c=${c} k=${k}/>`)}</div></div>`;
}
