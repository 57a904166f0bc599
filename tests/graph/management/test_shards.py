"""The follow tables on several real PostgreSQL servers: split, moved while the site writes, and after a crash."""

import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.queries import user_by_id
from apps.audit import checks as audit_checks
from apps.audit.auditor import run_once
from apps.audit.models import AuditFinding, Kind
from apps.audit.repairs import AuditPass
from apps.events.models import Event
from apps.graph import actions, cache, journal, queries
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.familiar_followers import common_followers
from apps.graph.management import shards
from apps.graph.models import Followee, Follower, PendingFollow
from apps.graph.queries import mirror_faults
from apps.pagination import Cursor
from apps.search.suggestions import suggested_people
from feedsite.checks import check_graph_shards
from tests.support.factories import delivered, make_user, publish
from tests.support.shards import (
    address,
    copied_database,
    cut,
    partitions,
    quiet,
    slow_commit,
    split_and_spread,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.clusters]
FOLLOWS = ("graph_followee", "graph_follower")
SOUND = dict.fromkeys(
    (
        "followees without mirror",
        "followers without mirror",
        "wrong following counts",
        "wrong follower counts",
    ),
    0,
)


@pytest.fixture
def site(_own_database, transactional_db, server, settings):
    """Split tables; half of the shards are on east."""
    settings.GRAPH_SHARDS = {name: address(server, name) for name in ("east", "west")}
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (100_000, 3600)}
    split_and_spread(settings)


def place_of(user):
    """The shard of an account and where it lies."""
    [name] = partitions("SELECT FROM graph_follower WHERE owner_id = %s", [user.pk])
    with closing(shards.connect()) as session:
        return next(shard for shard in shards.shards(session) if shard.name == name)


def person(place, **fields):
    """An account whose shard lies there."""
    for _attempt in range(64):
        user = make_user(**fields)
        if place_of(user).place == place:
            return user
    raise AssertionError(f"nobody lies on {place}")


def names(users):
    return {user.handle for user in users}


def fresh(user):
    return user_by_id(user.pk)


# --- split ----------------------------------------------------------------------------------------


def test_no_account_has_a_number_of_another_database(transactional_db):
    before = make_user().pk
    with copied_database("_plain"):
        inside = make_user().pk
    assert before < inside < make_user().pk


def test_nothing_is_split_by_itself(plain, capsys):
    call_command("shards", "show")
    assert "plain" in capsys.readouterr().out
    with pytest.raises(CommandError, match="split` comes first"):
        call_command("shards", "move", "1", "--to", "local")


def test_split_leaves_every_row_and_goes_on_with_the_ids(plain):
    people = [make_user() for _ in range(6)]
    for one, other in itertools.permutations(people, 2):
        follow_user(one, other)
    before = [sorted(model.objects.values_list()) for model in (Followee, Follower)]
    highest = Followee.objects.latest("pk").pk
    call_command("shards", "split")
    assert [sorted(model.objects.values_list()) for model in (Followee, Follower)] == before
    assert mirror_faults() == SOUND
    newcomer = make_user()
    follow_user(newcomer, people[0])
    assert Followee.objects.get(owner=newcomer).pk > highest
    with pytest.raises(CommandError, match="split already"):
        call_command("shards", "split")


def test_hashes_spread_owners_evenly(site):
    with connection.cursor() as sql:
        sql.execute(
            "SELECT n, count(*) FROM generate_series(1::bigint, 20000) owner, generate_series(0, 63) n"
            " WHERE satisfies_hash_partition('graph_followee'::regclass, 64, n, owner) GROUP BY 1"
        )
        sizes = dict(sql.fetchall())
    assert len(sizes) == 64
    assert max(sizes.values()) < 1.3 * 20_000 / 64


