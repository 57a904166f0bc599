"""What optional apps add to the API."""

from django.urls import URLPattern

from apps.hooks import Hook

ENDPOINTS = Hook[URLPattern]()  # of our own, below /api/x/
