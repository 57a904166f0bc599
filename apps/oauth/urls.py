"""Routes of the oauth app: OAuth 2 itself, and endpoints about applications."""

from django.urls import URLPattern, path

from apps.oauth import api

protocol: list[URLPattern] = [
    path("oauth/token", api.token),
    path("oauth/revoke", api.revoke),
]

endpoints: list[URLPattern] = [
    path("apps", api.applications),
    path("apps/verify_credentials", api.verify_credentials),
]
