// SPDX-License-Identifier: Apache-2.0
// What findings say, in the language of whoever looks: the server tells which sentence
// each is and what stands in its gaps. Words that are nobody's sentence, such as the
// driver's own, stay as they are.
import { t, has } from './i18n.js';

export const say = (fact, text) => (fact && fact.code && has('fact.' + fact.code) ? t('fact.' + fact.code, fact.values) : text);
// accountOf is whom a finding names; workloadOf a workload, by its kind and name.
export const accountOf = (f) => (f.account || '').replace(/^host /, t('holder.host') + ' ');
export const workloadOf = (kind, name) => (!name || name === '(none)' ? t('cost.noowner') : (kind && kind !== '(none)' ? kind : '?') + '/' + name);
export const because = (reason) => (has('because.' + reason) ? t('because.' + reason) : reason);
export const detailOf = (f) => say(f.said && f.said.detail, f.detail);
export const evidenceOf = (f) => (f.evidence || []).map((text, i) => say(f.said && f.said.evidence && f.said.evidence[i], text));
