"""Main and Backup change their slots in steps: what each waits for, what is refused, and the command."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from apps.errors import Conflict, Invalid, NotFound
from apps.operations import actions, resizing
from apps.operations.actions import Author
from apps.operations.models import TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.connections import timelines
from feedcache.servers import totals
from feedcache.servers.topology_listener import Listener
from feedcache.slot_map import even_map, moved
from feedcache.topology import Node, Phase, Pool, Topology, problems
from tests.support.faults import dead_redis

CHIEF = Author("chief")


@pytest.fixture
def one():
    """A process that runs."""
    return Listener(role="worker")


@pytest.fixture
def settle(one):
    """All processes have taken the last step, a while ago."""

    def settle(*, seconds=60):
        actions.republish()
        one.look(timelines())
        TopologyVersion.objects.update(made_at=timezone.now() - timedelta(seconds=seconds))

    return settle


def phase(pool=Pool.MAIN):
    resize = topology_in_force().resizes.get(pool)
    return resize and resize.phase


@pytest.mark.django_db
@pytest.mark.parametrize("pool", [Pool.MAIN, Pool.BACKUP])
def test_a_pool_grows_and_shrinks_again(pool, settle, settled, spare):
    before = settled.group(pool)
    resizing.grow(pool, [spare().address], 16, by=CHIEF)
    for expected in (Phase.JOINING, Phase.MOVING, Phase.LEAVING):
        assert phase(pool) is expected
        assert resizing.advance() is None, "not before every process has it"
        settle()
        assert resizing.advance() is not None
    wide = topology_in_force()
    assert phase(pool) is None
    assert [node.url for node in wide.group(pool)[:-1]] == [node.url for node in before]
    assert len(wide.group(pool)) == len(before) + 1
    assert moved(even_map(len(before)), wide.slot_map(pool)) == 840 // (len(before) + 1)

    resizing.shrink(pool, {0}, by=CHIEF)
    while phase(pool):
        settle()
        assert resizing.advance() is not None
    narrow = topology_in_force()
    assert narrow.group(pool) == wide.group(pool)[1:]
    assert set(narrow.slot_map(pool)) == set(range(len(before)))
    assert resizing.advance() is None


@pytest.mark.django_db
def test_every_step_waits_for_every_process_and_some_seconds(one, settle, settled, spare):
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    TopologyVersion.objects.update(made_at=timezone.now() - timedelta(seconds=60))
    one.look(timelines())
    actions.republish()
    one.topology = settled
    one._report(timelines())
    assert resizing.advance() is None, "a process has not taken it"
    settle(seconds=resizing.STEP_SECONDS - 2)
    assert resizing.advance() is None, "somebody who hangs may not have, either"
    settle(seconds=resizing.STEP_SECONDS + 1)
    with dead_redis():
        assert resizing.advance() is None, "nobody knows"
    settle()
    assert resizing.advance() is not None


@pytest.mark.django_db
def test_old_slots_are_read_until_the_new_ones_are_filled(settle, settled, spare, monkeypatch):
    counts = {}
    monkeypatch.setattr(totals, "since", lambda _second: counts or None)
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    settle()
    assert resizing.advance() is not None
    settle()
    assert resizing.advance() is None, "there are no figures yet"
    counts.update({("tier:main", "hit"): 97, ("tier:main before", "hit"): 3})
    (progress,) = resizing.progress()
    assert progress.old_answers == 0.03
    assert "slots fill" in progress.waits_for
    assert resizing.advance() is None
    counts["tier:main before", "hit"] = 1
    assert resizing.advance() is not None
    assert phase() is Phase.LEAVING


@pytest.mark.django_db
def test_after_a_while_the_rest_is_loaded_when_it_is_asked_for(settle, settled, spare, monkeypatch):
    monkeypatch.setattr(totals, "since", lambda _second: {
        ("tier:main", "hit"): 1, ("tier:main before", "hit"): 1
    })  # fmt: skip
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    settle()
    resizing.advance()
    settle()
    assert resizing.advance() is None
    settle(seconds=resizing.MOVING_MOST_SECONDS + 1)
    assert resizing.advance() is not None


@pytest.mark.django_db
def test_a_change_of_slots_is_given_up(settle, settled, spare):
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    resizing.abort(Pool.MAIN, by=CHIEF)
    assert (topology_in_force().main, phase()) == (settled.main, None)

    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    settle()
    resizing.advance()
    resizing.abort(Pool.MAIN, by=CHIEF)
    resize = topology_in_force().resizes[Pool.MAIN]
    assert (resize.phase, resize.home) == (Phase.LEAVING, even_map(2)), "the old slots are read"
    with pytest.raises(Conflict, match="last step"):
        resizing.abort(Pool.MAIN, by=CHIEF)
    settle()
    resizing.advance()
    assert (topology_in_force().main, phase()) == (settled.main, None)
    with pytest.raises(Conflict):
        resizing.abort(Pool.MAIN, by=CHIEF)


@pytest.mark.django_db
def test_what_is_refused(settle, settled, spare):
    with pytest.raises(Invalid, match="one slot"):
        resizing.shrink(Pool.MAIN, {0, 1}, by=CHIEF)
    with pytest.raises(NotFound):
        resizing.shrink(Pool.MAIN, {7}, by=CHIEF)
    with pytest.raises(Invalid, match="does not work"):
        resizing.grow(Pool.MAIN, ["127.0.0.1:1"], 16, by=CHIEF)
    with pytest.raises(Invalid, match="twice"):
        resizing.grow(Pool.BACKUP, [settled.main[0].url], 16, by=CHIEF)
    assert not TopologyVersion.objects.exists()
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    with pytest.raises(Conflict, match="changing its slots"):
        resizing.shrink(Pool.BACKUP, {0}, by=CHIEF)
    with pytest.raises(Conflict, match="changing its slots"):
        actions.roll_back(0, by=CHIEF)
    resizing.abort(Pool.MAIN, by=CHIEF)
    with pytest.raises(Conflict, match="changing its slots"):
        actions.roll_back(1, by=CHIEF)


@pytest.mark.django_db
def test_backup_goes_and_comes_back(settle, settled, spare):
    resizing.shrink(Pool.BACKUP, {0}, by=CHIEF)
    while phase(Pool.BACKUP):
        settle()
        resizing.advance()
    assert topology_in_force().backup == ()
    resizing.grow(Pool.BACKUP, [settled.backup[0].url], 16, by=CHIEF)
    while phase(Pool.BACKUP):
        settle()
        resizing.advance()
    (node,) = topology_in_force().backup
    assert node.url == settled.backup[0].url
    assert node.generation > 0, "nothing of before is read"


@pytest.mark.django_db
def test_a_rollback_over_another_width_begins_generations(settle, settled, spare):
    resizing.grow(Pool.MAIN, [spare().address], 16, by=CHIEF)
    while phase():
        settle()
        resizing.advance()
    actions.roll_back(0, by=CHIEF)
    now = topology_in_force()
    assert [node.url for node in now.main] == [node.url for node in settled.main]
    assert {node.generation for node in now.main} == {now.version}
    assert now.slot_map(Pool.MAIN) == even_map(2)


@given(st.data())
def test_any_row_of_changes_leaves_a_topology_that_works_and_can_be_written(data):
    """Grow, shrink, steps and giving up, in any order: every bucket has a slot, no node is left without."""
    topology, version = Topology(main=(Node("main-0", "10.0.0.1:1", 64),)), 0
    for _ in range(data.draw(st.integers(1, 12))):
        version += 1
        act = data.draw(st.sampled_from(["grow", "shrink", "advance", "abort"]))
        pool = data.draw(st.sampled_from([Pool.MAIN, Pool.BACKUP]))
        width = len(topology.group(pool))
        try:
            if act == "grow":
                urls = [f"10.0.{version}.{n}:1" for n in range(data.draw(st.integers(1, 3)))]
                topology = resizing.growing(topology, pool, urls, 64, version=version)
            elif act == "shrink":
                slots = data.draw(st.sets(st.integers(0, max(width - 1, 0)), min_size=1))
                topology = resizing.shrinking(topology, pool, slots, version=version)
            elif act == "advance":
                topology = resizing.advanced(topology, pool, version=version)
            else:
                topology = resizing.aborted(topology, pool, version=version)
        except (actions.ImpossibleError, Conflict, Invalid):
            continue
        assert problems(topology) == []
        assert Topology.from_json(topology.to_json()) == topology
        for each in (Pool.MAIN, Pool.BACKUP):
            if each not in topology.resizes and topology.group(each):
                assert set(topology.slot_map(each)) == set(range(len(topology.group(each))))
    assert topology.main


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def quick(one, monkeypatch):
    """Steps that the only process takes at once."""
    monkeypatch.setattr("apps.operations.management.commands.cache.SETTLE_POLL_SECONDS", 0.05)
    monkeypatch.setattr(resizing, "STEP_SECONDS", 0.1)
    progress = resizing.progress

    def look():
        actions.republish()
        one.look(timelines())
        TopologyVersion.objects.update(made_at=timezone.now() - timedelta(seconds=20))
        return progress()

    monkeypatch.setattr(resizing, "progress", look)


@pytest.mark.django_db
def test_the_command_takes_all_steps(quick, settled, spare, capsys):
    call_command("cache", "grow", "main", spare().address)
    out = capsys.readouterr().out
    assert "Version 1: main grows by" in out
    assert "Version 4: main has its new slots." in out
    assert len(topology_in_force().main) == 3
    assert topology_in_force().main[2].megabytes == settled.main[0].megabytes
    call_command("cache", "shrink", "main:2")
    assert len(topology_in_force().main) == 2


@pytest.mark.django_db
def test_the_command_leaves_it_to_the_site_and_goes_on_later(quick, settled, spare, capsys):
    call_command("cache", "grow", "backup", spare().address, "--no-wait")
    assert phase(Pool.BACKUP) is Phase.JOINING
    call_command("cache", "topology")
    assert "backup: step 1 of 3, 50% of its keys move." in capsys.readouterr().out
    call_command("cache", "abort", "backup")
    assert phase(Pool.BACKUP) is None
    call_command("cache", "resizes")
    assert "No pool is changing its slots." in capsys.readouterr().out
    for words in (("shrink", "main:0", "backup:0"), ("shrink", "l1:0:0"), ("shrink", "main:9")):
        with pytest.raises(CommandError):
            call_command("cache", *words)
