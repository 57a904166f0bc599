"""What holds for every endpoint: who may ask, how refusals look, both slash forms, odd ids."""

import re
from datetime import timedelta
from functools import cache
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Max
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.queries import user_by_id
from apps.curation.actions import create_collection
from apps.curation.models import CollectionItem
from apps.engagement.actions import bookmark_post
from apps.engagement.queries import engaged
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, add_post, create_filter
from apps.graph.actions import block_user
from apps.graph.groups.actions import create_group
from apps.graph.models import FollowRequest, UserList
from apps.moderation.actions import file_report
from apps.notifications.actions import change_policy
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Announcement, Conversation, Notification
from apps.oauth.actions import register_application
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.publish import delete_post
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Post
from apps.scopes import ALL
from apps.tags.actions import feature_tag
from apps.webhooks.models import Delivery
from feedcache.ids import MAX_ID
from tests.support.cases import each
from tests.support.factories import make_user, publish
from tests.support.links import previewed
from tests.support.pictures import picture
from tests.support.push_service import Device
from tests.translation.libretranslate import Service

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture(autouse=True)
def _shows_previews(settings):
    settings.LINK_PREVIEWS = True


TRENDS = ("tags", "statuses", "links", "links/publishers")
NO_BLOCKS = ("domain_allows", "domain_blocks")  # there are none
BLOCKS = (*NO_BLOCKS, "email_domain_blocks", "canonical_email_blocks", "ip_blocks")
REFUSED = (*NO_BLOCKS, "/approve", "/reject", "/unsensitive")  # by POST
# (method, address, whether it needs a token)
ENDPOINTS = [
    ("GET", "accounts/verify_credentials", True),
    ("PATCH", "accounts/update_credentials", True),
    ("GET", "preferences", True),
    *((method, "profile", True) for method in ("GET", "PATCH")),
    *(("DELETE", f"profile/{what}", True) for what in ("avatar", "header")),
    *((method, "domain_blocks", True) for method in ("GET", "POST", "DELETE")),
    ("GET", "emails/check_confirmation", True),
    ("POST", "emails/confirmations", True),
    ("GET", "accounts", False),
    ("POST", "accounts", True),
    ("GET", "accounts/lookup", False),
    ("POST", "apps", False),
    ("GET", "apps/verify_credentials", True),
    *(("GET", what, False) for what in ("instance", "v2/instance", "instance/rules", "custom_emojis")),
    *(("GET", f"instance/{what}", False) for what in ("peers", "domain_blocks", "extended_description",
                                                      "privacy_policy", "languages", "activity")),
    ("GET", "directory", False),
    ("GET", "accounts/<int:account_id>", False),
    ("GET", "accounts/<int:account_id>/statuses", False),
    ("GET", "accounts/<int:account_id>/followers", False),
    ("GET", "accounts/<int:account_id>/following", False),
    ("GET", "x/accounts/<int:account_id>/friends", False),
    ("GET", "accounts/relationships", True),
    ("GET", "accounts/familiar_followers", True),
    *(("POST", f"accounts/<int:account_id>/{act}", True) 
      for act in ("follow", "unfollow", "remove_from_followers", "block", "unblock", "mute", "unmute", "note",
                  "endorse", "unendorse", "pin", "unpin")),
    ("GET", "accounts/<int:account_id>/endorsements", False),
    ("GET", "endorsements", True),
    ("GET", "blocks", True),
    ("GET", "mutes", True),
    ("GET", "follow_requests", True),
    *(("POST", f"follow_requests/<int:account_id>/{act}", True) for act in ("authorize", "reject")),
    ("GET", "circles", True),
    ("GET", "tags/<str:name>", False),
    ("POST", "tags/<str:name>/follow", True),
    ("POST", "tags/<str:name>/unfollow", True),
    ("GET", "followed_tags", True),
    *((method, "featured_tags", True) for method in ("GET", "POST")),
    ("GET", "featured_tags/suggestions", True),
    ("DELETE", "featured_tags/<int:row_id>", True),
    *(("POST", f"tags/<str:name>/{act}", True) for act in ("feature", "unfeature")),
    ("GET", "accounts/<int:account_id>/featured_tags", False),
    ("GET", "trends", False),
    ("GET", "trends/tags", False),
    ("GET", "timelines/tag/<str:name>", False),
    *((method, "filters", True) for method in ("GET", "POST")),
    *((method, "filters/<int:keyword_id>", True) for method in ("GET", "PUT", "DELETE")),
    ("GET", "v2/filters", True),
    ("POST", "v2/filters", True),
    *((method, "v2/filters/<int:filter_id>", True) for method in ("GET", "PUT", "DELETE")),
    *((method, "v2/filters/<int:filter_id>/keywords", True) for method in ("GET", "POST")),
    *((method, "v2/filters/keywords/<int:keyword_id>", True) for method in ("GET", "PUT", "DELETE")),
    *((method, "v2/filters/<int:filter_id>/statuses", True) for method in ("GET", "POST")),
    *((method, "v2/filters/statuses/<int:row_id>", True) for method in ("GET", "DELETE")),
    ("GET", "v2/search", False),
    ("GET", "accounts/search", True),
    ("GET", "trends/statuses", False),
    ("GET", "trends/links", False),
    ("GET", "timelines/link", False),
    ("GET", "suggestions", True),
    ("GET", "v2/suggestions", True),
    ("DELETE", "suggestions/<int:account_id>", True),
    ("GET", "lists", True),
    ("POST", "lists", True),
    *((method, "lists/<int:list_id>", True) for method in ("GET", "PUT", "DELETE")),
    *((method, "lists/<int:list_id>/accounts", True) for method in ("GET", "POST", "DELETE")),
    ("GET", "accounts/<int:account_id>/lists", True),
    ("GET", "timelines/list/<int:list_id>", True),
    ("GET", "timelines/home", True),
    ("GET", "timelines/public", False),
    ("GET", "bookmarks", True),
    ("GET", "notifications", True),
    ("GET", "notifications/unread_count", True),
    ("POST", "notifications/clear", True),
    *(("GET", f"notifications/requests{what}", True) for what in ("", "/merged", "/<int:account_id>")),
    *(("POST", f"notifications/requests{who}/{act}", True)
      for who in ("", "/<int:account_id>") for act in ("accept", "dismiss")),
    *((method, "v2/notifications/policy", True) for method in ("GET", "PATCH")),
    ("GET", "notifications/<int:notification_id>", True),
    ("POST", "notifications/<int:notification_id>/dismiss", True),
    ("GET", "v2/notifications", True),
    ("GET", "v2/notifications/unread_count", True),
    ("GET", "v2/notifications/<str:group_key>", True),
    ("GET", "v2/notifications/<str:group_key>/accounts", True),
    ("POST", "v2/notifications/<str:group_key>/dismiss", True),
    ("POST", "v2/notifications/clear", True),
    ("GET", "announcements", True),
    ("POST", "announcements/<int:announcement_id>/dismiss", True),
    *((method, "announcements/<int:announcement_id>/reactions/<str:emoji>", True) for method in ("PUT", "DELETE")),
    ("GET", "conversations", True),
    ("DELETE", "conversations/<int:conversation_id>", True),
    ("POST", "conversations/<int:conversation_id>/read", True),
    ("POST", "reports", True),
    ("GET", "markers", True),
    ("POST", "markers", True),
    ("GET", "x/activity", True),
    ("GET", "favourites", True),
    ("GET", "statuses", False),
    ("POST", "statuses", True),
    ("GET", "scheduled_statuses", True),
    *((method, "scheduled_statuses/<int:number>", True) for method in ("GET", "PUT", "DELETE")),
    ("GET", "statuses/<int:status_id>", False),
    ("PUT", "statuses/<int:status_id>", True),
    ("PUT", "statuses/<int:status_id>/interaction_policy", True),
    ("POST", "statuses/<int:status_id>/quotes/<int:quote_id>/revoke", True),
    ("DELETE", "statuses/<int:status_id>", True),
    ("GET", "statuses/<int:status_id>/context", False),
    *(("POST", f"statuses/<int:status_id>/{act}", True)
      for act in ("favourite", "unfavourite", "reblog", "unreblog", "bookmark", "unbookmark", "pin", "unpin", "mute",
                  "unmute")),
    ("POST", "x/statuses/<int:status_id>/react/<str:name>", True),
    ("POST", "x/statuses/<int:status_id>/unreact", True),
    ("POST", "statuses/<int:status_id>/translate", True),
    ("GET", "instance/translation_languages", False),
    *(("GET", f"statuses/<int:status_id>/{what}", False) for what in ("history", "favourited_by", "reblogged_by",
                                                                      "quotes")),
    ("GET", "statuses/<int:status_id>/source", True),
    ("POST", "v2/media", True),
    ("POST", "media", True),
    *((method, "media/<int:media_id>", True) for method in ("GET", "PUT", "DELETE")),
    ("GET", "polls/<int:poll_id>", False),
    ("POST", "polls/<int:poll_id>/votes", True),
    *((method, "x/feeds", True) for method in ("GET", "POST")),
    *((method, "x/feeds/<int:feed_id>", True) for method in ("GET", "PUT", "DELETE")),
    ("GET", "x/feeds/<int:feed_id>/timeline", False),
    ("GET", "x/aggregate", True),
    ("GET", "x/catch_up", True),
    ("GET", "x/ranked", True),
    ("GET", "x/recommended", True),
    ("GET", "x/ranking/algorithm", True),
    ("PUT", "x/ranking/algorithm", True),
    ("GET", "x/audit/mine", True),
    ("GET", "x/audit", False),
    ("GET", "x/explain/home", True),
    ("GET", "x/explain/statuses/<int:status_id>", True),
    ("GET", "x/statuses/<int:status_id>/receipt", True),
    ("GET", "x/statuses/<int:status_id>/journey", True),
    ("GET", "x/policies", True),
    *((method, f"x/policies/{whose}", True) for whose in ("site", "<int:account_id>") for method in ("GET", "PUT")),
    ("GET", "x/topology", True),
    *(("GET", f"{version}admin/accounts", True) for version in ("", "v2/")),
    ("GET", "admin/accounts/<int:account_id>", True),
    *(("POST", f"admin/accounts/<int:account_id>/{act}", True)
      for act in ("action", "enable", "unsuspend", "unsilence", "unsensitive", "approve", "reject")),
    ("GET", "admin/reports", True),
    *((method, "admin/reports/<int:report_id>", True) for method in ("GET", "PUT")),
    *(("POST", f"admin/reports/<int:report_id>/{act}", True)
      for act in ("assign_to_self", "unassign", "resolve", "reopen")),
    *(("GET", f"admin/trends/{kind}", True) for kind in TRENDS),
    *(("POST", f"admin/trends/{kind}/<str:trend_id>/{act}", True) for kind in TRENDS for act in ("approve", "reject")),
    *((method, f"admin/{kind}", True) for kind in BLOCKS for method in ("GET", "POST")),
    *((method, f"admin/{kind}/<int:block_id>", True) for kind in BLOCKS for method in ("GET", "DELETE")),
    *(("PUT", f"admin/{kind}/<int:block_id>", True) for kind in ("domain_blocks", "ip_blocks")),
    ("POST", "admin/canonical_email_blocks/test", True),
    ("POST", "collections", True),
    ("GET", "collections/<int:collection_id>", False),
    *((method, "collections/<int:collection_id>", True) for method in ("PATCH", "DELETE")),
    ("POST", "collections/<int:collection_id>/items", True),
    ("DELETE", "collections/<int:collection_id>/items/<int:item_id>", True),
    ("POST", "collections/<int:collection_id>/items/<int:item_id>/revoke", True),
    ("GET", "accounts/<int:account_id>/collections", False),
    ("GET", "accounts/<int:account_id>/in_collections", True),
    *((method, "x/webhooks", True) for method in ("GET", "POST")),
    *((method, "x/webhooks/<int:webhook_id>", True) for method in ("GET", "PUT", "DELETE")),
    *(("POST", f"x/webhooks/<int:webhook_id>/{verb}", True) for verb in ("secret", "test")),
    ("GET", "x/webhooks/<int:webhook_id>/deliveries", True),
    ("POST", "x/webhooks/<int:webhook_id>/deliveries/<int:delivery_id>/resend", True),
    *((method, "push/subscription", True) for method in ("GET", "POST", "PUT", "DELETE")),
]  # fmt: skip
LISTS = ["timelines/home", "x/explain/home", "timelines/public", "bookmarks", "favourites", "notifications",
         "accounts/<int:account_id>/statuses",
         "accounts/<int:account_id>/followers", "accounts/<int:account_id>/following",
         "accounts/<int:account_id>/endorsements", "x/accounts/<int:account_id>/friends",
         "endorsements", "blocks", "mutes", "follow_requests", "conversations"]  # fmt: skip
