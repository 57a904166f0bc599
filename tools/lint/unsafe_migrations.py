"""Finds statements that a migration must not run on a site in use, where older processes are still running.

A test sends every migration since the last release to a database of that release and gives the statements to `findings`
(tests/tools/lint/test_unsafe_migrations.py). squawk judges each statement by PostgreSQL's own grammar; how long a
transaction holds its locks is judged here.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlparse

# Rules of squawk that are not checked: matters of taste, and lock time-outs, which `manage migrate` sets for every
# migration.
NOT_ASKED = (
    "ban-char-field",
    "prefer-bigint-over-int",
    "prefer-bigint-over-smallint",
    "prefer-identity",
    "prefer-text-field",
    "prefer-timestamp-tz",
    "require-timeout-settings",
)
HELD, SEVERAL = "rows-changed-under-a-lock", "several-tables-locked"
ONCE, UNPROVEN = "prefer-robust-stmts", "constraint-dropped-before-its-use"
EXPAND = "Expand first; contract in a later release, when no process of the previous release runs any more."
# By the rule of squawk: what to write in a migration of Django instead.
INSTEAD = {
    HELD: "ALTER TABLE locks everybody out until the transaction ends. Set `atomic = False` on the migration,"
    " change the rows in batches (RunPython), or move the change of the table into a separate migration.",
    SEVERAL: "Requests read several tables, in any order. So a request and the migration may wait for each other, and"
    " PostgreSQL ends one of them. Write a migration for each table, or `atomic = False` and repeatable statements.",
    ONCE: "Without a transaction, a migration that gives way to a lock is left half done, and its next run finds what"
    " it made. Omit `atomic = False` and build indexes in a separate migration, or use RunSQL with IF [NOT] EXISTS.",
    UNPROVEN: "Within one statement, PostgreSQL drops the constraint first, and then reads the whole table under a lock"
    " to check that no row is empty. Use SET NOT NULL, and DROP CONSTRAINT IF EXISTS as a separate statement.",
    "adding-field-with-default": "AddField with a constant db_default; a function that gives each row another value"
    " rewrites the table. Or add the field with null=True, and fill it in batches.",
    "adding-required-field": "AddField with db_default, so that processes of the previous release, which do not set the"
    " field, can insert rows.",
    "adding-not-nullable-field": "AddConstraintNotValid with `field IS NOT NULL`, ValidateConstraint in a separate"
    " migration, then null=False: PostgreSQL trusts the constraint and does not read the table.",
    "adding-foreign-key-constraint": "ForeignKey(db_constraint=False) first, or the constraint with NOT VALID by"
    " RunSQL, and VALIDATE CONSTRAINT in a separate migration.",
    "constraint-missing-not-valid": "AddConstraintNotValid, and ValidateConstraint in a separate migration"
    " (django.contrib.postgres.operations).",
    "disallowed-unique-constraint": "A unique index, built with CREATE UNIQUE INDEX CONCURRENTLY (RunSQL,"
    " atomic = False, state_operations=[AddConstraint]).",
    "require-concurrent-index-creation": "AddIndexConcurrently, in a migration with `atomic = False`.",
    "require-concurrent-index-deletion": "RemoveIndexConcurrently, in a migration with `atomic = False`.",
    "changing-column-type": "A new column, which both releases fill; remove the old one in a later release.",
    "ban-drop-constraint": f"{EXPAND} Processes of the previous release may depend on it.",
    "ban-drop-column": f"{EXPAND} Now: SeparateDatabaseAndState, and db_default for a column that must not be empty.",
    "ban-drop-table": f"{EXPAND} Now: SeparateDatabaseAndState(state_operations=[DeleteModel(...)]).",
    "renaming-column": f"{EXPAND} A field keeps its column under another name with db_column.",
    "renaming-table": f"{EXPAND} A model keeps its table under another name with db_table.",
}
# Accepted findings in migrations since the last release, by migration and rule, with the reason.
EXEMPT: dict[tuple[str, str], str] = {}

_ALTERS = re.compile(r"\s*(?:ALTER|DROP) TABLE (?:IF EXISTS )?(?:ONLY )?\"?(\w+)", re.IGNORECASE)
_TARGET = re.compile(
    r"\s*(?:ALTER TABLE (?:IF EXISTS )?(?:ONLY )?|CREATE (?:UNIQUE )?INDEX \S+ ON )\"?(\w+)",
    re.IGNORECASE,
)
_CREATES = re.compile(r"\s*CREATE TABLE (?:IF NOT EXISTS )?\"?(\w+)", re.IGNORECASE)
# Statements that may run again after a migration was interrupted: `manage migrate` first looks whether an index exists;
# the second run of the others changes nothing.
_REPEATABLE = re.compile(
    r"\s*(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY\b"
    r"|ALTER TABLE \S+ (?:ALTER COLUMN \S+ SET NOT NULL|VALIDATE CONSTRAINT \S+);?$)",
    re.IGNORECASE,
)
_DROPS_PROOF = re.compile(r"(?=.*\bSET NOT NULL\b).*\bDROP CONSTRAINT\b", re.IGNORECASE | re.DOTALL)
_CHANGES_ROWS = re.compile(r"\s*(?:UPDATE|DELETE|INSERT|WITH)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    migration: str
    rule: str
    statement: str
    text: str

    def __str__(self) -> str:
        instead = INSTEAD.get(self.rule, "")
        return f"{self.migration}: {self.rule}: {self.text}\n    {self.statement}\n    Instead: {instead}"


def findings(migration: str, statements: Sequence[str], *, is_atomic: bool) -> Iterator[Finding]:
    """The findings about the statements of a migration, accepted or not. `is_atomic`: they are one transaction."""
    statements = [part for one in statements for part in sqlparse.split(one)]
    created = {found[1] for one in statements if (found := _CREATES.match(one))}
    for statement in filter(_DROPS_PROOF.match, statements):
        yield Finding(migration, UNPROVEN, _short(statement), "SET NOT NULL reads the whole table")
    if is_atomic:
        yield from _held(migration, statements, created)
    for finding in _squawk(migration, statements, is_atomic=is_atomic):
        if not _is_harmless(finding, created):
            yield finding


def _held(migration: str, statements: Sequence[str], created: set[str]) -> Iterator[Finding]:
    """The findings about a transaction that holds locks while it does other work."""
    locked: set[str] = set()
    for statement in statements:
        altered = _ALTERS.match(statement)
        if altered and altered[1] not in {*created, *locked}:
            if locked:
                yield Finding(migration, SEVERAL, _short(statement), _locked(locked))
            locked.add(altered[1])
        if locked and _CHANGES_ROWS.match(statement):
            yield Finding(migration, HELD, _short(statement), _locked(locked))


def _is_harmless(finding: Finding, created: set[str]) -> bool:
    if finding.rule == ONCE:
        return bool(_REPEATABLE.match(finding.statement))
    target = _TARGET.match(finding.statement)
    return bool(target and target[1] in created)  # nobody uses a new table yet


def _squawk(migration: str, statements: Sequence[str], *, is_atomic: bool) -> Iterator[Finding]:
    lines = [" ".join(one.split()).rstrip(";") + ";" for one in statements]
    command = [
        str(Path(sys.executable).parent / "squawk"),
        "--reporter", "json", "--pg-version", "15", f"--exclude={','.join(NOT_ASKED)}",
        *(["--assume-in-transaction"] if is_atomic else []),
        "--stdin-filepath", migration,
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603 -- of the development environment
        command, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if not done.stdout.strip():
        raise RuntimeError(f"squawk: {done.stderr.strip() or 'no output'}")
    for found in json.loads(done.stdout):
        yield Finding(migration, found["rule_name"], _short(lines[found["line"]]), found["message"])


def _locked(tables: set[str]) -> str:
    return f"{', '.join(sorted(tables))} locked meanwhile"


def _short(statement: str) -> str:
    return " ".join(statement.split())[:200]
