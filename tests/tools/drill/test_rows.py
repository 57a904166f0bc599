"""`--rows`: what the large tables of a site are filled with, and that nothing of it is left."""

import os
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection

from feedcache.ids import author_of, compose, second_of
from tests.support.database import migrated_template
from tests.support.factories import make_user
from tests.support.releases import database_of
from tools.drill import __main__ as program
from tools.drill import rows
from tools.drill.rows import OF_FEW, TABLES, Rows, slices

UNTIL = 1_795_000_000
NUMBER = 200
# By name: PostgreSQL writes casts in the condition of an index in another way after it was built again.
INDEXES = "SELECT tablename || ' ' || indexname FROM pg_indexes WHERE schemaname = 'public'"
# A row for each value of the first column that is not among the posts, or not among the accounts.
ORPHANS = """
SELECT c.post_id FROM posts_postcounts c LEFT JOIN posts_post p ON p.id = c.post_id WHERE p.id IS NULL
UNION ALL SELECT p.author_id FROM posts_post p LEFT JOIN accounts_user u ON u.id = p.author_id WHERE u.id IS NULL
UNION ALL SELECT m.user_id FROM posts_mention m LEFT JOIN accounts_user u ON u.id = m.user_id WHERE u.id IS NULL
UNION ALL SELECT c.job_id FROM timeline_fanoutchunk c LEFT JOIN timeline_fanoutjob j ON j.post_id = c.job_id
    WHERE j.post_id IS NULL
UNION ALL SELECT u.post_id FROM tags_taguse u LEFT JOIN tags_tag t ON t.id = u.tag_id WHERE t.id IS NULL
"""


def select(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [row[0] for row in cursor.fetchall()]


def numbers():
    return {table: select(f"SELECT count(*) FROM {table}")[0] for table in TABLES}


def test_a_large_number_is_filled_in_slices(monkeypatch):
    monkeypatch.setattr(rows, "SLICE", 1000)
    assert list(slices(2500)) == [(1, 1000), (1001, 2000), (2001, 2500)]
    assert list(slices(0)) == []


def test_tables_are_filled_and_only_these_rows_are_removed(
    django_db_setup, django_db_blocker, monkeypatch
):
    monkeypatch.setattr(rows, "SLICE", 70)
    with (
        django_db_blocker.unblock(),
        database_of("", "of_rows", template=migrated_template()),
    ):
        people = [make_user(f"silent{number}").pk for number in range(7)]
        name = connection.settings_dict["NAME"]
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
        there, said = set(select(INDEXES)), []
        filling = Rows(url, NUMBER, people, UNTIL)
        filling.fill(said.append)
        assert set(select(INDEXES)) == there
        assert numbers() == {table: 20 if table in OF_FEW else NUMBER for table in TABLES}
        assert said[-1].startswith("1,280 rows in 10 tables: ")
        ids = select("SELECT id FROM posts_post")
        assert max(map(second_of, ids)) == UNTIL
        assert {author_of(post) for post in ids} == set(people)
        assert select("SELECT bool_and((id >> 4) & 268435455 = author_id) FROM posts_post") == [True]  # fmt: skip
        assert select(ORPHANS) == []
        # the next row of the site gets a number that is free
        assert select("SELECT nextval(pg_get_serial_sequence('posts_mention', 'id'))") == [NUMBER + 1]  # fmt: skip
        newer = compose(UNTIL + 1, people[0], 0)
        with psycopg.connect(url) as server:
            server.execute("SET session_replication_role = replica")
            server.execute("UPDATE posts_post SET id = %s WHERE id = %s", [newer, ids[0]])
        filling.remove()
        assert numbers() == dict.fromkeys(TABLES, 0) | {"posts_post": 1}
        assert select("SELECT id FROM posts_post") == [newer]


@pytest.mark.parametrize("option", [["--rows", "5"], ["--back"]])
def test_rows_and_the_way_back_need_an_upgrade(option, capsys):
    with pytest.raises(SystemExit):
        program.main(option)
    assert "go only with --upgrade" in capsys.readouterr().err
