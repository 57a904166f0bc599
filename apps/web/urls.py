"""The URLs of the pages."""

from django.urls import URLPattern, path, register_converter

from apps.syndication.formats import FORMS
from apps.web.account import (
    applications,
    auth,
    email,
    filters,
    personal_data,
    privacy,
    second_factor,
    settings,
)
from apps.web.notifications import announcements, conversations, notifications
from apps.web.people import circles, follows, lists, reports
from apps.web.posts import compose, edit, post_lists, reactions, scheduled
from apps.web.syndication import discovery, feeds, previews, sitemaps
from apps.web.timelines import explain, pages, ranked, search, tags
from feedcache.ids import parse_id


class PostIdConverter:
    """A post id in canonical decimal form; other texts and ids out of range do not match."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        return parse_id(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(PostIdConverter, "post")

urlpatterns: list[URLPattern] = [
    # syndication
    *[path(f"@<str:handle>.{form}", feeds.account, {"form": form}) for form in FORMS],
    *[path(f"tags/<str:name>.{form}", feeds.tag, {"form": form}) for form in FORMS],
    *[path(f"public.{form}", feeds.everybody, {"form": form}) for form in FORMS],
    path("@<str:handle>/<post:post_id>/card.png", previews.card, name="card"),
    path("oembed", previews.oembed, name="oembed"),
    path("sitemap.xml", sitemaps.index, name="sitemap"),
    path("sitemap-pages.xml", sitemaps.pages, name="sitemap_pages"),
    path("sitemap-people-<int:number>.xml", sitemaps.accounts, name="sitemap_accounts"),
    path("sitemap-posts-<str:day>.xml", sitemaps.posts, name="sitemap_posts"),
    path("opensearch.xml", discovery.opensearch, name="opensearch"),
    path(".well-known/webfinger", discovery.webfinger, name="webfinger"),
    path(".well-known/host-meta", discovery.host_meta, name="host_meta"),
    path(".well-known/security.txt", discovery.security, name="security_txt"),
    path(".well-known/change-password", discovery.change_password),
    # timeline
    path("", pages.front, name="front"),
    path("home", pages.home, name="home"),
    path("home/new", pages.home_new, name="home_new"),
    path("public", pages.public, name="public"),
    path("local", pages.public),
    path("lists/<int:list_id>", pages.of_list, name="list"),
    path("tags/<str:name>", pages.of_tag, name="tag"),
    path("bookmarks", pages.bookmarks, name="bookmarks"),
    path("likes", pages.likes, name="likes"),
    path("compose", compose.compose, name="compose"),
    path("posts", compose.publish, name="publish"),
    path("pictures", compose.upload, name="upload_picture"),
    path("pictures/<int:number>", compose.uploaded, name="uploaded_picture"),
    path("scheduled", scheduled.scheduled, name="scheduled"),
    path("scheduled/<int:number>/move", scheduled.move, name="move_scheduled"),
    path("scheduled/<int:number>/cancel", scheduled.cancel, name="cancel_scheduled"),
    path("scheduled/<int:number>/edit", scheduled.rewrite, name="rewrite_scheduled"),
    path("scheduled/<int:number>/retry", scheduled.retry, name="retry_scheduled"),
    path("scheduled/<int:number>/discard", scheduled.discard, name="discard_scheduled"),
    path("posts/<post:post_id>/edit", edit.edit, name="edit_post"),
    path("posts/<post:post_id>/delete", edit.delete, name="delete_post"),
    *[
        path(f"posts/<post:post_id>/{verb}", reactions.act, {"verb": verb}, name=f"{verb}_post")
        for verb in reactions.ACTS
    ],
    path("posts/<post:post_id>/vote", reactions.vote, name="vote"),
    path("@<str:handle>", pages.profile, name="profile"),
    path("@<str:handle>/with_replies", pages.profile, {"tab": "replies"}, name="with_replies"),
    path("@<str:handle>/media", pages.profile, {"tab": "media"}, name="media"),
    path("@<str:handle>/<post:post_id>", pages.post, name="post"),
    path("@<str:handle>/<post:post_id>/history", post_lists.history, name="history"),
    *[
        path(
            f"@<str:handle>/<post:post_id>/{tab}",
            post_lists.people,
            {"tab": tab},
            name=f"post_{tab}",
        )
        for tab in post_lists.PEOPLE
    ],
    path("@<str:handle>/<post:post_id>/quotes", post_lists.quotes, name="post_quotes"),
    path("@<str:handle>/<post:post_id>/embed", post_lists.embed, name="embed"),
    # accounts
    path("join", auth.join, name="join"),
    path("login", auth.log_in, name="login"),
    path("login/code", second_factor.code, name="login_code"),
    path("login/passkey", second_factor.passkey_login, name="passkey_login"),
    path("login/passkey/options", second_factor.passkey_options, name="passkey_options"),
    path("logout", auth.log_out, name="logout"),
    path("password/change", auth.password_change, name="password_change"),
    path("password/reset", auth.password_reset, name="password_reset"),
    path(
        "password/reset/<str:uidb64>/<str:token>",
        auth.password_reset_confirm,
        name="password_reset_confirm",
    ),
    path("settings/email", email.pending, name="email_pending"),
    path("email/confirm/<str:token>", email.confirm, name="email_confirm"),
    path("settings/profile", settings.profile, name="settings_profile"),
    path("settings/account", settings.account, name="settings_account"),
    path("settings/security", second_factor.security, name="settings_security"),
    path("settings/security/app", second_factor.app_add, name="app_add"),
    path("settings/security/app/code", second_factor.app_code, name="app_code"),
    path("settings/security/app/remove", second_factor.app_remove, name="app_remove"),
    path("settings/security/codes", second_factor.codes_new, name="codes_new"),
    path("settings/security/passkeys", second_factor.passkey_add, name="passkey_add"),
    path(
        "settings/security/passkeys/options",
        second_factor.passkey_add_options,
        name="passkey_add_options",
    ),
    path(
        "settings/security/passkeys/<int:passkey_id>/remove",
        second_factor.passkey_remove,
        name="passkey_remove",
    ),
    path("settings/sessions/<int:login_id>/end", settings.session_end, name="session_end"),
    path("settings/tokens", settings.token_new, name="token_new"),
    path("settings/tokens/<int:token_id>/revoke", settings.token_revoke, name="token_revoke"),
    path("settings/appearance", settings.appearance, name="settings_appearance"),
    path("settings/writing", settings.writing, name="settings_writing"),
    path("settings/reading", settings.reading, name="settings_reading"),
    path("appearance", settings.quick_appearance, name="appearance"),
    # oauth
    path("oauth/authorize", applications.authorize),
    path("settings/applications", applications.applications, name="settings_applications"),
    path(
        "settings/applications/<int:application_id>/revoke",
        applications.revoke,
        name="application_revoke",
    ),
    # notifications
    path("notifications", notifications.notifications, name="notifications"),
    path("settings/notifications", notifications.kinds, name="settings_notifications"),
    path("notifications/unread", notifications.unread_badge, name="unread_badge"),
    path("notifications/read", notifications.read_all, name="read_notifications"),
    path("notifications/requests", notifications.requests, name="held_notifications"),
    path(
        "notifications/requests/@<str:handle>",
        notifications.requests_of,
        name="held_notifications_of",
    ),
    *[
        path(
            f"notifications/requests/@<str:handle>/{verb}",
            notifications.answer,
            {"verb": verb},
            name=f"{verb}_notifications",
        )
        for verb in notifications.ANSWERS
    ],
    path(
        "notifications/mentions", notifications.notifications, {"mentions": True}, name="mentions"
    ),
    # conversations
    path("conversations", conversations.conversations, name="conversations"),
    path("conversations/<int:number>", conversations.open_conversation, name="conversation"),
    path("conversations/<int:number>/remove", conversations.remove, name="conversation_remove"),
    # streaming
    path("streams/ticket", pages.stream_ticket, name="stream_ticket"),
    # graph
    path("@<str:handle>/followers", follows.followers, name="followers"),
    path("@<str:handle>/following", follows.following, name="following"),
    path("@<str:handle>/block", follows.block, name="block"),
    path("@<str:handle>/mute", privacy.mute, name="mute"),
    path("@<str:handle>/languages", privacy.languages, name="languages"),
    *[
        path(f"@<str:handle>/{verb}", follows.act, {"verb": verb}, name=verb)
        for verb in follows.ACTS
    ],
    path("follow_requests", privacy.follow_requests, name="follow_requests"),
    *[
        path(f"@<str:handle>/{verb}", privacy.answer, {"verb": verb}, name=verb)
        for verb in privacy.ANSWERS
    ],
    path("settings/privacy", privacy.privacy, name="settings_privacy"),
    path("settings/blocks", privacy.blocked, name="settings_blocks"),
    path("settings/mutes", privacy.muted, name="settings_mutes"),
    path("settings/circles", circles.circles, name="settings_circles"),
    path("settings/circles/<int:circle_id>", circles.circle, name="circle"),
    path("settings/circles/<int:circle_id>/add", circles.add, name="circle_add"),
    path("settings/circles/<int:circle_id>/remove", circles.remove, name="circle_remove"),
    path("settings/circles/<int:circle_id>/delete", circles.delete, name="circle_delete"),
    path("settings/circles/<int:circle_id>/leave", circles.leave, name="circle_leave"),
    # lists
    path("lists", lists.lists, name="lists"),
    path("lists/<int:list_id>/edit", lists.edit, name="list_edit"),
    path("lists/<int:list_id>/add", lists.add, name="list_add"),
    path("lists/<int:list_id>/remove", lists.remove, name="list_remove"),
    path("lists/<int:list_id>/delete", lists.delete, name="list_delete"),
    # filters
    path("settings/filters", filters.filters, name="settings_filters"),
    path("settings/filters/<int:filter_id>", filters.edit, name="filter"),
    path("settings/filters/<int:filter_id>/delete", filters.delete, name="filter_delete"),
    # search
    path("search", search.search, name="search"),
    path("explore", search.explore, {"tab": "posts"}, name="explore"),
    path("explore/tags", search.explore, {"tab": "tags"}, name="explore_tags"),
    path("explore/people", search.explore, {"tab": "people"}, name="explore_people"),
    # tags
    path("tags", tags.tags, name="tags"),
    path("tags/<str:name>/follow", tags.act, {"verb": "follow"}, name="tag_follow"),
    path("tags/<str:name>/unfollow", tags.act, {"verb": "unfollow"}, name="tag_unfollow"),
    # announcements
    path(
        "announcements/<int:announcement_id>/dismiss",
        announcements.dismiss,
        name="dismiss_announcement",
    ),
    # moderation
    path("@<str:handle>/report", reports.report, name="report"),
    # audit
    path("explain", explain.home, name="explain"),
    path("explain/@<str:handle>", explain.home_of, name="explain_of"),
    path("explain/<post:post_id>", explain.post, name="explain_post"),
    # personal
    path("settings/export", personal_data.export, name="settings_export"),
    path("settings/export/<int:number>/archive.zip", personal_data.download, name="export_archive"),
    path("settings/delete", personal_data.delete, name="delete_account"),
    # ranking
    path("ranked", ranked.ranked, name="ranked"),
    path("ranked/preset", ranked.preset, name="ranking_preset"),
]
