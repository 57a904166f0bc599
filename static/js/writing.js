// New posts and quotes in a dialog over the page. Without this their address is a page of its own.

export async function write(address, { words, say, compose }) {
  if (document.querySelector("dialog[open]")) return;
  for (const form of document.querySelectorAll(".composer")) form.dispatchEvent(new Event("keep"));
  const headers = { "HX-Request": "true", "HX-Target": "writing" };
  const answer = await fetch(address, { headers }).catch(() => null);
  if (!answer) return say(words.offline);
  const dialog = document.createElement("dialog");
  dialog.className = "writing";
  dialog.setAttribute("aria-labelledby", "writing-title");
  dialog.innerHTML = await answer.text();
  const form = dialog.querySelector(".composer");
  if (!form) return location.assign(address); // its page says what is wrong
  const key = form.dataset.draft;
  dialog.addEventListener("click", (event) => event.target.closest("[data-close]") && dialog.close());
  dialog.addEventListener("posted", () => {
    dialog.dataset.posted = "";
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    if (!("posted" in dialog.dataset)) dialog.querySelector(".composer").dispatchEvent(new Event("keep"));
    dialog.remove();
    for (const other of document.querySelectorAll(`.composer[data-draft="${key}"]`)) other.dispatchEvent(new Event("fetch"));
  });
  document.body.append(dialog);
  htmx.process(dialog);
  dialog.showModal();
  await compose(dialog);
}