def test_ranges_put_newcomers_into_the_last_shard(site, monkeypatch):
    """The hot tail: the newest accounts write and are written to."""
    with closing(shards.connect()) as session:
        name = session.info.dbname
        session.execute("DROP DATABASE IF EXISTS by_range")
        session.execute(f"CREATE DATABASE by_range TEMPLATE {name.removesuffix('_shards')}")
    params = {**connection.get_connection_params(), "dbname": "by_range"}
    given = {key: params[key] for key in ("host", "user", "dbname")}
    monkeypatch.setattr(
        shards, "connect", lambda *_place: psycopg.connect(**given, autocommit=True)
    )
    with pytest.raises(CommandError, match="have to ascend"):
        call_command("shards", "split", "--range", "200,100")
    call_command("shards", "split", "--range", "100,200")
    with closing(shards.connect()) as session:
        for owner in (1, 99, 100, 199, 200, 201, 10**9):
            session.execute(
                "INSERT INTO graph_follower (owner_id, follower_id, created_at) VALUES (%s, 5, now())",
                [owner],
            )
        found = session.execute(
            "SELECT tableoid::regclass::text, count(*) FROM graph_follower GROUP BY 1 ORDER BY 1"
        )
        assert found.fetchall() == [
            ("graph_follower_00", 2),
            ("graph_follower_01", 2),
            ("graph_follower_02", 3),
        ]


# --- move -----------------------------------------------------------------------------------------


def test_a_shard_on_a_server_has_the_keys_and_indexes_of_a_shard_here(site, settings):
    wanted = (
        "SELECT regexp_replace(indexdef, '^CREATE (UNIQUE )?INDEX .* USING', '\\1') FROM pg_indexes"
    )
    with closing(shards.connect()) as here, closing(shards.connect("east")) as there:
        tables = {
            name
            for (name,) in there.execute(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
            )
        }
        assert tables == {f"{table}_{number:02}" for table in FOLLOWS for number in range(32, 64)}
        for table in FOLLOWS:
            found = [
                sorted(session.execute(f"{wanted} WHERE tablename = '{name}'").fetchall())
                for session, name in ((here, f"{table}_03"), (there, f"{table}_40"))
            ]
            assert found[0] == found[1]
            assert len(found[0]) >= 4
            remote = there.execute(shards._DEFINED, [f"{table}_40"]).fetchall()
            assert remote == here.execute(shards._DEFINED, [table]).fetchall()


def test_people_follow_across_servers_and_both_lists_and_counts_are_right(site):
    ann, ben, cleo, dan = person("east"), person("local"), person("east"), person("local")
    everybody = [ann, ben, cleo, dan]
    for one, other in itertools.permutations(everybody, 2):
        follow_user(one, other, languages=["en"], notify=True)
    follow_user(ann, ben, reposts=False, notify=False)
    unfollow_user(cleo, ann)
    assert names(queries.followers_page(fresh(ann), None, Cursor()).items) == names([ben, dan])
    assert names(queries.following_page(fresh(ann), None, Cursor()).items) == names(
        [ben, cleo, dan]
    )
    assert Followee.objects.get(owner=ann, followee=ben).shows_reposts is False
    assert Follower.objects.get(owner=ben, follower=ann).notifies is False
    assert Follower.objects.get(owner=dan, follower=ann).notifies is True
    assert fresh(ann).counts.followers == 2
    assert fresh(ann).counts.choosy_follows == 3
    assert mirror_faults() == SOUND
    assert not PendingFollow.objects.exists()
    post = delivered(ann, "Hello from the east.")
    page = Client()
    page.force_login(ben)
    assert post.body in page.get("/").text


def test_a_crowd_that_follows_at_once_follows_once(site):
    ann, ben = person("east"), person("local")

    def follow(_number):
        try:
            follow_user(ann, ben)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(follow, range(12)))
    assert Followee.objects.filter(owner=ann).count() == 1
    assert mirror_faults() == SOUND


class Crowd:
    """Two threads in which people follow and unfollow somebody, and are followed, without a pause."""

    def __init__(self, owner):
        self.owner, self.others = owner, [make_user() for _ in range(8)]
        self.changes, self._stop = [0, 0], threading.Event()

    def wait_for_more(self):
        wanted = sum(self.changes) + 4
        wait_until(lambda: sum(self.changes) >= wanted, "people go on changing")

    def _change(self, worker):
        try:
            for other in itertools.cycle(self.others[worker::2]):
                for pair in ((self.owner, other), (other, self.owner)):
                    if self._stop.is_set():
                        return
                    follow_user(*pair)
                    self.changes[worker] += 1
                    if self.changes[worker] % 3 == 0:
                        unfollow_user(*pair)
        finally:
            connections.close_all()

    @contextmanager
    def busy(self):
        with ThreadPoolExecutor(2) as pool:
            workers = [pool.submit(self._change, worker) for worker in range(2)]
            try:
                yield
            finally:
                self._stop.set()
            for worker in workers:
                worker.result(30)


