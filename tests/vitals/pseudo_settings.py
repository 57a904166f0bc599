"""The site's settings with two languages that nobody speaks, in a directory that PSEUDO_LOCALES names."""

import os

from feedsite.settings import *  # all of them
from feedsite.settings import LANGUAGES, LOCALE_PATHS
from vitals.pseudo import LOCALES

LANGUAGES = [*LANGUAGES, *((code, code) for code in LOCALES)]
LOCALE_PATHS = [*LOCALE_PATHS, os.environ["PSEUDO_LOCALES"]]
