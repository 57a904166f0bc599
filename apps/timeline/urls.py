"""Routes of the timeline app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.timeline.api import statuses, timelines

pages: list[URLPattern] = []

endpoints: list[URLPattern] = [
    path("timelines/home", timelines.home),
    path("timelines/public", timelines.public),
    path("bookmarks", timelines.bookmarks),
    path("accounts/<int:account_id>/statuses", timelines.of_account),
    path("statuses", statuses.create),
    path("statuses/<int:status_id>", statuses.one),
    path("statuses/<int:status_id>/context", statuses.context),
    path("statuses/<int:status_id>/favourite", statuses.favourite),
    path("statuses/<int:status_id>/unfavourite", statuses.unfavourite),
    path("statuses/<int:status_id>/reblog", statuses.reblog),
    path("statuses/<int:status_id>/unreblog", statuses.unreblog),
    path("statuses/<int:status_id>/bookmark", statuses.bookmark),
    path("statuses/<int:status_id>/unbookmark", statuses.unbookmark),
]
