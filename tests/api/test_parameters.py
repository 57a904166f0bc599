"""Every parameter that the OpenAPI document names is looked at: none is ignored in silence."""

import itertools
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.request import Request

from apps.accounts.models import AccessToken
from apps.curation.actions import create_collection
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.groups.actions import create_group
from apps.graph.models import Circle, UserList
from apps.moderation.actions import file_report
from apps.notifications.models import Notification
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.sign_ups.models import SignUpBlock
from apps.webhooks.actions import create_endpoint
from apps.webhooks.models import Endpoint
from tests.api.test_endpoints import WEBHOOK, application_client, in_an_hour
from tests.support.factories import PASSWORD, deliver, make_user, publish
from tests.support.pictures import picture
from tests.support.push_service import Device
from tests.support.staff import make_staff
from tests.support.videos import CAPTIONS
from tests.translation.libretranslate import Service

pytestmark = pytest.mark.django_db

# What the document itself says has nothing to change.
SUBSCRIPTION = {"endpoint": "https://push.example/send/abc", "keys": Device().keys}
WITHOUT_EFFECT = {
    "resolve": "there are no other sites to ask",
    "local": "all posts are of this site",
    "forward": "there are no other sites",
    "locale": "pages speak the browser's language until their reader chooses one",
    "reason": "nobody has to approve a new account",
    "send_email_notification": "people read decisions on the site",
}
BY_LIBRARY = {"/oauth/token", "/oauth/revoke"}  # forms that django-oauth-toolkit reads


class Recorded:
    """Which names were asked for, of one request; `renamed`: what serializers call their fields."""

    def __init__(self):
        self.names = set()
        self.renamed = {}

    def fields(self):
        return self.names | {self.renamed.get(name) for name in self.names}


def _recording_dict(base: Any, recorded: Recorded) -> Any:  # noqa: C901 -- one small method after the other
    class Recording(base):
        def __getitem__(self, name):
            recorded.names.add(name)
            return super().__getitem__(name)

        def get(self, name, default=None):
            recorded.names.add(name)
            return super().get(name, default)

        def pop(self, name, *default):
            recorded.names.add(name)
            return super().pop(name, *default)

        def getlist(self, name, default=None):
            recorded.names.add(name)
            return super().getlist(name, default)

        def __contains__(self, name):
            recorded.names.add(name)
            return super().__contains__(name)

        def keys(self):  # of whoever passes all on
            recorded.names.update(super().keys())
            return super().keys()

        def items(self):
            recorded.names.update(super().keys())
            return super().items()

        def __iter__(self):
            recorded.names.update(super().keys())
            return super().__iter__()

    return Recording


@pytest.fixture
def recorded(monkeypatch):
    """What views ask of queries, and of the bodies that serializers have read."""
    found = Recorded()
    query_class, body_class = _recording_dict(QueryDict, found), _recording_dict(dict, found)
    query_of: Any = vars(Request)["query_params"].fget

    def query_params(request):
        known = getattr(request, "_recorded_query", None)
        if known is None:
            known = query_class(query_of(request).urlencode())
            request._recorded_query = known
        return known

    read = serializers.Serializer.to_internal_value

    def to_internal_value(self, data):
        values = read(self, data)
        if self.parent is not None:
            return values
        found.renamed.update({field.source: name for name, field in self.fields.items()})
        return body_class(values)

    monkeypatch.setattr(serializers.Serializer, "to_internal_value", to_internal_value)
    monkeypatch.setattr(Request, "query_params", property(query_params))
    return found


@pytest.fixture
def document(client):
    found = client.get("/api/schema", headers={"Accept": "application/json"}).json()
    # streams have a process of their own (tests/flows/test_streaming.py)
    others = {path: one for path, one in found["paths"].items() if "/streaming/" not in path}
    return found | {"paths": others}


