import { follow } from "./events.js";

const states = ["ready", "waking", "draining", "sleeping", "asleep", "failed"];
const most = 200; // rows shown at once
const groups = new Map(); // path → group, as the API gave it
const rows = new Map(); // path → element
const pick = { text: "", state: "" };
let lastID = "";
let following = false;
let asking = null; // the promise of a token being asked for

const byID = (id) => document.getElementById(id);
const pathOf = (g) =>
  "/v1/groups/" + [g.namespace, g.job, g.group].map(encodeURIComponent).join("/");

// --- asking the API -----------------------------------------------------------------------

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}`, "X-Nomad-Token": token } : {};
}

async function ask(method, path) {
  for (;;) {
    const answer = await fetch(path, { method, headers: headers(), cache: "no-store" });
    const body = await answer.json();
    if (answer.ok) return body;
    if (answer.status !== 401) throw Object.assign(new Error(body.detail), { problem: body });
    await askForToken(body.detail);
  }
}

function askForToken(detail) {
  asking ??= new Promise((done) => {
    const dialog = byID("token-dialog");
    byID("token-detail").textContent = sessionStorage.getItem("token")
      ? `The token was refused: ${detail}.` : "This API asks who you are.";
    byID("token").value = "";
    dialog.oncancel = (event) => event.preventDefault();
    dialog.onclose = () => {
      sessionStorage.setItem("token", byID("token").value.trim());
      asking = null;
      done();
    };
    dialog.showModal();
  });
  return asking;
}

// --- keeping up to date -------------------------------------------------------------------

async function reload() {
  try {
    const [list, wrong] = await Promise.all([
      ask("GET", "/v1/groups"), ask("GET", "/v1/diagnostics")]);
    groups.clear();
    for (const g of list.groups) groups.set(pathOf(g), g);
    lastID = list.last_event_id;
    showDiagnostics(wrong.diagnostics);
    showAll();
    if (!following) start();
  } catch (error) {
    connection("lost", "no answer from doze, trying again …");
    if (error.problem) tell(error);
  }
}

async function refresh(path) {
  try {
    groups.set(path, await ask("GET", path));
  } catch (error) {
    if (error.problem?.status !== 404) return tell(error);
    groups.delete(path);
  }
  showAll();
}

const due = new Set(); // paths of groups that have changed

function changed(event) {
  if (due.size === 0) {
    setTimeout(() => {
      const paths = [...due];
      due.clear();
      if (paths.length > 20) reload();
      else paths.forEach(refresh);
    }, 100);
  }
  due.add(pathOf(event));
}

function start() {
  following = true;
  follow("/v1/events", lastID, headers, {
    open: () => connection("live", "live"),
    lost: () => connection("lost", "connection lost, trying again …"),
    refused: () => { following = false; reload(); },
    event: (kind, data) => (kind === "reset" ? reload() : changed(data)),
  });
}

// Requests in flight and times of use are no transitions: they are looked up now and then.
function lookAgain() {
  const wait = groups.size > 1000 ? 60_000 : 5_000;
  setTimeout(async () => {
    if (!document.hidden) await reload();
    lookAgain();
  }, wait);
}

function connection(state, text) {
  const at = byID("connection");
  if (at.dataset.state === state) return;
  at.dataset.state = state;
  at.textContent = text;
}

// --- showing ------------------------------------------------------------------------------

function element(tag, text, className) {
  const e = document.createElement(tag);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

function showAll() {
  const wanted = [...groups.entries()].filter(([, g]) => isPicked(g))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const list = byID("groups");
  const shown = wanted.slice(0, most).map(([path, g]) => {
    if (!rows.has(path)) rows.set(path, newRow(path));
    fill(rows.get(path), g);
    return rows.get(path);
  });
  for (const path of rows.keys()) if (!groups.has(path)) rows.delete(path);
  for (const row of [...list.children]) if (!shown.includes(row)) row.remove();
  shown.forEach((row, i) => {
    if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
  });
  showEmpty(wanted.length);
  showSummary();
}

function showEmpty(found) {
  const note = byID("empty");
  note.hidden = found > 0 && found <= most;
  note.textContent = found > most ? `${found - most} more: narrow the search to see them.`
    : groups.size > 0 ? "No group matches."
    : "No group has opted in yet: give one a scaling block with a doze policy.";
}

function isPicked(g) {
  const text = `${g.namespace}/${g.job}/${g.group} ${g.state}`.toLowerCase();
  return (!pick.state || g.state === pick.state) && text.includes(pick.text);
}

function showSummary() {
  const counts = {};
  for (const g of groups.values()) counts[g.state] = (counts[g.state] ?? 0) + 1;
  const summary = byID("summary");
  for (const state of states) {
    let button = summary.querySelector(`[data-state=${state}]`);
    if (!button) {
      button = element("button", "");
      button.type = "button";
      button.dataset.state = state;
      button.onclick = () => { pick.state = pick.state === state ? "" : state; showAll(); };
      summary.append(button);
    }
    button.textContent = `${counts[state] ?? 0} ${state}`;
    button.setAttribute("aria-pressed", String(pick.state === state));
  }
}

function newRow(path) {
  const row = byID("group").content.firstElementChild.cloneNode(true);
  row.querySelector(".wake-button").onclick = () => command(row, path, "wake");
  row.querySelector(".sleep-button").onclick = () => command(row, path, "sleep");
  return row;
}

async function command(row, path, verb, query = "") {
  row.setAttribute("aria-busy", "true");
  try {
    const out = await ask("POST", `${path}/${verb}${query}`);
    tell(null, out.warnings);
  } catch (error) {
    const inUse = error.problem?.type === "urn:doze:problem:group-in-use";
    if (inUse && !query && confirm(`${error.message}\n\nCut them and sleep all the same?`)) {
      return command(row, path, verb, "?force=true");
    }
    tell(error);
  } finally {
    row.removeAttribute("aria-busy");
    refresh(path);
  }
}

function fill(row, g) {
  row.dataset.state = g.state;
  const name = `${g.job} / ${g.group}`;
  const set = (selector, text) => {
    const e = row.querySelector(selector);
    if (e.textContent !== text) e.textContent = text;
    return e;
  };
  set(".state", g.state);
  set(".job", g.job);
  set(".name", g.group).hidden = g.job === g.group;
  set(".namespace", g.namespace === "default" ? "" : g.namespace);
  set(".why", sentence(g.why));
  row.querySelector(".facts").replaceChildren(...facts(g).map((t) => element("li", t)));
  row.querySelector(".wrong").replaceChildren(
    ...g.diagnostics.map((d) => element("li", `${d.problem}${d.hint ? ` — ${d.hint}` : ""}`)));
  fillWake(row.querySelector(".wake"), g.last_wake);
  const wake = row.querySelector(".wake-button");
  const sleep = row.querySelector(".sleep-button");
  wake.disabled = ["ready", "waking"].includes(g.state);
  sleep.disabled = ["asleep", "sleeping"].includes(g.state);
  wake.setAttribute("aria-label", `Wake ${name}`);
  sleep.setAttribute("aria-label", `Put ${name} to sleep`);
}

// sentence leaves out what the state's word says already, and tells times as here.
function sentence(text) {
  const short = text.replace(/^(awake|asleep|waking): /, "")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (t) => new Date(t).toLocaleTimeString());
  return short.charAt(0).toUpperCase() + short.slice(1);
}

function facts(g) {
  const list = [];
  if (g.since) list.push(`since ${new Date(g.since).toLocaleString()}`);
  if (g.in_flight) list.push(`${g.in_flight} in flight`);
  list.push(g.wakes === 1 ? "1 wake" : `${g.wakes} wakes`);
  return list;
}

function fillWake(figure, wake) {
  figure.hidden = !wake;
  if (!wake) return;
  const outcome = wake.error ? "Last wake failed" : wake.ready ? "Last wake" : "This wake";
  figure.querySelector("figcaption").textContent =
    milliseconds(wake.took) ? `${outcome}: ${took(wake.took)}` : outcome;
  const bar = figure.querySelector(".bar");
  bar.replaceChildren(...wake.phases.map((p) => {
    const part = element("span", "", p.done ? p.name : `${p.name} undone`);
    part.style.flexGrow = Math.max(milliseconds(p.took), 0.001);
    return part;
  }));
  figure.querySelector(".phases").replaceChildren(...wake.phases.map((p) =>
    element("li", `${p.name} ${p.done ? took(p.took) : wake.error ? "failed" : "…"}`, p.name)));
}

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, "µs": 0.001, ns: 0.000001 };

function milliseconds(duration) {
  let sum = 0;
  for (const [, n, unit] of duration.matchAll(/([\d.]+)(h|ms|m|µs|ns|s)/g)) sum += n * units[unit];
  return sum;
}

function took(duration) {
  const ms = milliseconds(duration);
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function showDiagnostics(list) {
  const wrong = list.filter((d) => ![...groups.values()].some((g) =>
    g.namespace === d.namespace && g.job === d.job && (!d.group || g.group === d.group)));
  byID("diagnostics").hidden = wrong.length === 0;
  byID("diagnostics").querySelector("ul").replaceChildren(...wrong.map((d) => {
    const item = element("li", "");
    const job = d.namespace === "default" ? d.job : `${d.namespace} / ${d.job}`;
    item.append(element("strong", d.group ? `${job} / ${d.group}` : job),
      element("span", `${d.problem}${d.hint ? ` — ${d.hint}` : ""}`));
    if (d.path) item.append(element("code", d.path));
    return item;
  }));
}

let forget;

function tell(error, warnings = []) {
  const hints = error?.problem?.hints ?? [];
  const lines = error ? [error.message, ...hints] : warnings ?? [];
  const note = byID("message");
  note.hidden = lines.length === 0;
  note.textContent = lines.join("\n");
  clearTimeout(forget);
  forget = setTimeout(() => { note.hidden = true; }, 12_000);
}

byID("search").oninput = (event) => { pick.text = event.target.value.trim().toLowerCase(); showAll(); };
byID("filter").onsubmit = (event) => event.preventDefault();
showSummary();
reload().then(lookAgain);
