"""Routes of the notifications app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.notifications import api, groups_api, policy_api, views

pages: list[URLPattern] = [
    path("notifications", views.notifications, name="notifications"),
    path("settings/notifications", views.kinds, name="settings_notifications"),
    path("notifications/unread", views.unread_badge, name="unread_badge"),
    path("notifications/read", views.read_all, name="read_notifications"),
    path("notifications/requests", views.requests, name="held_notifications"),
    path("notifications/requests/@<str:handle>", views.requests_of, name="held_notifications_of"),
    *[
        path(
            f"notifications/requests/@<str:handle>/{verb}",
            views.answer,
            {"verb": verb},
            name=f"{verb}_notifications",
        )
        for verb in views.ANSWERS
    ],
    path("notifications/mentions", views.notifications, {"mentions": True}, name="mentions"),
]

endpoints: list[URLPattern] = [
    path("notifications", api.notifications),
    path("notifications/unread_count", api.unread),
    path("notifications/clear", api.clear_all),
    path("notifications/requests", policy_api.requests),
    path("notifications/requests/merged", policy_api.merged),
    path("notifications/requests/accept", policy_api.accept_several),
    path("notifications/requests/dismiss", policy_api.dismiss_several),
    path("notifications/requests/<int:account_id>", policy_api.one),
    path("notifications/requests/<int:account_id>/accept", policy_api.accept),
    path("notifications/requests/<int:account_id>/dismiss", policy_api.dismiss),
    path("notifications/<int:notification_id>", api.one),
    path("notifications/<int:notification_id>/dismiss", api.dismiss_one),
    path("markers", api.markers),
]

endpoints_v2: list[URLPattern] = [
    path("notifications", groups_api.groups),
    path("notifications/unread_count", groups_api.unread),
    path("notifications/policy", policy_api.policy),
    path("notifications/<str:group_key>", groups_api.group),
    path("notifications/<str:group_key>/accounts", groups_api.group_accounts),
    path("notifications/<str:group_key>/dismiss", groups_api.dismiss),
]
