// Which part of a chosen picture is kept. Without this the server takes the middle.

const STEP = 0.05; // of the picture, by an arrow key

class Cropper {
  constructor(box) {
    this.box = box;
    this.input = document.getElementById(box.dataset.crop);
    this.said = document.getElementById(box.dataset.box);
    this.view = box.querySelector(".view");
    this.zoom = box.querySelector("input");
    this.canvas = box.querySelector("canvas");
    this.canvas.width = Number(box.dataset.width);
    this.canvas.height = Number(box.dataset.height);
    this.input.addEventListener("change", () => this.choose());
    this.zoom.addEventListener("input", () => this.draw());
    this.view.addEventListener("pointerdown", (event) => this.view.setPointerCapture(event.pointerId));
    this.view.addEventListener("pointermove", (event) => event.buttons && this.drag(event));
    this.view.addEventListener("keydown", (event) => this.pressed(event));
  }

  async choose() {
    const file = this.input.files[0];
    this.box.hidden = true;
    this.said.value = "";
    const picture = file && (await createImageBitmap(file).catch(() => null)); // the server says what is wrong with it
    if (!picture || this.input.files[0] !== file) return;
    Object.assign(this, { picture, x: 0.5, y: 0.5 }); // the middle
    this.zoom.value = 1;
    this.box.hidden = false;
    this.draw();
  }

  // Parts of the picture that are in view, across and down.
  seen() {
    const { picture, canvas } = this;
    const scale = Math.max(canvas.width / picture.width, canvas.height / picture.height) * Number(this.zoom.value);
    return [canvas.width / scale / picture.width, canvas.height / scale / picture.height];
  }

  draw() {
    const { picture, canvas } = this;
    const [across, down] = this.seen();
    this.x = Math.min(1 - across / 2, Math.max(across / 2, this.x));
    this.y = Math.min(1 - down / 2, Math.max(down / 2, this.y));
    const [left, upper] = [this.x - across / 2, this.y - down / 2];
    canvas.getContext("2d").drawImage(
      picture, left * picture.width, upper * picture.height, across * picture.width, down * picture.height,
      0, 0, canvas.width, canvas.height,
    );
    const edges = [left, upper, left + across, upper + down];
    this.said.value = edges.map((edge) => Math.min(1, Math.max(0, edge)).toFixed(5)).join(",");
  }

  drag(event) {
    const [across, down] = this.seen();
    this.x -= (event.movementX / this.view.clientWidth) * across;
    this.y -= (event.movementY / this.view.clientHeight) * down;
    this.draw();
  }

  pressed(event) {
    const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [];
    if (across === undefined) return;
    event.preventDefault();
    this.x += across * STEP;
    this.y += down * STEP;
    this.draw();
  }
}

for (const box of document.querySelectorAll("[data-crop]")) new Cropper(box);