def test_a_shard_is_moved_while_people_follow_and_nothing_is_lost(site, monkeypatch):
    ann = person("local")
    crowd, shard = Crowd(ann), place_of(ann)
    copy = shards._copy

    def copy_slowly(source, shard, target, target_name, ids=None):
        number = copy(source, shard, target, target_name, ids)
        if ids is None:  # people change what has been copied
            crowd.wait_for_more()
        return number

    monkeypatch.setattr(shards, "_copy", copy_slowly)
    with crowd.busy():
        for place in ("east", "west", "local", "west"):
            assert list(shards.move([shard.number], place, report=quiet)) == [shard.number]
            assert place_of(ann).place == place
            crowd.wait_for_more()
    assert mirror_faults() == SOUND
    assert not PendingFollow.objects.exists()


def test_who_has_read_on_the_new_server_before_the_move_still_sees_what_came_there(
    site, monkeypatch
):
    """Another server shows a transaction the rows of when it first asked: a row that is copied later is not among them,
    and its deletion would delete nothing.
    """
    ann, ben = person("local"), person("east")
    shard, copy, journaled = place_of(ann), shards._copy, journal.journaled
    has_read, has_moved = threading.Event(), threading.Event()
    leaving: list[Future[None]] = []

    def leave():
        try:
            unfollow_user(ben, ann)
        finally:
            connections.close_all()

    def copy_all(source, moved, target, target_name, ids=None):
        number = copy(source, moved, target, target_name, ids)
        if ids is None and moved.table == "graph_follower":
            follow_user(ben, ann)  # noted, and copied below
            leaving.append(pool.submit(leave))
            assert has_read.wait(30)
        return number

    def read_and_wait(*people):
        if threading.current_thread() is not threading.main_thread():
            has_read.set()
            has_moved.wait(3)  # in vain where the move waits for this transaction
        return journaled(*people)

    monkeypatch.setattr(shards, "_copy", copy_all)
    monkeypatch.setattr(actions, "journaled", read_and_wait)
    with ThreadPoolExecutor(1) as pool:
        assert list(shards.move([shard.number], "east", report=quiet)) == [shard.number]
        has_moved.set()
        leaving[0].result(30)
    assert not Follower.objects.filter(owner=ann).exists()
    assert mirror_faults() == SOUND


def test_a_copy_that_differs_is_not_put_in_place(site, monkeypatch):
    ann, ben = person("local"), person("local")
    follow_user(ann, ben)
    shard = place_of(ann)
    copy = shards._copy

    def lossy(source, shard, target, target_name, ids=None):
        copied = copy(source, shard, target, target_name, ids)
        target.execute(f"DELETE FROM {target_name} WHERE id = (SELECT min(id) FROM {target_name})")
        return copied

    monkeypatch.setattr(shards, "_copy", lossy)
    with pytest.raises(shards.ShardError, match="the copy differs"):
        list(shards.move([shard.number], "west", report=quiet))
    assert place_of(ann).place == "local"
    assert mirror_faults() == SOUND
    monkeypatch.undo()
    assert not any("interrupted" in problem for problem in shards.problems())
    list(shards.move([shard.number], "west", report=quiet))
    assert place_of(ann).place == "west"
    assert mirror_faults() == SOUND


def test_what_a_killed_move_left_is_named_and_the_next_one_goes_on(site):
    ann, ben = person("local"), person("local")
    follow_user(ann, ben)
    shard = place_of(ann)
    with closing(shards.connect()) as session, closing(shards.connect("west")) as target:
        target.execute(f"DROP TABLE IF EXISTS {shard.name}")
        for statement in shards.definition(session, shard.table, shard.name, "west"):
            target.execute(statement)
        shards._note_changes(session, shard)
    assert f"A move of {shard.name} was interrupted: run it again." in list(shards.problems())
    follow_user(ben, ann)
    list(shards.move([shard.number], "west", report=quiet))
    assert list(shards.problems()) == []
    assert mirror_faults() == SOUND


