"use strict";
// One scenario's timeline: where its messages ended, lanes to scale, entries to read.
const SVG = "http://www.w3.org/2000/svg";
const TRACK = 18, TRACKS = 6;
// Seq, time, lane, kind, whether it disturbs, text, messages. And of spans: lane, from,
// until, what, text, messages, first and last entry.
const [SEQ, AT, LANE, KIND, GRAVE, TEXT, OF] = [0, 1, 2, 3, 4, 5, 6];
const [S_LANE, S_FROM, S_UNTIL, S_WHAT, S_TEXT, S_OF] = [0, 1, 2, 3, 4, 5];
const SHAPES = {
  stage: "M-4,0 0,-4 4,0 0,4Z", sent: "M-5,4 0,-5 5,4Z", delivered: "M-5,-4 0,5 5,-4Z", deleted: "M-5,-1.5H5V1.5H-5Z",
  visible: "M-5,0 0,-5 0,-1.5 5,-1.5 5,1.5 0,1.5 0,5Z", performed: "M-4.5,-4.5H4.5V4.5H-4.5Z", started: "M-3,-5 5,0 -3,5Z",
  exited: "M-5,-3 -3,-5 0,-2 3,-5 5,-3 2,0 5,3 3,5 0,2 -3,5 -5,3 -2,0Z", signal: "M-5,-3 -3,-5 0,-2 3,-5 5,-3 2,0 5,3 3,5 0,2 -3,5 -5,3 -2,0Z",
  fault: "M1,-7 -4,1 -1,1 -2,7 4,-1 1,-1Z", injected: "M1,-7 -4,1 -1,1 -2,7 4,-1 1,-1Z", trouble: "M-1.5,-6H1.5V2H-1.5ZM-1.5,4H1.5V6H-1.5Z",
};
const LEGEND = { stage: "stage passed", delivered: "received", sent: "sent", deleted: "deleted", visible: "visible again", performed: "outside write", started: "process starts", exited: "process ends", fault: "fault" };
const PARTS = {
  client: ["with its client", "not submitted, or refused"], unsent: ["accepted, not sent yet", "outbox"], queue: ["in queue", ""], "in-hand": ["in hand of", ""],
  "dead-letters": ["dead letters", ""], resting: ["at rest", "outside of all queues"], ended: ["ended as", ""], nowhere: ["nowhere", "deleted without an end"], outside: ["written outside, to", ""],
};

function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (key === "hue") element.style.setProperty("--hue", value);
    else element.setAttribute(key, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}
const clock = (us) => `${(us / 1e6).toFixed(3)} s`;

function timeline(index, scenario, record, place) {
  const cited = new Set(scenario.evidence.flatMap((one) => one.entries || []));
  const view = { index, record, cited, message: null, now: null, zoom: 1 };
  view.names = record.messages;
  place.append(make("h3", {}, "Where every message ended"), parts(view), ...figures(record), make("h3", {}, "Course"), chooser(view));
  view.told = make("p", { class: "told", role: "status", "aria-live": "polite" }, "Choose a mark, or an entry below.");
  view.course = make("div", { class: "course" });
  place.append(zoomer(view), view.course, legend(), view.told, make("h3", {}, "Entries"), (view.entries = make("div", { class: "entries", tabindex: 0, role: "region", "aria-label": "entries" })), ...logs(record));
  lanes(view);
  rows(view);
  view.choose = (part) => choose(view, part);
  return view;
}

// The parts of the system, from the client to the outside, with who is there.
function parts(view) {
  const order = Object.keys(PARTS);
  const places = [...view.record.places].sort((one, other) => order.indexOf(one.part) - order.indexOf(other.part));
  const items = places.map((one) => {
    const [label, hint] = PARTS[one.part];
    const known = one.messages.map(([name, times]) => [view.names.indexOf(name), name, times]).sort((first, second) => first[0] - second[0]);
    const shown = known.map(([at, name, times], position) => [make("span", { class: position < 40 ? "who" : "who extra", hue: hueOf(at), "data-of": at }, times > 1 ? `${name} ×${times}` : name), " "]);
    const more = known.length - 40;
    return make("li", { class: `${one.part} ${one.messages.length ? "" : "empty"}`, "data-part": one.part },
      make("span", { class: "of" }, `${label} ${one.name || hint}`.trim()), make("span", { class: "count" }, `${one.messages.length} `), shown, more > 0 ? make("span", { "data-of": "" }, `and ${more} more`) : null);
  });
  return make("ul", { class: "parts" }, items);
}

