"""Routes of the search app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.search import api, views

pages: list[URLPattern] = [
    path("search", views.search, name="search"),
    path("explore", views.explore, {"tab": "posts"}, name="explore"),
    path("explore/tags", views.explore, {"tab": "tags"}, name="explore_tags"),
    path("explore/people", views.explore, {"tab": "people"}, name="explore_people"),
]

endpoints: list[URLPattern] = [
    path("accounts/search", api.accounts),
    path("trends/statuses", api.trends),
    path("trends/links", api.links),
    path("suggestions", api.suggested_accounts),
    path("suggestions/<int:account_id>", api.dismissed),
]

second: list[URLPattern] = [  # of the API's second version
    path("search", api.search),
    path("suggestions", api.suggestions),
]
