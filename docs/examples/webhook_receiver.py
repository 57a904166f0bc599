"""Receives webhooks, verifies them, and prints what they are about.

    python webhook_receiver.py 8080 whsec_...

It needs no package. A proxy in front of it has to serve https.
"""

import base64
import hmac
import json
import sys
import time
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, SECRET = int(sys.argv[1]), sys.argv[2]
MAX_AGE_SECONDS = 300
MAX_BYTES = 1_000_000
seen: deque[str] = deque(maxlen=10_000)  # ids of messages; keep them in a database if it matters


def is_genuine(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a message was signed with the secret, in the last five minutes."""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > MAX_AGE_SECONDS:
        return False
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    signatures = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in signatures)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MAX_BYTES))
        if not is_genuine(self.headers, body):
            self.answer(401)
            return
        message = json.loads(body)
        if message["id"] not in seen:  # a message may arrive twice
            seen.append(message["id"])
            print(message["type"], message["data"].get("id", ""), flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
print("listening on port", server.server_address[1], flush=True)
server.serve_forever()
