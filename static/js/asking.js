// Asks in a dialog what has a page of its own. What was deleted leaves the page, and the focus goes to what comes next.

export async function ask(link, { words, say, renumber }) {
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  const dialog = document.createElement("dialog");
  dialog.innerHTML = answer?.ok ? await answer.text() : "";
  const question = dialog.querySelector(".confirm");
  if (!question) return location.assign(link.href); // its page says what is wrong
  dialog.replaceChildren(question);
  dialog.setAttribute("aria-labelledby", "question");
  const form = dialog.querySelector("form");
  form.action = link.href;
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("form a") && event.target !== dialog) return;
    event.preventDefault();
    dialog.close();
  });
  if (link.dataset.asks === "gone") {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const done = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } }).catch(() => null);
      dialog.close();
      if (!done?.ok) return say(words.failed);
      const elsewhere = done.headers.get("HX-Redirect");
      if (elsewhere) return location.assign(elsewhere);
      leave(link.closest(".post"), renumber);
      say(await done.text());
    });
  }
  document.body.append(dialog);
  dialog.showModal();
  form.querySelector("a").focus(); // the way back: nothing is deleted by a key pressed twice
}

function leave(post, renumber) {
  const near = (way) => {
    let other = post[way];
    while (other && !other.matches(".post")) other = other[way];
    return other;
  };
  const next = near("nextElementSibling") ?? near("previousElementSibling") ?? document.getElementById("main");
  post.remove();
  renumber();
  next.focus();
}
