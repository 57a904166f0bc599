"""Recompute a home page from its rows, offline, with Python's standard library alone: python verify.py page.zip

Prints "equal", or the rows that were changed and the posts that differ. README.txt states the rules.
"""

import hashlib
import json
import sys
import unicodedata
import zipfile
from typing import Any

Row = dict[str, Any]
SPACELESS = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def in_word(character: str) -> bool:
    is_spaceless = unicodedata.name(character, "").startswith(SPACELESS)
    return (unicodedata.category(character)[0] in "LMN" or character == "_") and not is_spaceless


def has_word(text: str, row: Row) -> bool:
    at = text.find(row["word"])
    while at >= 0:
        end = at + len(row["word"])
        edges = [place for place in (at, end) if 0 < place < len(text)]
        inside = any(in_word(text[place - 1]) and in_word(text[place]) for place in edges)
        if not (row["whole_word"] and inside):
            return True
        at = text.find(row["word"], at + 1)
    return False


def belongs(post: Row, receipt: Row, of: dict[str, list[Row]]) -> bool:
    author, me, is_repost = post["author"], receipt["reader"], post["kind"] == "repost"
    kinds = ("mute", "apart", "promotion", "tag", "reply", "limited", "hide", "read")
    on = {name: {row["on"] for row in of.get(name, [])} for name in kinds}
    follow = next((row for row in of.get("follow", []) if row["on"] == author), None)
    is_hidden_repost = follow and is_repost and not follow["shows_reposts"]
    is_muted = on["mute"] & {author, post["shown_author"]}
    if is_muted or author in on["apart"] or is_hidden_repost or post["id"] in on["reply"] | on["limited"]:
        return False
    language, chosen = post["language"].lower(), set(follow["languages"] if follow else ())
    if chosen and language and not is_repost and not chosen & {language, language.split("-")[0]}:
        return False
    if post["shown_author"] != me and (
        post["shown"] in on["hide"] | (on["read"] if receipt["exclude_read"] else set())
        or any(has_word(post["text"], row) for row in of.get("word", []))
    ):
        return False
    return bool(author == me or follow or post["is_circle"] or post["id"] in on["tag"]
                or (post["is_open"] and post["id"] in on["promotion"]))


def recompute(receipt: Row, rows: list[Row]) -> list[int]:
    of = {kind: [row for row in rows if row["row"] == kind] for kind in {row["row"] for row in rows}}
    posts = [post for post in of.get("post", []) if receipt["above"] < post["id"] < receipt["below"]]
    return sorted((post["id"] for post in posts if belongs(post, receipt, of)), reverse=True)


def main(path: str) -> int:
    with zipfile.ZipFile(path) as archive:
        receipt, lines = json.loads(archive.read("receipt.json")), archive.read("rows.jsonl").splitlines()
    shown, signed = receipt["ids"], receipt["rows"]
    pairs = enumerate(zip(signed + [""] * len(lines), lines, strict=False), start=1)
    wrong = [f"row {n} was changed: {line.decode()}" for n, (was, line) in pairs
             if was != hashlib.sha256(line).hexdigest()]
    wrong += [f"{len(signed) - len(lines)} rows are missing"] * (len(lines) < len(signed))
    expected = recompute(receipt, [json.loads(line) for line in lines])
    wrong += [f"post {one} is missing on the page" for one in expected if one not in shown]
    wrong += [f"post {one} does not belong on the page" for one in shown if one not in expected]
    wrong += ["the posts are not in their order"] * (shown != sorted(set(shown), reverse=True))
    sys.stdout.write("\n".join(wrong or [f"equal: {len(expected)} posts from {len(lines)} rows"]) + "\n")
    sys.stdout.write("signature: unpack the file, then openssl pkeyutl -verify -pubin -inkey key.pem -rawin"
                     f" -in receipt.json -sigfile receipt.sig; key.pem is the one at {receipt['key']}\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["page.zip"]))
