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

function say(text, link) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  if (link) toast.append(Object.assign(document.createElement("a"), { href: link.href, textContent: link.text }));
  live.append(toast);
  dismissible(toast);
}

for (const toast of document.querySelectorAll(".toast")) dismissible(toast);

// --- times: on the reader's clock; the rules are those of the `ago` template filter, which writes UTC -----

const language = document.documentElement.lang;
const locale = language === "en" ? "en-GB" : language; // the day before the month, as the server writes it
const formatted = (options) => new Intl.DateTimeFormat(locale, options);
const day = formatted({ day: "numeric", month: "short" });
const dayOfYear = formatted({ day: "numeric", month: "short", year: "numeric" });
const minute = formatted({ day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const zone = formatted({ timeZoneName: "short" });

// As the `full_time` filter writes it, so that no line breaks at another place when the page has been drawn.
function fullTime(time) {
  const name = zone.formatToParts(time).find((part) => part.type === "timeZoneName").value;
  return `${minute.format(time).replace(" at ", ", ")} ${name}`;
}

function age(time) {
  const seconds = Math.floor((Date.now() - time) / 1000);
  if (seconds < 60) return words.now;
  if (seconds < 3600) return words.minutes.replace("#", Math.floor(seconds / 60));
  if (seconds < 86400) return words.hours.replace("#", Math.floor(seconds / 3600));
  if (seconds < 172800) return words.yesterday;
  return (time.getFullYear() === new Date().getFullYear() ? day : dayOfYear).format(time);
}

function setClocks(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const time = new Date(element.dateTime);
    const text = "full" in element.dataset ? fullTime(time) : element.closest(".when") ? age(time) : null;
    if (text && text !== element.textContent) element.textContent = text;
    const titled = element.closest(".when[title], time[title]");
    if (titled) titled.title = fullTime(time);
  }
}

setClocks(document);
setInterval(() => setClocks(document), 60000);

// --- boxes that suggest what may be meant, and the emoji beside them ---------------------------------------

async function suggest({ target }) {
  if (target.dataset?.suggest === undefined) return;
  if (target.form) target.form.written = target;
  (await import(words.suggesting)).attach(target, words.suggested);
}

document.addEventListener("focusin", suggest);
suggest({ target: document.activeElement });

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-emoji]");
  if (!button) return;
  const { open } = await import(button.dataset.emoji);
  const failed = () => say(words.failed);
  open(button, await import(words.suggesting), failed).catch(failed);
});

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
  await Promise.all(forms.map((form) => setUp(form, { words, say })));
}

compose(document);
document.querySelector("form [aria-invalid=true]")?.focus();

// Posts are written in a dialog over the page, answers below the post they answer.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (link?.pathname !== "/compose" || link.target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  link.closest("[popover]")?.hidePopover();
  const body = link.matches(".reply") && link.closest(".body");
  if (!body) return write(link.href);
  const open = body.querySelector(":scope > .composer");
  if (open) open.querySelector("textarea").focus();
  else htmx.ajax("GET", link.href, { source: link, target: body.querySelector(":scope > .acts"), swap: "afterend" });
});

async function write(address) {
  const page = document.querySelector(".composer.page textarea");
  if (page && address === "/compose") return page.focus();
  const { write: open } = await import(words.writing);
  open(address, { words, say, compose });
}

// The button of reposts asks which: with words of one's own, or without.
document.addEventListener("click", async (event) => {
  const button = event.target.closest(".act.boost[aria-pressed]");
  const quote = button?.closest(".acts").querySelector('.menu [href*="quote="]');
  if (!quote || button === plainly) return;
  event.preventDefault();
  event.stopPropagation();
  const { choose } = await import(words.writing);
  choose(button, quote, { words, repost });
}, true);

let plainly; // the button that does without asking

function repost(button) {
  plainly = button;
  button?.click();
  plainly = null;
}

document.addEventListener("posted", (event) => {
  const { text, link, see } = event.detail;
  say(text, link && { href: link, text: see });
  forgetDraft(event.detail.draft);
  if (!event.target.matches(".below")) return; // another one takes its place
  const answer = event.target.closest(".post")?.nextElementSibling;
  event.target.remove();
  answer?.focus();
});

document.addEventListener("told", ({ detail }) => say(detail.text));

