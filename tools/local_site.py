"""Settings for a site that a tool starts on this machine: no mail, long timeouts."""

NOWHERE = "127.0.0.1:1"  # nothing listens there: connections fail at once
SETTINGS = {
    "SECRET_KEY": "only-for-this-run-which-needs-a-long-enough-one",
    "DEBUG": "0",
    "PRODUCTION": "0",
    "ALLOWED_HOSTS": "127.0.0.1,localhost",
    "SITE_URL": "http://127.0.0.1",
    "SECURE_COOKIES": "0",
    "EMAIL_URL": "dummymail://",
    "REDIS_TIMEOUT_SECONDS": "5",  # on a busy machine a server that works may respond late
    "MEMCACHED_TIMEOUT_SECONDS": "2",
    "DATABASE_POOL_TIMEOUT_SECONDS": "10",
    "REQUEST_BUDGET_SECONDS": "30",
    "LOG_LEVEL": "ERROR",
    "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
    "DJANGO_SETTINGS_MODULE": "feedsite.settings",
}
