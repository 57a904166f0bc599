// Removes waits from pages that work without it. No inline handlers, no eval: the CSP forbids both.

const words = document.getElementById("words")?.dataset ?? {};
const live = document.getElementById("live");
const help = document.getElementById("help");
const feed = document.getElementById("feed");
const compactNumber = new Intl.NumberFormat(document.documentElement.lang, { notation: "compact", roundingMode: "trunc" });

// --- toasts --------------------------------------------------------------------------------------

function dismissible(toast) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "×";
  button.setAttribute("aria-label", words.dismiss);
  button.addEventListener("click", () => toast.remove());
  toast.append(button);
  setTimeout(() => toast.remove(), 6000);
}

function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  live.append(toast);
  dismissible(toast);
}

for (const toast of document.querySelectorAll(".toast")) dismissible(toast);

// --- times: the rules are those of the `ago` template filter ---------------------------------------

function age(time) {
  const seconds = Math.floor((Date.now() - Date.parse(time)) / 1000);
  if (seconds < 60) return words.now;
  if (seconds < 3600) return words.minutes.replace("#", Math.floor(seconds / 60));
  if (seconds < 86400) return words.hours.replace("#", Math.floor(seconds / 3600));
  return seconds < 172800 ? words.yesterday : null; // older ones stay as the server wrote them
}

setInterval(() => {
  for (const element of document.querySelectorAll(".when time")) {
    const text = age(element.dateTime);
    if (text) element.textContent = text;
  }
}, 60000);

// --- composer: counter, draft, Ctrl+Enter ------------------------------------------------------------

const graphemes = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
const ADDRESS = /https?:\/\/[^\s<>"'，。！？；：、（）《》【】]{1,2000}/g;
const ADDRESS_TAIL = /[.,:;!?)\]}'"*_~]+$/;
const ADDRESS_LENGTH = 23;

// What people see: graphemes, an address counting 23. The server counts by the same rule (apps/posts/text.py).
function length(text) {
  let addresses = 0;
  const tidy = text.normalize("NFC").replace(/[^\S\n]+$/gm, "").replace(/\n{3,}/g, "\n\n").trim();
  const rest = tidy.replace(ADDRESS, (address) => {
    const bare = address.replace(ADDRESS_TAIL, "");
    if (bare.length <= "https://".length) return address;
    addresses += 1;
    return "\n" + address.slice(bare.length); // a line end is one character and joins with nothing
  });
  const characters = graphemes ? [...graphemes.segment(rest)] : [...rest];
  return characters.length + addresses * (ADDRESS_LENGTH - 1);
}

function kept(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // storage may be switched off; then there are no drafts
  }
  return null;
}

function restore(form, area, key) {
  const text = kept(key);
  if (!text || area.value.trim() === text.trim() || area.getAttribute("aria-invalid")) return;
  const before = area.value;
  area.value = text;
  const line = document.createElement("p");
  line.className = "restored";
  line.append(words.restored + " ");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = words.discard;
  button.addEventListener("click", () => {
    area.value = before;
    kept(key, "");
    line.remove();
    area.dispatchEvent(new Event("input"));
    area.focus();
  });
  line.append(button);
  area.after(line);
}

function compose(form) {
  const area = form.querySelector("textarea");
  const meter = form.querySelector("[data-meter]");
  const button = form.querySelector("button.btn");
  const most = Number(meter.dataset.meter);
  const key = form.dataset.draft && `draft:${form.dataset.draft}`;
  let waiting;
  if (key) restore(form, area, key);

  function count() {
    const used = length(area.value);
    const over = used > most;
    meter.querySelector(".left").textContent = most - used;
    meter.querySelector(".v").setAttribute("stroke-dasharray", `${Math.min(100, (used / most) * 100)} 100`);
    meter.classList.toggle("some", used > 0);
    meter.classList.toggle("over", over);
    if (over) area.setAttribute("aria-invalid", "true");
    else area.removeAttribute("aria-invalid");
    button.disabled = over || used === 0;
  }

  area.addEventListener("input", () => {
    count();
    clearTimeout(waiting);
    if (key) waiting = setTimeout(() => kept(key, area.value.trim()), 500);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !button.disabled) form.requestSubmit(button);
  });
  form.addEventListener("submit", () => {
    clearTimeout(waiting);
    if (key) kept(key, "");
  });
  window.addEventListener("pageshow", (event) => {
    const once = form.elements.idempotency_key;
    if (!event.persisted || !once) return;
    if (crypto.randomUUID) once.value = crypto.randomUUID(); // back from the cache: a new post, a new key
    count();
  });
  count();
  if (form.classList.contains("page") && !form.querySelector("[aria-invalid]")) {
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}

