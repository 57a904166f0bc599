// What may be meant by the word at the caret: people after @, tags after #, emoji after a colon. Where people are named,
// each word is one; what somebody looks for is the whole text. Without this file all of it is typed.

const WAIT = 150; // milliseconds without a key
const GAP = 6; // pixels
// As the grammar of texts has them (apps/posts/content/text.py): a handle may follow Chinese and Japanese at once.
const WORD =
  /(?:(?<![\p{L}\p{M}\p{N}_@＠#＃:/&])|(?<=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])(?=[@＠]))(?:[@＠#＃][\p{L}\p{M}\p{N}_]{1,40}|:(?=..|\p{sc=Han})[\p{L}\p{N}_+-]{1,40})$/u;
const WORDS = { "": WORD, search: /^.*\S/ };
const NAME = /[^\s,，]+$/;
const known = new WeakSet();
const list = document.createElement("div");
const told = document.createElement("p");
let field = null; // the one that the list is for
let options = [];
let at = -1;
let timer = 0;
let asked = 0;

list.className = "suggested";
list.popover = "manual";
list.addEventListener("mousedown", (event) => event.preventDefault()); // the caret stays where it is
list.addEventListener("click", ({ target }) => pick(target.closest("[role=option]")));
told.className = "sr";
told.ariaLive = "polite";

export function attach(target, sheet) {
  if (known.has(target)) return;
  known.add(target);
  if (!list.isConnected) document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: sheet }));
  hold(target);
  target.autocomplete = "off";
  target.ariaAutoComplete = "list";
  target.ariaHasPopup = "listbox";
  if (target.type === "text") target.role = "combobox";
  target.addEventListener("input", ({ isComposing }) => isComposing || wait(target));
  target.addEventListener("compositionend", () => wait(target));
  target.addEventListener("keydown", press, true);
  for (const name of ["compositionstart", "pointerdown", "blur"]) target.addEventListener(name, close);
  if (target.value !== target.defaultValue) wait(target); // somebody who types fast
}

// Inside of a dialog, which makes everything else inert; else with what the page is about.
function hold(target) {
  const home = target.closest("dialog") ?? document.getElementById("main");
  if (list.parentNode !== home) home.append(list, told);
}

function wordOf({ value, selectionStart, dataset }) {
  return (WORDS[dataset.suggest] ?? NAME).exec(value.slice(0, selectionStart))?.[0] ?? "";
}

function wait(target) {
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT, target);
}

async function ask(target) {
  const word = wordOf(target);
  if (!word) return close();
  const { suggest } = target.dataset;
  const query = new URLSearchParams({ q: suggest in WORDS ? word : `@${word.replace(/^[@＠]/, "")}`, in: suggest });
  asked.abort?.();
  asked = new AbortController();
  const answer = await fetch(`/suggest?${query}`, asked).catch(() => null);
  const found = answer?.ok && !answer.redirected ? await answer.text().catch(() => "") : "";
  if (document.activeElement !== target || wordOf(target) !== word) return; // another one is asked for
  close();
  list.innerHTML = found;
  options = [...list.querySelectorAll("li")];
  if (!options.length) return;
  field = target;
  hold(field);
  told.textContent = list.firstElementChild.dataset.told;
  list.showPopover();
  follow();
  field.setAttribute("aria-controls", "suggested");
  if (field.role) field.ariaExpanded = true;
  // what was typed of a tag, or is looked for, may be all that was meant
  select(suggest === "search" || /^[#＃]/.test(word) ? -1 : 0);
}

function close() {
  clearTimeout(timer);
  asked.abort?.();
  if (!field) return;
  select(-1);
  field.removeAttribute("aria-controls");
  if (field.role) field.ariaExpanded = false;
  list.hidePopover();
  told.textContent = "";
  field = null;
}

function select(number) {
  at = number;
  options.forEach((option, place) => (option.ariaSelected = place === at));
  options[at]?.scrollIntoView({ block: "nearest" });
  if (options[at]) field.setAttribute("aria-activedescendant", options[at].id);
  else field.removeAttribute("aria-activedescendant");
}

function press(event) {
  const { key } = event;
  if (!field || event.isComposing || event.keyCode === 229) return; // Safari's Enter that ends a composition
  if (event.ctrlKey || event.metaKey || /^(ArrowL|ArrowR|Home|End)/.test(key)) return close();
  if (key === "ArrowDown") select((at + 1) % options.length);
  else if (key === "ArrowUp") select((at > 0 ? at : options.length) - 1);
  else if (/^(Enter|Tab)$/.test(key) && options[at] && !event.shiftKey) pick(options[at]);
  else if (key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopImmediatePropagation(); // a box that sends on Enter has heard nothing
}

function pick(option) {
  if (!option) return;
  const { text, href } = option.dataset;
  if (href) return location.assign(href);
  const end = field.selectionStart;
  field.setSelectionRange(end - wordOf(field).length, end);
  put(/^[@#]/.test(text) ? `${text} ` : text);
  close();
}

// Where the focus is, as if it had been typed: it can be taken back.
export function put(text) {
  document.execCommand("insertText", false, text);
}

// Where the word begins: in a copy of the box, with its text up to there.
function caret(box) {
  const area = box.getBoundingClientRect();
  if (box.type !== "textarea") return area;
  const { font, padding, direction } = getComputedStyle(box);
  const copy = document.createElement("div");
  copy.className = "copied";
  Object.assign(copy.style, { font, padding, direction, width: `${area.width}px` });
  copy.append(box.value.slice(0, box.selectionStart - wordOf(box).length), document.createElement("i"));
  box.after(copy);
  const { x, y, height } = copy.lastChild.getBoundingClientRect();
  copy.remove();
  return new DOMRect(area.x + x, area.y + y - box.scrollTop, 0, height);
}

// Below something, or above it where the keyboard of a phone or the end of the window is.
export function place(popover, { top, bottom, left, right }) {
  const { width, height } = popover.getBoundingClientRect();
  const start = getComputedStyle(popover).direction === "rtl" ? right - width : left;
  const isBelow = bottom + height + GAP < visualViewport.offsetTop + visualViewport.height;
  popover.style.left = `${Math.max(GAP, Math.min(start, innerWidth - width - GAP))}px`;
  popover.style.top = `${isBelow ? bottom + GAP : Math.max(GAP, top - height - GAP)}px`;
}

const follow = () => field && place(list, caret(field));
visualViewport.addEventListener("resize", follow);
addEventListener("scroll", follow, true);