OF_A_STATUS = [(method, address) for method, address, _needs in ENDPOINTS if "status_id" in address]
OF_AN_ACCOUNT = [
    (method, address) for method, address, _needs in ENDPOINTS if "account_id" in address
]
OF_A_NOTIFICATION = [
    (method, address)
    for method, address, _needs in ENDPOINTS
    if "notification_id" in address or "announcement_id" in address or "conversation_id" in address
]
OF_A_POLL_OR_PICTURE = [
    (method, address)
    for method, address, _needs in ENDPOINTS
    if "poll_id" in address or "media_id" in address
]
OF_A_LIST = [
    (method, address)
    for method, address, _needs in ENDPOINTS
    if any(name in address for name in ("list_id", "feed_id", "collection_id"))
]
OF_A_FILTER = [(method, address) for method, address, _needs in ENDPOINTS if "filters/" in address]
BODY = {
    "status": "hello", "acct": "alice", "title": "hello", "account_ids": [], "context": ["home"], "keyword": "tea",
    "phrase": "tea",
    "name": "Mine", "include_tags": ["tea"],
    "client_name": "A program", "choices": [0], "algorithm": "light", "policy": "online", "reason": "A test."
}  # fmt: skip


def base(address):
    """Mastodon's endpoints, or those that it has no word for."""
    return "/api/" if address.startswith(("x/", "v2/")) else "/api/v1/"


