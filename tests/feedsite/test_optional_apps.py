"""The site without its optional apps: it starts, serves, and names nothing of them."""

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from feedsite.environment import Environment
from runner.checkout import ROOT

# What a process with these apps says of itself.
PROGRAM = """
import django
django.setup()
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from apps.accounts.signals import SIGN_UPS
from apps.api.hooks import COLLECTIONS, NOTIFICATION_FIELDS, SHOWN, TRANSLATES, VAPID_KEY
from apps.demo.hooks import SEEDING
from apps.events.actions import EVENTS, handlers_of
from apps.media.hooks import SERVED_FOLDERS
from apps.moderation.hooks import ACTED, FILED, WAITING
from apps.notifications.hooks import ABOUT, CREATED
from apps.privacy.archive import PARTS
from apps.privacy.hooks import ARCHIVE, ERASURE
from apps.privacy.moving.imports import offered_kinds
from apps.web.templatetags.tabs import menu_tabs, own_tabs_of, with_tabs_of_everybody
from apps.audit.comparison.cached import caches
from apps.audit.hooks import NOTES, SECTIONS
from apps.timeline.fanout.hooks import DELIVERED, PUSHED
from apps.timeline.sources.hooks import STORED_TIMELINES
from apps.timeline.pipeline.hooks import LINK_PREVIEWS, PROMOTERS
from apps.timeline.sources.virtual_follows import VIRTUAL_FOLLOWS
from apps.scopes import OFFERED
from apps.web import urls
from apps.web.hooks import CLOSED, DRAWN_PICTURES, INSERTS, OTHER_FORMS, PROFILE_LINKS
from apps.web.templatetags.settings_tags import settings_groups
from feedsite.templates import load_all
from django.contrib import admin

call_command("check", fail_level="ERROR")
load_all()  # as `./run` does before it answers
print("apps", *sorted(app.name for app in apps.get_app_configs() if app.name in {names!r}))
print("tabs", *(tab.key for tab in (*with_tabs_of_everybody(own_tabs_of(None)), *menu_tabs())))
schema = SchemaGenerator().get_schema(public=True)
components = schema["components"]["schemas"]
print("endpoints", *sorted(schema["paths"]))
print("words", *(word for word in ["promot"] if word in str(schema).lower()))
print("parameters", *(one["name"] for one in schema["paths"]["/api/v1/timelines/home"]["get"]["parameters"]))
print("fields", *components["StatusExtension"]["properties"])
reason = components["Explanation"]["properties"]["reason"]["$ref"].rpartition("/")[2]
print("reasons", *components[reason]["enum"])
print("pages", *sorted(str(one.pattern) for one in urls.urlpatterns))
print("forms", *(form.name for form in OTHER_FORMS))
print("links", *(link.path for link in PROFILE_LINKS))
print("imports", *(kind for kind, _name in offered_kinds()))
print("drawn", *(drawn.suffix for drawn in DRAWN_PICTURES))
print("archive", *(part.file for part in (*PARTS, *ARCHIVE)))
print("erasure", *(step.__name__ for step in ERASURE))
print("explain", *(make.__name__ for make in (*SECTIONS, *NOTES)))
print("caches", *caches())
print("delivered", *(follow_up.__name__ for follow_up in DELIVERED))
print("pushed", *(write.__name__ for write in PUSHED))
print("stored", *(stored.page.__module__ for stored in STORED_TIMELINES))
print("periodic", *settings.CELERY_BEAT_SCHEDULE)
print("settings", *(entry.key for group in settings_groups() for entry in group.entries))
print("inserts", *(insert.template for insert in INSERTS))
print("notified", *(tell.__module__ for tell in CREATED))
print("about", *(find.__module__ for find in ABOUT))
print("notification_fields", *NOTIFICATION_FIELDS)
print("collections", *(one.approval.__module__ for one in COLLECTIONS))
print("vapid", *(key.__module__ for key in VAPID_KEY))
print("scopes", *sorted(OFFERED))
print("sign_ups", *(check.__name__ for check in SIGN_UPS))
print("moderation", *(one.__name__ for one in (*ACTED, *FILED, *WAITING, *CLOSED)))
print("shown", *(note.__name__ for note in SHOWN))
print("promoters", *(ask.__module__ for ask in PROMOTERS))
print("served", *(folder.name for folder in SERVED_FOLDERS))
print("translates", *(is_on.__module__ for is_on in TRANSLATES))
print("link_previews", *(ask.__module__ for ask in LINK_PREVIEWS))
print("virtual_follows", *(one.table for one in VIRTUAL_FOLLOWS))
print("seeding", *SEEDING)
print("events", *EVENTS)
print("subscribers", *(subscriber for event in EVENTS for subscriber in handlers_of(event)))
print("admin", *sorted(model._meta.label for model in admin.site._registry))
"""


