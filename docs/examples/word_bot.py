"""A bot that answers each mention with the number of its words.

python word_bot.py http://127.0.0.1:8000 TOKEN

It needs `requests`. In the file `word_bot.place` it keeps how far it has read, so it can be stopped at any moment.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import requests

SITE, TOKEN = sys.argv[1], sys.argv[2]
PLACE = Path("word_bot.place")
PAUSE_SECONDS = 2  # before connecting again

api = requests.Session()
api.headers["Authorization"] = f"Bearer {TOKEN}"


def stream_address() -> str:
    """The site says where its streams are; over HTTP instead of a WebSocket."""
    answer = api.get(f"{SITE}/api/v2/instance", timeout=30)
    answer.raise_for_status()
    address: str = answer.json()["configuration"]["urls"]["streaming"]
    return address.replace("ws", "http", 1) + "/api/v1/streaming/user/notification"


def events(address: str) -> Iterator[dict[str, str]]:
    """The events of a stream until it is cut off. With Last-Event-ID it begins with what was missed."""
    headers = {"Last-Event-ID": PLACE.read_text()} if PLACE.exists() else {}
    # the site sends a comment every 15 seconds, so a longer silence means that the connection is dead
    with api.get(address, headers=headers, stream=True, timeout=60) as answer:
        answer.raise_for_status()
        print("listening", flush=True)
        event: dict[str, str] = {}
        for line in map(bytes.decode, answer.iter_lines()):
            if line and not line.startswith(":"):
                name, _colon, value = line.partition(": ")
                event[name] = value
            elif not line and "data" in event:
                yield event
                event = {}


def reply(notification: dict[str, Any]) -> None:
    """Answer a mention. The Idempotency-Key makes sure that it is answered once, however often this runs."""
    status = notification["status"]
    with_spaces = re.sub(r"<br|</p>", r" \g<0>", status["content"])
    text = unescape(re.sub(r"<[^>]+>", "", with_spaces))
    words = [word for word in text.split() if not word.startswith("@")]
    answer = api.post(
        f"{SITE}/api/v1/statuses",
        json={
            "status": f"@{status['account']['acct']} Words: {len(words)}",
            "in_reply_to_id": status["id"],
            "visibility": status["visibility"],
        },
        headers={"Idempotency-Key": f"words-{notification['id']}"},
        timeout=30,
    )
    answer.raise_for_status()


def listen(address: str) -> None:
    for event in events(address):
        if event["event"] == "notification":
            notification = json.loads(event["data"])
            if notification["type"] == "mention":
                reply(notification)
        if "id" in event:
            PLACE.write_text(event["id"])


while True:
    try:
        listen(stream_address())
    except requests.HTTPError as refusal:
        if refusal.response is not None and refusal.response.status_code == 401:
            sys.exit("The access token is wrong, or it was ended.")
        print(refusal, file=sys.stderr)
    except requests.RequestException as failure:
        print(failure, file=sys.stderr)
    time.sleep(PAUSE_SECONDS)
