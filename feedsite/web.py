"""The web server's entry point (granian, RSGI)."""

from django.conf import settings

from feedsite.front import Front
from feedsite.wsgi import application as django

# More threads than the requests a process works on and lets wait: one is always free to refuse the excess.
application = Front(django, threads=settings.WEB_SEATS + settings.WEB_QUEUE + 4)
