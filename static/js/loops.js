// Short videos without sound play while they are on the screen, where reader, browser and device do not mind.

const minds =
  "still" in document.documentElement.dataset ||
  matchMedia("(prefers-reduced-motion: reduce)").matches ||
  navigator.connection?.saveData;

const onScreen = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting) target.pause();
      else if (!target.held) play(target);
    }
  },
  { threshold: 0.5 },
);

function play(video) {
  // refused by the browser: its own controls remain; gone from the screen meanwhile: nothing to do
  video.play().catch(({ name }) => (video.controls ||= name === "NotAllowedError"));
}

export function watch(box) {
  if (minds || box.children.length > 1) return;
  const video = box.querySelector("video");
  const button = document.createElement("button");
  const { pause, play: start } = box.dataset;
  const hold = () => {
    video.held = !video.paused;
    if (video.held) video.pause();
    else play(video);
  };
  video.controls = false;
  button.type = "button";
  button.className = "alt";
  button.textContent = start;
  for (const one of [button, video]) one.addEventListener("click", hold);
  video.addEventListener("play", () => (button.textContent = pause));
  video.addEventListener("pause", () => (button.textContent = start));
  box.append(button);
  onScreen.observe(video);
}
