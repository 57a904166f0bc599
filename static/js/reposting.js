// What the button of reposts offers: the repost, or taking it back, and a quote. Without this the button reposts, and the menu quotes.

export function choose(button, quote, { words, repost }) {
  const menu = document.createElement("div");
  const plain = document.createElement("button");
  const link = quote.cloneNode(true);
  menu.className = "menu";
  menu.popover = "auto";
  plain.type = "button";
  const icon = button.querySelector("svg").cloneNode(true);
  icon.classList.add("i");
  plain.append(icon, button.getAttribute("aria-pressed") === "true" ? words.unrepost : words.repost);
  plain.addEventListener("click", () => {
    menu.hidePopover();
    repost(button);
  });
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  menu.append(plain, link);
  button.after(menu);
  menu.showPopover({ source: button });
  plain.focus();
}