def newest_post_id():
    return Post.objects.aggregate(newest=Max("pk"))["newest"] or 1


SUBSCRIPTION = {"endpoint": "https://push.example/send/abc", "keys": Device().keys}
WEBHOOK: dict[str, Any] = {"url": "https://hooks.example/feed", "types": ["status.created"]}
BODIES = {
    "x/webhooks": WEBHOOK,
    "push/subscription": {"subscription": SUBSCRIPTION},
    "domain_blocks": {"domain": "a.example"},
}
BODY.update(
    username="newcomer",
    email="new@example.org",
    password="a long enough passphrase",
    agreement="true",
)


def application_client(scope="write"):
    """A program that asks for itself."""
    made = register_application(name="A program", scopes="read write")
    client = APIClient()
    said = {"grant_type": "client_credentials", "client_id": made.application.client_id, "client_secret": made.secret,
            "scope": scope}  # fmt: skip
    token = client.post("/oauth/token", said, format="json").json()["access_token"]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def client_for(method, address, usual):
    """A program that asks for itself where nobody else may; the usual one for all else."""
    return application_client() if (method, address) == ("POST", "accounts") else usual


def asking(api_of, user, address):
    """A program of a user; of one with all rights and the scopes of staff where nobody else may ask."""
    user = promoted(user, address)
    return api_of(user, f"{ALL} admin:read admin:write") if "admin/" in address else api_of(user)