def said_with(chosen):
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM.replace("{names!r}", repr(list(ALL)))],
        cwd=ROOT, env={**os.environ, "OPTIONAL_APPS": ",".join(chosen), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line]
    return {line[0]: line[1:] for line in lines}


ALL = (
    "apps.admin_api",
    "apps.aggregate",
    "apps.console",
    "apps.curation",
    "apps.digest",
    "apps.earlier_posts",
    "apps.feeds",
    "apps.gameday",
    "apps.previews",
    "apps.promotions",
    "apps.push",
    "apps.ranking",
    "apps.second_level",
    "apps.sign_ups",
    "apps.site_activity",
    "apps.spam",
    "apps.strikes",
    "apps.syndication",
    "apps.translation",
    "apps.webhooks",
)
FORMS = ("atom", "rss", "json")
FEEDS_FOR_READERS = [f"@<str:handle>/feeds/<str:slug>.{form}" for form in FORMS]
ADMIN_SUBJECTS = (
    "accounts",
    "reports",
    "domain_allows",
    "domain_blocks",
    "ip_blocks",
    "email_domain_blocks",
    "canonical_email_blocks",
)
_ACCOUNT, _REPORT = "/api/v1/admin/accounts/{account_id}", "/api/v1/admin/reports/{report_id}"
ADMIN_ENDPOINTS = [
    "/api/v1/admin/accounts",
    "/api/v2/admin/accounts",
    _ACCOUNT,
    *(
        f"{_ACCOUNT}/{act}"
        for act in (
            "action",
            "enable",
            "unsuspend",
            "unsilence",
            "unsensitive",
            "approve",
            "reject",
        )
    ),
    "/api/v1/admin/reports",
    _REPORT,
    *(f"{_REPORT}/{act}" for act in ("assign_to_self", "unassign", "resolve", "reopen")),
    *(
        f"/api/v1/admin/trends/{kind}{act}"
        for kind in ("tags", "statuses", "links", "links/publishers")
        for act in ("", "/{trend_id}/approve", "/{trend_id}/reject")
    ),
    *(f"/api/v1/admin/{name}" for name in ADMIN_SUBJECTS[2:4]),
    *(f"/api/v1/admin/{name}/{{block_id}}" for name in ADMIN_SUBJECTS[2:4]),
]
SIGN_UP_ENDPOINTS = [  # of two apps together
    "/api/v1/admin/canonical_email_blocks/test",
    *(f"/api/v1/admin/{name}" for name in ADMIN_SUBJECTS[4:]),
    *(f"/api/v1/admin/{name}/{{block_id}}" for name in ADMIN_SUBJECTS[4:]),
]
# What each adds; two of them together add what both name.
ADDED = {
    "apps.admin_api": {
        "endpoints": [*ADMIN_ENDPOINTS, *SIGN_UP_ENDPOINTS],
        "scopes": [
            f"admin:{access}{subject}"
            for access in ("read", "write")
            for subject in ("", *(f":{name}" for name in ADMIN_SUBJECTS))
        ],
    },
    "apps.aggregate": {
        "tabs": ["aggregate"],
        "endpoints": ["/api/x/aggregate"],
        "pages": ["aggregate"],
    },
    "apps.console": {
        "endpoints": ["/api/x/topology"],
        "admin": ["operations.CacheNode", "operations.TopologyVersion"],
    },
    "apps.curation": {
        "tabs": ["collections"],
        "endpoints": [
            "/api/v1/accounts/{account_id}/collections",
            "/api/v1/accounts/{account_id}/in_collections",
            "/api/v1/collections",
            "/api/v1/collections/{collection_id}",
            "/api/v1/collections/{collection_id}/items",
            "/api/v1/collections/{collection_id}/items/{item_id}",
            "/api/v1/collections/{collection_id}/items/{item_id}/revoke",
        ],
        "scopes": ["read:collections", "write:collections"],
        "collections": ["apps.curation.queries"],
        "pages": [
            "collections",
            "collections/<int:collection_id>",
            "collections/<int:collection_id>/add",
            "collections/<int:collection_id>/delete",
            "collections/<int:collection_id>/edit",
            "collections/<int:collection_id>/follow",
            "collections/<int:collection_id>/leave",
            "collections/<int:collection_id>/remove/<int:item_id>",
            "collections/<int:collection_id>/remove_hidden",
            "@<str:handle>/collect",
            "@<str:handle>/collections",
        ],
        "links": ["/collections"],
        "inserts": ["curation/_menu.html", "curation/_reported.html"],
        "archive": ["collections.jsonl"],
        "erasure": ["collections"],
        "moderation": ["store_reported"],
        "about": ["apps.curation.queries"],
        "notification_fields": ["apps.curation.entities.COLLECTION"],
        "events": ["collected", "uncollected", "collection_changed"],
        "subscribers": [
            f"apps.curation.handlers.{name}"
            for name in (
                "notify_of_collection",
                "notify_of_change",
                "delete_notifications",
                "remove_blocked_from_collections",
            )
        ],
        "admin": ["curation.Collection", "curation.ReportedCollection"],
    },
    "apps.digest": {
        "pages": ["settings/digest", "digest/end/<str:token>"],
        "archive": ["weekly_mail.csv"],
        "erasure": ["digests"],
        "inserts": ["digest/_settings.html"],
        "periodic": ["apps.digest.tasks.sweep", "apps.digest.tasks.make"],
    },
    "apps.earlier_posts": {
        "pages": [
            "@<str:handle>/earlier",
            "@<str:handle>/earlier/<int:number>",
            "@<str:handle>/earlier/<int:number>/delete",
        ],
        "archive": ["earlier_posts.jsonl"],
        "erasure": ["earlier_posts"],
        "inserts": ["earlier_posts/_import.html", "earlier_posts/_report.html"],
        "imports": ["posts"],
        "links": ["/earlier"],
        "served": ["earlier/", "restricted/earlier/"],
        "admin": ["earlier_posts.EarlierPost"],
    },
    "apps.feeds": {
        "tabs": ["feeds"],
        "endpoints": [
            "/api/x/feeds",
            "/api/x/feeds/{feed_id}",
            "/api/x/feeds/{feed_id}/timeline",
        ],
        "pages": [
            "feeds",
            "feeds/<int:feed_id>/delete",
            "feeds/<int:feed_id>/edit",
            "@<str:handle>/feeds/<str:slug>",
            *FEEDS_FOR_READERS,
        ],
        "archive": ["feeds.jsonl"],
        "erasure": ["feeds"],
        "admin": ["feeds.Feed"],
    },
    "apps.gameday": {"admin": ["gameday.Run"]},
    "apps.previews": {
        "endpoints": ["/api/v1/timelines/link", "/api/v1/trends/links"],
        "link_previews": ["apps.previews.queries"],
        "served": ["previews/"],
        "subscribers": [
            f"apps.previews.handlers.{name}" for name in ("ask_for_preview", "withdraw_preview")
        ],
        "periodic": ["apps.previews.tasks.sweep", "apps.previews.tasks.purge"],
        "admin": ["previews.Preview"],
    },
    "apps.promotions": {
        "words": ["promot"],  # of the schema
        "parameters": ["promoted"],
        "fields": ["promotion"],
        "reasons": ["promoted", "spaced"],
        "pages": ["promoted/seen", "settings/promotions"],
        "archive": ["traits.csv", "segments.csv", "no_promoted_posts.csv"],
        "settings": ["promotions"],
        "inserts": [
            f"promotions/_{name}.html" for name in ("pitch", "privacy", "not_counted", "not_shown")
        ],
        "shown": ["count_shown"],
        "promoters": ["apps.promotions.queries"],
        "virtual_follows": ["promotions_virtualfollow"],
        "seeding": ["apps.promotions.integrations.demo.make_promotions"],
        "events": ["interests_changed", "campaign_begun", "campaign_stopped", "segments_changed"],
        "subscribers": [
            *(
                f"apps.promotions.handlers.{name}"
                for name in (
                    "renew_newest",
                    "refresh_follower",
                    "refresh_changed",
                    "follow_virtually",
                    "unfollow_virtually",
                    "repair_members",
                    "repair_readers",
                )
            ),
        ],
        "periodic": [
            f"apps.promotions.tasks.{name}"
            for name in ("apply_time", "sweep_segments", "purge_impressions")
        ],
        "admin": [
            f"promotions.{name}"
            for name in ("Campaign", "PromotedAccount", "PromotionSwitch", "Segment", "Trait")
        ],
    },
    "apps.push": {
        "endpoints": ["/api/v1/push/subscription"],
        "pages": [
            "sw.js",
            "offline",
            "settings/push",
            "settings/push/here",
            "settings/push/here/end",
            "settings/push/<int:number>/end",
        ],
        "archive": ["push_devices.csv"],
        "erasure": ["push_devices"],
        "inserts": [f"push/_{name}.html" for name in ("words", "devices", "privacy")],
        "notified": ["apps.push.sending"],
        "vapid": ["apps.push.encryption"],
        "scopes": ["push"],
        "periodic": ["apps.push.tasks.sweep", "apps.push.tasks.purge"],
    },
    "apps.ranking": {
        "tabs": ["ranked"],
        "endpoints": ["/api/x/ranked", "/api/x/ranking/algorithm"],
        "pages": ["ranked", "ranked/algorithm"],
        "erasure": ["rankings"],
        "explain": ["section", "notes"],
        "caches": ["ranked"],
        "delivered": ["follow_delivery"],
        "periodic": ["apps.ranking.tasks.purge"],
        "admin": ["ranking.FactorWeight"],
    },
    "apps.second_level": {
        "erasure": ["stored_timeline"],
        "caches": ["second", "level"],
        "pushed": ["push_chunk"],
        "stored": ["apps.second_level.older"],
        "subscribers": [
            f"apps.second_level.handlers.{name}"
            for name in ("update_span", "update_spans", "delete_rows", "drop_spans")
        ],
        "periodic": ["apps.second_level.tasks.purge"],
    },
    "apps.sign_ups": {
        "endpoints": SIGN_UP_ENDPOINTS,
        "moderation": ["wave_that_runs"],
        "sign_ups": ["refuse_blocked", "slow_down_wave"],
        "periodic": ["apps.sign_ups.tasks.purge"],
        "admin": ["sign_ups.SignUpBlock"],
    },
    "apps.site_activity": {
        "endpoints": ["/api/v1/instance/activity"],
        "periodic": ["apps.site_activity.tasks.count"],
    },
    "apps.spam": {
        "archive": ["spam_verdicts.jsonl"],
        "inserts": ["spam/_verdicts.html"],
        "erasure": ["verdicts"],
        "subscribers": ["apps.spam.handlers.examine_post"],
        "periodic": ["apps.spam.tasks.sweep"],
        "admin": ["spam.BlockedDomain", "spam.DryRun", "spam.Verdict"],
    },
    "apps.strikes": {
        "pages": ["settings/strikes", "strikes/<str:token>"],
        "settings": ["strikes"],
        "archive": ["strikes.jsonl"],
        "erasure": ["strikes"],
        "moderation": [
            "record",
            "keep_evidence",
            "appeals_that_wait",
            "address_of_closed",
        ],
        "about": ["apps.strikes.queries"],
        "notification_fields": ["apps.strikes.entities.WARNING"],
        "periodic": ["apps.strikes.tasks.purge"],
        "admin": ["strikes.Strike", "admin.LogEntry"],
    },
    "apps.syndication": {
        "pages": [
            *(f"@<str:handle>.{form}" for form in FORMS),
            *(f"tags/<str:name>.{form}" for form in FORMS),
            *(f"public.{form}" for form in FORMS),
            "@<str:handle>/<post:post_id>/card.png",
            *FEEDS_FOR_READERS,
        ],
        "subscribers": [
            f"apps.syndication.handlers.{name}"
            for name in ("delete_post_image", "delete_author_images")
        ],
        "forms": ["Atom", "RSS", "JSON"],
        "drawn": ["/card.png"],
    },
    "apps.translation": {
        "translates": ["apps.translation.apps"],
        "endpoints": [
            "/api/v1/instance/translation_languages",
            "/api/v1/statuses/{status_id}/translate",
        ],
        "pages": ["@<str:handle>/<post:post_id>/translation"],
        "inserts": ["translation/_link.html"],
    },
    "apps.webhooks": {
        "endpoints": [
            "/api/x/webhooks",
            "/api/x/webhooks/{webhook_id}",
            "/api/x/webhooks/{webhook_id}/deliveries",
            "/api/x/webhooks/{webhook_id}/deliveries/{delivery_id}/resend",
            "/api/x/webhooks/{webhook_id}/secret",
            "/api/x/webhooks/{webhook_id}/test",
        ],
        "pages": [
            "settings/webhooks",
            "settings/webhooks/new",
            "settings/webhooks/<int:number>",
            "settings/webhooks/<int:number>/delete",
            "settings/webhooks/<int:number>/<str:verb>",
            "settings/webhooks/<int:number>/messages/<int:delivery_id>/again",
        ],
        "settings": ["webhooks"],
        "archive": ["webhooks.csv"],
        "erasure": ["webhooks"],
        "notified": ["apps.webhooks.sending"],
        "subscribers": [
            f"apps.webhooks.handlers.queue_{name}_post"
            for name in ("published", "edited", "deleted")
        ],
        "periodic": ["apps.webhooks.tasks.sweep", "apps.webhooks.tasks.purge"],
        "admin": ["webhooks.Endpoint"],
    },
}


