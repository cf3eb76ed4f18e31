"use strict";
// The list of scenarios, its filter, and what a scenario says when it is opened.
const run = JSON.parse(document.getElementById("run").textContent);
const SIGNS = { passed: "✓", failed: "✗", unproven: "?", error: "!", invalid: "!", interrupted: "-", "not run": "-" };
const opened = new Map();

// An element with attributes and children. Text is only ever set as text.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "hue") element.style.setProperty("--hue", value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
const seconds = (took) => `${took.toFixed(2)} s`;
const state = (scenario) => (scenario.ran ? scenario.verdict : "not run");
const word = (verdict) => make("span", { class: `verdict ${verdict.replace(" ", "-")}` }, `${SIGNS[verdict] || ""} ${verdict}`);
const hueOf = (index) => Math.round((index * 137.5) % 360);

function header() {
  const counts = Object.entries(run.counts).map(([name, count]) => `${count} ${name}`).join(", ");
  const theme = make("button", { type: "button", onclick: switchTheme }, "Light or dark");
  document.getElementById("head").append(
    make("h1", {}, `Rehearsal of ${run.system || "a system"}`),
    make("div", { class: "head" }, word(run.exit || "interrupted"), make("span", {}, run.meaning),
      make("span", {}, `${plural(run.scenarios.length, "scenario")}: ${counts}`), make("span", {}, seconds(run.took)), theme),
    ...run.remarks.map((remark) => make("p", { class: "soft" }, remark)),
    make("p", { class: "soft" }, `run ${run.run}, seed ${run.seed}, in `, make("code", {}, run.directory)));
  if (run.evidence.length) {
    const why = document.getElementById("why");
    why.hidden = false;
    why.lastElementChild.append(...run.evidence.map((one) => evidence(one, null)));
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function list() {
  const place = document.getElementById("list");
  let feature = null;
  for (const [index, scenario] of run.scenarios.entries()) {
    if (scenario.feature !== feature) place.append(make("h3", { class: "feature" }, (feature = scenario.feature)));
    const reason = scenario.evidence.length ? scenario.evidence[0].message.split("\n")[0] : "";
    const details = make("details", { class: "scenario", id: `s${index}`, ontoggle: () => details.open && open(index) },
      make("summary", {}, word(state(scenario)), make("span", { class: "name" }, scenario.name),
        make("span", { class: "soft" }, seconds(scenario.took)),
        scenario.verdict === "passed" ? null : make("span", { class: "reason" }, reason)),
      make("div", { class: "body" }));
    place.append(details);
  }
}

function filters() {
  const place = document.getElementById("verdicts");
  for (const name of new Set(run.scenarios.map(state))) {
    const button = make("button", { type: "button", "aria-pressed": "true", "data-verdict": name, onclick: () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      narrow();
    } }, `${name} ${run.scenarios.filter((one) => state(one) === name).length}`);
    place.append(button);
  }
  document.getElementById("query").addEventListener("input", narrow);
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
}

function narrow() {
  const words = document.getElementById("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = new Set([...document.querySelectorAll("#verdicts [aria-pressed=true]")].map((one) => one.dataset.verdict));
  let count = 0;
  for (const [index, scenario] of run.scenarios.entries()) {
    const text = [scenario.name, scenario.feature, scenario.place, ...scenario.tags.map((tag) => `@${tag}`), ...scenario.evidence.map((one) => one.message)].join("\n").toLowerCase();
    const shown = wanted.has(state(scenario)) && words.every((one) => text.includes(one));
    document.getElementById(`s${index}`).hidden = !shown;
    count += shown;
  }
  // A feature without a scenario to show is not named.
  for (const title of document.querySelectorAll("h3.feature")) {
    let next = title.nextElementSibling, any = false;
    for (; next && next.tagName === "DETAILS"; next = next.nextElementSibling) any ||= !next.hidden;
    title.hidden = !any;
  }
  document.getElementById("shown").textContent = `${count} of ${plural(run.scenarios.length, "scenario")}`;
}

function evidence(one, index) {
  const scenario = index === null ? null : run.scenarios[index];
  const step = scenario && one.step !== undefined && scenario.steps[one.step];
  const rows = (one.rows || []).map((row) => make("tr", { class: row.expected === row.seen ? null : "differs" },
    make("td", {}, row.name), make("td", { class: "number" }, row.expected), make("td", { class: "number" }, row.seen)));
  const links = (one.entries || []).map((seq) => [" ", make("a", { href: `#s${index}/e${seq}` }, String(seq))]);
  return make("div", { class: `evidence ${one.verdict}` }, word(one.verdict),
    step ? make("div", { class: "soft" }, `in ${step.text} (${scenario.path}:${step.line})`) : null,
    make("pre", {}, one.message),
    rows.length ? make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "total"), make("th", {}, "expected"), make("th", {}, "seen"))), make("tbody", {}, rows)) : null,
    one.help ? make("div", {}, `help: ${one.help}`) : null,
    links.length && index !== null ? make("div", {}, "entries:", links) : null);
}

