"""The entry point of the rivals that are Django sites; the settings in the environment choose one."""

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
