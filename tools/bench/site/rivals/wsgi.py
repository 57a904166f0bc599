"""The entry point of the rivals that are Django sites: which one, the settings named in the environment say."""

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
