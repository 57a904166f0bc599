// A bot that answers each mention with the number of its words.
//
//   node word_bot.mjs http://127.0.0.1:8000 TOKEN
//
// It needs Node 20 and no package. In the file `word_bot.place` it keeps how far it has read, so it can be stopped at
// any moment.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const [site, token] = process.argv.slice(2);
const PLACE = "word_bot.place";
const PAUSE_MS = 2000; // before connecting again
const SILENCE_MS = 60_000; // the site sends a comment every 15 seconds

async function call(address, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  const answer = await fetch(address, { ...options, headers });
  if (answer.ok) return answer;
  const problem = new Error((await answer.json()).error);
  problem.status = answer.status;
  throw problem;
}

// The site says where its streams are; over HTTP instead of a WebSocket.
async function streamAddress() {
  const instance = await (await call(`${site}/api/v2/instance`)).json();
  const address = instance.configuration.urls.streaming.replace("ws", "http");
  return `${address}/api/v1/streaming/user/notification`;
}

// The events of a stream until it is cut off. With Last-Event-ID it begins with what was missed.
async function* events(address) {
  const headers = existsSync(PLACE) ? { "Last-Event-ID": readFileSync(PLACE, "utf8") } : {};
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const answer = await call(address, { headers, signal: silence.signal });
    console.log("listening");
    let rest = "";
    let event = {};
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      timer.refresh();
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const [, name, value] = line.match(/^(\w+): (.*)$/) ?? [];
        if (name) event[name] = value;
        else if (!line && "data" in event) {
          yield event;
          event = {};
        }
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

// Answer a mention. The Idempotency-Key makes sure that it is answered once, however often this runs.
async function reply({ id, status }) {
  const words = status.content
    .replace(/<br|<\/p>/g, " $&")
    .replace(/<[^>]+>/g, "")
    .split(/\s+/)
    .filter((word) => word && !word.startsWith("@"));
  await call(`${site}/api/v1/statuses`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": `words-${id}` },
    body: JSON.stringify({
      status: `@${status.account.acct} Words: ${words.length}`,
      in_reply_to_id: status.id,
      visibility: status.visibility,
    }),
  });
}

for (;;) {
  try {
    for await (const event of events(await streamAddress())) {
      if (event.event === "notification") {
        const notification = JSON.parse(event.data);
        if (notification.type === "mention") await reply(notification);
      }
      if ("id" in event) writeFileSync(PLACE, event.id);
    }
  } catch (problem) {
    console.error(problem.message);
    if (problem.status === 401) process.exit(1); // the token has ended
  }
  await pause(PAUSE_MS);
}
