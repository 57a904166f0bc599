"""The dump of an empty site's tables is also made where no variable is set, as in a fresh clone."""

import subprocess
import sys

import pytest

from runner.checkout import MANAGE
from tools import tables


@pytest.mark.gate
@pytest.mark.long
def test_a_migration_needs_no_variables_from_outside(monkeypatch):
    for name in ("SECRET_KEY", "REDIS_URL", "CELERY_BROKER_URL", "SITE_URL"):
        monkeypatch.delenv(name, raising=False)
    environment = tables._environment("postgres://nobody@127.0.0.1:1/none")
    command = [sys.executable, "-P", str(MANAGE), "diffsettings"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'NAME': 'none'" in done.stdout
