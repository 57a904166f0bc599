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

// --- composers: what they need comes with the first one ---------------------------------------------

async function compose(root) {
  const forms = [...root.querySelectorAll(".composer, [data-moment]")];
  if (!forms.length) return;
  if (!document.querySelector('link[href*="composer"]')) {
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = words.sheet;
    document.head.append(sheet);
  }
  const { setUp } = await import(words.composer);
  for (const form of forms) setUp(form, { words, say });
}

compose(document);
document.querySelector("form [aria-invalid=true]")?.focus();

// An answer is written below the post it answers, where there is a place for it.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".act.reply");
  if (link?.pathname !== "/compose" || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const open = link.closest(".body").querySelector(":scope > .composer");
  if (open) open.querySelector("textarea").focus();
  else htmx.ajax("GET", link.href, { source: link, target: link.closest(".acts"), swap: "afterend" });
});

document.addEventListener("posted", (event) => {
  say(event.detail.text);
  forgetDraft(event.detail.draft);
  const answer = event.target.closest(".post")?.nextElementSibling;
  event.target.remove();
  answer?.focus();
});

function forgetDraft(key) {
  try {
    if (key) localStorage.removeItem(`draft:${key}`);
  } catch {
    // storage may be switched off; then there are no drafts
  }
}

for (const toast of document.querySelectorAll("[data-sent]")) forgetDraft(toast.dataset.sent);

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

document.addEventListener("htmx:load", (event) => {
  const added = event.target;
  compose(added.matches(".composer") ? added.parentElement : added);
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (!feed?.contains(event.detail.target)) return;
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