function figures(record) {
  if (!record.figures.length) return [];
  const cell = (value) => make("td", { class: "number" }, value === null || value === undefined ? "–" : String(value));
  const lines = record.figures.map((one) => {
    const differs = one.witness !== null && one.claim !== null && one.witness !== one.claim;
    return make("tr", { class: differs ? "differs" : null }, make("td", {}, one.name), cell(one.witness), cell(one.claim));
  });
  return [make("h3", {}, "Totals"), make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "total"), make("th", {}, "counted on the wires"), make("th", {}, "told by the system"))), make("tbody", {}, lines))];
}

function chooser(view) {
  const all = [[null, "all messages"], ...view.names.map((name, at) => [at, name])];
  if (all.length > 40) {
    const select = make("select", { onchange: () => select_message(view, select.value === "" ? null : Number(select.value)) },
      all.map(([at, name]) => make("option", { value: at === null ? "" : at }, name)));
    view.select = select;
    return make("p", {}, make("label", {}, "Only the way of ", select));
  }
  view.chips = all.map(([at, name]) => make("button", { type: "button", class: at === null ? "" : "chip", hue: at === null ? 0 : hueOf(at), "data-message": name, "aria-pressed": String(at === null), onclick: () => select_message(view, at) }, name));
  return make("div", { class: "chips", role: "group", "aria-label": "Only the way of one message" }, view.chips);
}

function select_message(view, at) {
  view.message = at;
  for (const chip of view.chips || []) chip.setAttribute("aria-pressed", String(chip.dataset.message === (at === null ? "all messages" : view.names[at])));
  if (view.select) view.select.value = at === null ? "" : at;
  const root = document.getElementById(`s${view.index}`);
  for (const one of root.querySelectorAll("[data-of]")) {
    const of = one.dataset.of.split(" ");
    one.classList.toggle("chosen", of.includes(String(at)));
    one.classList.toggle("other", at !== null && one.dataset.always === undefined && !of.includes(String(at)));
  }
  rows(view);
}

function zoomer(view) {
  const by = (factor) => () => { view.zoom = Math.max(1, Math.min(256, view.zoom * factor)); lanes(view); };
  return make("p", { class: "chips" }, make("button", { type: "button", onclick: by(2), "aria-label": "zoom in" }, "+"),
    make("button", { type: "button", onclick: by(0.5), "aria-label": "zoom out" }, "−"), make("span", { class: "hint" }, `to scale: ${clock(view.record.took_us)} in all`));
}

// What lasts at the same time on a lane gets tracks below each other.
function tracks(view) {
  const ends = view.record.lanes.map(() => []);
  const track = new Map();
  view.crowded = new Set();
  for (const span of view.record.spans) {
    if (!["hand", "waiting"].includes(span[S_WHAT])) continue;
    const free = ends[span[S_LANE]];
    let at = free.findIndex((until) => until <= span[S_FROM]);
    // Where many lie on top of each other, none is named; each is seen when it is chosen.
    const crowded = at < 0 && free.length >= TRACKS;
    if (at < 0) at = crowded ? TRACKS - 1 : free.length;
    if (crowded) view.crowded.add(span);
    free[at] = Math.max(free[at] || 0, span[S_UNTIL]);
    track.set(span, at);
  }
  return [track, ends.map((free) => TRACK * Math.max(1, free.length) + 10)];
}

