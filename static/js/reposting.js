// What the button of reposts offers: the repost, or taking it back, and a quote. Without this the button reposts, and the menu quotes.

export function choose(button, quote, plain) {
  const holder = document.getElementById("reposting").content.cloneNode(true);
  const menu = holder.querySelector(".menu");
  const [repost, link] = menu.children;
  const [again, undo] = repost.querySelectorAll("span");
  again.hidden = button.getAttribute("aria-pressed") === "true";
  undo.hidden = !again.hidden;
  link.href = quote.href;
  repost.addEventListener("click", () => {
    menu.hidePopover();
    plain(button);
  });
  link.addEventListener("click", () => menu.hidePopover());
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  button.after(menu);
  menu.showPopover({ source: button });
  repost.focus();
}
