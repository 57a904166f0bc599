"""Routes: pages for people."""

from django.urls import URLPattern, path

from apps.personal import views

pages: list[URLPattern] = [
    path("settings/export", views.export, name="settings_export"),
    path("settings/export/<int:number>/archive.zip", views.download, name="export_archive"),
    path("settings/delete", views.delete, name="delete_account"),
]
