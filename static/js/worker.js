// What the site does while none of its pages is open: it tells what happened, and shows what it has kept while there is no network.
// `SITE` stands above (apps/push/pages.py).

const PAGES = "pages"; // the page without a network, and the home page of who is logged in
const FILES = "files"; // what these two need
const HOME = "/";
const OFFLINE = "/offline";
const MEMBER = "/member"; // whose home page it is: no page
const HASHED = /\.[0-9a-f]{12}\.\w+$/; // never another file under the same name
const ENTRANCES = /^\/(login|logout|accounts)(\/|$)/; // of another account, or of nobody

addEventListener("install", (event) => event.waitUntil(begin()));
addEventListener("activate", (event) => event.waitUntil(takeOver()));
addEventListener("message", (event) => event.waitUntil(meet(event.data.member)));
addEventListener("push", (event) => event.waitUntil(tell(event.data)));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data.url));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  if (origin !== location.origin) return;
  if (ENTRANCES.test(pathname)) event.waitUntil(forget());
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(page(event, pathname + search));
  else if (pathname.startsWith("/static/")) event.respondWith(file(request, pathname));
});

// --- what is kept ---------------------------------------------------------------------------------

async function begin() {
  await Promise.all([OFFLINE, HOME].map(async (address) => keep(address, await fetch(address))));
  await skipWaiting();
}

async function takeOver() {
  await registration.navigationPreload?.enable();
  await clients.claim();
}

async function page(event, address) {
  try {
    const answer = (await event.preloadResponse) ?? (await fetch(event.request));
    if (address === HOME) event.waitUntil(keep(HOME, answer.clone()));
    return answer;
  } catch {
    const pages = await caches.open(PAGES);
    const away = await pages.match(OFFLINE);
    const home = address === HOME && (await pages.match(HOME));
    return (home && away ? withNotice(home, away) : away) ?? Response.error();
  }
}

async function keep(address, answer) {
  const isPage = answer.ok && answer.headers.get("Content-Type")?.startsWith("text/html");
  if (!isPage || answer.headers.get("Cache-Control")?.includes("no-store")) return;
  const pages = await caches.open(PAGES);
  const text = await answer.clone().text();
  await pages.put(address, answer);
  await keepFiles(pages, text);
}

// The files that the kept pages name, and no others.
async function keepFiles(pages, ...texts) {
  const files = await caches.open(FILES);
  const others = await Promise.all((await pages.keys()).map(async (request) => (await pages.match(request)).text()));
  const named = new Set([...texts, ...others].flatMap((text) => text.match(/\/static\/[\w./-]+/g) ?? []));
  for (const request of await files.keys()) if (!named.has(new URL(request.url).pathname)) await files.delete(request);
  for (const name of named) if (!(await files.match(name))) await files.add(name).catch(() => {}); // the page does without
}

async function file(request, name) {
  const files = await caches.open(FILES);
  const kept = () => files.match(request);
  if (HASHED.test(name)) return (await kept()) ?? fetch(request);
  return fetch(request).catch(async () => (await kept()) ?? Response.error());
}

async function withNotice(home, away) {
  const [notice] = /<p[^>]*data-kept[^]*?<\/p>/.exec(await away.text()) ?? [""];
  const text = (await home.text()).replace(/<main[^>]*>/, (main) => main + notice);
  const headers = new Headers(home.headers);
  for (const name of ["Content-Encoding", "Content-Length"]) headers.delete(name);
  return new Response(text, { headers });
}

// An open page says whose it is: the home page of somebody else goes.
async function meet(member) {
  const pages = await caches.open(PAGES);
  const known = await pages.match(MEMBER);
  if (known && (await known.text()) !== member) await forget();
  await pages.put(MEMBER, new Response(member));
}

async function forget() {
  const pages = await caches.open(PAGES);
  await Promise.all([HOME, MEMBER].map((address) => pages.delete(address)));
  for (const shown of await registration.getNotifications()) shown.close();
  await navigator.clearAppBadge?.();
}

// --- what is told -----------------------------------------------------------------------------------

async function tell(data) {
  const told = data?.json() ?? {};
  const unread = Number(told.unread);
  if (unread > 0) await navigator.setAppBadge?.(unread);
  await registration.showNotification(told.title ?? SITE.name, {
    body: told.body,
    icon: told.icon,
    badge: SITE.icon,
    lang: told.preferred_locale,
    dir: "auto",
    tag: told.tag,
    data: { url: told.url ?? "/notifications" },
  });
}

async function show(address) {
  const { href, origin } = new URL(address, location.origin);
  if (origin !== location.origin) return;
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find(({ url }) => url === href);
  if (open) await open.focus();
  else await clients.openWindow(href);
}
