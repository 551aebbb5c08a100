// SPDX-License-Identifier: Apache-2.0
// The frame: navigation, language, light and dark, signing in; and which page is shown.
import { html, render, useState, useEffect, useErrorBoundary } from './lib.js';
import { t, lang, setLang, loadMessages } from './i18n.js';
import { where, link, kept, onChange } from './state.js';
import { onUnauthorized, signIn, signOut, signedIn, get, ahead } from './api.js';
import { loadColours, version, paper, onPaper } from './colour.js';
import { Patterns } from './bar.js';
import { pages } from './pages.js';

const store = (k, v) => { try { localStorage.setItem(k, v); } catch { /* not kept, then */ } };
const load = (k) => { try { return localStorage.getItem(k); } catch { return null; } };
const dark = matchMedia('(prefers-color-scheme: dark)');
const asked = new URLSearchParams(location.search).get('theme');
let theme = asked || load('theme') || 'auto';
function applyTheme() {
  document.documentElement.dataset.theme = paper() ? 'light' : theme === 'auto' ? (dark.matches ? 'dark' : 'light') : theme;
}

function SignIn({ done }) {
  const [trouble, setTrouble] = useState('');
  const submit = async (e) => {
    e.preventDefault();
    signIn(new FormData(e.target).get('token'));
    try { await get('/status'); done(); } catch (x) { setTrouble(x.status === 401 || x.status === 403 ? t('sign.wrong') + ' ' + (x.hint || '') : x.message); }
  };
  return html`<main id="main"><div class="panel sign"><h1>${t('sign.title')}</h1><p class="soft">${t('sign.why')}</p>
    <form onSubmit=${submit}><label for="token">${t('sign.token')}</label><input id="token" name="token" type="password" autocomplete="off" required autofocus/>
    <button class="primary">${t('sign.in')}</button></form>
    ${trouble && html`<p></p><div class="note bad" role="alert">${trouble}</div>`}
    <p class="small soft">${t('sign.how')} <code>kubectl create token NAME --audience gputally</code></p></div></main>`;
}

// Page is a page, or what to do where it cannot be shown: an address may be misspelt or of
// another version, and a page may have a defect.
function Page({ page, at, ...props }) {
  const [error] = useErrorBoundary((e) => console.error(e));
  const wrong = error ? 'page' : page ? '' : 'nowhere';
  if (!wrong) return html`<${page.view} arg=${at.arg} q=${at.q} ...${props}/>`;
  return html`<div class="head"><h1>${t('error.' + wrong)}</h1></div><div class="note bad" role="alert"><p>${t('error.' + wrong + '.how')}</p>${error && html`<p class="mono small" lang="en">${String(error)}</p>`}
    <p>${page && html`<a href=${link(page.name)}>${t('page.' + page.name)}</a> · `}<a href="#/fleet">${t('page.fleet')}</a></p></div>`;
}

function App() {
  const [at, setAt] = useState(where());
  const [, draw] = useState(0);
  const [out, setOut] = useState(false);
  useEffect(() => onChange(() => setAt(where())), []);
  useEffect(() => onUnauthorized(() => setOut(true)), []);
  useEffect(() => { const f = () => { applyTheme(); draw((n) => n + 1); }; dark.addEventListener('change', f); return () => dark.removeEventListener('change', f); }, []);
  useEffect(() => onPaper(() => { applyTheme(); draw((n) => n + 1); }), []);
  useEffect(() => { loadColours().then(() => draw((n) => n + 1)); }, [out]);
  const page = pages.find((p) => p.name === at.page), name = page ? page.name : '';
  useEffect(() => { document.title = (page ? t('page.' + name) : t('error.nowhere')) + (at.arg ? ' ' + at.arg : '') + ' — gputally'; }, [name, at.arg, lang]);
  useEffect(() => { scrollTo(0, 0); }, [name, at.arg]);
  const other = lang === 'zh' ? 'en' : 'zh';
  const next = { auto: 'light', light: 'dark', dark: 'auto' }[theme];
  return html`<${Patterns}/><a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>${t('skip')}</a>
    <header class="top"><a class="brand" href="#/fleet"><img src="icon.svg" alt=""/>gputally</a>
      <nav class="main" aria-label=${t('nav')}>${pages.filter((p) => p.nav).map((p) => html`<a href=${link(p.name, '', kept(at.q))} aria-current=${name === p.name || page && page.under === p.name ? 'page' : undefined}>${t('page.' + p.name)}</a>`)}</nav>
      <div class="tools">
        <button class="plain" lang=${other === 'zh' ? 'zh-CN' : 'en'} onClick=${() => { setLang(other); draw((n) => n + 1); }}>${other === 'zh' ? '简体中文' : 'English'}</button>
        <button class="plain" onClick=${() => { theme = next; store('theme', theme); applyTheme(); draw((n) => n + 1); }} title=${t('theme')}>${t('theme.' + theme)}</button>
        ${signedIn() && !out && html`<button class="plain" onClick=${signOut}>${t('sign.out')}</button>`}
      </div></header>
    ${out ? html`<${SignIn} done=${() => setOut(false)}/>` : html`<main id="main" tabindex="-1"><${Page} key=${at.page + at.arg + lang} page=${page} at=${at} theme=${document.documentElement.dataset.theme + version() + paper()} lang=${lang}/></main>`}`;
}

applyTheme();
// The largest answer of the first page is on its way while the page is made.
if (where().page === 'fleet') { ahead('/fleet'); loadColours(); }
await loadMessages();
render(html`<${App}/>`, document.getElementById('app'));
