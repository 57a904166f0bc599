"""The site's settings with two languages that nobody speaks, in a directory that PSEUDO_LOCALES names."""

import os
from pathlib import Path

from feedsite.settings import *  # all of them
from feedsite.settings import LANGUAGES, LOCALE_PATHS
from tools.vitals.pseudo import LOCALES

LANGUAGES += [(code, code) for code in LOCALES]
LOCALE_PATHS += [Path(os.environ["PSEUDO_LOCALES"])]
