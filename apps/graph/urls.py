"""Routes of the graph app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.graph import api, views

pages: list[URLPattern] = [
    path("@<str:handle>/followers", views.followers, name="followers"),
    path("@<str:handle>/following", views.following, name="following"),
    path("@<str:handle>/block", views.block, name="block"),
    *[path(f"@<str:handle>/{verb}", views.act, {"verb": verb}, name=verb) for verb in views.ACTS],
]

endpoints: list[URLPattern] = [
    path("accounts/relationships", api.relationships),
    path("accounts/familiar_followers", api.familiar_followers),
    path("accounts/<int:account_id>/followers", api.followers),
    path("accounts/<int:account_id>/following", api.following),
    path("accounts/<int:account_id>/follow", api.follow),
    path("accounts/<int:account_id>/unfollow", api.unfollow),
    path("accounts/<int:account_id>/block", api.block),
    path("accounts/<int:account_id>/unblock", api.unblock),
    path("accounts/<int:account_id>/mute", api.mute),
    path("accounts/<int:account_id>/unmute", api.unmute),
]
