"""The site's settings without servers, for checks that import the code.

mypy uses them too (pyproject.toml), so that it needs no variables when called by hand or by an editor.
"""

import os

from tools.local_site import NOWHERE

for _name, _value in {
    "DATABASE_URL": f"postgres://nobody@{NOWHERE}/none",
    "REDIS_URL": f"redis://{NOWHERE}",
    "CELERY_BROKER_URL": f"redis://{NOWHERE}",
    "SECRET_KEY": "lint",
    "PRODUCTION": "0",
}.items():
    os.environ[_name] = _value

from feedsite.settings import *  # they read the environment
