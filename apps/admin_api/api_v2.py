"""The routes of Mastodon's API for staff, below /api/v2/."""

from django.urls import URLPattern, path

from apps.admin_api.accounts import accounts_v2

urlpatterns: list[URLPattern] = [path("admin/accounts", accounts_v2)]
