"""Whatever the OpenAPI document allows, and much that it does not: no failure of ours, no answer that it does not describe.

`--api-requests 20000` asks so many times over the whole document; the usual number is small.
"""

import random
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode

from apps.accounts.actions import issue_token
from apps.lists.actions import create_list
from apps.notifications.models import Notification
from feedsite.wsgi import application
from tests.factories import deliver, make_user, publish

pytestmark = pytest.mark.django_db(
    transaction=True
)  # a failure must not spoil the requests after it

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.fixture
def world(alice, bob, settings):
    """Somebody's account with something of everything, and the ids that are good in addresses."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    posts = [
        publish(bob, "@alice hello #river"),
        publish(alice),
        publish(alice, visibility="followers"),
    ]
    deliver()
    known = {
        "status_id": [post.pk for post in posts],
        "account_id": [alice.pk, bob.pk, make_user().pk],
        "list_id": [create_list(alice, title="Mine").pk],
        "notification_id": list(
            Notification.objects.filter(user=alice).values_list("pk", flat=True)
        ),
        "name": ["river"],
    }
    return issue_token(alice, name="fuzz"), known


def test_every_answer_is_as_the_document_says(world, request):
    token, known = world
    load_all_checks()
    checks = schemathesis.checks.CHECKS.get_by_names(CHECKS)
    schema = schemathesis.openapi.from_wsgi("/api/schema?format=json", application)
    parsed: list[Any] = list(schema.get_all_operations())
    operations = [one.ok() for one in parsed]
    assert len(operations) > 100
    each = max(1, request.config.getoption("--api-requests") // len(operations))
    found = [
        failure for one in operations for failure in failures_of(one, each, token, known, checks)
    ]
    assert found == [], "\n\n".join(found)


def failures_of(operation, number, token, known, checks):
    """What is wrong with the answers to so many requests, one line for each kind."""
    found, chosen = {}, random.Random(number)
    modes = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )

    @hypothesis.settings(max_examples=number, deadline=None, database=None, phases=[Phase.generate],
                         suppress_health_check=list(HealthCheck))  # fmt: skip
    @hypothesis.given(case=modes)
    def ask(case):
        for name in case.path_parameters or {}:
            if name in known and chosen.random() < 0.7:
                case.path_parameters[name] = str(chosen.choice(known[name]))
        try:
            case.call_and_validate(checks=checks, headers={"Authorization": f"Bearer {token}"})
        except schemathesis.errors.SchemathesisError as error:
            found.setdefault(str(error)[:300], f"{operation.label}: {error}"[:1500])
        except BaseExceptionGroup as errors:
            found.setdefault(
                str(errors.exceptions[0])[:300], f"{operation.label}: {errors.exceptions}"[:1500]
            )

    ask()
    return list(found.values())
