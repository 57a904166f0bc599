"""What clients of Mastodon's API count on:
own threads on profiles, media columns, whom a post may reach, who may quote it.
"""

from io import BytesIO

import pytest

from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.models import FollowRequest
from apps.moderation.house_rules import RULES
from apps.moderation.models import Report
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Post
from tests.api.test_endpoints import application_client, in_an_hour
from tests.support.cases import each
from tests.support.factories import PASSWORD, deliver, make_user, publish, show_to_author
from tests.support.pages import answered_ids as ids
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

STATUSES = "/api/v1/statuses"


def pictured(author, body="A picture.", **draft):
    return publish(author, body, media_ids=[upload_picture(author, BytesIO(picture())).pk], **draft)


@pytest.mark.parametrize("visibility", ["public", "followers"])
def test_ones_own_thread_is_no_reply(alice, bob, api_of, visibility):
    first = publish(alice, "1/3", visibility=visibility)
    second = publish(alice, "2/3", reply_to_id=first.pk)
    publish(alice, "@bob no", reply_to_id=publish(bob, "Hello?").pk)
    third = publish(alice, "3/3", reply_to_id=second.pk)
    for post in Post.objects.filter(author=alice):
        show_to_author(post)
    own_thread = [third.pk, second.pk, first.pk]
    for extra in ("", "&exclude_reblogs=true"):  # from the caches, and from PostgreSQL
        address = f"/api/v1/accounts/{alice.pk}/statuses?exclude_replies=true{extra}"
        for _warm in range(2):
            assert ids(api_of(alice).get(address)) == own_thread
    if visibility == "public":
        assert ids(api_of(None).get(address)) == own_thread


def test_a_column_of_pictures_has_pictures_only(alice, bob, api_of):
    shown = [pictured(alice), pictured(bob, "Look", quote_of_id=publish(alice).pk), pictured(bob)]
    publish(bob, "Words only.")
    pictured(bob, "Not for all.", visibility="unlisted")
    program = api_of(None)
    newest_first = [post.pk for post in reversed(shown)]
    assert ids(program.get("/api/v1/timelines/public?only_media=true")) == newest_first
    page = program.get("/api/v1/timelines/public?only_media=true&limit=2")
    assert ids(page) == newest_first[:2]
    below = f"/api/v1/timelines/public?only_media=true&max_id={newest_first[1]}"
    assert ids(program.get(below)) == newest_first[2:]


def test_there_are_no_posts_of_other_sites(alice, api_of):
    post = publish(alice, "#river")
    for timeline in ("public", "tag/river"):
        address = f"/api/v1/timelines/{timeline}"
        assert ids(api_of(None).get(f"{address}?remote=true")) == []
        assert ids(api_of(None).get(f"{address}?local=true")) == [post.pk]


def test_whom_one_blocks_is_found_by_the_whole_handle(alice, carol, api_of):
    block_user(alice, carol)
    program = api_of(alice)
    for address in ("/api/v1/accounts/search?q=", "/api/v2/search?type=accounts&q="):

        def found(text, who=program, address=address):
            body = who.get(f"{address}{text}").json()
            return [one["username"] for one in (body if "v1" in address else body["accounts"])]

        assert found("carol") == found("@carol") == ["carol"]
        assert found("caro") == []
        assert found("alice", api_of(carol)) == []  # the blocked one does not find the blocker


def test_a_text_that_names_others_is_not_published(alice, bob, carol, api_of):
    program, text = api_of(alice), "@bob @carol see you at eight"
    asked = {"status": text, "allowed_mentions": [str(bob.pk)]}
    answer = program.post(STATUSES, asked, format="json")
    assert answer.status_code == 422
    assert [one["acct"] for one in answer.json()["unexpected_accounts"]] == ["carol"]
    assert answer.json()["errors"][0]["field"] == "allowed_mentions"
    later = {**asked, "scheduled_at": in_an_hour().isoformat()}
    assert program.post(STATUSES, later, format="json").status_code == 422
    assert not Post.objects.exists()
    both = {"status": text, "allowed_mentions": [str(bob.pk), str(carol.pk)]}
    assert program.post(STATUSES, both, format="json").status_code == 200


def test_nobody_is_allowed_but_oneself(alice, api_of):
    asked = {"status": "@alice a note", "allowed_mentions": []}
    assert api_of(alice).post(STATUSES, asked, format="json").status_code == 200


@pytest.mark.long
@each(
    ("policy", "follower", "stranger"),
    [("public", 200, 200), ("followers", 200, 403), ("nobody", 403, 403)],
)
def test_who_may_quote_is_for_the_author_to_say(
    alice, bob, carol, api_of, policy, follower, stranger
):
    asked = {"status": "Quote me", "quote_approval_policy": policy}
    made = api_of(alice).post(STATUSES, asked, format="json").json()
    quoting = {"status": "Well", "quoted_status_id": made["id"]}
    for who, expected in ((bob, follower), (carol, stranger), (alice, 200)):
        said = api_of(who).get(f"{STATUSES}/{made['id']}").json()["quote_approval"]
        assert said["automatic"] == ([] if policy == "nobody" else [policy])
        assert said["current_user"] == ("automatic" if expected == 200 else "denied")
        assert api_of(who).post(STATUSES, quoting, format="json").status_code == expected
        listed = api_of(who).get(f"/api/v1/accounts/{alice.pk}/statuses").json()
        assert listed[-1]["quote_approval"] == said


