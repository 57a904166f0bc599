"""Every address at which a post, or a trace of one, could be read;
and the addresses at which none can, with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from apps.admin_api import accounts, accounts_v2, blocks, reports, sign_up_blocks, trends
from apps.curation import api as collections
from apps.curation import pages as collection_pages
from apps.engagement.actions import MARK_VERBS


@dataclass(frozen=True)
class Surface:
    """An address with places for what it names, and how it is asked.

    `anybody`: the same answer for everybody, so it holds what visitors may see. `writes`: asked only for posts that the
    viewer may not see, where nothing may come of it.
    """

    path: str
    kind: str
    method: str = "GET"
    data: dict[str, Any] = field(default_factory=dict, hash=False)
    anybody: bool = False

    @property
    def is_api(self) -> bool:
        """Whether a token is shown, not a cookie."""
        return self.path.startswith("/api/")

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"{self.method} {self.path}"


V1, V2, X = "/api/v1/", "/api/v2/", "/api/x/"
ACCOUNT = "accounts/{author_id}"
_LISTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (  # the kind, what the addresses begin with, how they end
    ("timeline", f"{V1}timelines/", (
        "home", "home?limit=5", "home?min_id=1&limit=7", "public", "public?only_media=1", "public?limit=3",
        "list/{list}", "tag/river", "tag/river?limit=3", "link?url=https://news.example/tea")),
    ("timeline", f"{V1}{ACCOUNT}/statuses", (
        "", "?pinned=1", "?only_media=1", "?exclude_replies=1", "?exclude_reblogs=1", "?tagged=river", "?limit=3")),
    ("timeline", V1, ("accounts/{friend_id}/statuses",)),
    ("status", V1, ("statuses?{many}", "statuses?{more}")),
    ("around the root", f"{V1}statuses/{{root}}", (
        "", "/context", "/history", "/source", "/favourited_by", "/reblogged_by", "/quotes")),
    ("account", f"{V1}{ACCOUNT}", ("", "/followers", "/following", "/endorsements", "/featured_tags", "/lists")),
    ("account", f"{X}{ACCOUNT}", ("/friends",)),
    ("account", V1, (
        "accounts/lookup?acct=vauthor", "accounts/search?q=vauthor", "accounts/relationships?id[]={author_id}",
        "accounts/familiar_followers?id[]={author_id}", "accounts/verify_credentials", "endorsements", "suggestions",
        "accounts/{friend_id}", "blocks", "mutes", "follow_requests")),
    ("tags and trends", V1, (
        "trends", "trends/tags", "trends/statuses", "trends/links", "tags/river", "followed_tags", "featured_tags",
        "featured_tags/suggestions", "directory", "directory?order=new", "profile")),
    ("notifications", V1, (
        "notifications?limit=80", "notifications/unread_count", "notifications/requests",
        "notifications/requests/merged", "notifications/requests/{author_id}",
        "markers?timeline[]=home&timeline[]=notifications", "conversations")),
    ("notifications", V2, (
        "notifications?limit=80", "notifications/unread_count", "notifications/policy", "notifications/ungrouped-1",
        "notifications/ungrouped-1/accounts")),
    ("own list", V1, (
        "bookmarks?limit=40", "favourites?limit=40", "scheduled_statuses", "filters", "lists", "lists/{list}", 
        "lists/{list}/accounts", "circles", "announcements", "preferences", "instance")),
    ("own list", V2, (
        "filters", "filters/{filter}", "filters/{filter}/statuses", "filters/{filter}/keywords", "suggestions",
        "instance")),
    ("search", f"{V2}search?", (
        "q=river", "q=river&type=statuses&limit=40", "q=said&limit=40", "q=from:vauthor&limit=40",
        "q=tq&type=hashtags&limit=80",
        "q=said&account_id={author_id}&limit=40", "q=has:image&limit=40", "q=vauthor&type=accounts")),
    ("explain and ranking", X, (
        "activity", "aggregate?limit=40", "catch_up", "feeds", "feeds/{feed}", "feeds/{feed}/timeline?limit=40",
        "ranked?limit=40", "recommended", "audit/mine", "explain/home?limit=40", "ranking/algorithm",
        "policies", "policies/{author_id}")),
    ("page of a timeline", "/", (
        "", "home", "home/new?after=1", "home/beside", "home/as-of?as_of={now}", "home/check?page=1", "home/catch-up",
        "home/catch-up?by=reactions", "public", "local",
        "lists/{list}", "tags/river", "@vauthor",
        "@vauthor/with_replies",
        "@vauthor/media", "@vfriend", "@vfriend/with_replies", "ranked", "aggregate", "{own_feed}",
        "@vfriend/feeds/open")),
    ("page of one's own", "/", (
        "bookmarks", "likes", "scheduled", "drafts", "lists", "lists/{list}/edit", "feeds", "feeds/{feed}/edit",
        "settings/filters",
        "settings/filters/{filter}",
        "settings/circles", "settings/circles/{circle}", "follow_requests", "settings/blocks", "settings/mutes",
        "settings/export",
        "compose", "welcome/post", "settings/privacy", "settings/profile", "settings/promotions")),
    ("page around the root", "/@vfriend/{root}", ("", "/likes", "/reposts", "/quotes", "/history")),
    ("page of notifications", "/", (
        "notifications", "notifications/mentions", "notifications/requests", "notifications/requests/@vauthor",
        "conversations", "conversations/requests", "conversations/new?to=vauthor&q=")),
    ("page of search and trends", "/", (
        "search?q=said", "search?q=said&type=statuses", "search?q=tq&type=hashtags", "search?q=river", "search",
        "suggest?q=@vauthor", "suggest?q=%23tq",
        "explore",
        "explore/tags", "explore/people", "welcome/people", "tags")),
    ("page of an account", "/@vauthor", (
        "/followers", "/following", "/friends", "/report", "/block", "/mute", "/languages",
        "/groups", "/card")),
    ("page of explain", "/explain", ("", "/@vauthor", "/@vauthor/as-of?as_of={now}")),
)  # fmt: skip
_FOR_ANYBODY = (
    *[f"{name}.{form}" for name in ("/@vauthor", "/tags/river", "/public", "/@vfriend", "/@vfriend/feeds/open")
      for form in ("atom", "rss", "json")],
    "/sitemap.xml", "/sitemap-posts-{today}.xml", "/sitemap-people-0.xml", "/nodeinfo/2.0", "/@vfriend/{root}/embed",
    "/.well-known/webfinger?resource=acct:vauthor@testserver",
)  # fmt: skip


def _lists() -> Iterator[Surface]:
    for kind, begin, ends in _LISTS:
        for end in ends:
            yield Surface(begin + end, kind)
    for path in _FOR_ANYBODY:
        yield Surface(path, "feed", anybody=True)


def _of_posts() -> Iterator[Surface]:
    status = "/api/v1/statuses/{id}"
    for part in (
        "",
        "/context",
        "/history",
        "/source",
        "/favourited_by",
        "/reblogged_by",
        "/quotes",
    ):
        yield Surface(status + part, "status")
    yield Surface("/api/v1/statuses?id[]={id}", "status")
    yield Surface("/api/v1/polls/{id}", "status")
    yield Surface("/api/x/explain/statuses/{id}", "status")
    yield Surface("/api/x/statuses/{id}/receipt", "status")
    yield Surface("/api/x/statuses/{id}/journey", "status")
    yield Surface("/api/v2/search?q=http://testserver/@{handle}/{id}&resolve=1", "search")
    for part in ("", "/history", "/likes", "/reposts", "/quotes", "/receipt"):
        yield Surface("/@{handle}/{id}" + part, "page of a post")
    yield Surface("/p/{short}", "page of a post")
    yield Surface("/@{handle}/{id}/embed", "card and embed", anybody=True)
    yield Surface("/@{handle}/{id}/card.png", "card and embed", anybody=True)
    for path in ("/oembed", "/api/oembed"):
        yield Surface(
            f"{path}?url=http://testserver/@{{handle}}/{{id}}", "card and embed", anybody=True
        )
    for path in ("/explain/{id}", "/explain/{id}/journey", "/posts/{id}/edit", "/posts/{id}/delete",
                 "/compose?reply_to={id}", "/compose?quote={id}",
                 "/search?q=http://testserver/@{handle}/{id}", "/@{handle}/report?post={id}"):  # fmt: skip
        yield Surface(path, "page of a post")


def _of_words() -> Iterator[Surface]:
    for path in ("/api/v2/search?q={mark}", "/api/v2/search?q=t{mark}&type=hashtags", "/api/v1/tags/t{mark}",
                 "/api/v1/timelines/tag/t{mark}"):  # fmt: skip
        yield Surface(path, "word")
    for path in ("/search?q={mark}", "/search?q=t{mark}&type=hashtags", "/suggest?q=%23t{mark}",
                 "/tags/t{mark}"):  # fmt: skip
        yield Surface(path, "page of a word")
    for ending in ("atom", "rss", "json"):
        yield Surface(f"/tags/t{{mark}}.{ending}", "feed of a word", anybody=True)


def _writes() -> Iterator[Surface]:
    verbs = (
        "favourite",
        "unfavourite",
        "reblog",
        "unreblog",
        "bookmark",
        "unbookmark",
        "pin",
        "unpin",
        "mute",
        "unmute",
    )
    for verb in verbs:
        yield Surface(f"/api/v1/statuses/{{id}}/{verb}", "write", "POST")
    for verb in ("react/cheers", "unreact"):
        yield Surface(f"/api/x/statuses/{{id}}/{verb}", "write", "POST")
    yield Surface(
        "/api/v1/statuses", "write", "POST", {"status": "An answer.", "in_reply_to_id": "{id}"}
    )
    yield Surface(
        "/api/v1/statuses", "write", "POST", {"status": "Look.", "quoted_status_id": "{id}"}
    )
    yield Surface("/api/v1/statuses/{id}", "write", "PUT", {"status": "Not mine."})
    yield Surface("/api/v1/statuses/{id}", "write", "DELETE")
    quoting = {"quote_approval_policy": "nobody"}
    yield Surface("/api/v1/statuses/{id}/interaction_policy", "write", "PUT", quoting)
    yield Surface("/api/v1/statuses/{root}/quotes/{id}/revoke", "write", "POST")
    yield Surface("/api/v1/statuses/{id}/quotes/{root}/revoke", "write", "POST")
    yield Surface("/api/v1/polls/{id}/votes", "write", "POST", {"choices": [0]})
    yield Surface("/api/v2/filters/{filter}/statuses", "write", "POST", {"status_id": "{id}"})
    for verb in (*MARK_VERBS, "repost", "unrepost", "pin", "unpin", "mute_thread", "unmute_thread", "revoke_quote",
                 "edit", "delete", "vote"):  # fmt: skip
        data = {"edit": {"body": "Not mine."}, "vote": {"choices": "0"}}.get(verb, {})
        yield Surface(f"/posts/{{id}}/{verb}", "write", "POST", data)
    yield Surface(
        "/posts",
        "write",
        "POST",
        {"body": "An answer.", "reply_to": "{id}", "visibility": "public"},
    )
    yield Surface(
        "/posts", "write", "POST", {"body": "Look.", "quote": "{id}", "visibility": "public"}
    )


LISTS = tuple(_lists())
OF_POSTS = tuple(_of_posts())
OF_WORDS = tuple(_of_words())
WRITES = tuple(_writes())
FILES = "media/<path:name>"  # asked for the files that posts have

# --- addresses at which no post can be read -----------------------------------------------------------

_RELATIONS = "changes the relations of the viewer with an account; answers with the relation only"
_OWN = "about the viewer's own account; holds no post"
_PLAIN = "the same text for everybody, from no row"
_OAUTH = "the protocol of tokens; holds no post"
_OTHER = "changes or shows one of the viewer's own rows by its id, and no post"
_PEOPLE = "accounts that somebody recommends, and no post: tests/curation"
_BY_STAFF = "for staff with permissions and scopes of their own, who may see what they moderate: tests/admin_api"

ELSEWHERE: dict[str, str] = {
    **{str(one.pattern): _PEOPLE for one in collection_pages.urlpatterns},
    **{f"api/v1/{one.pattern}": _PEOPLE for one in collections.urlpatterns},
    **{
        f"api/{version}/{one.pattern}": _BY_STAFF
        for version, modules in {
            "v1": (accounts, blocks, reports, sign_up_blocks, trends),
            "v2": (accounts_v2,),
        }.items()
        for module in modules
        for one in module.urlpatterns
    },
    **dict.fromkeys(
        (
            "healthz/live",
            "healthz/ready",
            "metrics",
            "status",
            "audit",
            "api/x/audit",
            "api/x/topology",
        ),
        "about the servers, in numbers",
    ),
    **dict.fromkeys(
        (
            "about",
            "about/api",
            "about/shortcuts",
            "emoji",
            "privacy",
            "rules",
            "robots.txt",
            "favicon.svg",
            "favicon.ico",
            "manifest.webmanifest",
            "sw.js",
            "offline",
            "opensearch.xml",
            "sitemap-pages.xml",
            ".well-known/host-meta",
            ".well-known/security.txt",
            ".well-known/feedsite-page-key.pem",
            ".well-known/change-password",
            ".well-known/nodeinfo",
            "api/v1/instance/rules",
            "api/schema",
            "api/docs",
            "api/v1/custom_emojis",
            "api/v1/instance/translation_languages",
            "api/v1/instance/peers",
            "api/v1/instance/domain_blocks",
            "api/v1/instance/extended_description",
            "api/v1/instance/privacy_policy",
            "api/v1/instance/languages",
            "api/v1/instance/activity",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "@<str:handle>/earlier",
            "@<str:handle>/earlier/<int:number>",
            "@<str:handle>/earlier/<int:number>/delete",
        ),
        "no posts of timelines; who sees and deletes them: tests/earlier_posts/test_pages.py",
    ),
    **dict.fromkeys(
        ("@<str:handle>/<post:post_id>/translation", "api/v1/statuses/<int:status_id>/translate"),
        "asks a service; who may: tests/translation/test_translation.py",
    ),
    **dict.fromkeys(
        (
            "oauth/authorize",
            "oauth/token",
            "oauth/revoke",
            "oauth/userinfo",
            ".well-known/oauth-authorization-server",
            "api/v1/apps",
            "api/v1/apps/verify_credentials",
            "api/v1/accounts",
            "settings/applications",
            "settings/applications/<int:application_id>/revoke",
            "settings/tokens",
            "settings/tokens/<int:token_id>/revoke",
            "streams/ticket",
        ),
        _OAUTH,
    ),
    **dict.fromkeys(
        (
            "join",
            "login",
            "logout",
            "password/change",
            "password/reset",
            "password/reset/<str:uidb64>/<str:token>",
            "settings",
            "settings/account",
            "accounts",
            "accounts/add",
            "accounts/<str:handle>/switch",
            "settings/sessions/<int:login_id>/end",
            "settings/appearance",
            "settings/writing",
            "settings/reading",
            "settings/promotions",
            "promoted/seen",
            "appearance",
            "settings/notifications",
            "settings/push",
            "settings/push/here",
            "settings/push/here/end",
            "settings/push/<int:number>/end",
            "settings/webhooks",
            "settings/webhooks/new",
            "settings/webhooks/<int:number>",
            "settings/webhooks/<int:number>/delete",
            "settings/webhooks/<int:number>/<str:verb>",
            "settings/webhooks/<int:number>/messages/<int:delivery_id>/again",
            "api/x/webhooks",
            "api/x/webhooks/<int:webhook_id>",
            "api/x/webhooks/<int:webhook_id>/secret",
            "api/x/webhooks/<int:webhook_id>/test",
            "api/x/webhooks/<int:webhook_id>/deliveries",
            "api/x/webhooks/<int:webhook_id>/deliveries/<int:delivery_id>/resend",
            "settings/digest",
            "digest/end/<str:token>",
            "settings/strikes",
            "strikes/<str:token>",
            "api/v1/push/subscription",
            "settings/import",
            "settings/export/<str:name>",
            "settings/delete",
            "account-deleted",
            "settings/email",
            "email/confirm/<str:token>",
            "api/v1/emails/confirmations",
            "api/v1/emails/check_confirmation",
            "login/code",
            "login/passkey",
            "login/passkey/options",
            "settings/security",
            "settings/security/app",
            "settings/security/app/code",
            "settings/security/app/remove",
            "settings/security/codes",
            "settings/security/passkeys",
            "settings/security/passkeys/options",
            "settings/security/passkeys/<int:passkey_id>/remove",
            "notifications/unread",
            "api/v1/accounts/update_credentials",
            "api/v1/profile/avatar",
            "api/v1/profile/header",
            "api/v1/domain_blocks",
            "ranked/algorithm",
            "home/read",
            "home/marker",
            "home/tour",
            "welcome",
            "welcome/topics",
            "api/x/policies/site",
        ),
        _OWN,
    ),
    **dict.fromkeys(
        [
            f"api/v1/accounts/<int:account_id>/{verb}"
            for verb in (
                "endorse",
                "unendorse",
                "pin",
                "unpin",
                "follow",
                "unfollow",
                "remove_from_followers",
                "block",
                "unblock",
                "mute",
                "unmute",
                "note",
            )
        ]
        + [
            f"@<str:handle>/{verb}"
            for verb in (
                "follow",
                "unfollow",
                "unblock",
                "unmute",
                "remove_follower",
                "hide_reposts",
                "show_reposts",
                "watch",
                "unwatch",
                "approve",
                "reject",
            )
        ]
        + [
            "api/v1/follow_requests/<int:account_id>/authorize",
            "api/v1/follow_requests/<int:account_id>/reject",
            "api/v1/suggestions/<int:account_id>",
            "api/v1/tags/<str:name>/follow",
            "api/v1/tags/<str:name>/unfollow",
            "api/v1/tags/<str:name>/feature",
            "api/v1/tags/<str:name>/unfeature",
            "tags/<str:name>/follow",
            "tags/<str:name>/unfollow",
            "welcome/packs/<int:pack_id>/follow",
        ],
        _RELATIONS,
    ),
    **dict.fromkeys(
        (
            "api/v1/media",
            "api/v2/media",
            "api/v1/media/<int:media_id>",
            "pictures",
            "pictures/<int:number>",
            "api/v1/scheduled_statuses/<int:number>",
            "scheduled/<int:number>/move",
            "scheduled/<int:number>/cancel",
            "scheduled/<int:number>/edit",
            "scheduled/<int:number>/retry",
            "scheduled/<int:number>/discard",
            "drafts/<int:number>/delete",
            "posts/<post:post_id>/redraft",
            "api/v1/filters/<int:keyword_id>",
            "api/v2/filters/keywords/<int:keyword_id>",
            "api/v2/filters/statuses/<int:row_id>",
            "settings/filters/<int:filter_id>/delete",
            "lists/<int:group_id>/add",
            "lists/<int:group_id>/remove",
            "lists/<int:group_id>/delete",
            "feeds/<int:feed_id>/delete",
            "settings/circles/<int:group_id>/add",
            "settings/circles/<int:group_id>/remove",
            "settings/circles/<int:group_id>/delete",
            "settings/circles/<int:group_id>/leave",
            "api/v1/featured_tags/<int:row_id>",
            "api/v1/notifications/clear",
            "api/v2/notifications/clear",
            "api/v1/notifications/requests/accept",
            "api/v1/notifications/requests/dismiss",
            "api/v1/notifications/requests/<int:account_id>/accept",
            "api/v1/notifications/requests/<int:account_id>/dismiss",
            "api/v1/notifications/<int:notification_id>/dismiss",
            "api/v2/notifications/<str:group_key>/dismiss",
            "notifications/read",
            "notifications/requests/@<str:handle>/accept",
            "notifications/requests/@<str:handle>/dismiss",
            *(
                f"conversations/<int:number>/{verb}"
                for verb in ("accept", "leave", "mute", "remove", "unmute")
            ),
            "api/v1/conversations/<int:conversation_id>/read",
            "announcements/<int:announcement_id>/dismiss",
            "api/v1/announcements/<int:announcement_id>/dismiss",
            "api/v1/announcements/<int:announcement_id>/reactions/<str:emoji>",
            "api/v1/reports",
            "settings/import/<int:import_id>",
            "settings/import/<int:import_id>/undo",
            "settings/import/<int:import_id>/report.csv",
        ),
        _OTHER,
    ),
}
FOLLOWED = {  # asked with the ids that the lists before them show
    "api/v1/notifications/<int:notification_id>", "api/v1/conversations/<int:conversation_id>",
    "conversations/<int:number>",
}  # fmt: skip
PAGE = "home/page.zip"  # tests/audit/test_own_page.py
# The archive is written and read without HTTP.
EXPORT = "settings/export/<int:export_id>/archive.zip"
STAFF = "admin/"  # for staff with permissions, who may see what they moderate: tests of the admin


def routes() -> set[str]:
    """Every route of the URLconf but the admin's."""
    return {
        route for route in _walk(get_resolver().url_patterns, "") if not route.startswith(STAFF)
    }


def _walk(patterns: Any, before: str) -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _walk(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            yield route
