"""Random pairs on a site of the drill's kind: explain says what the tables say, and a lie is seen."""

import os
import random
import sys
from contextlib import suppress
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import F

from apps.accounts.actions import update_settings
from apps.accounts.queries import users_by_id
from apps.audit import explain as explaining
from apps.audit.comparison.explanations import compare
from apps.errors import DomainError
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, mute_user, unfollow_user
from apps.graph.models import Followee, Follower
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.tags.actions import follow_tag
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import Policy
from tests.support.factories import deliver, publish, repost
from tools.drill.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.long]
PAIRS = int(os.environ.get("EXPLAIN_PAIRS", "500"))
PEOPLE, POSTS = 40, 240
VISIBILITIES = ("public", "public", "public", "unlisted", "followers", "friends")


@pytest.fixture
def site(db):
    """People who do everything at random; half of them come before the first post."""
    chance = random.Random(5)
    world = make_world(5, people=PEOPLE, crowd=20)
    for rows in (Followee, Follower):
        rows.objects.update(created_at=F("created_at") - timedelta(hours=1))
    people = users_by_id([person.id for person in world.people])
    everybody = list(people.values())
    for person in everybody[::5]:
        follow_tag(person, "rivers")
        update_settings(person, hides_replies=True)
        keywords = [KeywordChange(keyword="rhubarb")]
        create_filter(person, FilterChange("Pies", ["home"], act="hide", keywords=keywords))
    set_author_policy(everybody[0], Policy.PULL, by="a test")
    deliver()
    for person in everybody[::2]:
        home_timeline(person, Cursor())
    posts = []
    for number in range(POSTS):
        author = chance.choices(everybody, world.weights)[0]
        body = chance.choice(["plain", "plain #rivers", "rhubarb"]) + f" {number}"
        posts.append(publish(author, body, visibility=chance.choice(VISIBILITIES)))
        if number % 5 == 4:
            share_and_answer(chance, everybody, posts)
        if number % 8 == 7:
            one, other = chance.sample(everybody, 2)
            chance.choice([mute_user, block_user, unfollow_user])(one, other)
        if number % 20 == 19:
            deleted = posts.pop(chance.randrange(len(posts)))
            delete_post(deleted.pk, by=people[deleted.author_id])
            deliver()
    deliver()
    return world


def share_and_answer(chance, people, posts):
    public = [post for post in posts if post.visibility == "public"]
    with suppress(DomainError):  # a block is between them
        repost(chance.choice(people), chance.choice(public).pk)
    for _twice in range(2):
        with suppress(DomainError):
            posts.append(
                publish(chance.choice(people), "an answer", reply_to_id=chance.choice(public).pk)
            )


def test_no_pair_is_explained_wrongly_and_a_lie_is_seen(site, capsys, monkeypatch):
    call_command("audit", "explain", "--pairs", str(PAIRS), "--seed", "3")
    told = capsys.readouterr().out
    with capsys.disabled():
        sys.stdout.write(f"\n{told}")
    assert f"{PAIRS} pairs, 0 wrong" in told
    for source in ("push", "hidden", "not_followed", "rebuilt"):
        assert source in told

    # a lie: whoever is in a chunk was reached
    monkeypatch.setattr(explaining, "_is_reached", lambda _viewer, row: row["state"] == "done")
    assert "the ledger says otherwise" in {outcome.fault for outcome in compare(300, seed=3)}
    with pytest.raises(SystemExit):
        call_command("audit", "explain", "--pairs", "300", "--seed", "3")
