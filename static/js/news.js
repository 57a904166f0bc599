// Tells at once what is new: posts, notifications. While it cannot listen, the page asks now and then.

const BURST = 1500; // milliseconds: what comes together is one look
const FIRST_WAIT = 5000;
const LAST_WAIT = 600000;
const ASK_EVERY = 60000;

export function listen({ bell, pill }) {
  const title = document.title;
  let tabs = null;
  let source = null;
  let listening = false;
  let waiting;
  let wait = FIRST_WAIT;

  const beside = document.querySelector(".beside");
  const look = bundled(() => {
    for (const one of [pill, beside]) if (one) htmx.trigger(one, "look");
  });
  const ring = bundled(async () => {
    if (beside) htmx.trigger(beside, "look");
    await showNewest();
    await count();
  });

  // --- how many are unread: in the menus, in the title, in other tabs ---

  function show([number, messages]) {
    for (const [links, unread] of [["[data-bell]", number], ["[data-mail]", messages]]) {
      for (const link of document.querySelectorAll(links)) {
        link.querySelector(".count")?.remove();
        if (unread) link.append(badge(unread, bell.dataset.word));
      }
    }
    document.title = number ? `(${number}) ${title}` : title;
    document.dispatchEvent(new CustomEvent("unread", { detail: number }));
  }

  const shown = (name) => document.querySelector(`${name} .count`)?.lastChild.textContent ?? "";

  async function count() {
    const answer = await fetch(bell.dataset.unread).catch(() => null);
    if (answer?.status !== 200) return;
    const numbers = (await answer.text()).split("\n");
    show(numbers);
    tabs?.postMessage(numbers);
  }

  function meet() {
    if (tabs || !("BroadcastChannel" in window)) return;
    tabs = new BroadcastChannel("unread");
    tabs.addEventListener("message", (event) => show(event.data));
  }

  function part() {
    tabs?.close();
    tabs = null;
  }

  meet();
  const now = [shown("[data-bell]"), shown("[data-mail]")];
  show(now);
  tabs?.postMessage(now); // reading them on one page clears it on the others

  // --- the stream ---

  function later() {
    end();
    waiting = setTimeout(begin, wait * (1 + Math.random()));
    wait = Math.min(LAST_WAIT, wait * 2);
  }

  function end() {
    clearTimeout(waiting);
    source?.close();
    source = null;
    heard(false);
  }

  function heard(yes) {
    listening = yes;
    if (yes) bell.dataset.listening = "true";
    else delete bell.dataset.listening;
    if (!pill) return;
    if (yes) pill.dataset.listening = "true";
    else delete pill.dataset.listening;
  }

  async function begin() {
    clearTimeout(waiting);
    if (source || document.hidden) return;
    const answer = await fetch(bell.dataset.ticket).catch(() => null);
    if (answer?.status !== 200) return later();
    const { address, home_read_id } = await answer.json();
    if (source || document.hidden) return;
    marked(home_read_id);
    source = new EventSource(address);
    source.addEventListener("feedsite.markers", ({ data }) => marked(JSON.parse(data).home?.last_read_id));
    source.addEventListener("update", look);
    source.addEventListener("notification", ring);
    source.addEventListener("feedsite.conversation", ({ data }) => {
      document.dispatchEvent(new CustomEvent("conversed", { detail: JSON.parse(data).id }));
      ring();
    });
    source.addEventListener("feedsite.delivery", () => document.dispatchEvent(new Event("delivered")));
    source.onopen = () => {
      wait = FIRST_WAIT;
      heard(true);
      look(); // what came before it listened
      ring();
    };
    source.onerror = () => {
      heard(false);
      if (source?.readyState === EventSource.CLOSED) later();
    };
  }

  setInterval(() => listening || document.hidden || ring(), ASK_EVERY);
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()));
  // an open stream or channel would keep the page out of the browser's cache
  addEventListener("pagehide", () => {
    end();
    part();
  });
  addEventListener("pageshow", () => {
    meet();
    begin();
  });
  begin();
}

// How far home is read, here or on another device.
function marked(id) {
  if (id) document.dispatchEvent(new CustomEvent("marked", { detail: id }));
}

function bundled(act) {
  let waiting;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, BURST);
  };
}

function badge(number, word) {
  const count = document.createElement("span");
  const said = document.createElement("span");
  count.className = "count";
  said.className = "sr";
  said.textContent = `${word} `;
  count.append(said, number);
  return count;
}

// On the newest page of notifications, what is new comes to the top. Seeing it there is reading it.
async function showNewest() {
  const feed = document.querySelector("#feed[data-newest]");
  if (!feed) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const rows = [...page.querySelectorAll("#feed > .news")].reverse();
  for (const row of rows) {
    const old = document.getElementById(row.id);
    if (old?.dataset.newest === row.dataset.newest) continue;
    old?.remove(); // one more did the same
    feed.prepend(row);
  }
  if (rows.length) feed.parentElement.querySelector(":scope > .empty")?.remove();
  feed.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
}
