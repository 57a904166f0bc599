"""A server on this machine that receives webhooks, and accounts with webhooks."""

import pytest

from apps.webhooks import sending
from apps.webhooks.actions import create_endpoint
from apps.webhooks.models import Kind
from tests.support.factories import deliver
from tests.support.receiver import receiver


@pytest.fixture
def server(settings):
    settings.WEBHOOKS_ANYWHERE = True
    with receiver() as running:
        yield running


@pytest.fixture
def hooked(server):
    """`hooked(user)`: an endpoint of a user with its secret."""

    def make(user, kinds=Kind.values, bearer=None):
        return create_endpoint(user, f"{server.address}/{user.handle}?x=1", kinds, bearer)

    return make


@pytest.fixture
def sent(server):
    """`sent()`: the contents of all messages that the workers have sent by now."""

    def work():
        deliver()
        for endpoint_id in sending.due():
            while sending.send_due(endpoint_id):
                pass
        return server.contents

    return work
