// The page that is shown without a network gives way as soon as there is one.

const SETTLED = 1000; // milliseconds: a network that comes and goes is none

addEventListener("online", () => setTimeout(() => navigator.onLine && location.reload(), SETTLED));