def status_of(method, address):
    """What an endpoint answers: some refuse what the site does not have."""
    if "<int:block_id>" in address:
        return 404
    is_refused = address.startswith(("admin/", "domain_blocks")) and address.endswith(REFUSED)
    return 422 if method == "POST" and is_refused else 200


def promoted(user, address):
    """The same user, of the staff where nobody else may ask."""
    if address.startswith(("x/policies", "x/topology", "admin/", "v2/admin/")):
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    return user


def in_an_hour():
    return timezone.now() + timedelta(hours=1)


def routes(patterns, prefix=""):
    for pattern in patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, address)
        elif address.startswith(("api/v1/", "api/v2/", "api/x/")):
            yield bare_path(f"/{address}")


def bare_path(path):
    """As the rows above have it: without what most addresses begin with."""
    return path.removeprefix("/api/").removeprefix("v1/")


def quote_of(number):
    """The id of a quote of a post, if there is one."""
    exists = isinstance(number, int) and number < MAX_ID
    quotes = Post.objects.filter(source=number, kind="quote") if exists else Post.objects.none()
    return quotes.values_list("pk", flat=True).first() or 1


def call(client, method, address, number=0, *, slash="", **more):  # noqa: C901 -- one special body after the other
    path = (
        base(address)
        + address.replace("<int:status_id>", str(number))
        .replace("<int:quote_id>", str(quote_of(number)))
        .replace("<int:media_id>", str(number))
        .replace("<int:poll_id>", str(number))
        .replace("<int:account_id>", str(number))
        .replace("<int:number>", str(number))
        .replace("<int:list_id>", str(number))
        .replace("<int:feed_id>", str(number))
        .replace("<int:collection_id>", str(number))
        .replace("<int:item_id>", str(number))
        .replace("<int:webhook_id>", str(number))
        .replace("<int:delivery_id>", str(number))
        .replace("<int:notification_id>", str(number))
        .replace("<str:group_key>", f"ungrouped-{number}")
        .replace("<str:name>", "🎉" if "/react/" in address else "tea")
        .replace("<int:filter_id>", str(number))
        .replace("<int:keyword_id>", str(number))
        .replace("<int:row_id>", str(number))
        .replace("<int:report_id>", str(number))
        .replace("<int:block_id>", str(number))
        .replace("<str:trend_id>", str(number))
        .replace("<int:announcement_id>", str(number))
        .replace("<int:conversation_id>", str(number))
        .replace("<str:emoji>", "👍")
        + slash
    )
    if method == "POST" and address.endswith("media"):
        file = SimpleUploadedFile("a.png", picture())
        return client.post(path, {"file": file}, format="multipart", **more)
    has_body = method in {"POST", "PUT", "PATCH"} or address in BODIES and method == "DELETE"
    data: Any = BODIES.get(address, BODY) if has_body else None
    if address == "collections/<int:collection_id>/items":
        data = {"account_id": str(make_user().pk)}
    if data and address.endswith("filters/<int:filter_id>/statuses"):
        data = {"status_id": str(newest_post_id())}
    if data and "<int:number>" in address:
        data = {"scheduled_at": in_an_hour().isoformat()}
    if address.startswith("notifications/requests/") and method == "POST":
        data = {"id": ["1"]}
    if address.endswith("/interaction_policy"):
        data = {"quote_approval_policy": "nobody"}
    if address.endswith("/action"):
        data = {"type": "none"}
    if address.startswith("admin/") and address.endswith("_blocks"):
        data = data and {
            "domain": "mail.example",
            "email": "a@mail.example",
            "ip": "10.0.0.1",
            "severity": "sign_up_block",
        }
    if address == "reports":
        data = {"account_id": str(number)}
    if method in {"GET", "HEAD"} and address == "accounts/lookup":
        path += "?acct=alice"
    if address == "timelines/link":
        path += f"?url={previewed().url}"
    return (
        client.generic(method, path, **more)
        if data is None
        else getattr(client, method.lower())(path, data, format="json", **more)
    )


