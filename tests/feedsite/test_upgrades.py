"""What a release left is brought along; other data is refused before anything in it changes."""

import os
import re
import time
from importlib import import_module
from urllib.parse import urlsplit

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from apps.accounts.models import User
from apps.graph.queries import mirror_faults
from apps.timeline.fanout.switch import maintain, policy_before
from apps.timeline.models import AuthorPolicy, Backfill, PolicyChange
from feedsite import __version__
from feedsite.management.compatibility import COMMENT, migrated_by, refuse_other_data
from runner import preparation
from runner.checkout import ROOT
from runner.datadir import DataDir
from runner.terminal import LaunchError
from tests.support import memory
from tests.support.database import migrated_template
from tests.support.factories import PASSWORD, delivered
from tests.support.releases import (
    AUTHOR,
    brought_along,
    database_of,
    people_of,
    releases,
    seen,
    sql_of,
)
from tests.support.services import running

pytestmark = pytest.mark.flows
READER = "vfollower"
RECORDS = re.compile(r"INSERT INTO public\.django_migrations VALUES\n(.*?);\n", re.DOTALL)
# By name, whatever their order: what a table has, and what holds for it.
SCHEMA = """
SELECT format('%s.%s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
              a.attidentity, pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid::regclass::text NOT LIKE 'pg\\_%'
UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION ALL SELECT format('%s %s', tgrelid::regclass, tgname) FROM pg_trigger WHERE NOT tgisinternal
"""


# Of the first authors one is in a canary and pulled, the next in one and pushed, the third has a policy of their own.
CANARY = """
DELETE FROM timeline_policychange;
DELETE FROM timeline_authorpolicy;
INSERT INTO timeline_authorpolicy (author_id, policy, mode, in_canary, pulled_since, reason, measured)
SELECT id, (ARRAY['pull', 'online', 'push'])[n], (ARRAY['pull', 'online', 'push'])[n], n < 3,
    CASE WHEN n = 1 THEN now() END, '', '{}'
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM accounts_user) people WHERE n <= 3;
INSERT INTO timeline_policychange (before, after, percent, reason, made_by, made_at)
VALUES ('online', 'pull', 5, 'Try it.', 'dora', now()), ('pull', 'online', 0, '', 'dora', now());
"""


# What PostgreSQL adds to a condition that it reads in its own words.
OWN_WORDS = re.compile(r"::(text|character varying)(\[\])?|[()]")


def rows(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return {row[0] for row in cursor.fetchall()}


def schema(found):
    return {OWN_WORDS.sub("", line) for line in found}


def execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def flush():
    """Accounts and posts of a dump have numbers that those of other tests have, too."""
    if running().memcached:
        memory.flush()


def each_release():
    """The gate brings along what the newest one left."""
    *older, newest = releases()
    return [*older, pytest.param(newest, marks=pytest.mark.gate)]


@pytest.fixture(scope="module", params=each_release())
def release(request, django_db_setup, django_db_blocker):
    """The name of a release, whose data was brought along."""
    with django_db_blocker.unblock():
        template = brought_along(request.param)
        with database_of("", "of_a_release", template=template):
            flush()
            yield request.param
    flush()


@pytest.fixture
def _for_this_test():
    """What a test changes is gone after it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    flush()


# --- releases ----------------------------------------------------------------------------------------


@pytest.mark.gate
def test_every_release_has_a_day_and_a_dump():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    dated = re.findall(
        r"^## ([0-9.]+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert headings == ["Unreleased", *(f"{version} ({day})" for version, day in dated)]
    assert [version for version, _day in reversed(dated)] == releases()
    assert dated[0][0] == __version__
    assert sorted(dated, key=lambda one: one[1], reverse=True) == dated


@pytest.mark.gate
@pytest.mark.parametrize("name", releases())
def test_no_migration_of_a_release_went_without_being_replaced(name):
    (records,) = RECORDS.findall(sql_of(name))
    recorded = set(re.findall(r"\(\d+, '(\w+)', '(\w+)', ", records))
    assert ("posts", "0001_initial") in recorded
    loader = MigrationLoader(None)
    known = {name for one in loader.disk_migrations.values() for name in one.replaces}
    assert recorded - known - set(loader.disk_migrations) == set()


def test_people_see_what_they_saw(release):
    people = people_of(release)
    del people["made"]
    assert {handle: seen(one.pop("token")) for handle, one in people.items()} == people


def test_people_log_in_and_read(release, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    browser = Client()
    answer = browser.post("/login", {"username": READER, "password": PASSWORD}, follow=True)
    assert answer.context["user"].handle == READER
    saw = people_of(release)[READER]
    for path, name in (("/", "home"), (f"/@{AUTHOR}", "profile")):
        page = browser.get(path)
        assert page.status_code == 200
        marks = [text.split()[0] for _id, text in saw[name][:10] if text.startswith("q")]
        assert len(marks) > 3
        assert [mark for mark in marks if mark not in page.content.decode()] == []


@pytest.mark.usefixtures("_for_this_test")
def test_they_go_on_writing(release):
    author = User.objects.get(handle=AUTHOR)
    post = delivered(author, "After the upgrade.")
    home = seen(people_of(release)[READER]["token"])["home"]
    assert home[0] == [str(post.pk), "After the upgrade."]


def test_every_row_can_be_read(release):
    for model in apps.get_models():
        list(model._default_manager.all())


def test_both_sides_of_every_follow_are_there(release):
    assert set(mirror_faults().values()) == {0}


def test_its_tables_are_those_of_a_new_site(release):
    """Unless a migration that some have applied was changed afterwards."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{migrated_template()}").geturl()
    with psycopg.connect(url) as new:
        expected = schema(row[0] for row in new.execute(SCHEMA))
    assert schema(rows(SCHEMA)) ^ expected == set()


