// SPDX-License-Identifier: Apache-2.0
// Texts in the language of whoever looks. All of them are in messages.json, in every
// language under the same keys; a Go test sees to that.
let messages = {};
const stored = () => { try { return localStorage.getItem('lang'); } catch { return null; } };
const asked = new URLSearchParams(location.search).get('lang');
export let lang = (asked || stored() || navigator.language || 'en').toLowerCase().startsWith('zh') ? 'zh' : 'en';

export async function loadMessages() {
  messages = await (await fetch('messages.json')).json();
  apply();
}

function apply() { document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en'; }

export function setLang(to) {
  lang = to;
  try { localStorage.setItem('lang', to); } catch { /* private windows may forbid it */ }
  apply();
}

export const locale = () => (lang === 'zh' ? 'zh-CN' : undefined);

// t is the text of a key, with {name} replaced by values.
export function t(key, values) {
  const m = messages[key];
  let text = m ? m[lang] || m.en : key;
  if (values) text = text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));
  return text;
}

// has says whether a key exists, for those that are made of words from the server.
export const has = (key) => key in messages;