function forgetDraft(key) {
  try {
    if (key) localStorage.removeItem(`draft:${key}`);
  } catch {
    // storage may be switched off; then there are no drafts
  }
}

for (const toast of document.querySelectorAll("[data-sent]")) forgetDraft(toast.dataset.sent);

// --- like, repost, bookmark: shown at once, taken back when it fails ------------------------------------

function flip(button) {
  const number = button.querySelector(".n");
  const pressed = button.getAttribute("aria-pressed") === "true";
  button.setAttribute("aria-pressed", String(!pressed));
  if (button.classList.contains("mark")) return;
  const count = Math.max(0, Number(number.dataset.count ?? number.textContent) + (pressed ? -1 : 1));
  number.dataset.count = count;
  number.textContent = count ? compactNumber.format(count) : "";
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches("[form=act]") && !navigator.onLine) {
    event.preventDefault();
    return say(words.offline);
  }
  if (event.target.matches(".act[aria-pressed]")) flip(event.target);
  if (!event.target.closest("#older") || !feed) return;
  if (feed.style.visibility) return event.preventDefault(); // its place is being looked for
  feed.setAttribute("aria-busy", "true");
  mark(feed, event.target);
});

// Nobody is followed: the hint to follow somebody goes when that has been done.
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const hint = document.querySelector("[data-until-followed]");
  if (!hint || !detail.successful || !detail.requestConfig.path.endsWith("/follow")) return;
  hint.remove();
  document.querySelector("[data-once-followed]").hidden = false;
});

// --- new posts: told by a stream, else asked for ---------------------------------------------------------

const LISTEN_AFTER = 2000; // milliseconds: first the page
const pill = document.getElementById("pill");
const bell = document.querySelector("[data-ticket]");
if (bell && "EventSource" in window) {
  setTimeout(async () => (await import(words.news)).listen({ bell, pill }), LISTEN_AFTER);
}

// What the device does while no page is open, where the site has it.
if (words.device && bell) setTimeout(async () => (await import(words.device)).begin(), LISTEN_AFTER);

// Who listens need not ask.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!pill?.dataset.listening || event.target !== pill) return;
  if (event.detail.requestConfig.triggeringEvent?.type !== "look") event.preventDefault();
});

function failed(event) {
  const source = event.detail.elt;
  if (source.matches(".act[aria-pressed]")) flip(source);
  if (source.matches("form, [form=act]")) say(words.failed);
  if (source.closest("#older")) {
    source.textContent = words.again;
    feed.setAttribute("aria-busy", "false");
  }
}

for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, failed);

// --- promoted posts: one counts when its label has been on the screen for a second, once for each page ------

const view = `${Date.now()}-${Math.random()}`;
const onScreen = new Map();
const labels = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    clearTimeout(onScreen.get(target));
    if (isIntersecting) onScreen.set(target, setTimeout(countSeen, 1000, target));
  }
});

function countSeen(label) {
  if (document.hidden) return;
  labels.unobserve(label);
  const body = new URLSearchParams({ post: label.dataset.promoted, view });
  body.set("csrfmiddlewaretoken", document.getElementById("act").elements.csrfmiddlewaretoken.value);
  fetch("/promoted/seen", { method: "POST", body, keepalive: true }).catch(() => {});
}

// Those, and short videos that play by themselves.
function watch(root) {
  for (const label of root.querySelectorAll("[data-promoted]")) labels.observe(label);
  for (const box of root.querySelectorAll("[data-loop]")) import(box.dataset.loop).then((loops) => loops.watch(box));
}

watch(document);