def test_every_optional_app_is_tried():
    assert set(ALL) == set(settings.POSSIBLE_APPS) == ADDED.keys()


@pytest.fixture(scope="module")
def with_all():
    return said_with(ALL)


def without(names, with_all):
    """What a process with all apps says of itself, without what these add."""
    return {
        what: [
            one for one in said if not any(one in ADDED[name].get(what, [name]) for name in names)
        ]
        for what, said in with_all.items()
    }


@pytest.mark.long
def test_the_core_is_what_is_left_without_all_of_them(with_all):
    for name in ALL:
        for what, added in ADDED[name].items():
            assert set(added) <= set(with_all[what]), name
    core = said_with([])
    assert core["apps"] == []
    assert core == without(ALL, with_all)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_an_app_that_is_left_out_adds_nothing_and_nothing_else_changes(name, with_all):
    assert said_with([other for other in ALL if other != name]) == without([name], with_all)


def test_a_name_of_nothing_is_refused(monkeypatch):
    monkeypatch.setenv("OPTIONAL_APPS", "apps.feeds,apps.wonders")
    with pytest.raises(ImproperlyConfigured, match=r"OPTIONAL_APPS names apps\.wonders"):
        Environment().some_of("OPTIONAL_APPS", list(ALL))


def test_a_setting_that_is_gone_stops_the_start(monkeypatch):
    Environment().refuse("SECOND_LEVEL", "name the app.")
    monkeypatch.setenv("SECOND_LEVEL", "0")
    with pytest.raises(
        ImproperlyConfigured, match=r"SECOND_LEVEL no longer exists: name the app\."
    ):
        Environment().refuse("SECOND_LEVEL", "name the app.")
