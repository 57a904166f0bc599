"""Whatever the OpenAPI document allows, and much that it does not: no failure of ours, no answer that it does not
describe.

`--api-requests 20000` asks so many times over the whole document, `--api-seed` asks other things; the usual number is
small. What was asked and answered is printed.
"""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from hypothesis import HealthCheck, Phase
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode

from apps.accounts.actions import issue_token
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, add_post, create_filter
from apps.graph.groups.actions import create_group
from apps.graph.models import FollowRequest, UserList
from apps.notifications.models import Announcement, Conversation, Notification
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from tests.api.test_endpoints import in_an_hour
from tests.support.factories import deliver, make_user, publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(
    transaction=True
)  # a failure must not spoil the requests after it

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
ENDS = (
    "/block",
    "/clear",
    "/dismiss",
    "/unfollow",
    "/remove_from_followers",
)  # asked last: they end what others need
GOOD_IDS = 0.7  # of the addresses name something that is there


@dataclass
class FollowerScan:
    """One walk over the document: who asks, for what, and what came of it."""

    token: str
    known: dict[str, list[Any]]
    seed: int
    each: int = 0
    checks: list[Any] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    found: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def walk(alice, bob, settings, tmp_path, request):
    """Somebody's account with some of everything, and the ids that are good in addresses."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    settings.MEDIA_ROOT = str(tmp_path)
    fans = [make_user() for _fan in range(5)]
    posts = [publish(alice, f"of mine {number} #river") for number in range(5)]
    posts += [publish(bob, "@alice hello #river"), publish(alice, visibility="followers")]
    asked = [
        publish(one, "Which?", poll=PollDraft(["Red", "Green"], 3600))
        for one in (alice, bob, *fans)
    ]
    for fan in fans:
        FollowRequest.objects.create(owner=alice, requester=fan)
        publish(fan, "@alice for you", visibility="mentioned")
    deliver()
    words = [KeywordChange(keyword="tea")]
    filters = [
        create_filter(alice, FilterChange(f"Quiet {number}", ["home"], keywords=words))
        for number in range(5)
    ]
    notifications = Notification.objects.filter(user=alice).values_list("pk", flat=True)
    news = [Announcement.objects.create(text="hello").pk for _one in range(3)]
    known = {
        "status_id": [post.pk for post in [*posts, *asked]],
        "account_id": [alice.pk, bob.pk, *(fan.pk for fan in fans)],
        "list_id": [create_group(UserList, alice, name=f"Mine {number}").pk for number in range(5)],
        "feed_id": [
            create_feed(alice, name=f"Mine {number}", include_tags=["river"]).pk for number in range(5)
        ],
        "notification_id": list(notifications),
        "group_key": [f"ungrouped-{number}" for number in notifications],
        "conversation_id": list(Conversation.objects.filter(user=alice).values_list("pk", flat=True)),
        "announcement_id": news,
        "emoji": ["👍", "🎉"],
        "filter_id": [one.pk for one in filters],
        "keyword_id": [one.keywords.get().pk for one in filters],
        "row_id": [add_post(alice, one.pk, posts[0].pk).pk for one in filters],
        "media_id": [upload_picture(alice, BytesIO(picture())).pk for _one in range(5)],
        "poll_id": [post.pk for post in asked],
        "number": [schedule_post(alice, Draft("Later."), in_an_hour()).pk for _one in range(5)],
        "name": ["river"],
    }  # fmt: skip
    assert all(known.values()), known
    return FollowerScan(
        issue_token(alice, name="fuzz"), known, request.config.getoption("--api-seed")
    )


@pytest.mark.long
def test_every_answer_is_as_the_document_says(walk, request, capsys):
    load_all_checks()
    walk.checks = schemathesis.checks.CHECKS.get_by_names(CHECKS)
    schema = schemathesis.openapi.from_wsgi("/api/schema?format=json", WSGIHandler())
    parsed: list[Any] = list(schema.get_all_operations())
    operations = [one.ok() for one in parsed if not one.ok().path.startswith("/api/v1/streaming/")]
    operations.sort(key=lambda one: one.method.upper() == "DELETE" or one.path.endswith(ENDS))
    assert len(operations) > 100
    walk.each = max(1, request.config.getoption("--api-requests") // len(operations))
    for one in operations:
        ask_often(walk, one)
    line = f"{walk.answers.total()} requests, {len(operations)} operations, seed {walk.seed}"
    line += f": {dict(sorted(walk.answers.items()))}"
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
    assert list(walk.found) == [], "\n\n".join(walk.found.values())
    assert walk.answers[200] > walk.answers.total() // 10


def ask_often(walk, operation):
    """Ask for one operation so many times; what is wrong with the answers, one line for each kind."""
    chosen = random.Random(walk.seed)
    modes = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )

    @hypothesis.seed(walk.seed)
    @hypothesis.settings(max_examples=walk.each, deadline=None, database=None, phases=[Phase.generate],
                         suppress_health_check=list(HealthCheck))  # fmt: skip
    @hypothesis.given(case=modes)
    def ask(case):
        for name in case.path_parameters or {}:
            if name in walk.known and chosen.random() < GOOD_IDS:
                case.path_parameters[name] = str(chosen.choice(walk.known[name]))
        answer = case.call(
            # who asks without a network unpacks nothing
            headers={"Authorization": f"Bearer {walk.token}", "Accept-Encoding": "identity"}
        )
        walk.answers[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=walk.checks)
        except schemathesis.errors.SchemathesisError as error:
            walk.found.setdefault(str(error)[:300], f"{operation.label}: {error}"[:1500])
        except BaseExceptionGroup as errors:
            walk.found.setdefault(
                str(errors.exceptions[0])[:300], f"{operation.label}: {errors.exceptions}"[:1500]
            )

    ask()