def subject(address, owner):  # noqa: C901 -- one kind after the other
    """The number of something of an owner's that an address is about."""
    if "quote_id" in address:
        quoted = publish(owner)
        publish(make_user(), quote_of_id=quoted.pk)
        return quoted.pk
    if "status_id" in address:
        return publish(owner).pk
    if address.startswith("featured_tags/<"):
        return feature_tag(owner, "tea").pk
    if "poll_id" in address:
        return publish(owner, "Which?", poll=PollDraft(["Red", "Green"], 300)).pk
    if "media_id" in address:
        return upload_picture(owner, BytesIO(picture())).pk
    if "report_id" in address:
        return file_report(owner, make_user()).pk
    if "collection_id" in address:
        number = create_collection(owner, name="Mine").pk
        CollectionItem.objects.create(pk=number, collection_id=number, member=owner)
        return number
    if "feed_id" in address:
        return create_feed(owner, name="Mine", include_tags=["tea"], is_public=True).pk
    return owner.pk


def test_every_endpoint_has_a_row_here():
    assert sorted(set(routes(get_resolver().url_patterns))) == sorted(
        {address for _m, address, _n in ENDPOINTS}
    )


@pytest.mark.long
@pytest.mark.gate
def test_endpoints_that_need_a_token_say_401_without_one(alice, api_of, settings, subtests):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    subject_of = cache(lambda address: subject(address, alice))
    nobody = api_of(None)
    for method, address, needs_token in ENDPOINTS:
        with subtests.test(method=method, address=address):
            answer = call(nobody, method, address, subject_of(address))
            assert answer.status_code == (401 if needs_token else 200)
            if needs_token:
                assert answer.headers["WWW-Authenticate"] == 'Bearer realm="api"'
                assert answer.json()["code"] == "unauthorized"


