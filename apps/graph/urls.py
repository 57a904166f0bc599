"""Routes of the graph app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.graph import api, circle_views, credentials_api, privacy_views, relations_api, views

pages: list[URLPattern] = [
    path("@<str:handle>/followers", views.followers, name="followers"),
    path("@<str:handle>/following", views.following, name="following"),
    path("@<str:handle>/block", views.block, name="block"),
    path("@<str:handle>/mute", privacy_views.mute, name="mute"),
    path("@<str:handle>/languages", privacy_views.languages, name="languages"),
    *[path(f"@<str:handle>/{verb}", views.act, {"verb": verb}, name=verb) for verb in views.ACTS],
    path("follow_requests", privacy_views.follow_requests, name="follow_requests"),
    *[
        path(f"@<str:handle>/{verb}", privacy_views.answer, {"verb": verb}, name=verb)
        for verb in privacy_views.ANSWERS
    ],
    path("settings/privacy", privacy_views.privacy, name="settings_privacy"),
    path("settings/blocks", privacy_views.blocked, name="settings_blocks"),
    path("settings/mutes", privacy_views.muted, name="settings_mutes"),
    path("settings/circles", circle_views.circles, name="settings_circles"),
    path("settings/circles/<int:circle_id>", circle_views.circle, name="circle"),
    path("settings/circles/<int:circle_id>/add", circle_views.add, name="circle_add"),
    path("settings/circles/<int:circle_id>/remove", circle_views.remove, name="circle_remove"),
    path("settings/circles/<int:circle_id>/delete", circle_views.delete, name="circle_delete"),
    path("settings/circles/<int:circle_id>/leave", circle_views.leave, name="circle_leave"),
]

endpoints: list[URLPattern] = [
    path("accounts/verify_credentials", credentials_api.verify_credentials),
    path("accounts/update_credentials", credentials_api.update_credentials),
    path("accounts/relationships", api.relationships),
    path("accounts/familiar_followers", api.familiar_followers),
    path("circles", api.circles),
    path("accounts/<int:account_id>/followers", api.followers),
    path("accounts/<int:account_id>/following", api.following),
    path("accounts/<int:account_id>/endorsements", api.endorsed),
    *[
        path(f"accounts/<int:account_id>/{name}", getattr(relations_api, name))
        for name in ("endorse", "unendorse", "pin", "unpin")
    ],
    path("endorsements", relations_api.endorsements),
    path("accounts/<int:account_id>/follow", relations_api.follow),
    path("accounts/<int:account_id>/unfollow", relations_api.unfollow),
    path("accounts/<int:account_id>/remove_from_followers", relations_api.remove_from_followers),
    path("accounts/<int:account_id>/block", relations_api.block),
    path("accounts/<int:account_id>/unblock", relations_api.unblock),
    path("accounts/<int:account_id>/mute", relations_api.mute),
    path("accounts/<int:account_id>/unmute", relations_api.unmute),
    path("accounts/<int:account_id>/note", relations_api.note),
    path("blocks", relations_api.blocks),
    path("mutes", relations_api.mutes),
    path("follow_requests", relations_api.follow_requests),
    path("follow_requests/<int:account_id>/authorize", relations_api.authorize),
    path("follow_requests/<int:account_id>/reject", relations_api.reject),
]
