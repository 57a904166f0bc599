"""Routes of the timeline app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.timeline import converters  # noqa: F401 -- makes `post` known in routes
from apps.timeline.api import (
    history,
    media,
    policies,
    polls,
    reactions,
    scheduled,
    statuses,
    timelines,
)
from apps.timeline.views import acting, around, composing, reading, waiting, writing

pages: list[URLPattern] = [
    path("", reading.front, name="front"),
    path("home", reading.home, name="home"),
    path("home/new", reading.home_new, name="home_new"),
    path("public", reading.public, name="public"),
    path("local", reading.public),
    path("lists/<int:list_id>", reading.of_list, name="list"),
    path("tags/<str:name>", reading.of_tag, name="tag"),
    path("bookmarks", reading.bookmarks, name="bookmarks"),
    path("likes", reading.likes, name="likes"),
    path("compose", composing.compose, name="compose"),
    path("posts", composing.publish, name="publish"),
    path("pictures", composing.upload, name="upload_picture"),
    path("pictures/<int:number>", composing.uploaded, name="uploaded_picture"),
    path("scheduled", waiting.scheduled, name="scheduled"),
    path("scheduled/<int:number>/move", waiting.move, name="move_scheduled"),
    path("scheduled/<int:number>/cancel", waiting.cancel_one, name="cancel_scheduled"),
    path("scheduled/<int:number>/edit", waiting.rewrite, name="rewrite_scheduled"),
    path("scheduled/<int:number>/retry", waiting.retry, name="retry_scheduled"),
    path("scheduled/<int:number>/discard", waiting.discard, name="discard_scheduled"),
    path("posts/<post:post_id>/edit", writing.edit, name="edit_post"),
    path("posts/<post:post_id>/delete", writing.delete, name="delete_post"),
    *[
        path(f"posts/<post:post_id>/{verb}", acting.act, {"verb": verb}, name=f"{verb}_post")
        for verb in acting.ACTS
    ],
    path("posts/<post:post_id>/vote", acting.vote, name="vote"),
    path("@<str:handle>", reading.profile, name="profile"),
    path("@<str:handle>/with_replies", reading.profile, {"tab": "replies"}, name="with_replies"),
    path("@<str:handle>/media", reading.profile, {"tab": "media"}, name="media"),
    path("@<str:handle>/<post:post_id>", reading.post, name="post"),
    path("@<str:handle>/<post:post_id>/history", around.history, name="history"),
    *[
        path(f"@<str:handle>/<post:post_id>/{tab}", around.people, {"tab": tab}, name=f"post_{tab}")
        for tab in around.PEOPLE
    ],
    path("@<str:handle>/<post:post_id>/quotes", around.quotes, name="post_quotes"),
    path("@<str:handle>/<post:post_id>/embed", around.embed, name="embed"),
]

endpoints: list[URLPattern] = [
    path("timelines/home", timelines.home),
    path("timelines/public", timelines.public),
    path("timelines/list/<int:list_id>", timelines.of_list),
    path("timelines/tag/<str:name>", timelines.of_tag),
    path("bookmarks", timelines.bookmarks),
    path("accounts/<int:account_id>/statuses", timelines.of_account),
    path("media", media.upload_v1),
    path("media/<int:media_id>", media.one),
    path("polls/<int:poll_id>", polls.one),
    path("polls/<int:poll_id>/votes", polls.votes),
    path("favourites", timelines.favourites),
    path("statuses", statuses.several),
    path("scheduled_statuses", scheduled.waiting),
    path("scheduled_statuses/<int:number>", scheduled.one),
    path("statuses/<int:status_id>", statuses.one),
    path("statuses/<int:status_id>/context", statuses.context),
    path("statuses/<int:status_id>/interaction_policy", statuses.interaction_policy),
    path("statuses/<int:status_id>/history", history.history),
    path("statuses/<int:status_id>/source", history.source),
    path("statuses/<int:status_id>/favourited_by", reactions.favourited_by),
    path("statuses/<int:status_id>/reblogged_by", reactions.reblogged_by),
    path("statuses/<int:status_id>/quotes", reactions.quotes),
    path("statuses/<int:status_id>/pin", statuses.pin),
    path("statuses/<int:status_id>/unpin", statuses.unpin),
    path("statuses/<int:status_id>/mute", statuses.mute),
    path("statuses/<int:status_id>/unmute", statuses.unmute),
    path("statuses/<int:status_id>/favourite", statuses.favourite),
    path("statuses/<int:status_id>/unfavourite", statuses.unfavourite),
    path("statuses/<int:status_id>/reblog", statuses.reblog),
    path("statuses/<int:status_id>/unreblog", statuses.unreblog),
    path("statuses/<int:status_id>/bookmark", statuses.bookmark),
    path("statuses/<int:status_id>/unbookmark", statuses.unbookmark),
]

endpoints_v2: list[URLPattern] = [
    path("media", media.upload_v2),
]

extensions: list[URLPattern] = [  # what the Mastodon API has no word for
    path("activity", timelines.activity),
    path("policies", policies.of_authors),
    path("policies/site", policies.of_site),
    path("policies/<int:account_id>", policies.of_author),
]
