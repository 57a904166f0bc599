"""A list of five rows takes as many SQL statements and calls of Redis as a list of one, with empty caches.

Every route that answers to GET is in `LISTS` or in `OTHERS`.
"""

import re
from collections import Counter

import pytest
from django.contrib import admin
from django.db import connection
from django.urls import resolve, reverse
from django.utils import timezone

from apps.accounts.models import AccessToken
from apps.admin_api.blocks import KINDS as BLOCKS
from apps.admin_api.sign_up_blocks import KINDS as SIGN_UP_BLOCKS
from apps.operations.models import CacheNode
from apps.previews.cache import LOCAL
from apps.search.suggestions import CARD_CACHE
from apps.web.discovery import sitemaps
from apps.webhooks.models import Endpoint
from feedcache import stats
from feedcache.structures import bloom
from tests.security.surfaces import routes
from tests.support.rows import Rows
from tests.support.staff import MAX_QUERIES, make_staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached", "media")]
ROWS = 5

# What is asked, and what a row says. Timelines are asked for 40 posts, to have all of them on one page.
LISTS = {
    "/api/v1/timelines/home?limit=40": "Post {n}",
    "/api/v1/timelines/public?limit=40": "Post {n}",
    "/api/v1/timelines/list/{list}?limit=40": "Post {n}",
    "/api/v1/timelines/tag/tea": "Post {n}",
    "/api/v1/bookmarks": "Post {n}",
    "/api/v1/favourites": "Post {n}",
    "/api/v1/accounts/{reader}/statuses": "Mine {n}",
    "/api/v1/conversations": "Direct {n}",
    "/api/v1/statuses?{post_ids}": "Post {n}",
    "/api/v1/scheduled_statuses": "Later {n}",
    "/api/v1/statuses/{root}/context": "Reply {n}",
    "/api/v1/statuses/{root}/history": "Version {n}",
    "/api/v1/statuses/{root}/favourited_by": "fan{n}",
    "/api/v1/statuses/{root}/reblogged_by": "fan{n}",
    "/api/v1/statuses/{root}/quotes": "Quote {n}",
    "/api/v1/accounts/relationships?{fan_ids}": "",
    "/api/v1/accounts/familiar_followers?{friend_ids}": "fan{n}",
    "/api/v1/accounts/{reader}/followers": "fan{n}",
    "/api/v1/accounts/{reader}/following": "fan{n}",
    "/api/v1/accounts/{reader}/endorsements": "fan{n}",
    "/api/v1/accounts/{fan}/lists": "List {n}",
    "/api/v1/accounts/search?q=fan": "fan{n}",
    "/api/v1/endorsements": "fan{n}",
    "/api/v1/blocks": "foe{n}",
    "/api/v1/mutes": "bore{n}",
    "/api/v1/follow_requests": "asker{n}",
    "/api/v1/circles": "Circle {n}",
    "/api/v1/lists": "List {n}",
    "/api/v1/lists/{list}/accounts": "fan{n}",
    "/api/v1/trends/statuses": "Post {n}",
    "/api/v1/suggestions": "friend{n}",
    "/api/v1/followed_tags": "tea{n}",
    "/api/v1/featured_tags": "own{n}",
    "/api/v1/accounts/{reader}/featured_tags": "own{n}",
    "/api/v1/featured_tags/suggestions": "used{n}",
    "/api/v1/profile": "own{n}",
    "/api/v1/directory?order=new": "fan{n}",
    "/api/v1/directory": "fan{n}",
    "/api/v1/trends?limit=20": "tea{n}",
    "/api/v1/trends/tags?limit=20": "tea{n}",
    "/api/v1/filters": "keyword{n}",
    "/api/v1/notifications?limit=80": "Reply {n}",
    "/api/v1/notifications/requests": "Request {n}",
    "/api/v1/announcements": "Announcement {n}",
    "/api/v2/search?q=tea": "Post {n}",
    "/api/v2/search?q=fan&type=accounts": "fan{n}",
    "/api/v2/search?q=tea&type=hashtags": "tea{n}",
    "/api/v2/suggestions": "friend{n}",
    "/api/v2/filters": "Filter {n}",
    "/api/v2/filters/{filter}": "word{n}",
    "/api/v2/filters/{filter}/keywords": "word{n}",
    "/api/v2/filters/{filter}/statuses": "",
    "/api/v2/notifications?limit=80": "Reply {n}",
    "/api/v2/notifications/{group}/accounts": "fan{n}",
    "/api/x/explain/home?limit=40": "fan{n}",
    "/api/x/aggregate?limit=40": "fan{n}",
    "/api/x/catch_up?limit=40": "fan{n}",
    "/api/x/ranked?limit=40": "Post {n}",
    "/api/x/recommended": "Friend {n}",
    "/api/x/activity?limit=40": "Post {n}",
    "/api/x/accounts/{reader}/friends": "fan{n}",
    "/api/x/feeds": "Feed {n}",
    "/api/v1/accounts/{reader}/collections": "Collection {n}",
    "/api/v1/accounts/{reader}/in_collections": "With {n}",
    "/api/v1/collections/{collection}": "fan{n}",
    "/api/x/webhooks": "/hook{n}",
    "/api/x/webhooks/{webhook}/deliveries": '"status":20{n}',
    "/api/x/feeds/{feed}/timeline": "Post {n}",
    "/api/x/policies": "",
    "/api/v1/admin/accounts?username=fan": "fan{n}",
    "/api/v2/admin/accounts?username=fan": "fan{n}",
    "/api/v1/admin/reports": "fan{n}",
    "/api/v1/admin/trends/tags": "tea{n}",
    "/api/v1/admin/trends/statuses": "Post {n}",
    "/api/v1/admin/trends/links": "Page {n}",
    "/api/v1/trends/links": "Page {n}",
    "/api/v1/timelines/link?url=https://news.example/tea": "Post {n}",
    "/api/v1/admin/email_domain_blocks": "",
    "/api/v1/admin/canonical_email_blocks": "",
    "/api/v1/admin/ip_blocks": "",
    "/?limit=40": "Post {n}",
    "/@reader/{root}": "Reply {n}",
    "/@reader.atom": "Mine {n}",
    "/@reader.rss": "Mine {n}",
    "/@reader.json": "Mine {n}",
    "/tags/tea.atom": "Post {n}",
    "/tags/tea.rss": "Post {n}",
    "/tags/tea.json": "Post {n}",
    "/@reader/feeds/many.atom": "Post {n}",
    "/@reader/feeds/many.rss": "Post {n}",
    "/@reader/feeds/many.json": "Post {n}",
    "/public.atom": "Post {n}",
    "/public.rss": "Post {n}",
    "/public.json": "Post {n}",
    "/sitemap-people-0.xml": "fan{n}",
    "/sitemap-posts-{today}.xml": "fan{n}",
    "/home?limit=40": "Post {n}",
    "/home/catch-up?limit=40": "Reply {n}",
    "/home/as-of?as_of={now}&limit=40": "Post {n}",
    "/public?limit=40": "Post {n}",
    "/local?limit=40": "Post {n}",
    "/aggregate?limit=40": "fan{n}",
    "/lists/{list}?limit=40": "Post {n}",
    "/tags/tea": "Post {n}",
    "/bookmarks": "Post {n}",
    "/likes": "Post {n}",
    "/compose": "Circle {n}",
    "/scheduled": "Later {n}",
    "/drafts": "Begun {n}",
    "/@reader": "Mine {n}",
    "/@reader/with_replies": "Mine {n}",
    "/@reader/media": "Own picture {n}",
    "/@reader/{root}/history": "Version {n}",
    "/@reader/{root}/likes": "fan{n}",
    "/@reader/{root}/reposts": "fan{n}",
    "/@reader/{root}/quotes": "Quote {n}",
    "/settings/account": "Browser {n}",
    "/settings/applications": "Program {n}",
    "/settings/strikes": "Strike {n}",
    "/notifications?limit=40": "Reply {n}",
    "/notifications/mentions": "Reply {n}",
    "/notifications/requests": "stranger{n}",
    "/notifications/requests/@nag": "Nag {n}",
    "/conversations": "Direct {n}",
    "/conversations/requests": "Request {n}",
    "/conversations/new?to=reader&q=fan": "fan{n}",
    "/@reader/followers": "fan{n}",
    "/@reader/following": "fan{n}",
    "/@reader/friends": "fan{n}",
    "/follow_requests": "asker{n}",
    "/settings/blocks": "foe{n}",
    "/settings/mutes": "bore{n}",
    "/settings/import": "import{n}.csv",
    "/@reader/earlier": "Earlier {n}",
    "/lists": "List {n}",
    "/@fan1/groups": "List {n}",
    "/lists/{list}/edit": "fan{n}",
    "/settings/circles": "Joined {n}",
    "/settings/circles/{circle}": "fan{n}",
    "/feeds": "Feed {n}",
    "/collections": "With {n}",
    "/collections/{collection}": "fan{n}",
    "/collections/{collection}/edit": "fan{n}",
    "/@reader/collections": "Collection {n}",
    "/@fan1/collect": "Collection {n}",
    "/settings/webhooks": "/hook{n}",
    "/settings/webhooks/{webhook}": "response 20{n}",
    "/@reader/feeds/many": "Post {n}",
    "/settings/filters": "Filter {n}",
    "/settings/filters/{filter}": "word{n}",
    "/search?q=tea&type=statuses": "Post {n}",
    "/search?q=fan&type=accounts": "fan{n}",
    "/search?q=tea&type=hashtags": "tea{n}",
    "/suggest?q=@fan": "fan{n}",
    "/suggest?q=%23tea": "tea{n}",
    "/explore": "Post {n}",
    "/explore/tags": "tea{n}",
    "/explore/people": "friend{n}",
    "/welcome/people": "friend{n}",
    "/tags": "tea{n}",
    "/explain?limit=40": "Left out {n}",
    "/ranked?limit=40": "Post {n}",
}  # fmt: skip
# Seen with warm caches: empty ones load what they lack of each account by itself, which is in a shard of its own.
WARM = {"/api/v1/accounts/familiar_followers?{friend_ids}"}
# Staff have no more than a few of these, or the site makes them while it works.
WITHOUT_ROWS = {
    "auth.group", "graph.graphimport", "operations.topologyversion", "posts.transcode", "promotions.promotionswitch",
    "ranking.factorweight",
    "search.indexwalk", "search.starterpack", "timeline.backfill", "timeline.sitepolicy",
}  # fmt: skip
# What answers to GET and is no list.
OTHERS = {
    # files and pages without rows
    ".well-known/change-password", ".well-known/feedsite-page-key.pem", ".well-known/host-meta",
    ".well-known/nodeinfo", ".well-known/oauth-authorization-server", ".well-known/security.txt",
    ".well-known/webfinger", "about", "about/api", "about/shortcuts", "api/docs", "api/schema",
    "strikes/<str:token>",
    "digest/end/<str:token>", "email/confirm/<str:token>", "favicon.ico", "favicon.svg", "healthz/live",
    "healthz/ready", "join", "login", "login/code", "manifest.webmanifest", "media/<path:name>", "metrics",
    "nodeinfo/2.0", "oauth/authorize", "oembed", "api/oembed", "offline", "sw.js",
    "emoji",
    "opensearch.xml", "account-deleted", "password/change", "password/reset", "password/reset/<str:uidb64>/<str:token>",
    "privacy", "robots.txt", "rules", "sitemap-pages.xml", "sitemap.xml", "status", "streams/ticket",
    # forms and settings of one's own account
    "@<str:handle>/earlier/<int:number>/delete",
    "@<str:handle>/block", "@<str:handle>/languages", "@<str:handle>/mute", "@<str:handle>/report",
    "settings/webhooks/<int:number>/delete",
    "collections/<int:collection_id>/delete", "collections/<int:collection_id>/leave",
    "feeds/<int:feed_id>/delete", "feeds/<int:feed_id>/edit", "lists/<int:group_id>/delete", "pictures/<int:number>",
    "posts/<post:post_id>/delete", "posts/<post:post_id>/edit", "posts/<post:post_id>/redraft",
    "scheduled/<int:number>/edit", "settings/appearance",
    "settings/circles/<int:group_id>/delete", "settings/delete", "settings/email", "settings/export",
    "settings/export/<int:export_id>/archive.zip", "settings/export/<str:name>",
    "settings/import/<int:import_id>", "settings/import/<int:import_id>/report.csv",
    "settings/filters/<int:filter_id>/delete",
    "settings/notifications", "settings/privacy", "settings/profile", "settings/promotions", "settings/push",
    "settings/reading",
    "settings",
    "settings/security", "settings/security/app", "settings/security/app/code", "settings/security/app/remove",
    "settings/security/codes", "settings/security/passkeys", "settings/security/passkeys/<int:passkey_id>/remove",
    "settings/writing", "welcome", "welcome/post", "welcome/topics",
    "accounts",  # at most five of one browser
    # one thing, a number, or always empty
    "api/v1/admin/accounts/<int:account_id>", "api/v1/admin/reports/<int:report_id>",
    "api/v1/admin/trends/links/publishers",
    *(f"api/v1/admin/{kind.name}{one}" for kind in BLOCKS for one in ("", "/<int:block_id>")),
    *(f"api/v1/admin/{kind.name}/<int:block_id>" for kind in SIGN_UP_BLOCKS),
    "@<str:handle>/earlier/<int:number>",
    "@<str:handle>/card", "@<str:handle>/<post:post_id>/translation", "api/v1/instance/translation_languages",
    "@<str:handle>/<post:post_id>/card.png", "@<str:handle>/<post:post_id>/embed",
    "@<str:handle>/<post:post_id>/receipt", "api/v1/accounts", "api/v1/accounts/<int:account_id>",
    "api/v1/accounts/lookup", "api/v1/accounts/verify_credentials",
    "api/v1/apps/verify_credentials", "api/v1/custom_emojis", "api/v1/emails/check_confirmation",
    "api/v1/filters/<int:keyword_id>", "api/v1/instance", "api/v1/instance/rules",
    "api/v1/instance/peers", "api/v1/instance/domain_blocks", "api/v1/instance/extended_description",
    "api/v1/instance/privacy_policy", "api/v1/instance/languages", "api/v1/domain_blocks", "oauth/userinfo",
    "api/v1/lists/<int:list_id>", "api/v1/markers", "api/v1/media/<int:media_id>",
    "api/v1/notifications/<int:notification_id>", "api/v1/notifications/requests/<int:account_id>",
    "api/v1/notifications/requests/merged", "api/v1/notifications/unread_count", "api/v1/polls/<int:poll_id>",
    "api/v1/preferences", "api/v1/push/subscription", "api/v1/scheduled_statuses/<int:number>",
    "api/v1/statuses/<int:status_id>",
    "api/v1/statuses/<int:status_id>/source", "api/v1/tags/<str:name>", "api/v1/instance/activity",
    "api/v2/filters/keywords/<int:keyword_id>", "api/v2/filters/statuses/<int:row_id>", "api/v2/instance",
    "api/v2/notifications/<str:group_key>", "api/v2/notifications/policy", "api/v2/notifications/unread_count",
    "api/x/audit", "api/x/audit/mine", "api/x/explain/statuses/<int:status_id>", "api/x/feeds/<int:feed_id>",
    "api/x/webhooks/<int:webhook_id>",
    "api/x/policies/<int:account_id>", "api/x/policies/site", "api/x/ranking/algorithm",
    "api/x/statuses/<int:status_id>/journey", "api/x/statuses/<int:status_id>/receipt",
    "api/x/topology", "audit", "conversations/<int:number>",
    "conversations/<int:number>/leave",
    "explain/<post:post_id>", "explain/<post:post_id>/journey",
    "explain/@<str:handle>", "explain/@<str:handle>/as-of", "home/beside", "home/check", "home/new",
    "home/page.zip", "notifications/unread", "p/<short:post_id>",
}  # fmt: skip


