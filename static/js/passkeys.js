// Passkeys: the server says what to ask the browser for, the browser asks the person, and a plain form carries the answer back.

const canGet = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);
const canCreate = Boolean(window.PublicKeyCredential?.parseCreationOptionsFromJSON);

async function optionsFor(form) {
  const answer = await fetch(form.dataset.options, { method: "POST", body: new FormData(form), redirect: "error" });
  const said = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(said.error ?? form.dataset.failed);
  return said;
}

async function ask(form, options) {
  try {
    if (form.dataset.passkey === "get") {
      return await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    }
    return await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  } catch {
    throw new Error(form.dataset.failed); // the person said no, or there is none: browsers do not tell which
  }
}

async function send(form, complaint, button) {
  complaint.hidden = button.disabled = true;
  try {
    const credential = await ask(form, await optionsFor(form));
    form.elements.answer.value = JSON.stringify(credential.toJSON());
    if (form.elements.password) form.elements.password.disabled = true; // it was shown already
    form.submit();
  } catch (error) {
    complaint.textContent = error instanceof TypeError ? form.dataset.failed : error.message;
    complaint.hidden = button.disabled = false;
  }
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!(form.dataset.passkey === "get" ? canGet : canCreate)) continue;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, form.querySelector("[role=status]"), form.querySelector("button"));
  });
}
