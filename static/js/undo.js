// Deletes, mutes, blocks, unfollows and leaves after a moment in which that can be taken back; at the latest when the page is left.

const DELAY = 8000; // milliseconds; as long again when the pointer or the focus has left the toast
const waiting = []; // what does each deed at once, the latest last

addEventListener("pagehide", () => waiting.slice().forEach((now) => now()));
document.addEventListener("visibilitychange", () => document.hidden && waiting.slice().forEach((now) => now()));

// Takes back the latest; for the key.
export function undoLatest() {
  document.querySelector(".toast.undo:last-child .take-back")?.click();
}

export function later(source, { words, live, say, renumber }) {
  const address = source.getAttribute("formaction") ?? source.href;
  const posts = postsOf(source, address);
  const toast = document.createElement("div");
  const button = document.createElement("button");
  let timer = 0;

  function show(gone) {
    const next = gone && focusAfter(posts);
    for (const post of posts) post.hidden = gone;
    if (!posts.length) source.setAttribute("aria-disabled", String(gone));
    renumber();
    (gone ? next : posts[0] ?? source)?.focus();
  }

  function end() {
    clearTimeout(timer);
    toast.remove();
    waiting.splice(waiting.indexOf(now), 1);
  }

  async function now() {
    end();
    const body = new URLSearchParams(new FormData(document.getElementById("act")));
    const answer = await fetch(address, { method: "POST", body, headers: { "HX-Request": "true" }, keepalive: true }).catch(() => null);
    if (!answer?.ok) {
      show(false);
      return say(words.failed);
    }
    const elsewhere = answer.headers.get("HX-Redirect") ?? (answer.redirected && answer.url);
    if (elsewhere) return location.assign(elsewhere);
    const text = await answer.text();
    if (answer.headers.get("Content-Type").startsWith("text/html")) return replace(source, text); // the button as it is now
    for (const post of posts) post.remove();
    say(text);
    if (!posts.length) location.reload();
  }

  const count = () => {
    toast.classList.add("counts");
    timer = setTimeout(now, DELAY);
  };
  const pause = () => {
    toast.classList.remove("counts");
    clearTimeout(timer);
  };
  const goOn = () => waiting.includes(now) && !toast.matches(":hover, :focus-within") && (pause(), count());

  toast.className = "toast undo";
  button.type = "button";
  button.className = "take-back";
  button.textContent = words.undo;
  button.addEventListener("click", () => {
    end();
    show(false);
  });
  toast.append(source.dataset.undo, button);
  for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, pause);
  for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, () => setTimeout(goOn));
  source.closest("[popover]")?.hidePopover();
  waiting.push(now);
  show(true);
  live.append(toast);
  count();
}

// What leaves the page with the deed: a post, or all posts of a person who is muted or blocked, or whom they repost.
function postsOf(source, address) {
  const here = source.closest(".post:not(.focused)");
  if (!here) return [];
  if (/\/delete($|\?)/.test(address)) return [here];
  const person = /\/@\w+(?=\/(mute|block)($|\?))/.exec(address)?.[0];
  const all = [...here.parentElement.querySelectorAll(":scope > .post:not(.focused)")];
  return person ? all.filter((post) => post === here || post.querySelector(`.name[href="${person}"]`)) : [];
}

function focusAfter(posts) {
  const near = (way) => {
    let other = posts[0]?.[way];
    while (other && (!other.matches(".post") || other.hidden || posts.includes(other))) other = other[way];
    return other;
  };
  return posts.length ? near("nextElementSibling") ?? near("previousElementSibling") ?? document.getElementById("main") : null;
}

function replace(source, html) {
  source.insertAdjacentHTML("afterend", html);
  const next = source.nextElementSibling;
  const had = document.activeElement === source || document.activeElement === document.body;
  source.remove();
  htmx.process(next);
  if (had) next.focus();
}
