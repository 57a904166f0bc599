"""Routes of the lists app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.lists import api, views

pages: list[URLPattern] = [
    path("lists", views.lists, name="lists"),
    path("lists/<int:list_id>/edit", views.edit, name="list_edit"),
    path("lists/<int:list_id>/add", views.add, name="list_add"),
    path("lists/<int:list_id>/remove", views.remove, name="list_remove"),
    path("lists/<int:list_id>/delete", views.delete, name="list_delete"),
]

endpoints: list[URLPattern] = [
    path("lists", api.lists),
    path("lists/<int:list_id>", api.one),
    path("lists/<int:list_id>/accounts", api.members),
    path("accounts/<int:account_id>/lists", api.with_account),
]
