// SPDX-License-Identifier: Apache-2.0
// What findings and advice say, in the language of whoever looks: the server tells which
// sentence each is and what stands in its gaps. Words that are nobody's sentence, such as
// the driver's own, stay as they are.
import { t, has } from './i18n.js';

export const say = (fact, text) => (fact && fact.code && has('fact.' + fact.code) ? t('fact.' + fact.code, fact.values) : text);
// accountOf is whom a finding names; workloadOf a workload, by its kind and name.
export const accountOf = (f) => (f.account || '').replace(/^host /, t('holder.host') + ' ');
export const workloadOf = (kind, name) => (!name || name === '(none)' ? t('cost.noowner') : (kind && kind !== '(none)' ? kind : '?') + '/' + name);
export const because = (reason) => (has('because.' + reason) ? t('because.' + reason) : reason);
export const detailOf = (f) => say(f.said && f.said.detail, f.detail);
export const evidenceOf = (f) => (f.evidence || []).map((text, i) => say(f.said && f.said.evidence && f.said.evidence[i], text));

// named is the text of a word from the server, or the word.
export const named = (key, word) => (has(key + word) ? t(key + word) : word);

// sayer says the English sentences of an answer, whose `said` tells what each is: also
// where one stands behind a command, as its comment.
export function sayer(answer) {
  const said = (answer && answer.said) || {};
  const whole = (text) => {
    const s = said[text];
    if (!s || !has('says.' + s.code)) return text;
    const values = { ...s.values };
    if (values.class) values.class = named('does.', values.class);
    return t('says.' + s.code, values);
  };
  return (text) => {
    const i = (text || '').indexOf('# ');
    return i > 0 ? text.slice(0, i) + whole(text.slice(i)) : whole(text);
  };
}