function lanes(view) {
  const { record } = view;
  const [track, heights] = tracks(view);
  const tops = heights.reduce((tops, height) => [...tops, tops.at(-1) + height], [18]);
  const scroll = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "timeline; arrow keys go from entry to entry", onkeydown: (event) => step(view, event) });
  const names = make("div", { class: "names", "aria-hidden": "true" }, make("div", { style: "height:18px" }), record.lanes.map((lane, at) => make("div", { style: `height:${heights[at]}px`, title: `${lane.of} ${lane.name}` }, lane.name)));
  view.course.replaceChildren(names, scroll);
  const width = Math.round(Math.max(240, scroll.clientWidth) * view.zoom), height = tops.at(-1) + 4;
  const x = (us) => 6 + (us / Math.max(1, record.took_us)) * (width - 12);
  const svg = draw("svg", { width, height, role: "img", "aria-label": `timeline of ${record.lanes.length} lanes; its entries stand in the table below` }, hatches());
  const ticks = Math.max(1, Math.floor(width / 130));
  for (let tick = 0; tick <= ticks; tick++) {
    const us = (record.took_us * tick) / ticks;
    svg.append(draw("text", { class: "axis", x: x(us), y: 11, "text-anchor": tick === 0 ? "start" : tick === ticks ? "end" : "middle" }, clock(us)));
  }
  for (const top of tops.slice(1)) svg.append(draw("line", { class: "rule", x1: 0, x2: width, y1: top, y2: top }));
  for (const one of record.marks) if (one[KIND] === "step") svg.append(draw("line", { class: "step", x1: x(one[AT]), x2: x(one[AT]), y1: 16, y2: height }, draw("title", {}, one[TEXT])));
  const groups = record.lanes.map((lane) => draw("g", { "data-lane": lane.name }));
  for (const span of record.spans) groups[span[S_LANE]].append(lasting(view, span, x, tops, heights, track));
  view.marks = new Map();
  for (const one of record.marks) {
    if (["step", "counted", "course"].includes(one[KIND])) continue;
    const mark = moment(view, one, x(one[AT]), tops[one[LANE]] + heights[one[LANE]] / 2);
    view.marks.set(one[SEQ], mark);
    groups[one[LANE]].append(mark);
  }
  svg.append(...groups);
  scroll.append(svg);
  view.scroll = scroll;
  view.x = x;
  if (view.message !== null) select_message(view, view.message);
  if (view.now !== null) light(view, view.now);
}

function hatches() {
  const hatch = (name, colour, angle) => draw("pattern", { id: `hatch-${name}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` },
    draw("rect", { width: 6, height: 6, fill: colour, "fill-opacity": .15 }), draw("rect", { width: 2, height: 6, fill: colour, "fill-opacity": .6 }));
  return draw("defs", {}, hatch("held", "var(--held)", 45), hatch("outage", "var(--outage)", -45), hatch("stopped", "var(--stopped)", 90));
}

function lasting(view, span, x, tops, heights, track) {
  const [lane, from, until, what, text, of] = span;
  const width = Math.max(1.5, x(until) - x(from));
  const slot = track.has(span) ? tops[lane] + 5 + track.get(span) * TRACK + 2 : tops[lane] + 3;
  const height = track.has(span) ? TRACK - 4 : heights[lane] - 6;
  const rect = draw("rect", { class: what, x: x(from), y: slot, width, height, rx: 2 }, draw("title", {}, `${text}, ${clock(from)} to ${clock(until)}`));
  const label = what === "mode" ? text : of.map((at) => view.names[at]).join(", ");
  const fits = ["hand", "waiting", "mode"].includes(what) && !view.crowded.has(span) && label.length * 6.5 < width;
  const words = fits ? draw("text", { class: "on", x: x(from) + 3, y: slot + 11 }, label) : null;
  if (!of.length) return draw("g", { "data-span": what }, rect, words);
  return draw("g", { hue: hueOf(of[0]), "data-of": of.join(" "), "data-span": what }, rect, words);
}

function moment(view, one, x, y) {
  const path = SHAPES[one[KIND]] || "M-.8,-3H.8V3H-.8Z";
  const classes = ["mark", one[GRAVE] ? "grave" : "", one[OF].length ? "of" : "", view.cited.has(one[SEQ]) ? "cited" : ""].join(" ");
  const mark = draw("g", { class: classes, transform: `translate(${x},${y})`, "data-seq": one[SEQ], "data-kind": one[KIND], "data-of": one[OF].join(" "), hue: one[OF].length ? hueOf(one[OF][0]) : null },
    draw("circle", { class: "at", r: 8, fill: "none" }), view.cited.has(one[SEQ]) ? draw("circle", { r: 9 }) : null, draw("path", { d: path }), draw("title", {}, `${one[SEQ]}  ${clock(one[AT])}  ${one[TEXT]}`));
  if (!one[OF].length) mark.dataset.always = "";
  mark.addEventListener("click", () => light(view, one[SEQ], true));
  return mark;
}

const is_shown = (view, one) => view.message === null || one[OF].includes(view.message) || one[KIND] === "step" || (one[GRAVE] && !one[OF].length);

