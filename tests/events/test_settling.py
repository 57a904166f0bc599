"""Beat and workers end quickly: what they have imported is not looked at again."""

import gc

import pytest
from celery.signals import beat_init, worker_init

NEW = 10_000  # objects


@pytest.mark.long
@pytest.mark.parametrize("signal", [beat_init, worker_init])
def test_what_is_imported_is_not_collected_when_the_process_ends(signal):
    """It does not unfreeze what the collection of the tests froze, which later collections would look at again."""
    imported = [[] for _number in range(NEW)]
    before = gc.get_freeze_count()
    signal.send(sender=None)
    assert gc.get_freeze_count() - before >= len(imported)
