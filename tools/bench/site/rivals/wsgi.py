"""The entry point of the rivals that are Django sites; the settings module in the environment selects one."""

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