function command(label, text) {
  const copy = make("button", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(text); copy.textContent = "copied"; } catch { copy.textContent = "select it and copy"; }
  } }, "copy");
  return make("div", { class: "command" }, make("span", {}, label), make("code", {}, text), copy);
}

function steps(scenario) {
  const items = scenario.steps.map((step) => make("li", {}, `${step.text} `,
    step.exit && step.exit !== "passed" ? word(step.exit) : make("span", { class: "soft" }, step.exit ? seconds(step.took) : "did not run")));
  return [make("h3", {}, "Steps"), make("ol", { class: "steps" }, items)];
}

async function open(index) {
  if (opened.has(index)) return opened.get(index);
  const ready = fill(index);
  opened.set(index, ready);
  return ready;
}

async function fill(index) {
  const scenario = run.scenarios[index];
  const body = document.querySelector(`#s${index} > .body`);
  body.append(make("p", { class: "soft" }, `${scenario.place} `, scenario.tags.map((tag) => `@${tag} `)),
    ...scenario.evidence.map((one) => evidence(one, index)),
    ...(scenario.warnings || []).map((one) => evidence({ ...one, verdict: "warning" }, index)));
  if (scenario.repeat) body.append(command("repeat", scenario.repeat));
  if (scenario.show) body.append(command("its course", scenario.show));
  body.append(...steps(scenario));
  const drawn = make("div");
  body.append(drawn);
  let record = null;
  try { record = await unpack(index); } catch (error) { drawn.append(make("p", { class: "hint" }, `The timeline cannot be drawn: ${error.message}`)); }
  if (record) return timeline(index, scenario, record, drawn);
  if (!drawn.firstChild) drawn.append(make("p", { class: "hint" }, scenario.left_out || "It has no timeline."));
  return null;
}

// Timelines are compressed; most of them are never opened.
async function unpack(index) {
  const packed = document.getElementById(`t${index}`);
  if (!packed) return null;
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack it");
  const bytes = Uint8Array.from(atob(packed.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// #s3, #s3/M2, #s3/e117: a scenario, a message of it, an entry of it.
async function go() {
  const [, index, rest] = /^#s(\d+)(?:\/(.*))?$/.exec(decodeURIComponent(location.hash)) || [];
  const details = index !== undefined && document.getElementById(`s${index}`);
  if (!details) return;
  details.hidden = false;
  details.open = true;
  const view = await open(Number(index));
  details.scrollIntoView();
  for (const part of (rest || "").split("/").filter(Boolean)) if (view) view.choose(part);
  document.documentElement.dataset.ready = location.hash;
}

function keys(event) {
  if (event.target.closest("input, select, .scroll") || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...document.querySelectorAll("details.scenario:not([hidden]) > summary")];
  const at = all.indexOf(document.activeElement);
  if (event.key === "/") document.getElementById("query").focus();
  else if (event.key === "j") (all[at + 1] || all[0])?.focus();
  else if (event.key === "k") (all[at - 1] || all.at(-1))?.focus();
  else return;
  event.preventDefault();
}

header();
list();
filters();
narrow();
addEventListener("hashchange", go);
addEventListener("keydown", keys);
go();
document.documentElement.dataset.drawn = "yes";