function rows(view) {
  const { record } = view;
  const shown = record.marks.filter((one) => is_shown(view, one));
  const body = make("tbody", {}, shown.map((one) => make("tr", { id: `s${view.index}e${one[SEQ]}`, "data-seq": one[SEQ], "data-lane": record.lanes[one[LANE]].name, onclick: () => light(view, one[SEQ]),
    class: [one[GRAVE] ? "grave" : "", view.cited.has(one[SEQ]) ? "cited" : "", one[KIND] === "step" ? "step-row" : "", view.now === one[SEQ] ? "now" : ""].join(" ") },
  make("td", { class: "number" }, make("a", { href: `#s${view.index}/e${one[SEQ]}` }, String(one[SEQ])), view.cited.has(one[SEQ]) ? " ▶" : ""), make("td", { class: "number" }, clock(one[AT])), make("td", {}, record.lanes[one[LANE]].name),
  make("td", {}, one[OF].map((at) => make("span", { class: "who", hue: hueOf(at) }, view.names[at]))), make("td", { class: "what" }, one[TEXT]))));
  const head = make("thead", {}, make("tr", {}, ["entry", "at", "who", "message", "what"].map((name) => make("th", { scope: "col" }, name))));
  view.shown = shown.filter((one) => view.marks.has(one[SEQ])).map((one) => one[SEQ]);
  view.entries.replaceChildren(make("table", {}, make("caption", { class: "hint" }, `${shown.length} of ${record.entries} entries; ▶ shows why it did not pass. All of them: the history.`), head, body));
}

// Shows one entry in the timeline, in words, and in the table.
function light(view, seq, scrolls) {
  const one = view.record.marks.find((mark) => mark[SEQ] === seq);
  view.now = seq;
  for (const old of [...view.course.querySelectorAll(".now"), ...view.entries.querySelectorAll(".now")]) old.classList.remove("now");
  const mark = view.marks.get(seq);
  if (mark) {
    mark.classList.add("now");
    view.scroll.scrollLeft = view.x(one[AT]) - view.scroll.clientWidth / 2;
  }
  const row = document.getElementById(`s${view.index}e${seq}`);
  if (row) row.classList.add("now");
  if (row && scrolls) view.entries.scrollTop = row.offsetTop - view.entries.clientHeight / 2;
  view.told.textContent = one ? `${seq}, at ${clock(one[AT])}, ${view.record.lanes[one[LANE]].name}${one[OF].length ? `, ${one[OF].map((at) => view.names[at]).join(", ")}` : ""}: ${one[TEXT]}` : `Entry ${seq} is a detail that is not drawn; it stands in the history.`;
}

function step(view, event) {
  const at = view.shown.indexOf(view.now);
  const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? view.shown.length - 1 : at - 1, Home: 0, End: view.shown.length - 1 }[event.key];
  if (event.key === "+" || event.key === "-") { view.zoom = Math.max(1, Math.min(256, view.zoom * (event.key === "+" ? 2 : 0.5))); lanes(view); view.scroll.focus(); }
  else if (to !== undefined && view.shown[to] !== undefined) light(view, view.shown[to], true);
  else return;
  event.preventDefault();
}

// M2 selects a message, e117 an entry.
function choose(view, part) {
  const entry = /^e(\d+)$/.exec(part);
  if (entry && !view.names.includes(part)) {
    light(view, Number(entry[1]), true);
    view.course.scrollIntoView({ block: "center" });
  } else if (view.names.includes(part)) select_message(view, view.names.indexOf(part));
}

function legend() {
  const items = Object.entries(LEGEND).map(([kind, text]) => make("li", {}, draw("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, draw("path", { d: SHAPES[kind], fill: "currentcolor" })), ` ${text}`));
  const bands = [["in hand", "solid bar"], ["in a queue", "pale bar"], ["held, outage, stopped", "hatched"]].map(([what, how]) => make("li", {}, `${how}: ${what}`));
  return make("ul", { class: "legend" }, items, bands);
}

function logs(record) {
  if (!record.logs.length) return [];
  return [make("h3", {}, "What processes wrote last"), ...record.logs.map((log) => make("details", {}, make("summary", {}, `${log.process}${log.seq ? `, until entry ${log.seq}` : ""}`), make("pre", {}, log.lines.join("\n") || "nothing"), make("p", { class: "soft" }, `all of it: ${log.path}`)))];
}
