"""The site's settings without a site: for checks that import the code and ask no server.

mypy reads them too (pyproject.toml), so that it needs no variables when it is called by hand or by an editor.
"""

import os

# Nothing listens there: what connects after all fails at once.
NOWHERE = "127.0.0.1:1"
for _name, _value in {
    "DATABASE_URL": f"postgres://nobody@{NOWHERE}/none",
    "REDIS_URL": f"redis://{NOWHERE}",
    "CELERY_BROKER_URL": f"redis://{NOWHERE}",
    "SECRET_KEY": "lint",
    "PRODUCTION": "0",
}.items():
    os.environ[_name] = _value

from feedsite.settings import *  # they read the environment
