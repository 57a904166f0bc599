// The pictures of a composer, in the shape they will have in the post: sent at once, described in a dialog, put in order.

const MOST_PICTURES = 4;
const PHONES = /\.(heic|heif|avif)$/i; // whose type some browsers do not know
const LOOK_AFTER = 2000; // milliseconds, whether a video is ready

export class Album {
  constructor(composer, area, box) {
    const ids = box.parentElement.querySelector(":scope > [name=more_media]"); // of a further post of a thread
    Object.assign(this, { composer, form: composer.form, words: composer.words, area, box, ids });
    this.queue = Promise.resolve(); // one at a time: a server gives nobody all that it has
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("input", (event) => describe(event.target.closest(".upload")));
    this.box.addEventListener("dragstart", (event) => this.lift(event));
    this.box.addEventListener("dragover", (event) => this.drag(event));
    this.box.addEventListener("dragend", () => this.drop());
    for (const place of this.box.children) this.dress(place);
    this.arrange();
  }

  // --- how they stand ---

  arrange() {
    const tiles = [...this.box.children];
    this.box.className = `uploads tiles m${tiles.length}`;
    if (this.ids) this.ids.value = tiles.map((tile) => tile.dataset.picture).join(" ");
    tiles.forEach((tile, place) => {
      for (const button of tile.querySelectorAll("[data-by]")) {
        button.disabled = !tiles[place + Number(button.dataset.by)];
        button.hidden = tiles.length < 2;
      }
    });
  }

  changed() {
    this.arrange();
    this.composer.changed();
  }

  // Its fields go into a dialog beside the picture; what is done with it lies on the picture.
  dress(place) {
    const pattern = place.querySelector("template");
    place.append(pattern.content);
    pattern.remove();
    if (this.ids) place.querySelector("[name=media_ids]")?.remove();
    place.draggable = true;
    const dialog = place.querySelector("dialog");
    dialog.append(place.querySelector(".field"));
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.stopPropagation(); // it sends no post from here
      dialog.close();
    });
    show(place);
    this.watch(place);
  }

  clicked(event) {
    const tile = event.target.closest(".upload");
    const button = event.target.closest("button");
    const dialog = tile?.querySelector("dialog");
    if (button?.name === "take_out") this.remove(tile, event);
    else if (button?.dataset.by) this.move(tile, button);
    else if (button?.matches(".describe")) {
      dialog.showModal();
      dialog.querySelector("textarea").focus();
    } else if (button?.matches(".done") || event.target === dialog) dialog.close();
    else if (event.target.matches(".seen img")) point(event);
  }

  remove(tile, event) {
    event.preventDefault();
    const next = tile.nextElementSibling ?? tile.previousElementSibling;
    tile.remove();
    this.changed();
    (next?.querySelector("[name=take_out]") ?? this.area).focus();
  }

  move(tile, button) {
    if (button.dataset.by === "1") tile.nextElementSibling.after(tile);
    else tile.previousElementSibling.before(tile);
    this.changed();
    (button.disabled ? tile.querySelector("[data-by]:enabled") : button).focus();
  }

  lift(event) {
    const tile = event.target.closest(".upload");
    if (!tile || event.target !== tile) return;
    this.lifted = tile;
    event.dataTransfer.setData("picture", "1"); // Firefox drags nothing that is empty
    event.dataTransfer.effectAllowed = "move";
  }

  drag(event) {
    const over = event.target.closest(".upload");
    if (!this.lifted || !over) return;
    event.preventDefault();
    if (over === this.lifted) return;
    const tiles = [...this.box.children];
    if (tiles.indexOf(over) > tiles.indexOf(this.lifted)) over.after(this.lifted);
    else over.before(this.lifted);
    this.arrange();
  }

  drop() {
    this.lifted = null;
    this.changed();
  }

  // --- how they come ---

  add(files) {
    const room = MOST_PICTURES - this.box.children.length;
    const details = this.form.querySelector(".add-pictures");
    const played = details.dataset.accept.includes("video/") ? /^(image|video|audio)\// : /^image\//;
    const pictures = files.filter((file) => played.test(file.type) || PHONES.test(file.name));
    for (const file of pictures.slice(0, room)) this.send(file);
    details.open = true; // whether they are hidden is asked there
  }

  send(file) {
    const place = document.createElement("div");
    place.className = "upload";
    const progress = document.createElement("progress");
    progress.setAttribute("aria-label", this.words.uploading);
    progress.max = 1;
    place.append(preview(file), progress);
    this.box.append(place);
    this.composer.uploading += 1;
    this.arrange();
    this.composer.count();
    this.queue = this.queue.then(() => this.bring(file, place, progress));
  }

  async bring(file, place, progress) {
    const body = new FormData();
    body.append("csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value);
    body.append("file", file);
    const request = new XMLHttpRequest(); // fetch says nothing of progress
    request.open("POST", this.form.dataset.upload);
    request.upload.addEventListener("progress", (event) => (progress.value = event.loaded / event.total));
    await new Promise((done) => {
      request.addEventListener("loadend", done);
      request.send(body);
    });
    this.composer.uploading -= 1;
    if (request.status === 200) {
      place.insertAdjacentHTML("afterend", request.responseText);
      this.dress(place.nextElementSibling);
    } else {
      const plain = request.getResponseHeader("Content-Type")?.startsWith("text/plain");
      this.composer.say(plain ? request.responseText : this.words.failed);
    }
    place.remove();
    this.changed();
  }

  // Those of a draft, in its order; one that is gone is left out.
  async fetch(numbers) {
    for (const number of numbers) {
      const answer = await fetch(`${this.form.dataset.upload}/${number}`);
      if (!answer.ok) continue;
      this.box.insertAdjacentHTML("beforeend", await answer.text());
      this.dress(this.box.lastElementChild);
    }
    this.arrange();
    this.composer.count();
  }

  // Video and sound are prepared by a worker; what is written about them meanwhile stays.
  watch(place) {
    if (!place.matches("[data-processing]")) return;
    setTimeout(async () => {
      if (!place.isConnected) return;
      const answer = await fetch(`${this.form.dataset.upload}/${place.dataset.picture}`).catch(() => null);
      const holder = document.createElement("template");
      holder.innerHTML = answer?.ok ? await answer.text() : "";
      const found = holder.content.querySelector(".upload:not([data-processing])");
      if (!found) return this.watch(place);
      place.querySelector(".still").replaceWith(found.querySelector(".still"));
      place.removeAttribute("data-processing");
      show(place);
      this.composer.count();
    }, LOOK_AFTER);
  }
}

