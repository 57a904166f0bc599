// Where the reader left off: the line between the posts that they have read and those above it, on all their devices.

const PAUSE = 1000; // milliseconds after the last scroll

export function follow(feed, { form, address }) {
  const seen = new WeakSet(); // posts whose end was on the screen
  let read = BigInt(feed.dataset.read || 0); // where the line is: it stays there while this page is read
  let noted = read;
  let waiting;

  const posts = () => [...feed.querySelectorAll(":scope > .post")];
  const idOf = (post) => BigInt(post.id.slice(1));
  const line = document.getElementById("left-off") ?? newLine();

  function newLine() {
    const made = document.createElement("p");
    const label = document.createElement("span");
    made.id = "left-off";
    made.className = "left-off";
    label.textContent = feed.dataset.line;
    made.append(label);
    return made;
  }

  const ends = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.add(target.closest(".post"));
      ends.unobserve(target);
    }
  });

  function observe() {
    for (const post of posts()) if (!seen.has(post)) ends.observe(post.querySelector(".acts") ?? post);
  }

  function draw() {
    const all = posts();
    const below = all.findIndex((post) => idOf(post) <= read);
    const labelled = line.closest(".post");
    labelled?.setAttribute("aria-labelledby", labelled.getAttribute("aria-labelledby").replace("left-off ", ""));
    line.remove();
    if (below > 0) {
      all[below].prepend(line);
      all[below].setAttribute("aria-labelledby", `left-off ${all[below].getAttribute("aria-labelledby")}`);
    } else if (below < 0 && all.length && read && !document.querySelector("#older a")) {
      document.getElementById("older").prepend(line);
    }
    const link = document.getElementById("to-left-off");
    if (link) link.href = `/?min_id=${read}#left-off`;
  }

  // Up from the line, or from the top for who never left a mark, as far as nothing was skipped.
  function topmost() {
    const all = posts();
    const start = line.isConnected ? all.indexOf(line.closest(".post")) : read ? 0 : 1;
    let at = start < 0 ? all.length : start;
    const from = at;
    while (at > 0 && seen.has(all[at - 1])) at -= 1;
    return at < from ? all[at] : null;
  }

  async function note() {
    clearTimeout(waiting);
    waiting = undefined;
    const post = topmost();
    if (!post || idOf(post) <= noted) return;
    const before = noted;
    noted = idOf(post);
    const body = new FormData(form);
    body.set("last_read_id", noted);
    const answer = await fetch(address, { method: "POST", body, headers: { "HX-Request": "true" }, keepalive: true }).catch(() => null);
    if (!answer?.ok) noted = before; // the next scroll tries again
  }

  observe();
  // a page that opens at the line has scrolled by itself
  let moved = false;
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(name, () => (moved = true), { passive: true, once: true });
  }
  addEventListener("scroll", () => {
    clearTimeout(waiting);
    if (moved) waiting = setTimeout(note, PAUSE);
  }, { passive: true });
  addEventListener("pagehide", () => waiting && note());
  document.addEventListener("htmx:load", () => {
    observe();
    if (!line.isConnected) draw();
  });
  document.addEventListener("marked", ({ detail }) => {
    const id = BigInt(detail);
    if (id <= noted) return;
    read = noted = id;
    draw();
  });
}
