// What an open page does for the device: the worker that stays when the page is closed, and the number on the icon.

export async function begin() {
  if (!("serviceWorker" in navigator)) return;
  const member = document.querySelector(".col-nav a[href^='/@']")?.pathname;
  await navigator.serviceWorker.register("/sw.js");
  const registration = await navigator.serviceWorker.ready;
  registration.active.postMessage({ member });

  async function count(number) {
    if (number) return navigator.setAppBadge?.(number);
    for (const shown of await registration.getNotifications()) shown.close(); // they have been read
    await navigator.clearAppBadge?.();
  }

  count(Number.parseInt(document.querySelector("[data-bell] .count")?.lastChild.textContent ?? 0, 10));
  document.addEventListener("unread", ({ detail }) => count(Number.parseInt(detail || 0, 10)));
}
