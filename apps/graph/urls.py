"""Routes of the graph app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.graph import api, circle_views, views

pages: list[URLPattern] = [
    path("@<str:handle>/followers", views.followers, name="followers"),
    path("@<str:handle>/following", views.following, name="following"),
    path("@<str:handle>/block", views.block, name="block"),
    *[path(f"@<str:handle>/{verb}", views.act, {"verb": verb}, name=verb) for verb in views.ACTS],
    path("settings/circles", circle_views.circles, name="settings_circles"),
    path("settings/circles/<int:circle_id>", circle_views.circle, name="circle"),
    path("settings/circles/<int:circle_id>/add", circle_views.add, name="circle_add"),
    path("settings/circles/<int:circle_id>/remove", circle_views.remove, name="circle_remove"),
    path("settings/circles/<int:circle_id>/delete", circle_views.delete, name="circle_delete"),
    path("settings/circles/<int:circle_id>/leave", circle_views.leave, name="circle_leave"),
]

endpoints: list[URLPattern] = [
    path("accounts/relationships", api.relationships),
    path("accounts/familiar_followers", api.familiar_followers),
    path("circles", api.circles),
    path("accounts/<int:account_id>/followers", api.followers),
    path("accounts/<int:account_id>/following", api.following),
    path("accounts/<int:account_id>/follow", api.follow),
    path("accounts/<int:account_id>/unfollow", api.unfollow),
    path("accounts/<int:account_id>/block", api.block),
    path("accounts/<int:account_id>/unblock", api.unblock),
    path("accounts/<int:account_id>/mute", api.mute),
    path("accounts/<int:account_id>/unmute", api.unmute),
]
