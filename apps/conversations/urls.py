"""Routes of the conversations app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.conversations import api, views

pages: list[URLPattern] = [
    path("conversations", views.conversations, name="conversations"),
    path("conversations/<int:number>", views.open_conversation, name="conversation"),
    path("conversations/<int:number>/remove", views.remove, name="conversation_remove"),
]

endpoints: list[URLPattern] = [
    path("conversations", api.conversations),
    path("conversations/<int:conversation_id>", api.one),
    path("conversations/<int:conversation_id>/read", api.read),
]