def _queries(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            names = {
                one["name"]: one["schema"]
                for one in operation.get("parameters", [])
                if one["in"] == "query"
            }
            if names:
                yield method, path, names


def _bodies(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            for one in list(content.values())[:1]:
                name = one["schema"].get("$ref", "").rpartition("/")[2]
                shape = document["components"]["schemas"].get(name, one["schema"])
                properties = set(shape.get("properties", {}))
                yield method, path, properties, set(shape.get("required", ()))


@pytest.fixture
def world(alice, bob, settings, tmp_path):
    """Something behind every id in an address."""
    settings.MEDIA_ROOT = str(tmp_path)
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    mine, asked = publish(alice), publish(bob, "Which?", poll=PollDraft(["Red", "Green"], 3600))
    publish(bob, "@alice hello")
    deliver()
    words = [KeywordChange(keyword="tea")]
    one = create_filter(alice, FilterChange("Quiet", ["home"], keywords=words))
    ids = {
        "account_id": bob.pk,
        "other_id": make_user().pk,
        "status_id": mine.pk,
        "poll_id": asked.pk,
        "list_id": create_group(UserList, alice, name="Mine").pk,
        "webhook_id": create_endpoint(alice, WEBHOOK["url"], WEBHOOK["types"]).endpoint.pk,
        "delivery_id": 1,
        "collection_id": create_collection(alice, [bob.pk], name="Mine").pk,
        "item_id": 1,
        "feed_id": create_feed(alice, name="Mine", include_tags=["river"]).pk,
        "filter_id": one.pk,
        "keyword_id": one.keywords.get().pk,
        "report_id": file_report(alice, bob).pk,
        "trend_id": "1",
        "block_id": SignUpBlock.objects.create(kind="range", value="203.0.113.0/24").pk,
        "media_id": upload_picture(alice, BytesIO(picture())).pk,
        "number": schedule_post(alice, Draft("Later."), in_an_hour()).pk,
        "name": "river",
        "circle_id": create_group(Circle, alice, name="Friends").pk,
        "group_key": f"ungrouped-{Notification.objects.filter(user=alice)[0].pk}",
        "notification_id": Notification.objects.filter(user=alice).values_list("pk", flat=True)[0],
    }
    with Service().running() as service:
        settings.TRANSLATE_URL = service.url
        yield ids


def _program(api_of, alice, keeper, path):
    """A program that may ask: of staff, where nobody else may."""
    if "/admin/" in path:
        return api_of(keeper, "admin:read admin:write")
    return api_of(keeper if "x/policies" in path else alice)


def _caller(api_of, alice, keeper, method, path):
    """A program that may ask, and has a subscription to change."""
    if (method, path) == ("post", "/api/v1/accounts"):
        return application_client()
    program = _program(api_of, alice, keeper, path)
    if path == "/api/x/webhooks/{webhook_id}":
        token = AccessToken.objects.latest("pk")
        Endpoint.objects.update(personal_token=token)  # a program changes only its own
    if (method, path) == ("put", "/api/v1/push/subscription"):
        program.post(path, {"subscription": SUBSCRIPTION}, format="json")
    return program


def _value(name, schema):
    """Something that does not end the request before the other parameters are read."""
    ids = {"max_id", "min_id", "since_id", "last_id", "account_id", "target_account_id", "id[]"}
    if name in ids:
        return str(2**60)
    known = {"limit": "5", "type": "", "timeline[]": "home", "after": "", "session": ""}
    known |= {"order": "new", "date": "2026-11-20", "until": "2026-11-20T00:00:00Z", "as_of": ""}
    known |= {
        "origin": "local",
        "status": "active",
        "permissions": "staff",
        "ip": "",
        "invited_by": "",
    }
    if name in known:
        return known[name]
    kind = schema.get("type")
    return {"boolean": "false", "integer": "1"}.get(kind, "river")


@pytest.mark.long
@pytest.mark.gate
def test_every_parameter_of_a_query_is_read(alice, api_of, document, world, recorded):
    keeper, ignored, looked_at = make_staff(handle="keeper", superuser=True), set(), 0
    for method, path, names in _queries(document):
        recorded.names.clear()
        query = "&".join(f"{name}={_value(name, schema)}" for name, schema in names.items())
        caller = _program(api_of, alice, keeper, path)
        address = path.format(**world)
        answer = getattr(caller, method)(f"{address}?{query}")
        assert answer.status_code in {200, 403, 404}, (path, query, answer.content)
        bare = {name.removesuffix("[]") for name in recorded.names if name}
        ignored |= {
            (method, path, name)
            for name in names.keys() - WITHOUT_EFFECT.keys()
            if name.removesuffix("[]") not in bare
        }
        looked_at += len(names)
    assert sorted(ignored) == []
    assert looked_at > 100


@pytest.mark.long
@pytest.mark.gate
def test_every_field_of_a_body_is_read(alice, api_of, document, world, recorded):
    samples, ignored = _samples(world), set()
    keeper = make_staff(handle="keeper", superuser=True)
    for method, path, names, _required in _bodies(document):
        if path in BY_LIBRARY:
            continue
        body = samples[method, path]
        sent = {name.partition("[")[0] for name in body}
        assert sent >= names - WITHOUT_EFFECT.keys(), (method, path, names - sent)
        recorded.names.clear()
        caller = _caller(api_of, alice, keeper, method, path)
        form = any(hasattr(value, "read") for value in body.values())
        answer = getattr(caller, method)(
            path.format(**world), body, format="multipart" if form else "json"
        )
        assert answer.status_code in {200, 422}, (method, path, answer.content)
        ignored |= {
            (method, path, name) for name in names - recorded.fields() - WITHOUT_EFFECT.keys()
        }
    assert sorted(ignored) == []


@pytest.mark.long
def test_null_and_blank_say_nothing_where_a_field_may_be_left_out(alice, api_of, document, world):
    keeper, samples = make_staff(handle="keeper", superuser=True), _samples(world)
    wrong, tried = [], 0
    for method, path, names, required in _bodies(document):
        if path in BY_LIBRARY:
            continue
        send = getattr(_caller(api_of, alice, keeper, method, path), method)
        sample = samples[method, path]
        for name, body in itertools.product(sorted(names - required), _saying_nothing(sample)):
            others = {key: value for key, value in body.items() if key.partition("[")[0] != name}
            usual = _status_of(send, path.format(**world), others)
            nothing = _status_of(send, path.format(**world), {**others, name: body[NOTHING]})
            tried += 1
            if nothing != usual:
                wrong.append((method, path, name, body[NOTHING], usual, nothing))
    assert wrong == []
    assert tried > 100


NOTHING = "nothing"


def _saying_nothing(sample):
    """A sample as a form where it needs a file, else as JSON without files, with what to say for nothing."""
    if "file" in sample:
        return [{**sample, NOTHING: ""}]
    sample = {name: value for name, value in sample.items() if not hasattr(value, "read")}
    return [{**sample, NOTHING: ""}, {**sample, NOTHING: None}]


def _status_of(send, address, body):
    """How a request ends; nothing stays of it."""
    body.pop(NOTHING, None)
    for value in body.values():
        if hasattr(value, "seek"):
            value.seek(0)
    with transaction.atomic():
        answer = send(address, body, format="multipart" if "file" in body else "json")
        transaction.set_rollback(True)
    return answer.status_code


def _samples(world):
    expires, words = {"expires_in": 3600}, [{"keyword": "tea", "whole_word": True}]
    old = {
        "phrase": "tea",
        "context": ["home"],
        "irreversible": False,
        "whole_word": True,
        **expires,
    }
    new = {"title": "Quiet", "context": ["home"], "filter_action": "warn", **expires}
    new["keywords_attributes"] = words
    named = {"title": "Others", "replies_policy": "list", "exclusive": False}
    rules = {
        f"{side}_{kind}": given
        for side in ("include", "exclude")
        for kind, given in (("people", ["bob"]), ("tags", ["tea"]), ("words", ["green tea"]))
    }
    collection = {
        "name": "People", "description": "Worth it.", "language": "en", "tag_name": "river", "sensitive": False,
        "discoverable": True,
    }  # fmt: skip
    feed = {
        "name": "Mine", "languages": ["en"], "only_media": False, "without_replies": False, "without_reposts": False,
        "public": True, "pinned": False, **rules,
    }  # fmt: skip
    policy = dict.fromkeys(
        (
            "for_not_following",
            "for_not_followers",
            "for_new_accounts",
            "for_private_mentions",
            "for_bots",
        ),
        "accept",
    )
    ip_block = {
        "ip": "203.0.113.0/24",
        "severity": "sign_up_block",
        "comment": "A wave.",
        "expires_in": 3600,
    }
    status = {
        "status": "Hello", "in_reply_to_id": None, "quoted_status_id": None, "visibility": "public", "media_ids": [],
        "poll": None, "circle_id": None, "spoiler_text": "", "sensitive": False, "language": "en",
        "quote_approval_policy": "nobody", "allowed_mentions": [], "scheduled_at": None,
    }  # fmt: skip
    edit = {
        "status": "Changed", "spoiler_text": "", "sensitive": False, "media_ids": [], "media_attributes": [],
        "poll": None, "language": "en", "quote_approval_policy": "public",
    }  # fmt: skip
    profile = {
        "display_name": "Alice", "note": "Hi", "locked": False, "bot": False, "discoverable": True, "indexable": True,
        "avatar_description": "Me", "header_description": "Hills", "show_media": True, "show_media_replies": True,
        "show_featured": True,
        "fields_attributes[0][name]": "Web", "fields_attributes[0][value]": "here", "hide_collections": False,
        "source[privacy]": "public", "avatar": _file(), "header": _file(),
    }  # fmt: skip
    upload = {"file": _file(), "description": "A square", "focus": "0,0"}
    return {
        ("post", "/api/v1/accounts"): {
            "username": "newcomer", "email": "new@example.org", "password": PASSWORD, "agreement": True, "locale": "en",
            "reason": "",
        },
        ("post", "/api/v1/accounts/{account_id}/follow"): {"reblogs": True, "notify": False, "languages": ["en"]},
        ("post", "/api/v1/accounts/{account_id}/mute"): {"notifications": True, "duration": 60},
        ("post", "/api/v1/accounts/{account_id}/note"): {"comment": "A friend"},
        ("patch", "/api/v1/accounts/update_credentials"): profile,
        ("patch", "/api/v1/profile"): {**profile, "avatar": _file(), "header": _file()},
        ("post", "/api/v1/domain_blocks"): {"domain": "example.com"},
        ("delete", "/api/v1/domain_blocks"): {"domain": "example.com"},
        ("post", "/api/v1/featured_tags"): {"name": "river"},
        ("post", "/api/v1/apps"): {
            "client_name": "Test", "redirect_uris": "urn:ietf:wg:oauth:2.0:oob", "scopes": "read", "website": "",
        },
        ("post", "/api/v1/filters"): old,
        ("put", "/api/v1/filters/{keyword_id}"): old,
        ("post", "/api/v1/lists"): named,
        ("put", "/api/v1/lists/{list_id}"): named,
        ("post", "/api/v1/lists/{list_id}/accounts"): {"account_ids": []},
        ("post", "/api/v1/markers"): {"home": {"last_read_id": "1"}, "notifications": {"last_read_id": "1"}},
        ("post", "/api/v1/media"): upload,
        ("post", "/api/v2/media"): {**upload, "file": _file()},
        ("put", "/api/v1/media/{media_id}"): {
            "description": "A square", "focus": "0,0", "captions": SimpleUploadedFile("a.vtt", CAPTIONS, "text/vtt"),
        },
        ("post", "/api/v1/notifications/requests/accept"): {"id": []},
        ("post", "/api/v1/notifications/requests/dismiss"): {"id": []},
        ("post", "/api/v1/polls/{poll_id}/votes"): {"choices": [0]},
        ("post", "/api/v1/push/subscription"): {
            "subscription": SUBSCRIPTION,
            "data": {"alerts": {"mention": True}}, "policy": "all",
        },
        ("put", "/api/v1/push/subscription"): {"data": {"alerts": {"poll": True}}, "policy": "followed"},
        ("post", "/api/v1/reports"): {
            "account_id": str(world["account_id"]), "status_ids": [], "comment": "", "category": "violation",
            "rule_ids": ["1"], "collection_ids": [],
        },
        ("put", "/api/v1/admin/reports/{report_id}"): {"category": "spam", "rule_ids": ["1"]},
        ("post", "/api/v1/admin/accounts/{account_id}/action"): {
            "type": "none", "text": "", "report_id": str(world["report_id"]), "warning_preset_id": "",
            "send_email_notification": True,
        },
        ("post", "/api/v1/admin/email_domain_blocks"): {"domain": "mail.example", "allow_with_approval": False},
        ("post", "/api/v1/admin/canonical_email_blocks"): {"email": "a@mail.example", "canonical_email_hash": ""},
        ("post", "/api/v1/admin/canonical_email_blocks/test"): {"email": "a@mail.example"},
        ("post", "/api/v1/admin/ip_blocks"): ip_block,
        ("put", "/api/v1/admin/ip_blocks/{block_id}"): ip_block,
        ("put", "/api/v1/scheduled_statuses/{number}"): {"scheduled_at": in_an_hour().isoformat()},
        ("post", "/api/v1/statuses"): status,
        ("put", "/api/v1/statuses/{status_id}"): edit,
        ("put", "/api/v1/statuses/{status_id}/interaction_policy"): {"quote_approval_policy": "nobody"},
        ("post", "/api/v1/statuses/{status_id}/translate"): {"lang": "zh"},
        ("post", "/api/v2/filters"): new,
        ("put", "/api/v2/filters/{filter_id}"): new,
        ("post", "/api/v2/filters/{filter_id}/keywords"): words[0],
        ("put", "/api/v2/filters/keywords/{keyword_id}"): words[0],
        ("post", "/api/v2/filters/{filter_id}/statuses"): {"status_id": str(world["status_id"])},
        ("patch", "/api/v2/notifications/policy"): policy,
        ("post", "/api/v1/collections"): {**collection, "account_ids": [str(world["account_id"])]},
        ("patch", "/api/v1/collections/{collection_id}"): collection,
        ("post", "/api/v1/collections/{collection_id}/items"): {"account_id": str(world["other_id"])},
        ("post", "/api/x/webhooks"): WEBHOOK,
        ("put", "/api/x/webhooks/{webhook_id}"): {**WEBHOOK, "enabled": True},
        ("post", "/api/x/feeds"): feed,
        ("put", "/api/x/feeds/{feed_id}"): feed,
        ("put", "/api/x/policies/{account_id}"): {"policy": "push", "reason": "A test."},
        ("put", "/api/x/policies/site"): {"policy": "push", "reason": "A test."},
        ("put", "/api/x/ranking/algorithm"): {"algorithm": "light"},
    }  # fmt: skip


def _file():
    return SimpleUploadedFile("square.png", picture(), "image/png")


def test_what_this_site_cannot_hide_is_refused(alice, api_of):
    program, address = api_of(alice), "/api/v1/accounts/update_credentials"
    for refused in ({"hide_collections": True}, {"show_media": False}, {"show_featured": False}):
        assert program.patch(address, refused, format="json").status_code == 422
    for asked in ({"hide_collections": "false"}, {"show_media": "true"}):
        assert program.patch(address, asked, format="json").status_code == 200
