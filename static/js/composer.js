// The composer: counter, drafts, times; uploads.js has its pictures. Without this file one form brings everything at once.

const graphemes = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
const LINE_ENDS = /\r\n|[\r\v\f\x85\u2028\u2029]/g;
const UNFIT = /(?![\t\n])\p{Cc}|[\p{Cs}\p{Noncharacter_Code_Point}\ufeff]/gu;
const BLANK_LINE = /^(?:(?!\n)[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800])+$/gmu;
// As in apps/posts/content/text.py, which makes it (tests/posts/test_text.py compares).
const ADDRESS = /(?<![A-Za-z0-9@＠#＃$])[Hh][Tt][Tt][Pp][Ss]?:\/\/(?:(?:[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}](?:(?:[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}]|[-_])*[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}])?\.)*[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}](?:(?:[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}]|-)*[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}])?\.(?:(?:[Xx][Nn]--[A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z]{2,63})(?![\p{Script=Latin}0-9@]|_[A-Za-z0-9])|(?:(?![\x00-\x7F])[^\x00-\/:-@\[-\x60{-\x7F\p{P}\p{Z}\p{Cc}\p{Cf}]){2,63})|(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\p{Script=Latin}0-9@.]|_[A-Za-z0-9]))(?::[0-9]{1,5}(?![0-9]))?(?:(?=[\/?#])(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}]|(?:\((?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}]|\((?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\))*\)|\[(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\]|\{(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\}))*(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[#$%&*+\-\/=_~\p{L}\p{M}\p{N}](?<!'s)|(?:\((?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}]|\((?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\))*\)|\[(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\]|\{(?:(?!(?<=[A-Za-z0-9])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[!#$%&'*+,\-.\/:;=?@^_|~\u2013\p{L}\p{M}\p{N}])*\})))?/gu;
const EMPHASIS = "*_~";
const ADDRESS_LENGTH = 23;
const KEPT = ["body", "content_warning", "option_1", "option_2", "option_3", "option_4"]; // in a draft
const SAVE_AFTER = 500; // milliseconds without a key, in this browser
const SEND_AFTER = 2500; // to the server

// What people see: graphemes, an address counting 23. The server tidies and counts by the same rules (apps/texts.py,
// apps/posts/content/text.py).
export function length(text) {
  let addresses = 0;
  const tidy = text
    .replace(LINE_ENDS, "\n")
    .replace(UNFIT, "")
    .normalize("NFC")
    .replace(BLANK_LINE, "")
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  const rest = tidy.replace(ADDRESS, (address, place) => {
    const mark = tidy.charAt(place - 1);
    let end = address.length;
    while (mark && EMPHASIS.includes(mark) && address[end - 1] === mark) end -= 1;
    addresses += 1;
    return "\n" + address.slice(end); // a line end is one character and joins with nothing
  });
  const characters = graphemes ? [...graphemes.segment(rest)] : [...rest];
  return characters.length + addresses * (ADDRESS_LENGTH - 1);
}

export async function setUp(form, { words, say }) {
  if (form.dataset.ready) return;
  form.dataset.ready = "true";
  clock(form, words);
  const longer = form.querySelector(".poll-field")?.dataset.script;
  const parts = longer && (await import(longer));
  if (form.matches(".composer")) new Composer(form, words, say, parts);
}

// A time is chosen on the author's clock; the server is told how far that is from its own.
function clock(form, words) {
  const { as_of, scheduled_at: moment = as_of, utc_offset: offset } = form.elements;
  if (!moment || !offset) return;
  form.querySelector(".zone").textContent = words.zone;
  const digits = moment.value.length;
  if (digits && !offset.value) moment.value = local(new Date(`${moment.value}Z`)).slice(0, digits);
  const tell = () => (offset.value = moment.value ? new Date(moment.value).getTimezoneOffset() : "");
  moment.addEventListener("change", tell);
  tell();
}

function local(date) {
  return new Date(date - date.getTimezoneOffset() * 60000).toISOString();
}

class Composer {
  constructor(form, words, say, parts) {
    Object.assign(this, { form, words, say });
    this.area = form.elements.body;
    this.button = form.querySelector(".end .btn");
    this.now = this.button.textContent;
    this.longer = parts && new parts.Longer(this, length);
    this.meter = form.querySelector("[data-meter]");
    this.uploads = form.querySelector(".uploads");
    this.nudge = form.querySelector(".nudge");
    this.key = form.dataset.draft && `draft:${form.dataset.draft}`;
    this.uploading = 0;
    // what nobody wrote: of a form with an error, or of a saved draft, all is the author's
    const fresh = !form.matches(":has(.errorlist, [name=saved])");
    this.given = fresh ? Object.fromEntries(this.fields().map((field) => [field.name, field.defaultValue])) : {};
    this.takePictures();
    this.restore();
    form.addEventListener("input", () => this.changed());
    form.addEventListener("keydown", (event) => this.pressed(event));
    form.addEventListener("submit", (event) => this.submitted(event), true); // before htmx
    form.addEventListener("leave", ({ detail }) => {
      this.keep();
      clearTimeout(this.sending);
      if (detail.sends) this.send();
      detail.sent = this.sent;
      detail.isKept = () => this.written && this.saved();
    });
    form.addEventListener("fetch", () => this.renew()); // another composer had the same draft
    window.addEventListener("pageshow", (event) => event.persisted && this.again());
    if (this.uploads.children.length) this.album();
    this.count();
    const wrong = form.querySelector("[aria-invalid]");
    if (wrong) wrong.focus();
    else if (form.matches(".page, .below, .sheet-form, :has(.errorlist)")) {
      this.area.focus();
      this.area.setSelectionRange(this.area.value.length, this.area.value.length);
    }
  }

  changed() {
    if (this.nudge && !this.undescribed().length) this.nudge.hidden = true;
    this.count();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.form.isConnected && this.keep(), SAVE_AFTER);
    clearTimeout(this.sending);
    this.sending = setTimeout(() => this.send(), SEND_AFTER);
  }

  pressed(event) {
    const isBare = "enter" in this.form.dataset && event.target === this.area && !event.shiftKey && !event.isComposing;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || isBare)) {
      event.preventDefault();
      if (!this.button.disabled) this.form.requestSubmit(this.button);
    }
    if (event.key === "Escape" && this.form.matches(".below") && !event.target.closest("dialog")) this.close();
  }

  close() {
    const opener = this.form.parentElement.querySelector(".act.reply");
    this.keep();
    this.form.remove();
    opener?.focus();
  }

  // Of the pictures.
  undescribed() {
    return [...this.form.querySelectorAll(".uploads textarea")].filter((alt) => !alt.value.trim());
  }

  submitted(event) {
    const missing = this.undescribed();
    const asks = "asks" in (this.nudge?.dataset ?? {}) && this.nudge.hidden;
    if (this.busy() || (missing.length && asks && event.submitter?.name !== "without_alt")) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (this.busy()) return;
      this.nudge.hidden = false;
      missing[0].closest(".upload").querySelector(".describe").focus();
      return;
    }
    this.keep(); // until the server says that it has it
    clearTimeout(this.sending);
    if (!this.sent) return;
    event.preventDefault(); // the post takes the place of the draft that is on its way
    event.stopImmediatePropagation();
    this.sent.then(() => this.form.requestSubmit(event.submitter));
  }

  renew() {
    for (const field of this.fields()) field.value = field.defaultValue;
    this.form.elements.saved?.remove();
    this.uploads.replaceChildren();
    this.longer?.fill([]);
    this.form.querySelector(".restored")?.remove();
    this.restore();
    this.changed();
  }

  // Back from the cache of the browser: a new post, a new key.
  again() {
    const once = this.form.elements.idempotency_key;
    if (once && crypto.randomUUID) once.value = crypto.randomUUID();
    this.count();
  }

  count() {
    const most = Number(this.meter.dataset.meter);
    const used = length(this.area.value);
    const over = used > most;
    this.meter.querySelector(".left").textContent = most - used;
    this.meter.querySelector(".v").setAttribute("stroke-dasharray", `${Math.min(100, (used / most) * 100)} 100`);
    this.meter.classList.toggle("some", used > 0);
    this.meter.classList.toggle("over", over);
    if (over) this.area.setAttribute("aria-invalid", "true");
    else this.area.removeAttribute("aria-invalid");
    const empty = used === 0 && !this.uploads.children.length;
    this.button.disabled = over || empty || this.longer?.count(most, empty) || this.busy();
    this.button.textContent = this.form.elements.scheduled_at?.value ? this.button.dataset.later : this.now;
  }

  busy() {
    return this.uploading > 0 || this.form.querySelector("[data-processing]") !== null;
  }

  // --- drafts: kept in this browser until the server has the post ---

  fields() {
    return KEPT.map((name) => this.form.elements[name]).filter(Boolean);
  }

  keep() {
    clearTimeout(this.waiting);
    if (!this.key) return;
    const fields = this.fields();
    const said = { ...stored(this.key), ...Object.fromEntries(fields.map((field) => [field.name, field.value])) }; // another composer may have more fields
    said.pictures = [...this.uploads.querySelectorAll("[data-picture]")].map((one) => one.dataset.picture);
    if (this.longer) {
      said.more = this.longer.more().map((area) => area.value);
      said.media = this.longer.media();
    }
    said.saved = this.saved();
    this.written = this.isWritten(said);
    store(this.key, this.written ? JSON.stringify(said) : null);
  }

  isWritten(said) {
    const texts = KEPT.filter((name) => said[name] !== this.given[name]).map((name) => said[name]);
    return [...texts, ...(said.more ?? []), ...(said.media ?? [])].some((text) => text?.trim()) || said.pictures?.length > 0;
  }

  // The server's number of the draft, which other devices of its author have too.
  saved(number) {
    const { saved } = this.form.elements;
    if (number === undefined) return saved?.value;
    if (saved) saved.value = number;
    else this.form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "saved", value: number }));
  }

  send() {
    if (!this.key || this.sent || !this.form.isConnected || !navigator.onLine) return;
    this.keep();
    const { written } = this;
    const number = this.saved();
    if (!written && !number) return;
    const address = written ? "/drafts" : `/drafts/${number}/delete`;
    const body = new FormData(this.form);
    this.sent = fetch(address, { method: "POST", body, headers: { "HX-Request": "true" } }).then(
      async (answer) => {
        const text = written ? await answer.text() : "";
        if (answer.status === 422 && !this.told) this.say((this.told = text));
        if (answer.ok && /^\d*$/.test(text)) this.saved(text);
        this.keep();
      },
      () => {}, // it is kept in this browser
    );
    this.sent.then(() => (this.sent = null));
  }

  restore() {
    const said = this.key && stored(this.key);
    const fresh = !this.form.querySelector(".errorlist, [data-picture]") && (this.nudge?.hidden ?? true);
    const given = this.area.defaultValue;
    if (!said || !fresh || !this.isWritten(said)) return;
    // what was handed over stands below what was written before; an answer's draft names whom it answers already
    if (given && !this.form.elements.reply_to && !said.body.includes(given.trim())) said.body += `\n\n${given}`;
    if (said.saved && !this.saved()) this.saved(said.saved);
    const before = this.fields().map((field) => [field, field.value]);
    for (const field of this.fields()) {
      field.value = said[field.name] ?? "";
      if (field.value && field !== this.area) field.closest("details").open = true;
    }
    this.longer?.fill(said.more, said.media);
    if (said.pictures?.length) this.album().then((album) => album.fetch(said.pictures));
    const line = document.createElement("p");
    line.className = "restored";
    line.append(`${this.words.restored} `);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = this.words.discard;
    button.addEventListener("click", () => {
      for (const [field, value] of before) field.value = value;
      this.longer?.fill([]);
      this.uploads.replaceChildren();
      store(this.key, null);
      line.remove();
      this.send();
      this.count();
      this.area.focus();
    });
    line.append(button);
    this.area.after(line);
  }

  // --- pictures: chosen, pasted or dropped; what shows and sends them comes with the first one ---

  album(area = this.area, box = this.uploads) {
    const details = this.form.querySelector(".add-pictures");
    box.album ??= import(details.dataset.uploads).then(({ Album }) => new Album(this, area, box));
    return box.album;
  }

  takePictures() {
    const details = this.form.querySelector(".add-pictures");
    if (!details) return;
    this.accept = details.dataset.accept;
    for (const field of details.querySelectorAll(".brought")) field.remove();
    this.receive(this.form, details.querySelector("summary"), this.area, this.uploads);
  }

  // What is chosen by a button, pasted into a text, or dropped on what is around it.
  receive(around, button, area, box) {
    const picker = document.createElement("input");
    const add = async (files) => (await this.album(area, box)).add([...files]);
    Object.assign(picker, { type: "file", multiple: true, hidden: true, accept: this.accept });
    button.addEventListener("click", (event) => {
      if (button.parentElement.open) return; // closes it
      event.preventDefault();
      picker.click();
    });
    picker.onchange = async () => {
      await add(picker.files);
      picker.value = "";
    };
    around.append(picker);
    area.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      add(event.clipboardData.files);
    });
    for (const name of ["dragover", "dragleave", "drop"]) {
      around.addEventListener(name, (event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        event.stopPropagation();
        around.classList.toggle("over", name === "dragover");
        if (name === "drop") add(event.dataTransfer.files);
      });
    }
  }
}

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // storage may be switched off; then there are no drafts
  }
}

function store(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // as above
  }
}
