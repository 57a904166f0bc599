// The page that is shown without a network gives way as soon as there is one.

addEventListener("online", () => location.reload());
