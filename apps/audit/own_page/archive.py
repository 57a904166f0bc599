"""A page of the reader's own home as a file: its rows, a receipt (signed if the site has a key), and a verifier."""

import hashlib
import json
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.addresses import absolute
from apps.audit.comparison.pages import Sample, read_posts
from apps.audit.oracle import OPEN, Oracle, Row
from apps.audit.own_page import verify
from apps.audit.own_page.check import LOOK_AGAIN_SECONDS, home_sample
from apps.audit.own_page.code_version import code_version
from apps.audit.own_page.signing import public_key, sign
from apps.pagination import Cursor
from apps.throttling import check_rate_limit
from apps.timeline import policy

KEY_ADDRESS = "/.well-known/feedsite-page-key.pem"


def page_archive(viewer: User, cursor: Cursor) -> bytes:
    """A zip of a page of the viewer's home, with its rows, a receipt, and a verifier. Raises TooMany."""
    check_rate_limit("check", str(viewer.pk))
    receipt, rows = _receipt_and_rows(viewer, home_sample(viewer, cursor))
    if verify.recompute(receipt, rows) != receipt["ids"]:
        time.sleep(LOOK_AGAIN_SECONDS)
        receipt, rows = _receipt_and_rows(viewer, home_sample(viewer, cursor))
    lines = [json.dumps(row).encode() for row in rows]
    receipt["rows"] = [hashlib.sha256(line).hexdigest() for line in lines]
    content = json.dumps(receipt, indent=1).encode()
    files = {
        "README.txt": _readme().encode(),
        "receipt.json": content,
        "rows.jsonl": b"".join(line + b"\n" for line in lines),
        "verify.py": Path(verify.__file__).read_bytes(),
    }
    signature, key = sign(content), public_key()
    if signature and key:
        files |= {"receipt.sig": signature, "key.pem": key}
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def _receipt_and_rows(viewer: User, sample: Sample) -> tuple[Row, list[Row]]:
    above, below = sample.claims
    oracle = Oracle.of_viewer(viewer.pk, above=above, below=below, also=sample.ids)
    receipt = {
        "site": settings.SITE_URL,
        "reader": viewer.pk,
        "handle": viewer.handle,
        "at": sample.at,
        "above": oracle.answers_above,
        "below": below,
        "ids": [post_id for post_id in sample.ids if oracle.answers_above < post_id],
        "exclude_read": sample.exclude_read,
        "policy_version": policy.refresh().version,
        "code_version": code_version(),
        "key": absolute(KEY_ADDRESS),
    }
    return receipt, list(_rows(viewer.pk, oracle, set(receipt["ids"])))


def _rows(reader: int, oracle: Oracle, page: set[int]) -> Iterator[Row]:
    """The rows behind the page: posts that the reader may see, and the reader's own relations, filters and reads.

    Posts are marked as promoted only if they are on the page, because a page need not show promoted posts.
    """
    shown = [pk for pk in sorted(oracle.posts) if oracle.is_shown(reader, pk)]
    authors = {oracle.posts[pk]["author_id"] for pk in shown}
    sources = {
        oracle.posts[pk]["source_id"] for pk in shown if oracle.posts[pk]["kind"] == "repost"
    }
    authors |= {oracle.posts[pk]["author_id"] for pk in sources}
    for account in sorted(oracle.follows[reader] & authors):
        yield {
            "row": "follow",
            "on": account,
            "shows_reposts": account not in oracle.hides_reposts_of[reader],
            "languages": sorted(oracle.languages[reader, account]),
        }
    read = read_posts(reader, oracle, set(shown))
    marks = {
        "mute": oracle.mutes[reader] & authors,
        "apart": oracle.elsewhere[reader] & authors,
        "promotion": {
            pk for pk in page & set(shown) if oracle.is_promoted(reader, oracle.posts[pk])
        },
        "tag": oracle.tagged[reader] & set(shown),
        "reply": {pk for pk in shown if oracle.is_hidden_reply(reader, oracle.posts[pk])},
        "limited": {pk for pk in shown if oracle.is_limited(reader, oracle.posts[pk])},
        "hide": oracle.hidden_posts[reader],
        "read": {oracle.shown_id(pk) for pk in read},
    }
    for name, ids in marks.items():
        yield from ({"row": name, "on": one} for one in sorted(ids))
    words = oracle.words[reader]
    yield from ({"row": "word", "word": word, "whole_word": whole} for word, whole in words)
    for pk in shown:
        yield _post_row(reader, oracle, pk, with_text=bool(words))


def _post_row(reader: int, oracle: Oracle, pk: int, *, with_text: bool) -> Row:
    post = oracle.posts[pk]
    shown = oracle.posts[oracle.shown_id(pk)]
    text = oracle.text_for(reader, shown) if with_text else ""
    return {
        "row": "post",
        "id": pk,
        "author": post["author_id"],
        "kind": post["kind"],
        "language": post["language"],
        "is_open": post["visibility"] in OPEN,
        "is_circle": post["visibility"] == "circle",
        "shown": shown["id"],
        "shown_author": shown["author_id"],
        "text": text,
    }


def _readme() -> str:
    text = _(
        "Your home page, the rows it was made from, and a program that builds it again.\n\n"
        "python verify.py page.zip\n"
        "    prints “equal”, or which rows were changed and which posts differ; it needs Python 3, no network.\n\n"
        "receipt.json  the ids of the page, the range it covers, the versions of the site's code and of\n"
        "              its delivery policies, and the SHA-256 of every row\n"
        "receipt.sig   the site's signature of receipt.json (Ed25519), if it has a key. Check it with\n"
        "              openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in receipt.json \\\n"
        "                  -sigfile receipt.sig\n"
        "              and compare key.pem with %(key)s\n"
        "rows.jsonl    one row per line: whom you follow and how, mutes, filters, the posts of that range\n\n"
        "The rules: a page shows, newest first, your own posts and those by people you follow, for your\n"
        "circles, with tags you follow, and promoted ones. It leaves out muted people and reposts of them,\n"
        "people whom the moderators have limited and reposts of them, unless you follow them, reposts\n"
        "you hide, people in your exclusive lists, languages you did not choose for somebody, and\n"
        "what your filters hide. If you hide posts you have read, or replies to people you do not follow,\n"
        "it leaves those out, too.\n\n"
        "The file contains no post that you may not see, so it cannot prove that nothing was withheld from\n"
        "you. A post published in the same seconds may still have been on its way.\n"
    )
    return text % {"key": absolute(KEY_ADDRESS)}
