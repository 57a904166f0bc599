"""Every page of the site that people see. `tests/tools/vitals/test_pages.py` fails for a template missing here."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

LANGUAGES = ("en", "zh-hans")
VISITOR, MEMBER, NEWCOMER = "visitor", "member", "newcomer"


@dataclass(frozen=True, slots=True)
class Page:
    """One address. Names in braces are replaced by what the stage has created (`tools.vitals.stage`).

    `press` is clicked and `keys` are pressed before axe-core runs: to open a menu, a dialog, or the page that a form
    leads to.
    """

    name: str
    template: str
    address: str
    who: str = MEMBER
    status: int = 200
    press: str = ""
    keys: str = ""


PAGES = (
    Page("home", "timeline/home.html", "/"),
    Page("home-tools", "timeline/home.html", "/", press=".tabs button"),
    Page("home-menu", "timeline/home.html", "/", press="#feed .more-menu"),
    Page("home-picture", "timeline/home.html", "/", press="#feed .media a"),
    Page("home-help", "timeline/home.html", "/", keys="?"),
    Page("home-empty", "timeline/home.html", "/", NEWCOMER),
    Page("ranked", "ranking/ranked.html", "/ranked?why=1"),
    Page("ranked-empty", "ranking/ranked.html", "/ranked", NEWCOMER),
    Page("aggregate", "aggregate/aggregate.html", "/aggregate"),
    Page("aggregate-empty", "aggregate/aggregate.html", "/aggregate", NEWCOMER),
    Page("landing", "timeline/landing.html", "/", VISITOR),
    Page("local", "timeline/public.html", "/public"),
    Page("local-visitor", "timeline/public.html", "/public", VISITOR),
    Page("profile", "timeline/profile.html", "/@{author}"),
    Page("profile-own", "timeline/profile.html", "/@{viewer}"),
    Page("profile-visitor", "timeline/profile.html", "/@{author}", VISITOR),
    Page("profile-replies", "timeline/profile.html", "/@{author}/with_replies"),
    Page("profile-pictures", "timeline/profile.html", "/@{author}/media"),
    Page("thread", "timeline/thread.html", "/@{author}/{post}"),
    Page("thread-own", "timeline/thread.html", "/@{viewer}/{own_post}"),
    Page("thread-visitor", "timeline/thread.html", "/@{author}/{post}", VISITOR),
    Page("compose", "timeline/compose.html", "/compose"),
    Page("reply", "timeline/compose.html", "/compose?reply_to={post}"),
    Page("quote", "timeline/compose.html", "/compose?quote={post}"),
    Page("edit", "timeline/edit.html", "/posts/{own_post}/edit"),
    Page("redraft", "timeline/redraft.html", "/posts/{own_post}/redraft"),
    Page("offline", "push/offline.html", "/offline"),
    Page("delete", "timeline/delete.html", "/posts/{own_post}/delete"),
    Page("scheduled", "timeline/scheduled.html", "/scheduled"),
    Page("drafts", "timeline/drafts.html", "/drafts"),
    Page("history", "timeline/history.html", "/@{viewer}/{own_post}/history"),
    Page("reactions", "timeline/reactions.html", "/@{author}/{post}/likes"),
    Page("reposts", "timeline/reactions.html", "/@{author}/{post}/reposts"),
    Page("quotes", "timeline/reactions.html", "/@{author}/{post}/quotes"),
    Page("embed", "timeline/embed.html", "/@{author}/{post}/embed", VISITOR),
    Page("likes", "timeline/likes.html", "/likes"),
    Page("conversations", "notifications/conversations/list.html", "/conversations"),
    Page("conversation", "notifications/conversations/conversation.html", "/conversations/{conversation}"),
    Page("conversation-leave", "notifications/conversations/leave.html", "/conversations/{conversation}/leave"),
    Page("new-message", "notifications/conversations/new.html", "/conversations/new"),
    Page("new-message-to", "notifications/conversations/new.html", "/conversations/new?to={author}&q="),
    Page("conversations-empty", "notifications/conversations/list.html", "/conversations", NEWCOMER),
    Page("notifications", "notifications/list.html", "/notifications"),
    Page("mentions", "notifications/list.html", "/notifications/mentions"),
    Page("held-back", "notifications/requests.html", "/notifications/requests"),
    Page("notifications-empty", "notifications/list.html", "/notifications", NEWCOMER),
    Page("bookmarks", "timeline/bookmarks.html", "/bookmarks"),
    Page("bookmarks-empty", "timeline/bookmarks.html", "/bookmarks", NEWCOMER),
    Page("lists", "graph/groups/lists.html", "/lists"),
    Page("lists-empty", "graph/groups/lists.html", "/lists", NEWCOMER),
    Page("list", "timeline/list.html", "/lists/{list}"),
    Page("list-edit", "graph/groups/list.html", "/lists/{list}/edit"),
    Page("list-delete", "graph/groups/list_delete.html", "/lists/{list}/delete"),
    Page("feeds", "feeds/index.html", "/feeds"),
    Page("feeds-empty", "feeds/index.html", "/feeds", NEWCOMER),
    Page("feed", "feeds/feed.html", "/@{viewer}/feeds/near-by"),
    Page("feed-edit", "feeds/edit.html", "/feeds/{feed}/edit"),
    Page("feed-delete", "feeds/delete.html", "/feeds/{feed}/delete"),
    Page("earlier", "earlier_posts/index.html", "/@{viewer}/earlier"),
    Page("earlier-visitor", "earlier_posts/index.html", "/@{viewer}/earlier", VISITOR),
    Page("earlier-nothing", "earlier_posts/index.html", "/@{viewer}/earlier?q=qqqzzzqqq"),
    Page("earlier-post", "earlier_posts/post.html", "/@{viewer}/earlier/{earlier}"),
    Page("earlier-post-delete", "earlier_posts/delete.html", "/@{viewer}/earlier/{earlier}/delete"),
    Page("search", "search/search.html", "/search?q={word}"),
    Page("search-start", "search/search.html", "/search"),
    Page("search-nothing", "search/search.html", "/search?q=qqqzzzqqq"),
    Page("explore", "search/explore.html", "/explore"),
    Page("explore-visitor", "search/explore.html", "/explore", VISITOR),
    Page("explore-tags", "search/explore.html", "/explore/tags"),
    Page("explore-people", "search/explore.html", "/explore/people"),
    Page("tags", "tags/index.html", "/tags"),
    Page("tag", "timeline/tag.html", "/tags/{tag}"),
    Page("followers", "graph/people.html", "/@{author}/followers"),
    Page("following", "graph/people.html", "/@{author}/following"),
    Page("friends", "graph/people.html", "/@{author}/friends"),
    Page("block", "graph/block.html", "/@{author}/block"),
    Page("mute", "graph/mute.html", "/@{author}/mute"),
    Page("languages", "graph/languages.html", "/@{author}/languages"),
    Page("groups-of-person", "graph/groups/person.html", "/@{author}/groups"),
    Page("report", "moderation/report.html", "/@{author}/report?post={post}"),
    Page("requests", "graph/requests.html", "/follow_requests"),
    Page("settings", "accounts/settings_index.html", "/settings"),
    Page("settings-search", "accounts/settings_index.html", "/settings?q=password"),
    Page("settings-none", "accounts/settings_index.html", "/settings?q=qqqzzzqqq"),
    Page("settings-profile", "accounts/settings_profile.html", "/settings/profile"),
    Page("settings-account", "accounts/settings_account.html", "/settings/account"),
    Page("accounts", "accounts/accounts.html", "/accounts"),
    Page("settings-appearance", "accounts/settings_appearance.html", "/settings/appearance"),
    Page("settings-reading", "accounts/settings_reading.html", "/settings/reading"),
    Page("settings-notifications", "notifications/settings.html", "/settings/notifications"),
    Page("settings-push", "push/settings.html", "/settings/push"),
    Page("settings-writing", "accounts/settings_writing.html", "/settings/writing"),
    Page("settings-privacy", "graph/privacy.html", "/settings/privacy"),
    Page("settings-promotions", "promotions/settings.html", "/settings/promotions"),
    Page("settings-blocks", "graph/blocks_and_mutes.html", "/settings/blocks"),
    Page("settings-mutes", "graph/blocks_and_mutes.html", "/settings/mutes"),
    Page("settings-circles", "graph/groups/circles.html", "/settings/circles"),
    Page("circle", "graph/groups/circle.html", "/settings/circles/{circle}"),
    Page("circle-delete", "graph/groups/circle_delete.html", "/settings/circles/{circle}/delete"),
    Page("settings-filters", "filters/index.html", "/settings/filters"),
    Page("filter", "filters/edit.html", "/settings/filters/{filter}"),
    Page("filter-delete", "filters/delete.html", "/settings/filters/{filter}/delete"),
    Page("settings-applications", "oauth/applications.html", "/settings/applications"),
    Page("collections", "curation/index.html", "/collections"),
    Page("collections-empty", "curation/index.html", "/collections", NEWCOMER),
    Page("collection", "curation/collection.html", "/collections/{collection}"),
    Page("collection-edit", "curation/edit.html", "/collections/{collection}/edit"),
    Page("collection-delete", "curation/delete.html", "/collections/{collection}/delete"),
    Page("collection-leave", "curation/leave.html", "/collections/{collection}/leave"),
    Page("collections-of", "curation/account.html", "/@{viewer}/collections"),
    Page("collect", "curation/person.html", "/@{author}/collect"),
    Page("settings-webhooks", "webhooks/index.html", "/settings/webhooks"),
    Page("settings-webhooks-empty", "webhooks/index.html", "/settings/webhooks", NEWCOMER),
    Page("webhook", "webhooks/endpoint.html", "/settings/webhooks/{webhook}"),
    Page("webhook-delete", "webhooks/delete.html", "/settings/webhooks/{webhook}/delete"),
    Page("export", "privacy/export.html", "/settings/export"),
    Page("import-report", "privacy/import.html", "/settings/import/{import}"),
    Page("account-delete", "privacy/delete.html", "/settings/delete"),
    Page("settings-strikes", "strikes/settings.html", "/settings/strikes"),
    Page("settings-security", "accounts/security.html", "/settings/security"),
    Page("security-app", "accounts/security_act.html", "/settings/security/app"),
    Page("security-passkey", "accounts/security_passkey.html", "/settings/security/passkeys"),
    Page("password-change", "accounts/password_change.html", "/password/change"),
    Page("consent", "oauth/authorize.html", "/oauth/authorize?{consent}"),
    Page("consent-code", "oauth/code.html", "/oauth/authorize?{consent}", press="button[name=allow]"),
    Page("consent-wrong", "oauth/refused.html", "/oauth/authorize?client_id=0", status=400),
    Page("explain", "audit/home.html", "/explain"),
    Page("explain-missing", "audit/home.html", "/explain?post={post}"),
    Page("explain-empty", "audit/home.html", "/explain", NEWCOMER),
    Page("explain-post", "audit/explain.html", "/explain/{post}"),
    Page("journey", "audit/journey.html", "/explain/{own_post}/journey?both=1"),
    Page("about-api", "about_api.html", "/about/api", VISITOR),
    Page("privacy", "privacy.html", "/privacy", VISITOR),
    Page("rules", "rules.html", "/rules", VISITOR),
    Page("audit", "audit/audit.html", "/audit", VISITOR),
    Page("check", "audit/check.html", "/home/check"),
    Page("as-of", "audit/as_of.html", "/home/as-of"),
    Page("catch-up", "timeline/catch_up.html", "/home/catch-up"),
    Page("catch-up-reactions", "timeline/catch_up.html", "/home/catch-up?by=reactions"),
    Page("catch-up-empty", "timeline/catch_up.html", "/home/catch-up", NEWCOMER),
    Page("receipt", "timeline/receipt.html", "/@{viewer}/{own_post}/receipt"),
    Page("status", "status.html", "/status", VISITOR),
    Page("shortcuts", "shortcuts.html", "/about/shortcuts", VISITOR),
    Page("about", "about.html", "/about", VISITOR),
    Page("welcome", "accounts/welcome.html", "/welcome", NEWCOMER),
    Page("welcome-topics", "accounts/welcome_topics.html", "/welcome/topics", NEWCOMER),
    Page("welcome-people", "accounts/welcome_people.html", "/welcome/people", NEWCOMER),
    Page("welcome-post", "accounts/welcome_post.html", "/welcome/post", NEWCOMER),
    Page("login", "accounts/login.html", "/login", VISITOR),
    Page("join", "accounts/sign_up.html", "/join", VISITOR),
    Page("password-reset", "accounts/password_reset.html", "/password/reset", VISITOR),
    Page("password-new", "accounts/password_reset_confirm.html", "/password/reset/MQ/no-token", VISITOR),
    Page("missing", "error.html", "/nobody/here", status=404),
    Page("wrong-method", "error.html", "/posts", status=405),
)  # fmt: skip
# Templates that have no address.
ELSEWHERE = {
    "bare.html", "base.html", "fragment.html", "confirm.html", "accounts/entry.html",
    "accounts/settings.html", "accounts/welcome_step.html",  # frames of other templates
    "accounts/email_pending.html", "accounts/email_confirm.html",  # while an address is being confirmed
    "accounts/code.html", "accounts/security_app.html",
    "accounts/security_codes.html",  # there for five minutes, or shown once
    "translation/page.html",  # only with a translation service
    "digest/end.html",  # at the signed address of a mail
    "strikes/closed.html",  # at a signed address, behind the login of a closed account
    "privacy/deleted.html",  # after an account was deleted
}  # fmt: skip


def named(names: Sequence[str]) -> list[Page]:
    """The pages with these names or patterns (`settings-*`), all without names; KeyError if one matches no page."""
    found: dict[str, Page] = {}
    for name in names or ["*"]:
        fitting = {page.name: page for page in PAGES if fnmatchcase(page.name, name)}
        if not fitting:
            raise KeyError(name)
        found |= fitting
    return list(found.values())
