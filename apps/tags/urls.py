"""Routes of the tags app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.tags import api, views

pages: list[URLPattern] = [
    path("tags", views.tags, name="tags"),
    path("tags/<str:name>/follow", views.act, {"verb": "follow"}, name="tag_follow"),
    path("tags/<str:name>/unfollow", views.act, {"verb": "unfollow"}, name="tag_unfollow"),
]

endpoints: list[URLPattern] = [
    path("tags/<str:name>", api.show),
    path("tags/<str:name>/follow", api.follow),
    path("tags/<str:name>/unfollow", api.unfollow),
    path("followed_tags", api.followed),
    path("featured_tags", api.featured),
    path("accounts/<int:account_id>/featured_tags", api.featured_of),
    path("trends", api.trends_short),
    path("trends/tags", api.trends),
]