# How many values a statement takes, the names of savepoints, and the end of a list that is all on one page.
CHANGING = re.compile(r'(?<=%s)(\), \(%s|, %s)+|"\w+_x[0-9]+"| LIMIT [0-9]+$')


def cost(client, path):
    """What an answer costs, and the answer."""
    spent = Counter()

    def note(execute, sql, params, many, context):
        spent[CHANGING.sub("", str(sql))] += 1
        return execute(sql, params, many, context)

    bloom._states.clear()  # what an earlier request knew of the filters may cost a repetition
    stats.drain()
    with connection.execute_wrapper(note):
        answer = client.get(path)
    assert answer.status_code == 200
    for (subject, outcome), number in stats.drain().items():
        if outcome == stats.CALLS and subject.startswith(f"{stats.CALL}redis"):
            spent[subject] += number
    return spent, answer


def places_of(rows, api):
    groups = api.get("/api/v2/notifications?limit=80").json()["notification_groups"]
    now = timezone.now()
    token = AccessToken.objects.filter(user_id=rows.user_id).latest("pk")
    Endpoint.objects.update(personal_token=token)  # a program sees only its own
    return {
        "reader": rows.user_id, "fan": rows.fans[0].pk, "nag": rows.nag.pk, "root": rows.root,
        "list": rows.list, "circle": rows.circle, "feed": rows.feed, "webhook": rows.webhook,
        "collection": rows.collection, "filter": rows.filter,
        "post_ids": many(rows.posts), "fan_ids": many(user.pk for user in rows.fans),
        "friend_ids": many(user.pk for user in rows.friends),
        "group": next(group["group_key"] for group in groups if group["type"] == "favourite"),
        "today": now.date(), "now": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip


def many(ids):
    return "&".join(f"id[]={one}" for one in ids)


@pytest.mark.long
def test_a_list_costs_the_same_whatever_its_length(page_of, api_of, case, settings, monkeypatch):
    """Of users and of staff in one test: to make the rows takes as long as half of the asking."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    settings.LINK_PREVIEWS = True
    monkeypatch.setattr(
        sitemaps, "ACCOUNTS_PER_FILE", 10**9
    )  # all are in the first file, whatever their ids
    rows, staff, of_one = Rows(), make_staff(superuser=True), {}
    for count in (1, ROWS):
        rows.grow(count)
        page, api = page_of(rows.reader), api_of(rows.reader)
        staff_page, staff_api = page_of(staff), api_of(staff, "read admin:read")
        places = places_of(rows, api)
        for address, row in LISTS.items():
            ask = api if address.startswith("/api/") else page
            if address == "/api/x/policies" or "/admin/" in address:
                ask = staff_api
            with case(address=address, rows=count):
                CARD_CACHE.clear()
                LOCAL.clear()
                if address in WARM:
                    ask.get(address.format(**places))
                spent, answer = cost(ask, address.format(**places))
                text = re.sub(r"(?s)<aside.*</aside>", "", answer.content.decode())
                assert [n for n in range(1, count + 1) if row.format(n=n) not in text] == []
                assert spent - of_one.setdefault(address, spent) == Counter()
        for path, model in staff_lists():
            with case(address=path, rows=count):
                spent, answer = cost(staff_page, path)
                number = answer.context_data["cl"].result_count
                assert number >= count or model in WITHOUT_ROWS
                assert spent.total() <= MAX_QUERIES
                assert spent - of_one.setdefault(path, spent) == Counter()


def staff_lists():
    for model in admin.site._registry:
        if model is not CacheNode:  # a console of its own: tests/operations
            name = model._meta.label_lower
            yield reverse(f"admin:{name.replace('.', '_')}_changelist"), name


@pytest.mark.slow
def test_every_route_that_answers_to_get_is_in_a_table(page_of, api_of, alice):
    places = dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join(LISTS)), 1) | {"today": "2026-11-26"}
    asked = {resolve(address.format(**places).partition("?")[0]).route for address in LISTS}
    there = routes()
    unknown = there - asked - OTHERS
    page, api = page_of(alice), api_of(alice)
    for route in sorted(unknown):
        path = re.sub(r"<(\w+):\w+>", "1", route)
        client = api if route.startswith("api/") else page
        if client.get(f"/{path}").status_code == 405:
            unknown.discard(route)
    assert unknown == set(), "a list for LISTS, or not one for OTHERS"
    assert OTHERS - there == set()
