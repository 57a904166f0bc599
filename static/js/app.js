// Removes waits from pages that work without it. No inline handlers, no eval: the CSP forbids both.

const words = document.getElementById("words")?.dataset ?? {};
const live = document.getElementById("live");
const help = document.getElementById("help");
let feed = document.getElementById("feed"); // what is found while somebody types brings another one
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
  if (!event.target.matches(".below")) return; // another one takes its place
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

// --- new posts: told by a stream, else asked for ---------------------------------------------------------

const LISTEN_AFTER = 2000; // milliseconds: first the page
const pill = document.getElementById("pill");
if (pill?.dataset.ticket && "EventSource" in window) {
  setTimeout(async () => (await import(words.news)).listen(pill), LISTEN_AFTER);
}

// Who listens need not ask.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target !== pill || !pill.dataset.listening) return;
  if (event.detail.requestConfig.triggeringEvent?.type !== "look") event.preventDefault();
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
  feed = document.getElementById("feed");
  if (!feed?.contains(event.detail.target)) return;
  const source = event.detail.requestConfig.elt;
  if (source.matches(".replies")) {
    source.closest(".post").nextElementSibling.focus();
    source.remove();
  }
  renumber();
  feed.setAttribute("aria-busy", "false");
});

function renumber() {
  const posts = articles();
  posts.forEach((post, index) => post.setAttribute("aria-posinset", index + 1));
  const first = posts.find((post) => post.tabIndex === 0) ?? posts[0];
  for (const post of posts) post.tabIndex = post === first ? 0 : -1;
}

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

function press(selector) {
  const found = current()?.querySelector(selector);
  found?.click();
  return Boolean(found);
}

function go(address) {
  if (!address) return;
  location.assign(address);
}

const part = (selector) => current()?.querySelector(selector);

// What the keys do is said by one table, which the server keeps (apps/accounts/shortcuts.py).
const ACTS = {
  next: () => step(1),
  previous: () => step(-1),
  open: () => press(".when, .stamp a"),
  like: () => press(".act.like"),
  bookmark: () => press(".act.mark"),
  repost: () => press(".act.boost"),
  reply: () => press(".act.reply"),
  quote: () => go(part('.menu [href*="quote="]')?.href),
  author: () => go(part(".name")?.href),
  mention: () => current() && go(`/compose?to=${part(".acct").textContent.slice(1)}`),
  warning: () => press(".cw summary"),
  media: () => press(".media a"),
  copy: () => press(".menu [data-copy]"),
  why: () => go(part('.menu [href^="/explain/"]')?.href),
  search: () => {
    const field = document.querySelector("input[type=search]");
    if (field) field.focus();
    else go("/search");
  },
  fresh: () => document.querySelector(".pill")?.click(),
  top: () => {
    scrollTo({ top: 0 });
    articles()[0]?.focus({ preventScroll: true });
  },
  help: () => openHelp(),
};
const KEYS = JSON.parse(words.keys || "{}");
const SEQUENCE = 1500; // milliseconds between the keys of one
let begun = "";
let begunAt = 0;

function actOf(key) {
  const sequence = Date.now() - begunAt < SEQUENCE ? `${begun} ${key}` : "";
  const act = KEYS[sequence] ?? KEYS[key];
  const begins = !act && Object.keys(KEYS).some((one) => one.startsWith(`${key} `));
  [begun, begunAt] = begins ? [key, Date.now()] : ["", 0];
  return act;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const onPost = event.target.matches(".post");
  if (onPost && event.key === "PageDown") step(1); // of the pattern for feeds, whatever is switched off
  else if (onPost && event.key === "PageUp") step(-1);
  else if (event.key !== "Enter" || onPost) {
    const act = actOf(event.key);
    if (!act) return;
    if (act.startsWith("/")) go(act);
    else ACTS[act]();
  } else return;
  event.preventDefault();
});

async function openHelp() {
  if (!help) return;
  const list = help.querySelector(".list");
  if (!list.children.length) {
    const answer = await fetch(list.dataset.from, { headers: { "HX-Request": "true" } });
    if (!answer.ok) return go(list.dataset.from);
    list.innerHTML = await answer.text();
  }
  help.showModal();
}

document.addEventListener("focusin", (event) => {
  const post = event.target.closest?.("#feed > .post");
  if (post) for (const other of articles()) other.tabIndex = other === post ? 0 : -1;
});

// --- offline: said at the top; what would need the site waits until it is there again ------------------------

const strip = document.createElement("p");
strip.className = "end-of-list";
strip.textContent = words.offline;

function reach() {
  if (navigator.onLine) strip.remove();
  else document.getElementById("main")?.prepend(strip);
}

addEventListener("online", reach);
addEventListener("offline", () => {
  reach();
  say(words.offline);
});
reach();
document.addEventListener("submit", (event) => {
  if (navigator.onLine || event.target.method === "dialog") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  say(words.offline);
}, true);

// --- small things ------------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-copy]");
  if (link && navigator.clipboard) {
    event.preventDefault();
    link.closest("[popover]")?.hidePopover();
    await navigator.clipboard.writeText(link.href).then(() => say(words.copied), () => say(words.failed));
  }
  const share = event.target.closest("a[data-share]");
  if (share) {
    event.preventDefault();
    share.closest("[popover]").hidePopover();
    await navigator.share({ url: share.href }).catch((error) => error.name === "AbortError" || say(words.failed));
  }
  if (help && event.target.closest("[data-opens-help]")) {
    event.preventDefault();
    openHelp();
  }
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
  const asking = event.target.closest("a[data-asks]");
  if (asking && !elsewhere) {
    event.preventDefault();
    asking.closest("[popover]")?.hidePopover();
    const { ask } = await import(words.asking);
    ask(asking, { words, say, renumber });
  }
  const picture = event.target.closest(".media a");
  if (picture && !elsewhere && picture.closest(".post, .section")) {
    event.preventDefault();
    const { open } = await import(words.lightbox);
    open(picture, words);
  }
});

// Where the device can share, menus offer it below "Copy link".
document.addEventListener("beforetoggle", ({ target }) => {
  const copy = navigator.share && target.querySelector("[data-copy]");
  if (!copy || target.querySelector("[data-share]")) return;
  const share = document.createElement("a");
  share.href = copy.href;
  share.dataset.share = "";
  share.append(document.getElementById("share").content.cloneNode(true), words.share);
  copy.after(share);
}, true);

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
