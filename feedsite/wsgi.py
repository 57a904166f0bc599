"""The web server's entry point (granian, WSGI)."""

import os

from django.core.wsgi import get_wsgi_application

from apps.caches import listener

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

application = get_wsgi_application()
listener.start("web")
