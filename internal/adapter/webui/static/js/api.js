// SPDX-License-Identifier: Apache-2.0
// Asking the server. A token, where one is needed, is kept for this tab only and goes
// nowhere but into the header of these requests.
import { useState, useEffect, useRef } from './lib.js';

const KEY = 'gputally-token';
const token = () => sessionStorage.getItem(KEY);
let unauthorized = () => {};
export const onUnauthorized = (f) => { unauthorized = f; };
export const signedIn = () => !!token();
export function signIn(text) { sessionStorage.setItem(KEY, text.trim()); }
export function signOut() { sessionStorage.removeItem(KEY); unauthorized(); }

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || 'status ' + status);
    this.status = status; this.code = body.code; this.hint = body.hint;
    this.allowed = (body.errors || []).flatMap((e) => e.allowed || []);
  }
}

function headers(more) {
  const h = { ...more };
  if (token()) h.Authorization = 'Bearer ' + token();
  return h;
}

async function answered(resp) {
  if (resp.ok) return resp;
  let body = {};
  try { body = await resp.json(); } catch { /* a proxy may answer without one */ }
  if (resp.status === 401) unauthorized();
  throw new Problem(resp.status, body);
}

// ahead asks before the page that wants the answer is there.
const early = new Map();
export function ahead(path) {
  const answer = fetch('/api/v1' + path, { headers: headers() }).then(async (resp) => ({ resp, data: resp.ok ? await resp.json() : undefined }));
  answer.catch(() => {}); // whoever wants it is told
  early.set(path, answer);
}

export async function get(path, signal) {
  const have = early.get(path);
  if (have) {
    early.delete(path);
    const { resp, data } = await have;
    await answered(resp);
    return data;
  }
  return (await answered(await fetch('/api/v1' + path, { headers: headers(), signal }))).json();
}

// post sends JSON and gives the last result of an answer that comes line by line.
export async function post(path, body, signal) {
  const resp = await answered(await fetch('/api/v1' + path, { method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(body), signal }));
  const lines = (await resp.text()).trim().split('\n');
  const last = JSON.parse(lines[lines.length - 1]);
  if (last.problem) throw new Problem(last.problem.status, last.problem);
  return last.result || last;
}

// save fetches a file with the token, and hands it to the browser.
export async function save(path, name) {
  const resp = await answered(await fetch('/api/v1' + path, { headers: headers() }));
  hand(await resp.blob(), name);
}

// hand gives the browser a file.
export function hand(blob, name) {
  const url = URL.createObjectURL(blob);
  const a = document.createElement('a');
  a.href = url; a.download = name;
  document.body.append(a); a.click(); a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// useAsk asks again whenever the question changes; what was there stays until the
// answer comes, so that nothing jumps. null asks nothing.
export function useAsk(question, ask) {
  const [state, setState] = useState({ loading: true });
  const round = useRef(0);
  const [again, setAgain] = useState(0);
  useEffect(() => {
    if (question === null) { setState({}); return undefined; }
    const mine = ++round.current, stop = new AbortController();
    setState((s) => ({ ...s, loading: true, error: undefined }));
    (ask || get)(question, stop.signal).then(
      (data) => mine === round.current && setState({ data }),
      (error) => mine === round.current && error.name !== 'AbortError' && setState((s) => ({ data: s.data, error })),
    );
    return () => stop.abort();
  }, [question, again]);
  return { ...state, retry: () => setAgain((n) => n + 1) };
}
