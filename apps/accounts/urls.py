"""Routes of the accounts app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.accounts import api

pages: list[URLPattern] = []

endpoints: list[URLPattern] = [
    path("accounts/verify_credentials", api.verify_credentials),
    path("accounts/lookup", api.lookup),
    path("accounts/<int:account_id>", api.show),
]
