"""Our settings, with one page."""

from feedsite.settings import *

ROOT_URLCONF = "tools.bench.site.rivals.front"
