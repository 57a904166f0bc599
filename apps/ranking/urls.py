"""Routes: a page for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.ranking import api, views

pages: list[URLPattern] = [
    path("ranked", views.ranked, name="ranked"),
    path("ranked/preset", views.preset, name="ranking_preset"),
]

endpoints: list[URLPattern] = [
    path("ranked", api.ranked),
    path("ranking/preset", api.preset),
]
