"""Routes of the oauth app: OAuth 2 itself, pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.oauth import api, joining, views

pages: list[URLPattern] = [
    path("settings/applications", views.applications, name="settings_applications"),
    path(
        "settings/applications/<int:application_id>/revoke",
        views.revoke,
        name="application_revoke",
    ),
]

protocol: list[URLPattern] = [
    path("oauth/authorize", views.authorize),
    path("oauth/token", api.token),
    path("oauth/revoke", api.revoke),
    path(".well-known/oauth-authorization-server", api.server),
]

endpoints: list[URLPattern] = [
    path("accounts", joining.accounts),
    path("apps", api.applications),
    path("apps/verify_credentials", api.verify_credentials),
]
