"""A push service on this machine, and devices that it tells."""

import pytest

from apps.accounts.models import Login
from apps.push import sending
from apps.push.actions import Address, subscribe_device
from apps.push.models import Subscription
from tests.support.factories import deliver, log_in
from tests.support.push_service import Device, push_service, trust
from tools.scale.certificates import make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("push"))


@pytest.fixture
def service(certificates, monkeypatch):
    with push_service(certificates) as running:
        trust(monkeypatch, certificates)
        yield running


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def subscribed(client, service, device, monkeypatch):
    """`subscribed(user)`: the subscription of the browser in which somebody is logged in."""

    def subscribe(user, to=device) -> Subscription:
        log_in(client, user)
        login = Login.objects.filter(user=user).latest("pk")
        # by an action that may not name this machine; what is sent goes where it says
        monkeypatch.setattr("apps.push.actions.may_be_public", lambda _host: True)
        address = Address(f"{service.address}/{user.handle}", **to.keys)
        return subscribe_device(user, login.session_key, address)

    return subscribe


@pytest.fixture
def pushed(service, device):
    """`pushed()`: what the workers have sent by now, as the device reads it."""

    def told(by=device):
        deliver()
        sending.run_due(limit=100)
        return [by.read(message) for message in service.received]

    return told