// In its dialog, too.
function show(place) {
  const still = place.querySelector("img.still");
  if (still) {
    still.draggable = false;
    place.querySelector(".seen").replaceChildren(still.cloneNode());
    if (place.querySelector("select")) place.querySelector(".seen").append(document.createElement("i"));
  }
  describe(place);
}

// Whether it is described, and what of it stays in sight, as it will be seen.
function describe(place) {
  place.classList.toggle("described", Boolean(place.querySelector("textarea").value.trim()));
  const [across, up] = (place.querySelector("select")?.value ?? "0,0").split(",").map(Number);
  const [x, y] = [50 + 50 * across, 50 - 50 * up];
  const still = place.querySelector("img.still");
  const spot = place.querySelector(".seen i");
  if (still) still.style.objectPosition = `${x}% ${y}%`;
  if (spot) Object.assign(spot.style, { left: `${x}%`, top: `${y}%` });
}

// What must stay in sight: the point that was pressed.
function point(event) {
  const box = event.target.getBoundingClientRect();
  const across = ((event.clientX - box.left) / box.width) * 2 - 1;
  const up = 1 - ((event.clientY - box.top) / box.height) * 2;
  const select = event.target.closest(".upload").querySelector("select");
  const value = `${across.toFixed(2)},${up.toFixed(2)}`;
  select?.add(new Option(value, value, true, true));
  describe(event.target.closest(".upload"));
}

// Drawn, not loaded: the policy of the page lets no picture in that is not the site's own.
function preview(file) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  createImageBitmap(file, { resizeWidth: 448 }).then(
    (bitmap) => {
      canvas.width = bitmap.width;
      canvas.height = bitmap.height;
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
    },
    () => {}, // the server says what is wrong with it
  );
  return canvas;
}