def bare(answer):
    """An answer without what names the request."""
    body = {
        key: value for key, value in answer.json().items() if key not in {"request_id", "instance"}
    }
    headers = {
        key: value
        for key, value in answer.headers.items()
        if key not in {"X-Request-Id", "Content-Length", "Server-Timing"}
        and not key.startswith("X-RateLimit-")  # each answer counts
    }
    return answer.status_code, body, headers, stages_of(answer)


def stages_of(answer):
    """Which stages an answer tells of: their times differ from request to request, their names must not."""
    timing = answer.headers.get("Server-Timing", "")
    return [stage.partition(";")[0] for stage in timing.split(", ")]


@pytest.mark.long
@pytest.mark.gate
def test_a_post_one_may_not_see_answers_like_one_that_is_not_there(alice, carol, api_of, case):
    enemy = make_user()
    for_followers = publish(alice, visibility="followers")
    for_others = publish(alice, "hello @enemy", visibility="mentioned")
    deleted, of_an_enemy = publish(alice), publish(enemy)
    delete_post(deleted.pk, by=alice)
    block_user(enemy, carol)
    client = api_of(carol)
    for method, address in OF_A_STATUS:
        with case(method=method, address=address):
            absent = bare(call(client, method, address, 1234567890123456789))
            assert absent[0] == 404
            for post in (for_followers, for_others, deleted, of_an_enemy):
                assert bare(call(client, method, address, post.pk)) == absent


@pytest.mark.slow
@each(
    ("method", "address"),
    [
        ("PUT", "statuses/<int:status_id>"),
        ("PUT", "statuses/<int:status_id>/interaction_policy"),
        ("DELETE", "statuses/<int:status_id>"),
    ],
)
def test_another_ones_post_is_changed_by_nobody(alice, carol, api_of, method, address):
    post = publish(alice, "mine")
    assert call(api_of(carol), method, address, post.pk).status_code == 404
    post.refresh_from_db()
    assert (post.body, post.deleted_at) == ("mine", None)


ODD_IDS = ["0", "9223372036854775807", "9223372036854775808", "9" * 30, "9" * 5000, "-1", "1.5", "abc", "٣", "0x1f",
           "1e5", "%20", "1%00", "%FF", "007"]  # fmt: skip


@pytest.mark.long
def test_ids_that_cannot_be_are_refused_and_never_fail(carol, api_of, case):
    for method, address in (
        *OF_A_STATUS, *OF_A_POLL_OR_PICTURE, *OF_AN_ACCOUNT, *OF_A_LIST, *OF_A_NOTIFICATION, *OF_A_FILTER,
    ):  # fmt: skip
        with case(method=method, address=address):
            client = asking(api_of, user_by_id(carol.pk), address)
            for number in ODD_IDS:
                answer = call(client, method, address, number)
                assert answer.status_code in {400, 404}, number
                assert answer.json()["status"] == answer.status_code


def part_of_a_filter(owner, address):
    """The id of a filter, of its keyword or of its post, whichever the address names."""
    word = KeywordChange(keyword="tea")
    made = create_filter(owner, FilterChange("Quiet", ["home"], keywords=[word]))
    row = add_post(owner, made.pk, publish(owner).pk)
    ids = {"filter_id": made.pk, "keyword_id": made.keywords.get().pk, "row_id": row.pk}
    return ids[re.findall(r"<int:(\w+)>", address)[0]]