def test_show_and_check(site, capsys, settings):
    with closing(shards.connect()) as own:
        settings.GRAPH_SHARDS = {**settings.GRAPH_SHARDS, "own": own.info.dsn}
    call_command("shards", "show")
    printed = capsys.readouterr().out
    assert "east: 32 shards" in printed
    assert "local: 32 shards" in printed
    call_command("shards", "check")
    ann, ben = person("east"), person("local")
    Follower.objects.create(owner_id=ann.pk, follower_id=ben.pk + 1_000_000)
    with pytest.raises(SystemExit):
        call_command("shards", "check")
    printed = capsys.readouterr().out
    assert "1 rows of graph_follower name a follower_id that is not in accounts_user." in printed
    with pytest.raises(CommandError, match="database of a site"):
        call_command("shards", "add", "own")
    with pytest.raises(CommandError, match="does not name 'north'"):
        call_command("shards", "add", "north")
    with pytest.raises(CommandError, match="There is no shard 64"):
        call_command("shards", "move", "64", "--to", "east")


# --- a crash between two commits ------------------------------------------------------------------


def audited(monkeypatch):
    monkeypatch.setattr(audit_checks, "INTERRUPTED_SECONDS", 0)
    run_once()
    return list(AuditFinding.objects.filter(kind=Kind.MIRROR))


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("places", [("east", "local"), ("local", "east"), ("east", "east")])
def test_what_a_crash_between_the_commits_left_is_finished(site, monkeypatch, places, follows):
    """The server of the shard has committed, the site's database has not."""
    ann, ben = (person(place) for place in places)
    change = follow_user if follows else unfollow_user
    if not follows:
        follow_user(ann, ben)
    owner, table = (ann, "graph_followee") if places[0] == "east" else (ben, "graph_follower")
    with slow_commit("east", f"{table}_{place_of(owner).number:02}") as remote:
        cut(lambda: change(ann, ben), remote)
    assert mirror_faults() != SOUND
    assert PendingFollow.objects.get().follower_id == ann.pk
    [finding] = audited(monkeypatch)
    assert finding.repaired_at
    assert mirror_faults() == SOUND
    # the row of the follower decides: what was committed there is finished, else undone
    is_left = follows if places[0] == "east" else not follows
    assert Followee.objects.filter(owner=ann, followee=ben).exists() is is_left
    assert Event.objects.filter(name="followed" if is_left else "unfollowed").exists()
    assert names(queries.followers_page(fresh(ben), None, Cursor()).items) == (
        names([ann]) if is_left else set()
    )
    assert not PendingFollow.objects.exists()
    assert len(audited(monkeypatch)) == 1


