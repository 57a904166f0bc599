// Pictures one at a time, above the page. The link to the file works without this.

let dialog;

export function open(link, words) {
  const links = [...link.closest(".media").querySelectorAll("a")];
  dialog ??= build(words);
  let place = links.indexOf(link);
  const [previous, image, next] = ["[data-by='-1']", "img", "[data-by='1']"].map((name) => dialog.querySelector(name));

  function show(by = 0) {
    place = (place + by + links.length) % links.length;
    const small = links[place].querySelector("img");
    image.src = links[place].href;
    image.alt = small.alt;
    image.width = small.width;
    image.height = small.height;
    dialog.querySelector("p").textContent = small.alt;
    previous.hidden = next.hidden = links.length < 2;
  }

  dialog.onclick = (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.by) show(Number(button.dataset.by));
    else if (event.target !== image && !event.target.closest("p")) dialog.close();
  };
  dialog.onkeydown = (event) => {
    const forward = document.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (event.key.startsWith("Arrow") && links.length > 1) show(event.key === forward ? 1 : -1);
  };
  dialog.onclose = () => {
    image.removeAttribute("src");
    links[place].focus();
  };
  show();
  dialog.showModal();
}

function build(words) {
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = words.lightboxSheet;
  document.head.append(sheet);
  const made = document.createElement("dialog");
  made.className = "lightbox";
  made.setAttribute("aria-label", words.pictures);
  made.append(button("×", words.close), button("‹", words.previous, -1), document.createElement("img"), button("›", words.next, 1), document.createElement("p"));
  made.querySelector("p").dir = "auto";
  document.body.append(made);
  return made;
}

function button(text, label, by) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "tool";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  if (by) made.dataset.by = by;
  return made;
}
