// Emoji to choose from: by group, by name, and those that were chosen lately.

const COLUMNS = 8;
const MOST_RECENT = 24;
const KEY = "emoji";
const WAIT = 150; // milliseconds without a key
let panel = null;
let grid, search, tabs, tone; // of the panel
let field; // where it is put
let put; // as if it had been typed
let failed; // says that it did not work
let timer = 0;
let asked;
let groups; // of lines: the character, its name, its short name, keywords

export async function open(button, tools, sayFailed) {
  failed = sayFailed;
  panel ??= await make();
  const { form } = button;
  field = form.written ?? form.querySelector("textarea");
  put = tools.put;
  (button.closest("dialog") ?? document.body).append(panel);
  search.value = "";
  choose(tabs[kept().recent ? 0 : 1]);
  panel.showPopover();
  tools.place(panel, button.getBoundingClientRect());
  if (matchMedia("(pointer: fine)").matches) search.focus(); // elsewhere a keyboard would cover it
}

async function make() {
  const made = await parsed("/emoji");
  document.head.append(made.querySelector("link"));
  panel = made.querySelector(".emoji");
  grid = panel.querySelector("[role=grid]");
  search = panel.querySelector("input");
  tone = panel.querySelector("select");
  tabs = [...panel.querySelectorAll("[role=tab]")];
  groups = JSON.parse(await text(panel.dataset.names));
  tone.value = kept().tone ?? "";
  panel.addEventListener("change", () => {
    keep({ tone: tone.value });
    find();
  });
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT);
  });
  panel.addEventListener("keydown", move);
  panel.addEventListener("click", ({ target }) => {
    if (tabs.includes(target)) {
      search.value = "";
      choose(target);
    } else if (target.role === "gridcell") take(target);
  });
  return panel;
}

async function text(address, signal) {
  const answer = await fetch(address, { signal });
  if (!answer.ok) throw new Error(address);
  return answer.text();
}

async function parsed(address, signal) {
  const holder = document.createElement("template");
  holder.innerHTML = await text(address, signal);
  return holder.content;
}

function choose(tab) {
  focusable(tabs, tab);
  for (const other of tabs) other.ariaSelected = other === tab;
  const number = tabs.indexOf(tab);
  show(number ? groups[number - 1] : (kept().recent ?? []));
}

// The server knows them in all languages.
async function find() {
  const wanted = search.value.trim();
  asked?.abort();
  if (!wanted) return choose(tabs.find((tab) => tab.ariaSelected === "true"));
  const { signal } = (asked = new AbortController());
  const found = await parsed(`/suggest?in=panel&q=:${encodeURIComponent(wanted)}`, signal).catch(() => {
    if (!signal.aborted) failed();
  });
  if (!found || wanted !== search.value.trim()) return;
  show([...found.querySelectorAll("li")].map((one) => `${one.dataset.text}|${one.lastElementChild.textContent}`));
  return true;
}

function show(lines) {
  let row;
  grid.replaceChildren();
  lines.forEach((line, place) => {
    const [character, name] = line.split("|");
    if (place % COLUMNS === 0) {
      row = document.createElement("div");
      row.role = "row";
      grid.append(row);
    }
    const cell = Object.assign(document.createElement("button"), { type: "button", role: "gridcell", title: name, ariaLabel: name });
    cell.textContent = toned(character);
    cell.dataset.line = `${character}|${name}`;
    row.append(cell);
  });
  focusable(cells(), cells()[0]);
  grid.hidden = !row;
}

const cells = () => [...grid.querySelectorAll("button")];

function toned(character) {
  const changed = character.replace(/(\p{EBase})\uFE0F?/gu, `$1${tone.value}`);
  return tone.value && /^\p{RGI_Emoji}$/v.test(changed) ? changed : character;
}

function take({ dataset: { line }, textContent }) {
  const others = (kept().recent ?? []).filter((one) => one !== line);
  keep({ recent: [line, ...others].slice(0, MOST_RECENT) });
  panel.hidePopover();
  field.focus();
  put(textContent);
}

// One of them is in the order of Tab; arrows lead to the others.
function focusable(all, one) {
  for (const other of all) other.tabIndex = other === one ? 0 : -1;
}

function move(event) {
  const { target, key } = event;
  if (target === search && key === "Enter") {
    event.preventDefault();
    clearTimeout(timer);
    find().then((found) => found && cells()[0] && take(cells()[0]));
  }
  const all = tabs.includes(target) ? tabs : cells();
  const here = all.indexOf(target);
  const forward = getComputedStyle(panel).direction === "rtl" ? -1 : 1;
  const down = all === tabs ? 0 : COLUMNS;
  const steps = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: down, ArrowUp: -down, Home: -here, End: all.length - 1 - here };
  const next = target === search && key === "ArrowDown" ? all[0] : here >= 0 && key in steps && (all[here + steps[key]] ?? search);
  if (!next) return;
  event.preventDefault();
  if (all === tabs && next !== search) choose(next);
  else if (next !== search) focusable(all, next);
  next.focus();
}

// --- kept in this browser ---

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // storage may be switched off
  }
}

function keep(changed) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...kept(), ...changed }));
  } catch {
    // as above
  }
}
