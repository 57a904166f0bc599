// A pointer that rests on a name is shown whose it is: what the profile says, and the button to follow.

const RESTS = 500; // milliseconds until the card comes
const LEAVES = 300; // and until it goes: the way from the name to the card
const GAP = 6; // pixels
let timer = 0;
let card = null;

export function rest(link) {
  const address = link.getAttribute("href");
  if (!/^\/@\w+$/.test(address) || card?.contains(link)) return;
  clearTimeout(timer);
  timer = setTimeout(show, RESTS, link, address);
  link.addEventListener("pointerleave", leave, { once: true });
}

async function show(link, address) {
  const answer = await fetch(`${address}/card`).catch(() => null);
  if (!answer?.ok || !link.matches(":hover")) return;
  close();
  card = document.createElement("div");
  card.className = "person-card";
  card.popover = "manual";
  card.innerHTML = await answer.text();
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", leave);
  document.body.append(card);
  card.showPopover();
  const name = link.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const below = name.bottom + GAP;
  card.style.top = `${below + height < innerHeight ? below : Math.max(GAP, name.top - GAP - height)}px`;
  card.style.left = `${Math.max(GAP, Math.min(name.left, innerWidth - width - GAP))}px`;
  htmx.process(card);
}

function leave() {
  clearTimeout(timer);
  timer = setTimeout(close, LEAVES);
}

function close() {
  clearTimeout(timer);
  card?.remove();
  card = null;
}

document.addEventListener("keydown", ({ key }) => key === "Escape" && close());
document.addEventListener("scroll", close, { passive: true });