document.addEventListener("htmx:load", (event) => {
  const added = event.target;
  watch(added);
  setClocks(added);
  actInPlace(added);
  fillMenus(added);
  compose(added.matches(".composer") ? added.parentElement : added);
  if (added.matches(".voting")) {
    added.tabIndex = -1; // the button that had the focus is gone
    added.focus();
  }
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
  const posts = articles().filter((post) => post.matches(".post"));
  posts.forEach((post, index) => post.setAttribute("aria-posinset", index + 1));
  const first = posts.find((post) => post.tabIndex === 0) ?? posts[0];
  for (const post of posts) post.tabIndex = post === first ? 0 : -1;
}

// --- the place in the feed: kept for a reload, and for a tab that the device puts away ---------------------

const placeKey = `place:${location.pathname}${location.search}`;
const FOLLOWING = 5; // posts by which a place is found again: some may be gone by then

// Which page follows a post is written down at that post.
function mark(list, link) {
  if (list.lastElementChild) list.lastElementChild.dataset.next = link.getAttribute("href");
}

function keepPlace() {
  const posts = articles();
  const at = posts.findIndex((post) => post.getBoundingClientRect().bottom > 80);
  if (feed?.style.visibility) return; // it is being looked for
  const pages = posts.slice(0, at).map((post) => post.dataset.next).filter(Boolean);
  const ids = posts.slice(at, at + FOLLOWING).map((post) => post.id);
  const place = { ids, top: posts[at]?.getBoundingClientRect().top, pages: pages.length, from: pages.at(-1) };
  try {
    if (at >= 0 && scrollY > 0) sessionStorage.setItem(placeKey, JSON.stringify(place));
    else sessionStorage.removeItem(placeKey);
  } catch {
    // storage may be switched off; then a reload starts at the top
  }
}

// What is done from a card leads back to the page that its post came with.
const actForm = document.getElementById("act");

function cameWith(element) {
  let post = element.closest("#feed > *")?.previousElementSibling;
  while (post && !post.dataset.next) post = post.previousElementSibling;
  return post?.dataset.next ?? actForm.elements.next.value;
}

actForm?.addEventListener("submit", ({ submitter }) => {
  const { next } = actForm.elements;
  const here = next.value;
  next.value = cameWith(submitter);
  setTimeout(() => (next.value = here)); // the page may be shown again from the browser's cache
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-returns]");
  if (!link) return;
  const address = new URL(link.href);
  address.searchParams.set("next", cameWith(link));
  link.href = address;
}, true);

async function findPlace() {
  let place;
  try {
    place = JSON.parse(sessionStorage.getItem(placeKey));
  } catch {
    return; // as above
  }
  const [navigation] = performance.getEntriesByType("navigation");
  const again = document.wasDiscarded || navigation?.type !== "navigate" || place?.entered;
  if (!place || !again || location.hash || !articles().length) return;
  history.scrollRestoration = "manual";
  feed.style.visibility = "hidden";
  const { restore } = await import(words.place);
  await restore(place, { feed, mark, renumber });
}

addEventListener("pagehide", keepPlace);
document.addEventListener("visibilitychange", () => document.hidden && keepPlace());
findPlace();

// --- home: where the reader left off -----------------------------------------------------------------------

if (feed?.dataset.read !== undefined) {
  import(words.leftOff).then(({ follow }) => follow(feed, { form: actForm, address: words.marker }));
}

// --- keyboard: j and k move, letters act on the post that has the focus ----------------------------------

function articles() {
  return feed ? [...feed.querySelectorAll(":scope > :is(.post, .news):not([hidden])")] : [];
}

function current() {
  return document.activeElement?.closest(".post, .news") ?? null;
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
  if (new URL(address, location).pathname === "/compose") write(address);
  else location.assign(address);
}

const part = (selector) => current()?.querySelector(selector);

// The server has the table of keys and their actions (apps/web/templatetags/keyboard.py).
const ACTS = {
  next: () => step(1),
  previous: () => step(-1),
  open: () => press("a.when, .stamp a") || press(".preview") || press(".line a"),
  like: () => press(".act.like"),
  bookmark: () => press(".act.mark"),
  repost: () => repost(part(".act.boost")),
  reply: () => press(".act.reply"),
  quote: () => go(part('.menu [href*="quote="]')?.href),
  author: () => go(part(".name, .line a")?.href),
  mention: () => part(".acct") && go(`/compose?to=${part(".acct").textContent.slice(1)}`),
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
  undo: () => import(words.undoing).then(({ undoLatest }) => undoLatest()),
  help: () => openHelp(),
};
const KEYS = Object.fromEntries(Array.from((words.keys ?? "").matchAll(/([^,]+) ([^,]+)/g), (one) => one.slice(1)));
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
  const onPost = event.target.matches(".post, .news");
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
  const post = event.target.closest?.("#feed > :is(.post, .news)");
  if (post) for (const other of articles()) other.tabIndex = other === post ? 0 : -1;
});

