"""Routes of the conversations app: endpoints for programs."""

from django.urls import URLPattern, path

from apps.conversations import api

endpoints: list[URLPattern] = [
    path("conversations", api.conversations),
    path("conversations/<int:conversation_id>", api.one),
    path("conversations/<int:conversation_id>/read", api.read),
]
