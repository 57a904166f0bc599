// Polls and threads in a composer: two options and more when they are asked for, further posts behind the first.

const MOST_MORE = 9; // posts of a thread behind the first

export class Longer {
  constructor(composer, length) {
    const { form } = composer;
    Object.assign(this, { composer, length, form });
    this.options = [...form.querySelectorAll(".option")];
    this.rest = form.querySelector(".rest"); // answers have none
    this.add = form.querySelector(".add-post");
    this.offering = form.querySelector(".add-option");
    this.offering.addEventListener("click", () => {
      const next = this.options.find((option) => option.hidden);
      this.offer(this.options.indexOf(next) + 1);
      next.querySelector("input").focus();
    });
    this.options.forEach((option, place) => option.querySelector("button").addEventListener("click", () => this.unask(place)));
    this.offer();
    if (!this.rest) return;
    this.rest.before(form.querySelector(".asked")); // of the first post
    this.add.type = "button";
    this.add.addEventListener("click", () => {
      const area = this.another("");
      composer.changed();
      area.focus();
    });
    this.rest.addEventListener("click", (event) => {
      const box = event.target.closest(".next-post > .remove")?.parentElement;
      if (!box) return;
      const before = box.previousElementSibling?.querySelector("textarea") ?? composer.area;
      box.remove();
      composer.changed();
      before.focus();
    });
    for (const box of this.rest.children) this.equip(box);
  }

  // --- polls ---

  // So many options, or those that have a text.
  offer(many = this.options.findLastIndex((option) => option.querySelector("input").value) + 1) {
    const shown = Math.max(2, many);
    this.options.forEach((option, place) => {
      option.hidden = place >= shown;
      option.querySelector("button").hidden = shown === 2;
    });
    this.offering.hidden = shown === this.options.length;
  }

  unask(place) {
    const inputs = this.options.map((option) => option.querySelector("input"));
    for (const [at, input] of inputs.entries()) if (at >= place) input.value = inputs[at + 1]?.value ?? "";
    const shown = this.options.filter((option) => !option.hidden).length - 1;
    this.offer(shown);
    inputs[Math.min(place, shown - 1)].focus();
    this.composer.changed();
  }

  // --- threads ---

  more() {
    return [...(this.rest?.querySelectorAll("[name=more]") ?? [])];
  }

  // The uploads of each, as the form names them.
  media() {
    return this.more().map((area) => area.previousElementSibling.value);
  }

  equip(box) {
    const [area, bring, remove, uploads] = box.querySelectorAll("[name=more], .bring, .remove, .uploads");
    bring.hidden = remove.hidden = false;
    this.composer.receive(box, bring, area, uploads);
  }

  another(text, media = "") {
    this.rest.append(this.form.querySelector(".another").content.cloneNode(true));
    const box = this.rest.lastElementChild;
    const area = box.querySelector("textarea");
    area.value = text;
    this.equip(box);
    if (media) this.composer.album(area, box.querySelector(".uploads")).then((album) => album.fetch(media.trim().split(" ")));
    return area;
  }

  // Whether one of them is too long.
  count(most, empty) {
    const more = this.more();
    for (const area of more) {
      const left = most - this.length(area.value);
      area.nextElementSibling.textContent = left;
      if (left < 0) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
    }
    if (this.add) this.add.hidden = empty || more.length >= MOST_MORE;
    return more.some((area) => area.matches("[aria-invalid]"));
  }

  // With the texts of a draft, whose options are there already.
  fill(more = [], media = []) {
    this.offer();
    this.rest?.replaceChildren();
    if (this.rest) more.forEach((text, place) => this.another(text, media[place]));
  }
}