def test_a_fault_between_the_two_rows_leaves_neither_and_nothing_to_repair(site, monkeypatch):
    ann, ben = person("east"), person("local")
    with monkeypatch.context() as between:
        between.setattr(Follower.objects, "create", lambda **_given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            follow_user(ann, ben)
    assert PendingFollow.objects.count() == 1
    assert not Followee.objects.exists()
    assert mirror_faults() == SOUND
    assert audited(monkeypatch) == []
    assert not PendingFollow.objects.exists()


def test_a_follow_within_the_sites_own_database_has_no_journal(site):
    ann, ben = person("local"), person("local")
    with CaptureQueriesContext(connection) as captured:
        follow_user(ann, ben)
    assert not any("pendingfollow" in query["sql"] for query in captured)


# --- which shards a statement asks ----------------------------------------------------------------


def asked(work):
    """The numbers of the shards that the statements of some work ask, and those that ask more than one."""
    with CaptureQueriesContext(connection) as captured:
        work()
    numbers, wide = set(), []
    for sql in (query["sql"] for query in captured):
        if "graph_followe" in sql and sql.lstrip(" (\n").startswith(
            ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
        ):
            found = {int(name.rpartition("_")[2]) for name in partitions(sql)}
            numbers |= found
            if len(found) > 1:
                wide.append((sorted(found), sql))
    return numbers, wide


@pytest.mark.parametrize("place", ["local", "east"])
def test_both_lists_and_a_delivery_ask_one_shard(site, place):
    ann = person(place)
    for _number in range(3):
        other = make_user()
        follow_user(other, ann)
        follow_user(ann, other)
    ann = fresh(ann)
    number = place_of(ann).number
    lists = {
        "followers": lambda: queries.followers_page(ann, None, Cursor(limit=2)),
        "following": lambda: queries.following_page(ann, None, Cursor(limit=2)),
        "sets": lambda: cache.load_sets(cache.RELATIONS, ann.pk),
        "set of followers": lambda: cache.load_sets(cache.FOLLOWERS, ann.pk),
        "list": lambda: cache.load_list(cache.FOLLOWERS_LIST, ann.pk),
        "chunks": lambda: queries.follower_chunks(ann.pk, size=2),
        "chunk": lambda: queries.follower_ids_between(ann.pk, first_edge=0, last_edge=10**9),
        "relations": lambda: queries.exact_relations(ann.pk, [1, 2, 3]),
        "relationships": lambda: queries.relationships(ann.pk, [1, 2, 3]),
        "friends": lambda: queries.friends_page(ann, None, Cursor()),
    }
    for name, work in lists.items():
        assert asked(work) == ({number}, []), name


@pytest.mark.parametrize("place", ["local", "east"])
def test_a_profile_and_its_pages_of_people_ask_one_shard(site, place):
    ann, visitor = person(place), Client()
    other = make_user()
    follow_user(other, ann)
    delivered(ann, "Something to see.")
    number = place_of(ann).number
    for path in ("", "/followers", "/following"):
        numbers, wide = asked(lambda path=path: visitor.get(f"/@{ann.handle}{path}"))
        assert numbers <= {number}, path
        assert wide == []


def test_home_and_suggestions_ask_the_readers_shard_and_the_auditor_asks_all(site):
    ann, ben, cleo = person("east"), person("local"), person("local")
    for one, other in ((ann, ben), (ben, ann), (ann, cleo)):
        follow_user(one, other)
    publish(ben, "For everybody.")
    publish(ben, "For followers.", visibility="followers")
    ann, browser = fresh(ann), Client()
    browser.force_login(ann)
    mine = {place_of(ann).number}
    narrow = {
        "home": lambda: browser.get("/"),
        "suggestions": lambda: suggested_people(ann, limit=5),
        "search of people": lambda: browser.get("/search", {"q": ben.handle, "type": "accounts"}),
    }
    for name, work in narrow.items():
        numbers, wide = asked(work)
        assert (numbers <= mine, wide) == (True, []), name
    numbers, _wide = asked(lambda: common_followers(ann, [fresh(ben)], limit=5))
    assert numbers <= {*mine, place_of(ben).number}
    numbers, wide = asked(lambda: audit_checks.check_follows(AuditPass()))
    assert numbers == set(range(64))
    assert wide


def test_a_follow_asks_the_shards_of_its_two_owners(site):
    ann, ben = person("east"), person("local")
    both = {place_of(ann).number, place_of(ben).number}
    for change in (follow_user, lambda *pair: follow_user(*pair, reposts=False), unfollow_user):
        numbers, wide = asked(lambda change=change: change(ann, ben))
        assert numbers <= both
        assert wide == []


# --- a server that is down ------------------------------------------------------------------------


def test_a_server_that_is_down_takes_only_its_own_owners_with_it(site, server, settings):
    ann, ben = person("east"), person("local")
    follower = person("local")
    for owner in (ann, ben):
        follow_user(follower, owner)
    page = Client()
    server.stop()
    try:
        for _time in range(3):
            assert page.get(f"/@{ann.handle}/followers").status_code == 503
            answer = page.get(f"/@{ben.handle}/followers")
            assert answer.status_code == 200
            assert follower.handle in answer.text
        unfollow_user(follower, ben)
        [warning] = check_graph_shards()
        assert warning.id == "feedsite.W004"
        settings.GRAPH_SHARDS = {}
        [error] = check_graph_shards()
        assert error.id == "feedsite.E022"
    finally:
        server.start()
    settings.GRAPH_SHARDS = {name: address(server, name) for name in ("east", "west")}
    assert check_graph_shards() == []
    assert page.get(f"/@{ann.handle}/followers").status_code == 200
