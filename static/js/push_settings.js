// "Notify me on this device": says what is, and changes it.

const box = document.querySelector("[data-push]");
const zone = document.querySelector("[data-push-form] [name=time_zone]");
if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (box) begin();

async function begin() {
  const words = box.dataset;
  const status = box.querySelector("[role=status]");
  const button = box.querySelector("button");
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    status.textContent = words.unsupported;
    return;
  }
  await navigator.serviceWorker.register(words.worker);
  const { pushManager } = await navigator.serviceWorker.ready;
  let subscription = await pushManager.getSubscription();

  const isOn = () => Boolean(subscription) && subscription.endpoint === words.endpoint;

  function show() {
    const isBlocked = Notification.permission === "denied";
    status.textContent = isBlocked ? words.blocked : isOn() ? words.on : words.off;
    button.textContent = isOn() ? words.stop : words.start;
    button.hidden = isBlocked;
  }

  async function post(address, fields) {
    const body = new FormData(document.getElementById("act"));
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const answer = await fetch(address, { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
  }

  async function start() {
    if ((await Notification.requestPermission()) !== "granted") return show();
    await subscription?.unsubscribe(); // perhaps to another key of the site
    subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: words.key });
    const { endpoint, keys } = subscription.toJSON();
    await post(words.here, { endpoint, ...keys });
    location.reload();
  }

  async function stop() {
    await post(words.end, {});
    await subscription.unsubscribe();
    location.reload();
  }

  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await (isOn() ? stop() : start());
    } catch {
      status.textContent = words.failed;
    }
    button.disabled = false;
  });
  show();
}
