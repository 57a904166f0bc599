// Tells at once that there are new posts. While it cannot listen, the page asks every 30 seconds.

const BURST = 1500; // milliseconds: what comes together is one look
const FIRST_WAIT = 5000;
const LAST_WAIT = 600000;

export function listen(pill) {
  let source = null;
  let waiting;
  let looking;
  let wait = FIRST_WAIT;

  function look() {
    clearTimeout(looking);
    looking = setTimeout(() => htmx.trigger(pill, "look"), BURST);
  }

  function later() {
    end();
    waiting = setTimeout(begin, wait * (1 + Math.random()));
    wait = Math.min(LAST_WAIT, wait * 2);
  }

  function end() {
    clearTimeout(waiting);
    source?.close();
    source = null;
    delete pill.dataset.listening;
  }

  async function begin() {
    clearTimeout(waiting);
    if (source || document.hidden) return;
    const answer = await fetch(pill.dataset.ticket).catch(() => null);
    if (answer?.status !== 200) return later();
    const { address } = await answer.json();
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("update", look);
    source.onopen = () => {
      wait = FIRST_WAIT;
      pill.dataset.listening = "true";
      look(); // what came before it listened
    };
    source.onerror = () => {
      delete pill.dataset.listening;
      if (source?.readyState === EventSource.CLOSED) later();
    };
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()));
  addEventListener("pagehide", end); // an open stream would keep the page out of the browser's cache
  addEventListener("pageshow", begin);
  begin();
}
