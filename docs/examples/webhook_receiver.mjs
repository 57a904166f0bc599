// Receives webhooks, verifies them, and prints what they are about.
//
//   node webhook_receiver.mjs 8080 whsec_...
//
// It needs Node 20 and no package. A proxy in front of it has to serve https.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const [port, secret] = process.argv.slice(2);
const MAX_AGE_SECONDS = 300;
const MAX_BYTES = 1_000_000;
const seen = new Set(); // ids of messages; keep them in a database if it matters

// Whether a message was signed with the secret, in the last five minutes.
function isGenuine(headers, body) {
  const sentAt = Number(headers["webhook-timestamp"]);
  if (!(Math.abs(Date.now() / 1000 - sentAt) <= MAX_AGE_SECONDS)) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const hmac = createHmac("sha256", key);
  hmac.update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`).update(body);
  const expected = Buffer.from(`v1,${hmac.digest("base64")}`);
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const signature = Buffer.from(one);
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  });
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  const body = await read(request);
  if (request.method !== "POST" || !isGenuine(request.headers, body)) {
    response.writeHead(401).end();
    return;
  }
  const message = JSON.parse(body);
  if (!seen.has(message.id)) { // a message may arrive twice
    seen.add(message.id);
    console.log(message.type, message.data.id ?? "");
  }
  response.writeHead(204).end();
});
server.listen(Number(port), "127.0.0.1", () => console.log("listening on port", server.address().port));
