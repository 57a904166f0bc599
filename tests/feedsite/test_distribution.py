"""`manage distribution` against the catalogue: what it prints satisfies Citus' rules, and the site goes on."""

import pytest
from django.core.management import call_command
from django.db import connection

from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.models import Block, Followee, Follower
from feedsite.management.commands import distribution
from feedsite.management.commands.distribution import DISTRIBUTED, NOT_YET, REFERENCE, obstacles
from tests.support.cases import each
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db
# The columns that rows could be spread by.
KEY_NAMES = ("owner_id", "reader_id", "author_id", "user_id")


@pytest.fixture
def prepared(db):
    """The tables as the command leaves them, until the transaction of the test ends."""
    with connection.cursor() as sql:
        sql.execute("SET CONSTRAINTS ALL IMMEDIATE")  # no check is pending while tables change
        for table in DISTRIBUTED:
            for statement in distribution.statements(table):
                sql.execute(statement)


def test_every_table_that_is_spread_has_its_key_in_each_unique_key_and_no_reference_out(prepared):
    found = {table: obstacles(table, key) for table, key in DISTRIBUTED.items()}
    assert {table: why for table, why in found.items() if why} == {}


def test_tables_on_every_server_refer_to_no_others():
    references = {
        (source, target)
        for table in REFERENCE
        for source, target, *_columns in distribution._rows(distribution._REFERENCES, table)
        if source in REFERENCE
    }
    assert references == set()


@each("table", sorted(NOT_YET))
def test_what_cannot_be_spread_yet_cannot(table, prepared):
    """Whoever takes the last obstacle away moves the table from one list to the other."""
    with connection.cursor() as sql:
        columns = {
            column.name for column in connection.introspection.get_table_description(sql, table)
        }
    for key in columns & set(KEY_NAMES):  # without one there is nothing to spread it by
        assert any("refers to" in one for one in obstacles(table, key))


def test_a_new_obstacle_is_noticed(prepared):
    with connection.cursor() as sql:
        sql.execute("CREATE UNIQUE INDEX ON graph_mute (muted_id)")
        sql.execute("ALTER TABLE graph_block ADD COLUMN why bigint REFERENCES posts_post (id)")
    assert len(obstacles("graph_mute", "owner_id")) == 1
    assert obstacles("graph_block", "owner_id") == ["graph_block (why) refers to posts_post"]


def test_people_follow_and_block_on_the_changed_tables(prepared):
    ann, ben = make_user("ann"), make_user("ben")
    follow_user(ann, ben)
    assert Followee.objects.get(owner=ann).followee_id == ben.pk
    Followee.objects.filter(owner=ann).update(shows_reposts=False)
    unfollow_user(ann, ben)
    assert not Follower.objects.filter(owner=ben).exists()
    block_user(ben, ann)
    assert Block.objects.get(owner=ben).blocked_id == ann.pk


def test_the_command_prints_each_table_once(capsys):
    call_command("distribution")
    printed = capsys.readouterr().out
    for table, key in DISTRIBUTED.items():
        assert printed.count(f"create_distributed_table('{table}', '{key}')") == 1
    assert all(f"-- {table}: " in printed for table in NOT_YET)
    assert "ALTER TABLE graph_followee ADD PRIMARY KEY (owner_id, id);" in printed
