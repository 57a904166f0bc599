// Short videos without sound play while they are on the screen, where reader, browser and device do not mind.

const still =
  "still" in document.documentElement.dataset ||
  matchMedia("(prefers-reduced-motion: reduce)").matches ||
  navigator.connection?.saveData;

const onScreen = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    if (!isIntersecting) target.pause();
    else if (!target.held) play(target);
  }
});

function play(video) {
  // refused by the browser: its own controls are back; off the screen by then: nothing to do
  video.play().catch(({ name }) => (video.controls = name === "NotAllowedError"));
}

export function watch(box) {
  const [video, watched] = box.children;
  if (still || watched) return;
  const button = document.createElement("button");
  const { pause, play: start } = box.dataset;
  video.controls = false;
  button.className = "alt";
  box.addEventListener("click", () => {
    video.held = !video.paused;
    if (video.held) video.pause();
    else play(video);
  });
  const tell = () => (button.textContent = video.paused ? start : pause);
  video.onplay = video.onpause = tell;
  tell();
  box.append(button);
  onScreen.observe(video);
}
