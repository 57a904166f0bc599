"""What optional apps add to the API."""

from apps.events.hooks import Hook

ENDPOINTS = Hook[str]()  # the names of modules with `urlpatterns`, for our own below /api/x/