# --- what is no more ---------------------------------------------------------------------------------


def test_authors_of_a_canary_get_the_policy_of_the_site(django_db_setup, django_db_blocker):
    """And the way back of the site is not to the policy of its canary."""
    with django_db_blocker.unblock(), database_of(sql_of("0.2.0"), "of_a_canary"):
        execute(CANARY)
        call_command("migrate", verbosity=0)
        pulled, pushed, own = AuthorPolicy.objects.order_by("pk")
        assert (pulled.policy, pulled.mode) == ("site", "pull"), "until what was not pushed is"
        assert (pushed.policy, pushed.mode) == ("site", None)
        assert (own.policy, own.mode) == ("push", "push")
        assert policy_before(None) is None
        first, last = PolicyChange.objects.order_by("pk").values_list("before", "after", "reason")
        assert first == ("online", "online", "canary, 5 % of authors, pull: Try it.")
        assert last == ("online", "online", "canary, 0 % of authors, online")
        maintain()
        pulled.refresh_from_db()
        assert (pulled.mode, pulled.pulled_since is None) == (None, False)
        assert Backfill.objects.filter(author=pulled.pk).exists()
    flush()


# --- rows that are filled in ---------------------------------------------------------------------------


def test_a_batch_that_meets_a_lock_is_repeated(
    django_db_setup, django_db_blocker, monkeypatch, settings
):
    """By the migration itself: `migrate`, which would begin with the first row again, tries once here."""
    settings.MIGRATIONS_LOCK_TIMEOUT_MS, settings.MIGRATIONS_LOCK_ATTEMPTS = 200, 1
    filling = import_module("apps.posts.migrations.0014_fill_author_of_rows")
    with django_db_blocker.unblock(), database_of(sql_of("0.2.0"), "of_a_batch"):
        call_command("migrate", "posts", "0013", verbosity=0)
        assert None in rows("SELECT author_id FROM posts_mention")
        name = connection.settings_dict["NAME"]
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
        with psycopg.connect(url) as writer:
            writer.execute("SELECT FROM posts_mention FOR UPDATE")
            pauses = []

            def end_the_lock(seconds):
                pauses.append(seconds)
                writer.rollback()

            monkeypatch.setattr(time, "sleep", end_the_lock)
            call_command("migrate", "posts", "0014", verbosity=0)
        assert pauses == [filling.PAUSE_SECONDS]
        assert None not in rows("SELECT author_id FROM posts_mention")
    flush()


# --- other data --------------------------------------------------------------------------------------

