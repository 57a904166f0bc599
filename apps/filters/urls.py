"""Routes of the filters app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.filters import api, views

pages: list[URLPattern] = [
    path("settings/filters", views.filters, name="settings_filters"),
    path("settings/filters/<int:filter_id>", views.edit, name="filter"),
    path("settings/filters/<int:filter_id>/delete", views.delete, name="filter_delete"),
]

endpoints: list[URLPattern] = [
    path("filters", api.old_filters),
    path("filters/<int:keyword_id>", api.old_filter),
]

second: list[URLPattern] = [  # of the API's second version
    path("filters", api.filters),
    path("filters/<int:filter_id>", api.one),
    path("filters/<int:filter_id>/keywords", api.keywords),
    path("filters/keywords/<int:keyword_id>", api.keyword),
    path("filters/<int:filter_id>/statuses", api.statuses),
    path("filters/statuses/<int:row_id>", api.status),
]
