"""Django without middleware: the least it can do for a request."""

from feedsite.settings import *

MIDDLEWARE = []
ROOT_URLCONF = "tools.bench.site.rivals.constant"
