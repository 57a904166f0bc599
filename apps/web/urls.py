"""The URLs of the pages."""

from django.urls import URLPattern, path, register_converter

from apps.events.hooks import urlpatterns_of
from apps.web import streaming
from apps.web.account import (
    applications,
    auth,
    email,
    filters,
    moving,
    personal_data,
    second_factor,
    settings,
    sign_up,
    switching,
    welcome,
)
from apps.web.audit import as_of, check, explain, journey
from apps.web.discovery import oembed, sitemaps, well_known
from apps.web.hooks import PAGES
from apps.web.notifications import conversations, messages, notifications
from apps.web.people import groups, profile, relationships, reports
from apps.web.posts import compose, drafts, edit, post, reactions, scheduled
from apps.web.timelines import (
    bookmarks,
    catch_up,
    home,
    lists,
    public,
    search,
    second_column,
    suggest,
    tags,
)
from feedcache.ids import from_base36, parse_id, to_base36


class PostIdConverter:
    """A post id in canonical decimal form; other strings and ids out of range do not match."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        return parse_id(value)

    def to_url(self, value: int) -> str:
        return str(value)


class ShortPostIdConverter:
    """A post id in base 36."""

    regex = "[0-9A-Z]{14}"

    def to_python(self, value: str) -> int:
        return from_base36(value)

    def to_url(self, value: int) -> str:
        return to_base36(value)


register_converter(PostIdConverter, "post")
register_converter(ShortPostIdConverter, "short")

urlpatterns: list[URLPattern] = [
    # the most frequently requested first, because Django tries the patterns in order
    path("", home.front, name="front"),
    path("@<str:handle>/<post:post_id>", post.post, name="post"),
    # before the patterns that end in a handle, which would also match @alice.atom, the address of syndication
    *urlpatterns_of(PAGES),
    # documents for programs
    path("oembed", oembed.oembed, name="oembed"),
    path("api/oembed", oembed.oembed),  # Mastodon's address
    path("sitemap.xml", sitemaps.index, name="sitemap"),
    path("sitemap-pages.xml", sitemaps.pages, name="sitemap_pages"),
    path("sitemap-people-<int:number>.xml", sitemaps.accounts, name="sitemap_accounts"),
    path("sitemap-posts-<str:day>.xml", sitemaps.posts, name="sitemap_posts"),
    path("opensearch.xml", well_known.opensearch, name="opensearch"),
    path(".well-known/webfinger", well_known.webfinger, name="webfinger"),
    path(".well-known/host-meta", well_known.host_meta, name="host_meta"),
    path(".well-known/security.txt", well_known.security, name="security_txt"),
    path(".well-known/feedsite-page-key.pem", well_known.page_key, name="page_key"),
    path(".well-known/change-password", well_known.change_password),
    # timelines, posts and profiles
    path("home", home.home, name="home"),
    path("home/new", home.home_new, name="home_new"),
    path("home/read", home.hide_read, name="hide_read"),
    path("home/marker", home.mark_home, name="home_marker"),
    path("home/catch-up", catch_up.catch_up, name="catch_up"),
    path("home/as-of", as_of.as_of, name="home_as_of"),
    path("home/check", check.check, name="home_check"),
    path("home/page.zip", check.download, name="home_page_zip"),
    path("home/tour", home.end_tour, name="end_tour"),
    path("home/beside", second_column.second_column, name="second_column"),
    path("public", public.public, name="public"),
    path("local", public.public),
    path("lists/<int:list_id>", lists.list_page, name="list"),
    path("tags/<str:name>", tags.tag_page, name="tag"),
    path("bookmarks", bookmarks.bookmarks, name="bookmarks"),
    path("likes", bookmarks.likes, name="likes"),
    path("compose", compose.compose, name="compose"),
    path("posts", compose.publish, name="publish"),
    path("pictures", compose.upload, name="upload_picture"),
    path("pictures/<int:number>", compose.uploaded, name="uploaded_picture"),
    path("drafts", drafts.drafts, name="drafts"),
    path("drafts/<int:number>/delete", drafts.delete, name="delete_draft"),
    path("posts/<post:post_id>/redraft", drafts.redraft, name="redraft_post"),
    path("scheduled", scheduled.scheduled, name="scheduled"),
    path("scheduled/<int:number>/move", scheduled.move, name="move_scheduled"),
    path("scheduled/<int:number>/edit", scheduled.rewrite, name="rewrite_scheduled"),
    *[
        path(
            f"scheduled/<int:number>/{verb}",
            scheduled.act,
            {"verb": verb},
            name=f"{verb}_scheduled",
        )
        for verb in scheduled.ACTS
    ],
    path("posts/<post:post_id>/edit", edit.edit, name="edit_post"),
    path("posts/<post:post_id>/delete", edit.delete, name="delete_post"),
    *[
        path(f"posts/<post:post_id>/{verb}", reactions.act, {"verb": verb}, name=f"{verb}_post")
        for verb in reactions.ACTS
    ],
    path("posts/<post:post_id>/vote", reactions.vote, name="vote"),
    path("@<str:handle>", profile.profile, name="profile"),
    path("@<str:handle>/with_replies", profile.profile, {"tab": "replies"}, name="with_replies"),
    path("@<str:handle>/media", profile.profile, {"tab": "media"}, name="media"),
    path("p/<short:post_id>", post.short_url, name="short_post"),
    path("@<str:handle>/<post:post_id>/history", post.history, name="history"),
    *[
        path(
            f"@<str:handle>/<post:post_id>/{tab}",
            post.people,
            {"tab": tab},
            name=f"post_{tab}",
        )
        for tab in post.PEOPLE_OF_TAB
    ],
    path("@<str:handle>/<post:post_id>/quotes", post.quotes, name="post_quotes"),
    path("@<str:handle>/<post:post_id>/receipt", post.receipt, name="post_receipt"),
    path("@<str:handle>/<post:post_id>/embed", post.embed, name="embed"),
    # accounts
    path("join", sign_up.sign_up, name="join"),
    path("welcome", welcome.introduction, name="welcome"),
    path("welcome/topics", welcome.topics, name="welcome_topics"),
    path("welcome/people", welcome.people, name="welcome_people"),
    path("welcome/packs/<int:pack_id>/follow", welcome.follow_everybody, name="follow_pack"),
    path("welcome/post", welcome.first_post, name="welcome_post"),
    path("login", auth.log_in, name="login"),
    path("login/code", second_factor.code, name="login_code"),
    path("login/passkey", second_factor.passkey_login, name="passkey_login"),
    path("login/passkey/options", second_factor.passkey_options, name="passkey_options"),
    path("logout", auth.log_out, name="logout"),
    path("accounts", switching.accounts, name="accounts"),
    path("accounts/add", switching.add, name="account_add"),
    path("accounts/<str:handle>/switch", switching.switch, name="account_switch"),
    path("password/change", auth.password_change, name="password_change"),
    path("password/reset", auth.password_reset, name="password_reset"),
    path(
        "password/reset/<str:uidb64>/<str:token>",
        auth.password_reset_confirm,
        name="password_reset_confirm",
    ),
    path("settings/email", email.pending, name="email_pending"),
    path("email/confirm/<str:token>", email.confirm, name="email_confirm"),
    path("settings", settings.index, name="settings"),
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
    *[
        path(f"settings/{tab}", settings.preferences, {"tab": tab}, name=f"settings_{tab}")
        for tab in settings.PREFERENCES
    ],
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
    # messages
    path("conversations", conversations.conversations, name="conversations"),
    path(
        "conversations/requests",
        conversations.conversations,
        {"requests": True},
        name="conversation_requests",
    ),
    path("conversations/new", messages.new, name="new_message"),
    path("conversations/<int:number>", messages.conversation, name="conversation"),
    path("conversations/<int:number>/leave", conversations.leave, name="conversation_leave"),
    *[
        path(
            f"conversations/<int:number>/{verb}",
            conversations.act,
            {"verb": verb},
            name=f"conversation_{verb}",
        )
        for verb in conversations.ACTS
    ],
    # streaming
    path("streams/ticket", streaming.stream_ticket, name="stream_ticket"),
    # graph
    *[
        path(f"@<str:handle>/{tab}", relationships.people, {"tab": tab}, name=tab)
        for tab in relationships.PEOPLE
    ],
    path("@<str:handle>/block", relationships.block, name="block"),
    path("@<str:handle>/mute", relationships.mute, name="mute"),
    path("@<str:handle>/languages", relationships.languages, name="languages"),
    path("@<str:handle>/groups", groups.of_person, name="groups_of_person"),
    path("@<str:handle>/card", relationships.card, name="person_card"),
    *[
        path(f"@<str:handle>/{verb}", relationships.act, {"verb": verb}, name=verb)
        for verb in relationships.ACTS
    ],
    path("follow_requests", relationships.follow_requests, name="follow_requests"),
    *[
        path(f"@<str:handle>/{verb}", relationships.answer, {"verb": verb}, name=verb)
        for verb in relationships.ANSWERS
    ],
    path("settings/privacy", settings.privacy, name="settings_privacy"),
    path("settings/blocks", relationships.blocked, name="settings_blocks"),
    path("settings/mutes", relationships.muted, name="settings_mutes"),
    # lists and circles
    path("lists", groups.index, {"pages": groups.LISTS}, name="lists"),
    path("lists/<int:group_id>/edit", groups.edit, {"pages": groups.LISTS}, name="list_edit"),
    *[
        path(
            f"{address}/<int:group_id>/{verb}", view, {"pages": pages}, name=f"{pages.name}_{verb}"
        )
        for address, pages in (("lists", groups.LISTS), ("settings/circles", groups.CIRCLES))
        for verb, view in (
            ("add", groups.add),
            ("remove", groups.remove),
            ("delete", groups.delete),
        )
    ],
    path("settings/circles", groups.index, {"pages": groups.CIRCLES}, name="settings_circles"),
    path(
        "settings/circles/<int:group_id>",
        groups.edit,
        {"pages": groups.CIRCLES},
        name="circle_edit",
    ),
    path("settings/circles/<int:group_id>/leave", groups.leave, name="circle_leave"),
    # filters
    path("settings/filters", filters.filters, name="settings_filters"),
    path("settings/filters/<int:filter_id>", filters.edit, name="filter"),
    path("settings/filters/<int:filter_id>/delete", filters.delete, name="filter_delete"),
    # search
    path("search", search.search, name="search"),
    path("suggest", suggest.suggest, name="suggest"),
    path("emoji", suggest.emoji, name="emoji"),
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
        notifications.dismiss_announcement,
        name="dismiss_announcement",
    ),
    # moderation
    path("@<str:handle>/report", reports.report, name="report"),
    # audit
    path("audit", explain.audit, name="audit"),
    path("explain", explain.home, name="explain"),
    path("explain/@<str:handle>", explain.home_of, name="explain_of"),
    path("explain/@<str:handle>/as-of", as_of.as_of_another, name="explain_of_as_of"),
    path("explain/<post:post_id>", explain.post, name="explain_post"),
    path("explain/<post:post_id>/journey", journey.journey, name="journey"),
    # personal data
    path("settings/export", personal_data.export, name="settings_export"),
    path(
        "settings/export/<int:export_id>/archive.zip", personal_data.download, name="export_archive"
    ),
    path("settings/export/<str:name>", moving.list_file, name="export_list"),
    path("settings/import", moving.imports, name="settings_import"),
    path("settings/import/<int:import_id>", moving.report, name="import_report"),
    path("settings/import/<int:import_id>/undo", moving.undo, name="import_undo"),
    path("settings/import/<int:import_id>/report.csv", moving.report_file, name="import_file"),
    path("settings/delete", personal_data.delete, name="settings_delete"),
    path("account-deleted", personal_data.deleted, name="account_deleted"),
]
