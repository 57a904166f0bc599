"""Applications in the admin, read only; tokens and codes are not shown."""

from django.contrib import admin
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken

from apps.events.admin import StaffList
from apps.oauth.models import Application

for model in (Application, AccessToken, Grant, IDToken, RefreshToken):
    admin.site.unregister(model)  # the library's own pages would allow changes


@admin.register(Application)
class ApplicationAdmin(StaffList):
    list_display = ("name", "website", "scopes", "created")
    search_fields = ("name__istartswith",)
    ordering = ("-id",)
    fields = ("id", "name", "website", "scopes", "redirect_uris", "created")
    readonly_fields = fields
