"""Webhooks in the archive of an account, and their end with it."""

import pytest

from apps.accounts.actions import issue_token
from apps.oauth.queries import bearer_of
from apps.webhooks import privacy
from apps.webhooks.actions import create_endpoint, send_test
from apps.webhooks.models import Delivery, Endpoint, Kind

pytestmark = pytest.mark.django_db


def test_the_archive_lists_servers_without_secrets(alice):
    bearer = bearer_of(issue_token(alice, name="a bot"))
    endpoint, secret = create_endpoint(alice, "https://a.example/", [Kind.DELETED], bearer)
    [record] = privacy.ARCHIVE.written(list(privacy.ARCHIVE.rows(alice)))
    assert record == {
        "Address": "https://a.example/",
        "Messages": "status.deleted",
        "Program": "a bot",
        "Since": endpoint.created_at.isoformat(),
    }
    assert secret not in str(record)


def test_webhooks_are_erased_with_their_messages(alice, bob):
    for owner in (alice, alice, bob):
        send_test(create_endpoint(owner, "https://a.example/", [Kind.DELETED]).endpoint)
    while privacy.webhooks(alice, 1):
        pass
    assert [row.owner for row in Endpoint.objects.all()] == [bob]
    assert Delivery.objects.count() == 1
