"""Every class that staff may flush asks for its epoch, and every value in Memcached belongs to such a class."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps

from apps.engagement.tasks import maintain_filters
from apps.operations import actions
from apps.posts.cache import CACHED_POSTS, load_cached_posts
from apps.posts.tasks import maintain_counts
from feedcache.connections import timelines
from feedcache.read_through import ReadThrough
from feedcache.servers.flush import delete_keys as forget_in_redis
from feedcache.topology import CLASSES, Topology
from tests.support.cases import each
from tests.support.factories import deliver, publish
from tests.support.memory import flush, forget

ROOT = Path(__file__).resolve().parents[2]


def declared():
    """Every ReadThrough that an app declares in its `cache`, a module or a package of them: the one place for that."""
    for config in apps.get_app_configs():
        folder = ROOT / config.name.replace(".", "/")
        for path in [*folder.glob("cache.py"), *folder.glob("cache/*.py")]:
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            yield from (one for one in vars(module).values() if isinstance(one, ReadThrough))


def test_every_value_in_memcached_belongs_to_a_class():
    families = {one.name: one.family or one.name for one in declared()}
    assert families["post"] == "content"
    assert set(families.values()) <= set(CLASSES), families


@pytest.mark.parametrize("name", ["content", "outbox"])
def test_every_class_in_memcached_asks_for_its_epoch(name):
    source = "\n".join(path.read_text() for path in (ROOT / "apps").rglob("*.py"))
    assert re.search(rf"family=\"{name}\"|epoch_of\(\"{name}\"\)", source)


@pytest.mark.long
@pytest.mark.gate
@each("name", CLASSES)
@pytest.mark.django_db
def test_a_flush_forgets_one_class_in_redis_and_pages_stay_the_same(name, alice, bob, api_of):
    post = publish(alice, "for all")
    publish(alice, "for some", visibility="followers")
    deliver()
    maintain_counts()
    maintain_filters()
    api, visitor = api_of(bob), api_of(None)
    api.get(f"/api/v1/statuses/{post.pk}")  # read, and remembered as such

    def read():
        own = [api.get(f"/api/v1/timelines/{name}").content for name in ("home", "public")]
        return [*own, visitor.get(f"/api/v1/accounts/{alice.pk}/statuses").content]

    pages = [read(), read()][1]  # everything is warm
    before = kept()
    forget_in_redis(name)
    gone = before - kept()
    assert gone == {key for key in before if class_of(key) == name}
    assert bool(gone) == (name != "outbox")
    assert read() == pages


PREFIXES = {"week": "content", "home": "inbox", "inbox": "inbox", "rel": "graph", "phantom": "existence",
            "c{": "counters"}  # fmt: skip


def kept():
    return set(timelines().scan_iter(count=1000))


def class_of(key):
    return next(
        (name for prefix, name in PREFIXES.items() if key.decode().startswith(prefix)), None
    )


@pytest.mark.django_db
def test_a_flush_empties_one_class_and_it_heals_itself(alice, settled):
    post = publish(alice, "hello")
    loads = []

    def load(ids):
        loads.append(len(ids))
        return load_cached_posts(ids)

    def read():
        return [
            head.content and head.content.body
            for head in CACHED_POSTS.get_many([post.pk], load).values()
        ]

    now = Topology(1, settled.main, settled.backup, settled.l1)
    forget(now)
    flush()  # what was stored when it was published
    try:
        assert (read(), read(), len(loads)) == (["hello"], ["hello"], 1)
        forget(actions.flushed(now, "graph", version=2))
        assert (read(), len(loads)) == (["hello"], 1)  # another class
        forget(actions.flushed(now, "content", version=3))
        assert (read(), read(), len(loads)) == (["hello"], ["hello"], 2)
    finally:
        forget()
