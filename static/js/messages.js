// A conversation on the screen: it begins at its end, and what is said or seen meanwhile is there at once.

const END = 200; // pixels: who reads further up is left there
const talk = () => document.getElementById("talk");
const isAtEnd = () => talk().getBoundingClientRect().bottom < innerHeight + END;
const toEnd = () => talk().scrollIntoView({ block: "end" });

// The newest page takes the place of what it has; older messages that were opened stay. Whom the box writes to stays
// what its reader saw there.
async function renew() {
  const follows = isAtEnd();
  const answer = await fetch(location.pathname, { headers: { "HX-Request": "true" } }).catch(() => null);
  const list = document.getElementById("messages");
  if (!answer?.ok || !list) return;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  const first = holder.content.querySelector(".bubble");
  const known = first && document.getElementById(first.id);
  if (known) {
    holder.content.querySelector(".older")?.remove();
    while (known.nextElementSibling) known.nextElementSibling.remove();
    known.remove();
  } else {
    list.replaceChildren();
  }
  const added = [...holder.content.children];
  list.append(...added);
  for (const one of added) {
    htmx.process(one);
    one.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
  }
  if (follows) toEnd();
}

if (talk() && !location.search) {
  document.addEventListener("conversed", ({ detail }) => detail === talk().dataset.conversation && renew());
  document.addEventListener("htmx:afterSettle", ({ target }) => target.id === "talk" && toEnd());
  toEnd();
}
