"""The requests of Tusky, a client for Android, in its order and its encodings, read as strictly as it reads them."""

import json
from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from urllib3 import encode_multipart_formdata

from tests.flows.strict import Unreadable, read
from tests.support.factories import delivered
from tests.support.pictures import picture

pytestmark = pytest.mark.flows
SCOPES, HOME = "read write follow push", "oauth2redirect://app.example/"


class Tusky:
    """A client that sends requests to a site, and checks each answer against what it declares."""

    def __init__(self, address):
        self._host = urlsplit(address).netloc
        self.token, self.calls = "", 0
        self.app: dict[str, str] = {}

    def __call__(self, method, path, kind="", *, form=None, body=None, file=None, **headers):
        """The answer, as JSON; `form`: urlencoded, `body`: JSON, `file`: multipart."""
        data: str | bytes | None = None
        if form is not None:
            data, headers["Content-Type"] = urlencode(form), "application/x-www-form-urlencoded"
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json; charset=UTF-8"
        if file is not None:
            data, headers["Content-Type"] = encode_multipart_formdata(file)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = HTTPConnection(self._host, timeout=30)
        connection.request(method, f"/{path}", data, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status in {200, 202, 206}, (method, path, answer.status, text)
        found = json.loads(text)
        if kind:
            read(kind, found)
        self.calls += 1
        return found

    def log_in(self, user):
        """Register, let the user allow it in a browser, and exchange the code."""
        self("GET", "api/v2/instance", "Instance")
        program = {"client_name": "Tusky", "redirect_uris": HOME, "scopes": SCOPES, "website": ""}
        app = self.app = self("POST", "api/v1/apps", "App", form=program)
        asked = {
            "client_id": app["client_id"],
            "redirect_uri": HOME,
            "response_type": "code",
            "scope": SCOPES,
        }
        browser = Client()
        browser.force_login(user)
        back = browser.post(f"/oauth/authorize?{urlencode(asked)}", {"allow": "1"})
        [code] = parse_qs(urlsplit(back.headers["Location"]).query)["code"]
        form = {
            **app_keys(app),
            "redirect_uri": HOME,
            "code": code,
            "grant_type": "authorization_code",
        }
        self.token = self("POST", "oauth/token", "Token", form=form)["access_token"]


def app_keys(app):
    return {name: app[name] for name in ("client_id", "client_secret")}


@pytest.fixture
def tusky(served, alice, bob):
    """Logged in as alice, whom bob has mentioned."""
    delivered(bob, "@alice hello #tea https://example.org/", to=[alice])
    program = Tusky(served)
    program.log_in(alice)
    return program


def test_it_starts_and_reads_every_tab(tusky, bob):
    me = tusky("GET", "api/v1/accounts/verify_credentials", "Account")
    assert me["source"]["privacy"] == "public"
    tusky("GET", "api/v1/custom_emojis", "Emoji[]")
    tusky("GET", "api/v2/filters", "Filter[]")
    tusky("GET", "api/v1/announcements?with_dismissed=false", "Announcement[]")
    tusky("GET", "api/v1/markers?timeline[]=home&timeline[]=notifications")
    tusky("GET", "api/v1/timelines/home?limit=30", "Status[]")
    tusky("GET", "api/v1/timelines/public?local=true&limit=30", "Status[]")
    tusky("GET", "api/v1/timelines/public?limit=30", "Status[]")
    [tagged] = tusky("GET", "api/v1/timelines/tag/tea?local=false&limit=30", "Status[]")
    assert tusky("GET", f"api/v1/timelines/home?max_id={tagged['id']}&limit=30", "Status[]") == []
    assert tusky("GET", f"api/v1/timelines/home?min_id={tagged['id']}&limit=30", "Status[]") == []
    [mention] = tusky(
        "GET", "api/v1/notifications?limit=30&exclude_types[]=follow", "Notification[]"
    )
    tusky("GET", f"api/v1/notifications/{mention['id']}", "Notification")
    marked = tusky("POST", "api/v1/markers", form={"notifications[last_read_id]": mention["id"]})
    read("Marker", marked["notifications"])
    tusky("GET", "api/v1/conversations?limit=30", "Conversation[]")
    tusky("GET", "api/v1/trends/tags", "Trend[]")
    tusky("GET", "api/v1/trends/statuses", "Status[]")
    for path in ("favourites", "bookmarks"):
        tusky("GET", f"api/v1/{path}?limit=30", "Status[]")
    for path in ("blocks", "mutes", "follow_requests", f"accounts/{bob.pk}/followers"):
        tusky("GET", f"api/v1/{path}", "TimelineAccount[]")
    tusky("GET", "api/v1/domain_blocks")
    tusky("GET", "api/v1/followed_tags", "HashTag[]")
    tusky("GET", "api/v2/notifications/policy", "Policy")
    tusky("PATCH", "api/v2/notifications/policy", "Policy", form={"for_new_accounts": "filter"})
    assert tusky.calls >= 26


def test_it_writes_with_a_picture_and_edits(tusky):
    upload = tusky("POST", "api/v2/media", "Upload", file={
        "file": ("wall.png", picture(), "image/png"), "description": "A wall", "focus": "0.0,0.0"})  # fmt: skip
    tusky(
        "PUT",
        f"api/v1/media/{upload['id']}",
        "Attachment",
        form={"description": "A red wall", "focus": "0.1,0.2"},
    )
    tusky("GET", f"api/v1/media/{upload['id']}", "Upload")
    said = {
        "status": "Look.", "spoiler_text": "", "visibility": "public", "sensitive": False, "media_ids": [upload["id"]],
        "media_attributes": [], "language": "en",
    }  # fmt: skip
    key = {"Idempotency-Key": "tusky-1"}
    status = tusky("POST", "api/v1/statuses", "Status", body=said, **key)
    assert tusky("POST", "api/v1/statuses", "Status", body=said, **key)["id"] == status["id"]
    assert status["media_attachments"][0]["description"] == "A red wall"
    path = f"api/v1/statuses/{status['id']}"
    assert tusky("GET", f"{path}/source", "Source of a status")["text"] == "Look."
    changes = [{"id": upload["id"], "description": "A wall in red", "focus": "0.0,0.0"}]
    edited = tusky(
        "PUT", path, "Status", body={**said, "status": "Look again.", "media_attributes": changes}
    )
    assert edited["media_attachments"][0]["description"] == "A wall in red"
    assert len(tusky("GET", f"{path}/history", "Edit[]")) == 2
    for act in ("favourite", "unfavourite", "bookmark", "unbookmark", "reblog", "unreblog", "pin", "unpin", "mute",
                "unmute"):  # fmt: skip
        tusky("POST", f"{path}/{act}", "Status")
    answer = tusky(
        "POST",
        "api/v1/statuses",
        "Status",
        body={**said, "media_ids": [], "in_reply_to_id": status["id"]},
    )
    assert [one["id"] for one in tusky("GET", f"{path}/context", "Context")["descendants"]] == [
        answer["id"]
    ]
    tusky("GET", f"{path}/reblogged_by", "TimelineAccount[]")
    tusky("GET", f"{path}/favourited_by", "TimelineAccount[]")
    assert tusky("DELETE", path, "Deleted")["text"] == "Look again."
    poll = {"options": ["Red", "Green"], "expires_in": 3600, "multiple": False}
    asked = tusky("POST", "api/v1/statuses", "Status", body={**said, "media_ids": [], "poll": poll})
    assert [one["title"] for one in asked["poll"]["options"]] == ["Red", "Green"]
    later = {
        **said,
        "media_ids": [],
        "scheduled_at": (timezone.now() + timedelta(hours=1)).isoformat(),
    }
    scheduled = tusky("POST", "api/v1/statuses", "Scheduled", body=later)
    assert len(tusky("GET", "api/v1/scheduled_statuses?limit=30", "Scheduled[]")) == 1
    tusky("DELETE", f"api/v1/scheduled_statuses/{scheduled['id']}")


def test_it_deals_with_people_lists_filters_and_its_own_profile(tusky, alice, bob):
    path = f"api/v1/accounts/{bob.pk}"
    tusky("GET", path, "Account")
    tusky("GET", f"api/v1/accounts/relationships?id[]={bob.pk}", "Relationship[]")
    for query in ("exclude_replies=true", "only_media=true", "pinned=true", ""):
        tusky("GET", f"{path}/statuses?limit=30&{query}", "Status[]")
    for act, form in (("follow", {"reblogs": "true", "notify": "true"}), ("note", {"comment": "A friend"}),
                      ("mute", {"notifications": "true", "duration": "300"}), ("unmute", {}), ("block", {}),
                      ("unblock", {}), ("follow", {}), ("unfollow", {})):  # fmt: skip
        tusky("POST", f"{path}/{act}", "Relationship", form=form)
    new = tusky(
        "POST",
        "api/v1/lists",
        "List",
        form={"title": "Mine", "exclusive": "false", "replies_policy": "list"},
    )
    tusky("POST", f"{path}/follow", "Relationship", form={})
    tusky("POST", f"api/v1/lists/{new['id']}/accounts", form={"account_ids[]": bob.pk})
    tusky("GET", f"api/v1/lists/{new['id']}/accounts?limit=0", "TimelineAccount[]")
    tusky("GET", f"{path}/lists", "List[]")
    tusky("GET", f"api/v1/timelines/list/{new['id']}?limit=30", "Status[]")
    tusky("PUT", f"api/v1/lists/{new['id']}", "List", form={"title": "Ours", "exclusive": "true"})
    tusky("DELETE", f"api/v1/lists/{new['id']}/accounts", form={"account_ids[]": bob.pk})
    tusky("DELETE", f"api/v1/lists/{new['id']}")
    made = tusky("POST", "api/v2/filters", "Filter", form={
        "title": "Quiet", "context[]": "home", "filter_action": "warn", "expires_in": "3600"})  # fmt: skip
    word = tusky(
        "POST",
        f"api/v2/filters/{made['id']}/keywords",
        "Keyword",
        form={"keyword": "tea", "whole_word": "true"},
    )
    tusky(
        "PUT",
        f"api/v2/filters/keywords/{word['id']}",
        "Keyword",
        form={"keyword": "hello", "whole_word": "true"},
    )
    tusky(
        "PUT",
        f"api/v2/filters/{made['id']}",
        "Filter",
        form={"title": "Quiet", "context[]": "home", "filter_action": "blur"},
    )
    [filtered] = tusky("GET", f"{path}/statuses", "Status[]")
    assert filtered["filtered"] is not None
    tusky("DELETE", f"api/v2/filters/keywords/{word['id']}")
    tusky("DELETE", f"api/v2/filters/{made['id']}")
    changed = tusky("PATCH", "api/v1/accounts/update_credentials", "Account", file={
        "display_name": "Alice", "note": "Hi", "locked": "false", "fields_attributes[0][name]": "Web",
        "fields_attributes[0][value]": "here", "avatar": ("me.png", picture(), "image/png")})  # fmt: skip
    assert (changed["display_name"], changed["fields"][0]["name"]) == ("Alice", "Web")
    tusky(
        "PATCH",
        "api/v1/accounts/update_credentials",
        "Account",
        form={"source[privacy]": "unlisted"},
    )
    found = tusky(
        "GET",
        "api/v2/search?q=bob&type=accounts&resolve=true&limit=10&offset=0&following=false",
        "Search",
    )
    assert [one["acct"] for one in found["accounts"]] == ["bob"]
    tusky("GET", "api/v1/accounts/search?q=bo&resolve=false&limit=10", "TimelineAccount[]")
    tusky("GET", "api/v1/tags/tea", "HashTag")
    assert tusky("POST", "api/v1/tags/tea/follow", "HashTag")["following"] is True
    tusky("POST", "api/v1/tags/tea/unfollow", "HashTag")
    report = {
        "account_id": bob.pk,
        "status_ids[]": filtered["id"],
        "comment": "Look",
        "forward": "false",
    }
    tusky("POST", "api/v1/reports", form=report)
    tusky("POST", "oauth/revoke", form={**app_keys(tusky.app), "token": tusky.token})
    with pytest.raises(AssertionError, match="401"):
        tusky("GET", "api/v1/accounts/verify_credentials")


@pytest.mark.parametrize(("kind", "value"), [
    ("Rule", {"id": 1, "text": "Be kind."}),
    ("Rule", {"id": "1"}),
    ("Field", {"name": "Web", "value": None}),
    ("Field", {"name": "Web", "value": "here", "verified_at": "yesterday"}),
    ("Policy", {"for_not_following": "maybe"}),
    ("PollOption[]", {"title": "Red"}),
    ("Summary", {"pending_requests_count": True, "pending_notifications_count": 0}),
])  # fmt: skip
def test_what_it_could_not_read_is_an_error(kind, value):
    with pytest.raises(Unreadable, match=r"\.| is no"):
        read(kind, value)