def told(address, reader, actor):
    """Let there be something for a reader to be told of, or to answer; the id of a notification that is asked for."""
    if address.startswith("follow_requests/"):
        FollowRequest.objects.create(owner=reader, requester=actor)
    if address == "notifications/requests/<int:account_id>":
        change_policy(reader, for_not_followers="filter")
        held = Notification(user=reader, kind=NotificationKind.FOLLOW, actor=actor)
        held.is_held_back = True
        held.save()
    if "<int:notification_id>" in address or "<str:group_key>" in address:
        kind = NotificationKind.FOLLOW
        return Notification.objects.create(user=reader, kind=kind, actor=actor).pk
    return None


@pytest.fixture
def translates(settings):
    """The site names a service that translates."""
    with Service().running() as service:
        settings.TRANSLATE_URL = service.url
        yield


@pytest.mark.long
def test_a_trailing_slash_is_the_same_address_without_a_redirect(
    alice, bob, api_of, case, translates
):
    for method, address, _needs_token in ENDPOINTS:
        with case(method=method, address=address):
            people = user_by_id(alice.pk), user_by_id(bob.pk)
            client, number = asker_and_subject(method, address, *people, api_of)
            answer = call(client, method, address, number, slash="/")
            assert answer.status_code == status_of(method, address)
            assert "Location" not in answer.headers


@pytest.mark.long
def test_wherever_one_may_get_one_may_ask_for_the_head(alice, bob, api_of, case):
    for method, address, _needs_token in ENDPOINTS:
        if method != "GET" or status_of(method, address) != 200:
            continue
        with case(address=address):
            people = user_by_id(alice.pk), user_by_id(bob.pk)
            client, number = asker_and_subject(method, address, *people, api_of)
            answer = call(client, "HEAD", address, number)
            assert answer.status_code == 200
            assert (answer.content, answer.headers["Content-Type"]) == (b"", "application/json")
    answer = call(client, "DELETE", "notifications/clear")
    assert (answer.status_code, allowed(answer)) == (405, {"POST", "OPTIONS"})
    answer = call(client, "DELETE", "notifications")
    assert (answer.status_code, allowed(answer)) == (405, {"GET", "HEAD", "OPTIONS"})


def allowed(answer):
    return set(answer.headers["Allow"].split(", "))


def test_the_head_of_a_post_reads_nothing_and_deletes_nothing(alice, bob, api_of):
    number = publish(alice).pk
    for client in (api_of(alice), api_of(bob)):
        assert call(client, "HEAD", "statuses/<int:status_id>", number).status_code == 200
    assert number not in engaged(bob.pk, [number]).posts("read")
    assert call(api_of(bob), "GET", "statuses/<int:status_id>", number).status_code == 200
    assert number in engaged(bob.pk, [number]).posts("read")


def made_by(program, address):
    """Let a program make what only it may change; the id of a webhook, and of its only message."""
    if address == "push/subscription":
        program.post("/api/v1/push/subscription", {"subscription": SUBSCRIPTION}, format="json")
        return None
    number = int(program.post("/api/x/webhooks", WEBHOOK, format="json").json()["id"])
    Delivery.objects.create(pk=number, endpoint_id=number, kind="test", subject_id=0)
    return number


def asker_and_subject(method, address, alice, bob, api_of):
    """A program that may ask for it, and the number of something that is there."""
    number = subject(address, alice)
    owners = (
        "media_id" in address
        or address.endswith(("/receipt", "/journey"))
        or "feed_id" in address
        or "collection" in address
        or (
            address.startswith("statuses")
            and address.endswith(("/reblog", "pin", "/source", "/revoke"))
        )
        or method
        in {
            "PUT",
            "DELETE",
        }
    )
    if "<int:number>" in address:
        number, owners = schedule_post(alice, Draft("Later."), in_an_hour()).pk, True
    if "<int:list_id>" in address:
        number, owners = create_group(UserList, alice, name="Tea").pk, True
    if "announcement_id" in address:
        number = Announcement.objects.create(text="hello").pk
    if "conversation_id" in address:
        post, owners = publish(alice, visibility="mentioned"), True
        talk = Conversation.objects.create(user=alice, thread_id=post.pk, last_post=post)
        number = talk.pk
    number = told(address, bob, alice) or number
    if "filters/" in address:
        number, owners = part_of_a_filter(alice, address), True
    if "webhook_id" in address or address == "push/subscription":
        usual = api_of(bob)
        return usual, made_by(usual, address) or number
    if address == "emails/confirmations":
        type(bob).objects.filter(pk=bob.pk).update(pending_email="new@example.org")
    usual = asking(api_of, alice if owners else bob, address)
    return client_for(method, address, usual), number