// --- offline: said at the top; what would need the site waits until it is there again ------------------------

const strip = document.createElement("p");
strip.className = "end-of-list";
strip.textContent = words.offline;

function reach() {
  if (document.querySelector("[data-kept]")) return navigator.onLine && location.reload(); // it says so itself
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
  const picture = event.target.closest(".media a");
  if (picture && !elsewhere && picture.closest(".post, .section")) {
    event.preventDefault();
    const { open } = await import(words.lightbox);
    open(picture, words);
  }
});

// What can be taken back for a moment needs no question first.
document.addEventListener("click", async (event) => {
  const source = event.target.closest("[data-undo]");
  if (!source || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // nothing is sent by now
  if (source.ariaDisabled === "true") return;
  if (!navigator.onLine) return say(words.offline);
  const { later } = await import(words.undoing);
  later(source, { words, live, say, renumber });
}, true);

document.addEventListener("pointerover", async ({ target, pointerType }) => {
  const link = pointerType === "mouse" && target.closest('main a[href^="/@"], aside a[href^="/@"]');
  if (link && words.hovering) (await import(words.hovering)).rest(link);
});

// Cards have a link to the page with their menu: it gives way to the menu itself.
const menu = document.getElementById("menu")?.innerHTML;

// The buttons of cards are forms of their own; with scripts they act in place.
function actInPlace(root) {
  for (const acts of root.matches?.(".acts") ? [root] : root.querySelectorAll(".acts")) {
    const anchor = acts.id.slice(1);
    acts.setAttribute("hx-target", "this");
    acts.setAttribute("hx-swap", "outerHTML");
    for (const button of acts.querySelectorAll(".act[aria-pressed]")) {
      button.id = `${button.classList[1]}${anchor}`;
      button.name = "at";
      button.value = `p${anchor}`;
      button.setAttribute("hx-post", button.getAttribute("formaction"));
      button.setAttribute("hx-sync", "this:drop");
      if (button.id === leaving && document.activeElement === document.body) button.focus();
    }
    window.htmx?.process(acts);
  }
}

// As `to_base36` of feedcache/ids.py: second, author and sequence.
function shortAddress(id) {
  const parts = [[id >> 32n, 6], [(id >> 4n) & 0xfffffffn, 6], [id & 15n, 2]];
  return `/p/${parts.map(([number, width]) => number.toString(36).toUpperCase().padStart(width, "0")).join("")}`;
}

let leaving = ""; // the id of the focused button whose row gives way to the answer
document.addEventListener("htmx:beforeSwap", () => {
  leaving = document.activeElement?.closest(".act[aria-pressed]")?.id ?? "";
});

function fillMenus(root) {
  for (const link of root.querySelectorAll("a.more-menu")) {
    const address = link.closest("article")?.querySelector("a.when, .stamp a")?.getAttribute("href");
    const [, handle, post] = /^\/@(\w+)\/(\d+)$/.exec(address) ?? [];
    if (!menu || !post) continue;
    const values = { handle, post, short: shortAddress(BigInt(post)), anchor: link.parentElement.id.slice(1) };
    link.insertAdjacentHTML("afterend", menu.replace(/~(\w+)~/g, (_, name) => values[name]));
    const others = link.parentElement.querySelectorAll(`[data-of=${"own" in link.dataset ? "others" : "own"}]`);
    for (const item of others) item.remove();
    if (!("quote" in link.dataset)) link.parentElement.querySelector('.menu [href*="quote="]')?.remove();
    if (link === document.activeElement) link.nextElementSibling.focus();
    link.remove();
  }
}

actInPlace(document);
fillMenus(document);

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

// Files are chosen in the words of the page, not of the browser.
for (const input of document.querySelectorAll(".field > input[type=file]")) {
  const name = document.createElement("span");
  const button = document.createElement("span");
  const box = document.createElement("label");
  button.className = "btn sm ghost";
  button.textContent = words.choose;
  box.className = "file";
  const tell = () => (name.textContent = [...input.files].map((file) => file.name).join(", ") || words.chooseNone);
  input.addEventListener("change", tell);
  tell();
  input.before(box);
  input.classList.add("sr");
  box.append(input, button, name);
}
