// A session of the library inside popular web clients. Arguments: the site, its streams, a token.
// Says what happened as lines of JSON; "listening" comes when the stream is open.
import { createRestAPIClient, createStreamingAPIClient } from "masto";
import WebSocket from "ws";

const [url, streamingApiUrl, accessToken] = process.argv.slice(2);
const say = (event) => console.log(JSON.stringify(event));

const rest = createRestAPIClient({ url, accessToken });
const me = await rest.v1.accounts.verifyCredentials();
say({ me: me.acct });

const made = await rest.v1.statuses.create({ status: "From a web client.", visibility: "unlisted" });
say({ posted: made.content });

const seen = [];
for await (const page of rest.v1.timelines.home.list({ limit: 20 })) {
  seen.push(...page.map((status) => status.id));
}
say({ home: seen });

const streaming = createStreamingAPIClient({ streamingApiUrl, accessToken, implementation: WebSocket, retry: 2 });
await streaming.prepare();
const told = streaming.user.subscribe();
setTimeout(() => say({ listening: true }), 500); // the subscription itself has no answer
for await (const event of told) {
  say({ event: event.event, id: event.payload.id ?? event.payload, stream: event.stream });
  if (event.event === "delete") break;
}
streaming.close();
process.exit(0);
