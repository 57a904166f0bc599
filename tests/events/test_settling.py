"""Beat and workers end quickly: what they have imported is not looked at again."""

import gc

import pytest
from celery.signals import beat_init, worker_init


@pytest.mark.gate
@pytest.mark.long
@pytest.mark.parametrize("signal", [beat_init, worker_init])
def test_what_is_imported_is_not_collected_when_the_process_ends(signal):
    gc.unfreeze()
    try:
        signal.send(sender=None)
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
