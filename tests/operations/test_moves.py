"""Moving classes of data between Redis servers: the steps, what they refuse, and the command."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.errors import Conflict, Invalid, NotFound
from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.models import TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache import connections
from feedcache.connections import client_at, timelines
from feedcache.servers.topology_listener import Listener
from feedcache.topology import Tenant
from tests.support import clusters
from tests.support.faults import dead_redis
from tests.support.ports import free_port

pytestmark = pytest.mark.django_db
CHIEF = Author("chief")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    with clusters.server(tmp_path_factory.mktemp("other")) as started:
        yield started


@pytest.fixture(autouse=True)
def _empty(other):
    other.ask("FLUSHALL")
    yield
    connections.forget_clients()


@pytest.fixture
def one():
    """A process that runs."""
    return Listener(role="worker")


def settle(one):
    """All processes have taken the last step, a while ago."""
    actions.republish()
    one.look(timelines())
    TopologyVersion.objects.update(made_at=timezone.now() - timedelta(seconds=60))


def tenant(name="timelines"):
    return topology_in_force().tenant(name)


def test_three_steps(one, other):
    assert tenant() == Tenant("")
    actions.join_server("timelines", other.url, by=CHIEF)
    assert tenant() == Tenant("", also=other.url)
    settle(one)
    actions.switch_server("timelines", by=CHIEF)
    assert tenant() == Tenant(other.url, also="")
    settle(one)
    timelines().set("home:1:{7}", "an old window")
    actions.leave_server("timelines", by=CHIEF)
    assert tenant() == Tenant(other.url)
    assert not client_at("timelines", "").exists("home:1:{7}"), (
        "what would be outdated is forgotten"
    )
    assert [row.action for row in TopologyVersion.objects.all()] == ["move"] * 3


def test_every_step_waits_for_every_process(one, other):
    settle(one)
    actions.join_server("graph", other.url, by=CHIEF)
    TopologyVersion.objects.update(made_at=timezone.now() - timedelta(seconds=60))
    with pytest.raises(Conflict, match="1 process has not finished the previous step"):
        actions.switch_server("graph", by=CHIEF)
    actions.republish()
    one.look(timelines())
    TopologyVersion.objects.update(made_at=timezone.now())
    with pytest.raises(Conflict):
        actions.switch_server("graph", by=CHIEF)
    settle(one)
    with dead_redis(), pytest.raises(Conflict):
        actions.switch_server("graph", by=CHIEF)
    settle(one)
    actions.switch_server("graph", by=CHIEF)
    with pytest.raises(Conflict):
        actions.leave_server("graph", by=CHIEF)


def test_a_switch_goes_back_and_a_move_is_given_up(one, other):
    actions.join_server("limits", other.url, by=CHIEF)
    for expected in (Tenant(other.url, also=""), Tenant("", also=other.url)):
        settle(one)
        actions.switch_server("limits", by=CHIEF)
        assert tenant("limits") == expected
    settle(one)
    actions.leave_server("limits", by=CHIEF)
    assert tenant("limits") == Tenant("")
    settle(one)
    for step in (actions.switch_server, actions.leave_server):
        with pytest.raises(NotFound):
            step("limits", by=CHIEF)


def test_what_cannot_move_is_refused_in_words(other):
    for name in ("counters", "existence", "cache", "anything"):
        with pytest.raises(Invalid, match=name):
            actions.join_server(name, other.url, by=CHIEF)
    for url in ("10.0.0.1:1", "redis://me:secret@a:1/0"):
        with pytest.raises(Invalid):
            actions.join_server("graph", url, by=CHIEF)
    with pytest.raises(Invalid, match="127.0.0.1"):
        actions.join_server("graph", f"redis://127.0.0.1:{free_port()}/0", by=CHIEF)
    with pytest.raises(Conflict, match="already"):
        actions.join_server("graph", "", by=CHIEF)
    actions.join_server("graph", other.url, by=CHIEF)
    with pytest.raises(Conflict):
        actions.join_server("graph", f"redis://127.0.0.1:{other.port}/1", by=CHIEF)


def test_a_server_with_windows_of_an_earlier_time_is_refused(other):
    other.ask("SET", "home:1:{7}", "of an earlier time")
    other.ask("SET", "session", "not of the class")
    with pytest.raises(Invalid, match="1 keys"):
        actions.join_server("timelines", other.url, by=CHIEF)
    other.ask("DEL", "home:1:{7}")
    actions.join_server("timelines", other.url, by=CHIEF)


def test_memcached_rolls_back_without_redis(one, other, settled):
    actions.flush_class("content", by=CHIEF)
    actions.join_server("timelines", other.url, by=CHIEF)
    actions.roll_back(1, by=CHIEF)
    assert tenant() == Tenant("", also=other.url)


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def quick(one, monkeypatch):
    """Steps that the only process takes at once."""
    monkeypatch.setattr("apps.operations.management.commands.cache.SETTLE_POLL_SECONDS", 0.1)
    monkeypatch.setattr(actions, "SETTLE_SECONDS", 0.3)
    reason_to_wait = actions.reason_to_wait

    def look():
        actions.republish()
        one.look(timelines())
        return reason_to_wait()

    monkeypatch.setattr(actions, "reason_to_wait", look)


@pytest.mark.long
@pytest.mark.gate
def test_the_command_takes_all_steps_with_their_progress(quick, other, capsys):
    call_command("cache", "move", "timelines", other.url)
    out = capsys.readouterr().out
    assert tenant() == Tenant(other.url)
    assert "The previous step is too recent. Try again in 1 s." in out
    assert "the other server is left" in out
    with pytest.raises(CommandError, match="already"):
        call_command("cache", "move", "timelines", other.url)
    call_command("cache", "move", "timelines", "settings")
    assert tenant() == Tenant("")


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_interrupted(quick, other, capsys):
    actions.join_server("graph", other.url, by=CHIEF)
    call_command("cache", "move", "graph", other.url)
    assert tenant("graph") == Tenant(other.url)
    actions.join_server("graph", "", by=CHIEF)
    actions.reason_to_wait()
    call_command("cache", "move", "graph", other.url)
    assert tenant("graph") == Tenant(other.url), "given up"
    with pytest.raises(CommandError, match="counters"):
        call_command("cache", "move", "counters", other.url)
