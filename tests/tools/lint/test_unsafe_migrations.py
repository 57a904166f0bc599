"""No migration since the last release locks a site in use, or takes away what the release before needs."""

import pytest

from tests.support.releases import migrations_since, releases
from tools.lint.unsafe_migrations import EXEMPT, HELD, INSTEAD, ONCE, SEVERAL, UNPROVEN, findings

TABLE = "CREATE TABLE posts_poll (id bigint PRIMARY KEY)"


def rules(*statements, is_atomic=True):
    return {one.rule for one in findings("posts.0099_test", statements, is_atomic=is_atomic)}


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("ALTER TABLE posts_post DROP COLUMN body", "ban-drop-column"),
        ("DROP TABLE posts_poll CASCADE", "ban-drop-table"),
        ('ALTER TABLE "posts_post" RENAME COLUMN "body" TO "text"', "renaming-column"),
        ("ALTER TABLE posts_post RENAME TO posts_note", "renaming-table"),
        ("ALTER TABLE posts_post ALTER COLUMN body TYPE varchar(9)", "changing-column-type"),
        ("ALTER TABLE posts_post ALTER COLUMN place SET NOT NULL", "adding-not-nullable-field"),
        ("ALTER TABLE posts_post ADD COLUMN place bigint NOT NULL", "adding-required-field"),
        ("CREATE INDEX place ON posts_post (place)", "require-concurrent-index-creation"),
        ("DROP INDEX place", "require-concurrent-index-deletion"),
        (
            "ALTER TABLE posts_post ADD CONSTRAINT c CHECK (place > 0)",
            "constraint-missing-not-valid",
        ),
        (
            "ALTER TABLE posts_post ADD CONSTRAINT f FOREIGN KEY (place) REFERENCES tags_tag (id)",
            "adding-foreign-key-constraint",
        ),
        ("ALTER TABLE posts_post ADD CONSTRAINT u UNIQUE (place)", "disallowed-unique-constraint"),
        (
            "ALTER TABLE posts_post ADD COLUMN at timestamptz DEFAULT clock_timestamp() NOT NULL",
            "adding-field-with-default",
        ),
    ],
)
def test_what_locks_or_takes_away_is_named_with_what_to_do_instead(statement, rule):
    found = {one.rule: one for one in findings("posts.0099_test", [statement], is_atomic=True)}
    assert rule in found
    assert INSTEAD[rule] in str(found[rule])
    assert statement[:40] in str(found[rule])


def test_rows_are_not_changed_while_a_table_is_locked():
    alter = "ALTER TABLE posts_post ADD COLUMN place bigint"
    fill = "UPDATE posts_post SET place = 1"
    assert rules(alter, fill) == {HELD}
    assert rules(fill, alter) == set()
    assert HELD not in rules(alter, fill, is_atomic=False)
    assert HELD not in rules(TABLE, "ALTER TABLE posts_poll ADD COLUMN place bigint", fill)


def test_one_transaction_locks_one_table():
    alter = "ALTER TABLE posts_post ADD COLUMN place bigint"
    other = "ALTER TABLE tags_tag ADD COLUMN place bigint"
    assert rules(alter, other) == {SEVERAL}
    assert rules(alter, alter) == set()
    assert SEVERAL not in rules(alter, other, is_atomic=False)


def test_without_a_transaction_every_statement_can_be_sent_again():
    index = "CREATE INDEX CONCURRENTLY place ON posts_post (place)"
    column = "ALTER TABLE posts_post ADD COLUMN place bigint"
    repeatable = column.replace("COLUMN", "COLUMN IF NOT EXISTS")
    assert rules(TABLE, index, is_atomic=False) == {ONCE}
    assert rules(column, index, is_atomic=False) == {ONCE}
    assert rules(repeatable, index, is_atomic=False) == set()
    assert rules(TABLE, column) == set()


def test_a_constraint_is_dropped_after_the_column_that_needs_it_is_required():
    required = "ALTER TABLE posts_post ALTER COLUMN place SET NOT NULL"
    assert UNPROVEN in rules(f"{required}, DROP CONSTRAINT place_is_there")
    assert UNPROVEN not in rules(required, "ALTER TABLE posts_post DROP CONSTRAINT place_is_there")


# --- what is allowed ---------------------------------------------------------------------------------


def test_what_adds_is_allowed():
    assert rules(
        TABLE,
        "CREATE INDEX poll_place ON posts_poll (id)",
        "ALTER TABLE posts_post ADD COLUMN place bigint NULL",
        "ALTER TABLE posts_post ADD COLUMN is_new boolean DEFAULT true NOT NULL",
        "ALTER TABLE posts_post ADD CONSTRAINT c CHECK (place > 0) NOT VALID",
    ) == set()  # fmt: skip
    assert rules(TABLE, "CREATE INDEX place ON posts_poll (id)") == set()
    assert rules(
        "CREATE INDEX CONCURRENTLY place ON posts_post (place)",
        "ALTER TABLE posts_post VALIDATE CONSTRAINT c",
        is_atomic=False,
    ) == set()  # fmt: skip


# --- those since the last release --------------------------------------------------------------------


@pytest.mark.flows
@pytest.mark.gate
def test_no_migration_since_the_last_release_is_unsafe(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        sent = migrations_since(releases()[-1])
    found = [
        one
        for migration, noted in sent.items()
        if noted["statements"]
        for one in findings(migration, noted["statements"], is_atomic=noted["is_atomic"])
    ]
    unsafe = [str(one) for one in found if (one.migration, one.rule) not in EXEMPT]
    assert not unsafe, "\n".join(unsafe)
    needed = {(one.migration, one.rule) for one in found}
    assert set(EXEMPT) - needed == set(), "exempted for nothing"
    assert all(reason.endswith(".") for reason in EXEMPT.values())
