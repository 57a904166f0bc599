"""Archives of Mastodon accounts, as its BackupService writes them."""

import io
import json
from zipfile import ZIP_DEFLATED, ZipFile

PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
SITE = "https://old.example"
ACTOR = f"{SITE}/users/ann"


def note(number=1, text="Hello", *, to=(PUBLIC,), cc=(f"{ACTOR}/followers",), **fields):
    """The activity of a post."""
    address = f"{ACTOR}/statuses/{number}"
    content = text if text.startswith("<") else f"<p>{text}</p>"
    return {
        "id": f"{address}/activity",
        "type": "Create",
        "actor": ACTOR,
        "published": "2019-05-01T10:00:00Z",
        "to": list(to),
        "cc": list(cc),
        "object": {
            "id": address,
            "type": "Note",
            "summary": None,
            "inReplyTo": None,
            "published": f"2019-05-01T10:00:{number % 60:02}Z",
            "url": f"{SITE}/@ann/{number}",
            "attributedTo": ACTOR,
            "to": list(to),
            "cc": list(cc),
            "sensitive": False,
            "content": content,
            "contentMap": {"en": content},
            "attachment": [],
            "tag": [],
            "replies": {"id": f"{address}/replies", "type": "Collection"},
            **fields,
        },
    }


def boost(number=1):
    return {
        "id": f"{ACTOR}/statuses/{number}/activity",
        "type": "Announce",
        "actor": ACTOR,
        "published": "2019-05-01T10:00:00Z",
        "to": [PUBLIC],
        "object": "https://elsewhere.example/users/bob/statuses/1",
    }


def attached(path, alt="", kind="image/png", **more):
    return {"type": "Document", "mediaType": kind, "url": path, "name": alt, **more}


def archive(*activities, files=None, folder="", compression=ZIP_DEFLATED, **others):
    """The bytes of an archive with these activities in its outbox, and with `files` by path.

    `others` replaces JSON files of the archive by their names; None leaves a file out.
    """
    outbox = {
        "@context": "https://www.w3.org/ns/activitystreams",
        "id": "outbox.json",
        "type": "OrderedCollection",
        "totalItems": len(activities),
        "orderedItems": list(activities),
    }
    contents = {
        "actor.json": json.dumps({"id": ACTOR, "type": "Person", "preferredUsername": "ann"}),
        "outbox.json": json.dumps(outbox),
        "likes.json": "{}",
        **{f"{name}.json": content for name, content in others.items()},
    }
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression) as file:
        for name, content in {**contents, **(files or {})}.items():
            if content is not None:
                file.writestr(folder + name, content)
    return buffer.getvalue()
