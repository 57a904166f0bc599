"""Runs `on_commit` callbacks inside a test's own transaction, when the outermost transaction of the code ends."""

from contextlib import nullcontext, suppress

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper


def commit_inside_tests(monkeypatch):
    """Patch Django until the end of the test."""
    leave, wait = transaction.Atomic.__exit__, BaseDatabaseWrapper.on_commit

    def left(self, exc_type, exc_value, traceback):
        leave(self, exc_type, exc_value, traceback)
        _run(transaction.get_connection(self.using))

    def waited(self, func, robust=False):
        wait(self, func, robust)
        _run(self)

    monkeypatch.setattr(transaction.Atomic, "__exit__", left)
    monkeypatch.setattr(BaseDatabaseWrapper, "on_commit", waited)


def _run(connection):
    blocks = getattr(connection, "atomic_blocks", [])
    if not blocks or not all(block._from_testcase for block in blocks):
        return  # the code's own transaction is open; or none is, and Django runs the callbacks
    due, connection.run_on_commit = connection.run_on_commit, []
    for _savepoints, func, robust in due:
        with suppress(Exception) if robust else nullcontext():
            func()