@pytest.mark.long
def test_another_method_is_refused_in_json(alice, api_of, subtests):
    client = api_of(alice)
    for address in sorted({address for _method, address, _needs in ENDPOINTS}):
        taken = {one for one, where, _needs in ENDPOINTS if where == address}
        other = next(one for one in ("PATCH", "PUT", "DELETE") if one not in taken)
        with subtests.test(method=other, address=address):
            answer = call(client, other, address, alice.pk)
            assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


BAD_CURSORS = ["max_id=abc", "min_id=-5", "since_id=1e9", "limit=x", "max_id=" + "9" * 30, "limit=-1", "min_id=٣",
               "max_id=1&max_id=x", "limit=1.5", "max_id=%20"]  # fmt: skip
ODD_CURSORS = ["max_id=", "limit=0", "limit=999999", "max_id=9223372036854775807", "min_id=0", "unknown=1",
               "max_id=1&min_id=5", "since_id=5&min_id=3", "offset=5"]  # fmt: skip


@pytest.mark.long
def test_bad_cursors_are_refused_and_odd_but_sound_ones_answered(alice, api_of, subtests):
    client = api_of(alice)
    for address in LISTS:
        path = base(address) + address.replace("<int:account_id>", str(alice.pk))
        with subtests.test(address=address):
            for query in BAD_CURSORS:
                answer = client.get(f"{path}?{query}")
                assert (query, answer.status_code) == (query, 400)
                assert answer.json()["code"] in {"bad_cursor", "bad_limit"}
            for query in ODD_CURSORS:
                assert (query, client.get(f"{path}?{query}").status_code) == (query, 200)


@pytest.mark.slow
def test_an_empty_list_is_a_list_without_links(alice, api_of, case):
    client = api_of(alice)
    for address in LISTS:
        with case(address=address):
            answer = client.get(base(address) + address.replace("<int:account_id>", str(alice.pk)))
            assert answer.json() == []
            assert "Link" not in answer.headers


def test_a_bookmark_of_a_hidden_post_is_skipped_not_shown(alice, bob, api_of):
    post = publish(alice)
    bookmark_post(bob, post.pk)
    block_user(alice, bob)
    assert api_of(bob).get("/api/v1/bookmarks").json() == []


def parameter(found):
    """A parameter of the document as the routes have it."""
    return (
        f"<{'str' if found[1] in {'name', 'group_key', 'emoji', 'trend_id'} else 'int'}:{found[1]}>"
    )


@pytest.mark.long
@pytest.mark.gate
def test_the_schema_describes_every_endpoint(client, db):
    document = client.get(
        "/api/schema", headers={"Accept": "application/vnd.oai.openapi+json"}
    ).json()
    described = {
        (method.upper(), re.sub(r"{(\w+)}", parameter, bare_path(path)))
        for path, methods in document["paths"].items()
        for method in methods
        if path.startswith(("/api/v1/", "/api/v2/", "/api/x/"))
        and not path.startswith("/api/v1/streaming/")
    }
    assert described == {(method, address) for method, address, _needs in ENDPOINTS}


def test_links_name_the_site_and_not_how_it_was_asked(bob, api_of, settings):
    """Behind a proxy that ends TLS the request looks plain: a program would send its token there in clear."""
    for number in range(3):
        publish(bob, f"Number {number}.")
    settings.SITE_URL = "https://feed.example.org"
    for path in ("timelines/home", "timelines/public", f"accounts/{bob.pk}/statuses"):
        link = api_of(bob).get(f"/api/v1/{path}?limit=1").headers["Link"]
        assert link.startswith(f"<https://feed.example.org/api/v1/{path}?"), link
        assert "http://" not in link
    ranked = api_of(bob).get("/api/x/ranked?limit=1")
    assert ranked.headers["Link"].startswith("<https://feed.example.org/api/")
