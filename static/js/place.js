// Finds again where somebody was in a feed: what lay between is fetched page by page, a place far down is entered directly.

const MOST_PAGES = 12;

export async function restore(place, { feed, mark, renumber }) {
  if (place.pages > MOST_PAGES) {
    sessionStorage.setItem(`place:${place.from}`, JSON.stringify({ ...place, pages: 0, entered: true }));
    location.replace(place.from);
    return;
  }
  let pages = 0;
  let post = found(place);
  // some more than before: what came meanwhile stands above
  while (!post && pages <= place.pages + 1 && (await another(feed, mark))) {
    pages += 1;
    post = found(place);
  }
  if (pages) {
    htmx.process(feed);
    renumber();
  }
  const older = document.getElementById("older");
  const unasked = older?.cloneNode(true); // what it asked for in the meantime was held back
  if (unasked) {
    older.replaceWith(unasked);
    htmx.process(unasked);
  }
  feed.style.visibility = "";
  if (post) scrollBy({ top: post.getBoundingClientRect().top - place.top, behavior: "instant" });
}

function found(place) {
  return place.ids.map((id) => document.getElementById(id)).find(Boolean);
}

async function another(feed, mark) {
  const link = document.querySelector("#older a");
  const answer = link && (await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null));
  if (!answer?.ok) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const older = page.getElementById("older");
  if (!older) return false;
  mark(feed, link);
  older.removeAttribute("hx-swap-oob");
  document.getElementById("older").replaceWith(older);
  feed.append(...page.body.children);
  feed.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
  return true;
}
