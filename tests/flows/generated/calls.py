"""Imports every module of the generated Python client, and makes calls: python calls.py ADDRESS TOKEN ACCOUNT_ID."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import feedsite_client
from feedsite_client import AuthenticatedClient, models
from feedsite_client.types import Response

ADDRESS, TOKEN, OTHER = sys.argv[1:]

MODULES = [one.name for one in walk_packages(feedsite_client.__path__, "feedsite_client.")]
for module in MODULES:
    import_module(module)

client = AuthenticatedClient(base_url=ADDRESS, token=TOKEN)
calls = 0


def call(where: str, **arguments: Any) -> Any:
    """What an endpoint answers; `where` is its tag and its name."""
    global calls
    endpoint = import_module(f"feedsite_client.api.{where}")
    answer: Response[Any] = endpoint.sync_detailed(client=client, **arguments)
    assert answer.status_code == 200, (where, answer.status_code, answer.content)
    calls += 1
    return answer.parsed


def write() -> Iterator[tuple[str, Any]]:
    """A status and what can be done with it."""
    made = call("statuses.create_status", body=models.StatusInput(status="By a generated client."))
    assert isinstance(made, models.Status)
    assert (made.content, type(made.id)) == ("<p>By a generated client.</p>", str)
    yield "id", made.id
    edited = call(
        "statuses.edit_status", status_id=made.id, body=models.StatusEditInput(status="Edited.")
    )
    yield "edited", edited.content
    for action, flag in (
        ("favourite", "favourited"),
        ("unfavourite", "favourited"),
        ("bookmark", "bookmarked"),
        ("unbookmark", "bookmarked"),
        ("pin", "pinned"),
        ("mute", "muted"),
    ):
        yield action, getattr(call(f"statuses.{action}_status", status_id=made.id), flag)
    answer = models.StatusInput(status="An answer.", in_reply_to_id=made.id)
    yield "answer", call("statuses.create_status", body=answer).in_reply_to_id == made.id
    context = call("statuses.status_context", status_id=made.id)
    yield "descendants", len(context.descendants)
    yield "history", len(call("statuses.status_history", status_id=made.id))
    yield "source", call("statuses.status_source", status_id=made.id).text
    yield "deleted", call("statuses.delete_status", status_id=made.id).text


def follow() -> Iterator[tuple[str, Any]]:
    yield "follow", call("accounts.follow_account", account_id=OTHER, body=models.FollowInput()).following  # fmt: skip
    made = call("lists.create_list", body=models.ListInput(title="Mine"))
    call("lists.add_to_list", list_id=made.id, body=models.PeopleInput(account_ids=[OTHER]))
    yield "list", [one.id for one in call("lists.list_accounts", list_id=made.id)] == [OTHER]
    call("timelines.list_timeline", list_id=made.id)
    call("lists.delete_list", list_id=made.id)
    yield "unfollow", call("accounts.unfollow_account", account_id=OTHER).following


def read() -> Iterator[tuple[str, Any]]:
    yield "me", call("accounts.verify_credentials").acct
    yield "lookup", call("accounts.lookup_account", acct="bob").id == OTHER
    for where in (
        "timelines.home_timeline",
        "timelines.public_timeline",
        "timelines.favourites",
        "timelines.bookmarks",
        "timelines.conversations",
        "lists.lists",
        "circles.circles",
        "filters.filters",
        "notifications.notifications",
        "notifications.grouped_notifications",
        "notifications.notification_policy",
        "accounts.blocks",
        "accounts.mutes",
        "accounts.follow_requests",
        "accounts.preferences",
        "accounts.show_profile",
        "instance.instance",
        "instance.instance_rules",
        "tags.followed_tags",
        "trends.trending_tags",
    ):
        assert call(where) is not None, where
    yield "tag", call("timelines.tag_timeline", name="river")
    yield "search", call("search.search", q="bob").accounts[0].acct


said = {key: value for part in (write, follow, read) for key, value in part()}
sys.stdout.write(json.dumps({"modules": len(MODULES), "calls": calls, **said}))