for (const form of document.querySelectorAll(".composer")) compose(form);
document.querySelector("form [aria-invalid=true]")?.focus();

// --- like, repost, bookmark: shown at once, taken back when it fails ------------------------------------

function flip(form) {
  const button = form.querySelector("button");
  const number = button.querySelector(".n");
  const pressed = button.getAttribute("aria-pressed") === "true";
  button.setAttribute("aria-pressed", String(!pressed));
  if (number.dataset.count === undefined || button.classList.contains("mark")) return;
  const count = Math.max(0, Number(number.dataset.count) + (pressed ? -1 : 1));
  number.dataset.count = count;
  number.textContent = count ? compactNumber.format(count) : "";
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches(".toggle")) flip(event.target);
  if (event.target.closest("#older")) feed?.setAttribute("aria-busy", "true");
});

function failed(event) {
  const source = event.detail.elt;
  if (source.matches(".toggle")) flip(source);
  if (source.matches("form")) say(words.failed);
  if (source.closest("#older")) {
    source.textContent = words.again;
    feed.setAttribute("aria-busy", "false");
  }
}

for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, failed);

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== feed) return;
  const posts = articles();
  posts.forEach((post, index) => post.setAttribute("aria-posinset", index + 1));
  const first = posts.find((post) => post.tabIndex === 0);
  for (const post of posts) if (post !== first && post.tabIndex === 0) post.tabIndex = -1;
  feed.setAttribute("aria-busy", "false");
});

// --- keyboard: j and k move, letters act on the post that has the focus ----------------------------------

function articles() {
  return feed ? [...feed.querySelectorAll(":scope > .post")] : [];
}

function current() {
  return document.activeElement?.closest(".post") ?? null;
}

function step(by) {
  const posts = articles();
  const here = posts.indexOf(current());
  const start = here < 0 ? posts.findIndex((post) => post.getBoundingClientRect().bottom > 80) - (by > 0 ? 1 : 0) : here;
  const next = posts[Math.min(posts.length - 1, Math.max(0, start + by))];
  if (!next) return;
  for (const post of posts) post.tabIndex = post === next ? 0 : -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const press = (selector) => current()?.querySelector(selector)?.click();
const go = (address) => location.assign(address);

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  o: () => press(".when, .stamp a"),
  l: () => press(".act.like"),
  f: () => press(".act.like"),
  b: () => press(".act.mark"),
  B: () => press(".act.boost"),
  r: () => press(".act.reply"),
  x: () => press(".cw summary"),
  n: () => go("/compose"),
  c: () => go("/compose"),
  ".": () => document.querySelector(".pill")?.click(),
  "?": () => help?.showModal(),
};
const PLACES = {
  h: "/",
  l: "/public",
  n: "/notifications",
  b: "/bookmarks",
  s: "/settings/profile",
  p: document.querySelector(".me")?.getAttribute("href"),
};
let sequence = 0;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help?.open) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (Date.now() - sequence < 1500) {
    sequence = 0;
    if (PLACES[event.key]) {
      event.preventDefault();
      go(PLACES[event.key]);
    }
    return;
  }
  if (event.key === "g") {
    sequence = Date.now();
    return;
  }
  const onPost = event.target.matches(".post");
  if (event.key === "Enter" && onPost) KEYS.o();
  else if (onPost && event.key === "PageDown") step(1);
  else if (onPost && event.key === "PageUp") step(-1);
  else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

document.addEventListener("focusin", (event) => {
  const post = event.target.closest?.("#feed > .post");
  if (post) for (const other of articles()) other.tabIndex = other === post ? 0 : -1;
});

// --- small things ------------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-copy]");
  if (link && navigator.clipboard) {
    event.preventDefault();
    link.closest("[popover]")?.hidePopover();
    await navigator.clipboard.writeText(link.href).then(() => say(words.copied), () => say(words.failed));
  }
  if (help && event.target.closest("[data-opens-help]")) {
    event.preventDefault();
    help.showModal();
  }
});

for (const box of document.querySelectorAll("[data-secret]")) {
  const input = box.querySelector("input");
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-label", words.reveal);
  button.setAttribute("aria-pressed", "false");
  button.append(document.getElementById("eye").content.cloneNode(true));
  button.addEventListener("click", () => {
    const shown = input.type === "text";
    input.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
  });
  box.append(button);
}