def test_who_may_quote_can_be_changed_later(alice, carol, api_of):
    made = api_of(alice).post(STATUSES, {"status": "Quote me"}, format="json").json()
    address = f"{STATUSES}/{made['id']}/interaction_policy"
    quoting = {"status": "Well", "quoted_status_id": made["id"]}
    assert api_of(carol).post(STATUSES, quoting, format="json").status_code == 200
    closed = api_of(alice).put(address, {"quote_approval_policy": "nobody"}, format="json").json()
    assert closed["quote_approval"]["automatic"] == []
    assert closed["edited_at"] is None
    assert api_of(carol).post(STATUSES, quoting, format="json").status_code == 403
    edit = {"status": "Quote me again", "quote_approval_policy": "public"}
    api_of(alice).put(f"{STATUSES}/{made['id']}", edit, format="json")
    assert api_of(carol).post(STATUSES, quoting, format="json").status_code == 200
    assert api_of(carol).put(address, edit, format="json").status_code == 404
    assert (
        api_of(alice).put(address, {"quote_approval_policy": "x"}, format="json").status_code == 422
    )


def test_one_who_stops_following_cannot_quote_any_more(alice, bob, api_of):
    asked = {"status": "Quote me", "quote_approval_policy": "followers"}
    made = api_of(alice).post(STATUSES, asked, format="json").json()
    unfollow_user(bob, alice)
    quoting = {"status": "Well", "quoted_status_id": made["id"]}
    assert api_of(bob).post(STATUSES, quoting, format="json").status_code == 403


def test_nobody_is_quoted_behind_their_back(alice, bob, carol, api_of):
    quoted = publish(alice, "Hello")
    asked = {
        "status": "@bob look at this",
        "visibility": "direct",
        "quoted_status_id": str(quoted.pk),
    }
    answer = api_of(carol).post(STATUSES, asked, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "not_mentioned")
    asked["status"] += " @alice"
    assert api_of(carol).post(STATUSES, asked, format="json").status_code == 200
    own = {**asked, "status": "@bob again"}
    assert api_of(alice).post(STATUSES, own, format="json").status_code == 200


def test_rules_are_told_to_programs_and_named_by_reports(alice, bob, api_of, client):
    rules = client.get("/api/v1/instance/rules").json()
    assert [one["text"] for one in rules] == list(RULES.values())
    assert client.get("/api/v2/instance").json()["rules"] == rules
    assert client.get("/api/v1/instance").json()["rules"] == rules
    chinese = client.get("/api/v1/instance/rules", headers={"Accept-Language": "zh-Hans"}).json()
    assert [one["id"] for one in chinese] == [one["id"] for one in rules]
    assert not {one["text"] for one in chinese} & {one["text"] for one in rules}
    page = client.get("/rules").content.decode()
    assert all(one["text"].split(",")[0].split("'")[0] in page for one in rules)
    asked = {"account_id": str(bob.pk), "rule_ids": ["2", "5"]}
    report = api_of(alice).post("/api/v1/reports", asked, format="json").json()
    assert (report["rule_ids"], report["category"]) == (["2", "5"], "violation")
    assert Report.objects.get().rule_ids == [2, 5]
    asked["rule_ids"] = ["99"]
    assert api_of(alice).post("/api/v1/reports", asked, format="json").status_code == 422


def test_sign_up_forms_hear_which_field_is_empty():
    asked = {"username": "", "email": "new@example.org", "password": PASSWORD, "agreement": True}
    answer = application_client().post("/api/v1/accounts", asked, format="json")
    assert answer.status_code == 422
    assert [one["error"] for one in answer.json()["details"]["username"]] == ["ERR_BLANK"]
    answer = application_client().post("/api/v1/accounts", {}, format="json")
    codes = {name: found[0]["error"] for name, found in answer.json()["details"].items()}
    assert codes == dict.fromkeys(["username", "email", "password"], "ERR_BLANK")
    refused = {**asked, "username": "newcomer", "agreement": False}
    details = (
        application_client().post("/api/v1/accounts", refused, format="json").json()["details"]
    )
    assert details["agreement"][0]["error"] == "ERR_ACCEPTED"


def test_one_who_is_asked_can_be_in_a_list(alice, api_of):
    locked = make_user()
    locked.is_locked = True
    locked.save()
    follow_user(alice, locked)
    assert FollowRequest.objects.get().requester == alice
    program = api_of(alice)
    made = program.post("/api/v1/lists", {"title": "Soon"}, format="json").json()
    address = f"/api/v1/lists/{made['id']}/accounts"
    asked = {"account_ids": [str(locked.pk)]}
    assert program.post(address, asked, format="json").status_code == 200
    assert ids(program.get(address)) == [locked.pk]
    assert ids(program.get(f"/api/v1/timelines/list/{made['id']}")) == []
    api_of(locked).post(f"/api/v1/follow_requests/{alice.pk}/reject")
    deliver()
    assert ids(program.get(address)) == []


def test_pictures_may_be_drawn_by_clients_in_browsers(alice, client, api_of):
    asked = {"description": ""}
    with BytesIO(picture()) as file:
        file.name = "square.png"
        made = (
            api_of(alice).post("/api/v2/media", {**asked, "file": file}, format="multipart").json()
        )
    post = {"status": "Look", "media_ids": [made["id"]]}
    api_of(alice).post(STATUSES, post, format="json")
    shown = client.get(f"/api/v1/accounts/{alice.pk}/statuses").json()[0]["media_attachments"][0]
    path = shown["url"].removeprefix("http://testserver")
    for headers in ({}, {"Origin": "https://elk.example", "Cookie": "lang=zh-hans"}):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200
        assert answer.getvalue()
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Vary" not in answer.headers  # one copy in a shared cache serves everybody
        assert "Content-Language" not in answer.headers
