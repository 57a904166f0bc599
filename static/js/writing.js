// New posts and quotes in a dialog over the page, and the menu of reposts. Without this posts are written on a page of their own, and the button reposts.

export async function write(address, { words, say, compose }) {
  if (document.querySelector("dialog[open]")) return;
  await Promise.all([...document.querySelectorAll(".composer")].map((form) => leave(form, false).sent));
  const headers = { "HX-Request": "true", "HX-Target": "writing" };
  const answer = await fetch(address, { headers }).catch(() => null);
  if (!answer) return say(words.offline);
  const dialog = document.createElement("dialog");
  dialog.className = "writing";
  dialog.setAttribute("aria-labelledby", "writing-title");
  dialog.innerHTML = await answer.text();
  const form = dialog.querySelector(".composer");
  if (!form) return location.assign(address); // its page says what is wrong
  const key = form.dataset.draft; // of others on the page
  dialog.addEventListener("click", (event) => event.target.closest("[data-close]") && dialog.close());
  dialog.addEventListener("posted", () => {
    dialog.dataset.posted = "";
    dialog.close();
  });
  dialog.addEventListener("close", async () => {
    const detail = "posted" in dialog.dataset ? {} : leave(dialog.querySelector(".composer"), true);
    dialog.remove();
    await detail.sent;
    if (detail.isKept?.()) say(dialog.querySelector("[data-kept]").dataset.kept);
    for (const other of document.querySelectorAll(`.composer[data-draft="${key}"]`)) other.dispatchEvent(new Event("fetch"));
  });
  document.body.append(dialog);
  htmx.process(dialog);
  dialog.showModal();
  await compose(dialog);
}

// What it says is kept, and its draft is where the server has it.
function leave(form, sends) {
  const detail = { sends };
  form.dispatchEvent(new CustomEvent("leave", { detail }));
  return detail;
}

// What the button of reposts offers: the repost, or taking it back, and a quote.
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