RENAMED = "UPDATE django_migrations SET app = 'topology' WHERE app = 'operations'"
TOO_OLD = "one before 0.2.0, .* no release has the migrations topology.0001_initial and "
LATER = "INSERT INTO django_migrations (app, name, applied) VALUES ('posts', '0999_later', now())"
LOST = "DELETE FROM django_migrations WHERE app = 'graph'"
SPLIT = """
ALTER TABLE graph_follower RENAME TO graph_follower_old;
CREATE TABLE graph_follower (LIKE graph_follower_old) PARTITION BY HASH (owner_id);
"""
OTHER_DATA = {
    RENAMED: TOO_OLD,
    LATER: "by a newer version .* has the migrations posts.0999_later",
    LOST: "the tables graph_accountnote and [0-9]+ others, but no record",
    "DROP TABLE django_migrations": "the tables accounts_accesstoken and [0-9]+ others, but no record",
    SPLIT: "in shards, .*: graph_follower were split by `manage shards`",
}


@pytest.mark.gate
@pytest.mark.django_db
@pytest.mark.parametrize("change", OTHER_DATA)
def test_other_data_is_refused_in_one_sentence(change):
    execute(change)
    with pytest.raises(CommandError, match=OTHER_DATA[change]) as refusal:
        call_command("migrate", verbosity=0)
    assert "Nothing in it was changed" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_launcher_says_it_before_anything_is_changed(
    django_db_setup, django_db_blocker, tmp_path
):
    """Without a look at all migrations, those of other apps would be applied before the first one fails."""
    data = DataDir(tmp_path)
    data.log.mkdir()
    with django_db_blocker.unblock(), database_of(sql_of(releases()[0]), "of_the_launcher"):
        execute(RENAMED)
        before = everything()
        name = connection.settings_dict["NAME"]
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url}
        with pytest.raises(LaunchError, match=f"migrate failed: .*{TOO_OLD}"):
            preparation.migrate(data, environment)
        assert everything() == before


def everything():
    return rows(SCHEMA), rows("SELECT app || name || applied FROM django_migrations")


@pytest.mark.parametrize(("later", "is_accepted"), [(1, True), (2, False)])
def test_data_of_the_next_release_is_accepted_and_stays_its_own(
    later, is_accepted, django_db_setup, django_db_blocker
):
    """So an operator can go back one version with the usual commands."""
    major, minor = map(int, __version__.split(".")[:2])
    newer = f"{major}.{minor + later}.0"
    template = migrated_template()
    with django_db_blocker.unblock(), database_of("", "of_the_next", template=template):
        call_command("migrate", verbosity=0)
        assert migrated_by(connection) == __version__
        execute(f"{LATER}; COMMENT ON TABLE django_migrations IS '{COMMENT}{newer}'")
        if is_accepted:
            call_command("migrate", verbosity=0)
        else:
            with pytest.raises(CommandError, match=OTHER_DATA[LATER]):
                call_command("migrate", verbosity=0)
        assert migrated_by(connection) == newer
    flush()


@pytest.mark.gate
@pytest.mark.django_db
@pytest.mark.parametrize("replaces", [True, False])
def test_data_from_before_a_squash_is_known_by_what_it_replaces(replaces, monkeypatch):
    load = MigrationLoader.load_disk

    def squashed(loader):
        load(loader)
        names = [name for name in loader.disk_migrations if name[0] == "audit"]
        squash = type("Squash", (Migration,), {"replaces": names if replaces else []})
        for name in names:
            del loader.disk_migrations[name]
        loader.disk_migrations["audit", "0001_squashed"] = squash("0001_squashed", "audit")

    monkeypatch.setattr(MigrationLoader, "load_disk", squashed)
    if replaces:
        refuse_other_data(connection)
    else:
        with pytest.raises(
            CommandError, match=r"no release has the migrations audit\.0001_initial"
        ):
            refuse_other_data(connection)


@pytest.mark.gate
def test_an_interrupted_install_goes_on(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), database_of("", "of_nothing_yet"):
        refuse_other_data(connection)
        call_command("migrate", "contenttypes", verbosity=0)
        refuse_other_data(connection)
