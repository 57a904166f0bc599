import json
from datetime import timedelta
from http import HTTPStatus

import pytest
from django.utils import timezone

from apps.accounts.actions import update_profile
from apps.api.entities.account import AccountJson
from apps.api.entities.status import FROM_MASTODON, DeletedStatusJson, StatusJson
from apps.posts.actions.edit import edit_post
from apps.posts.models import Post
from tests.support.factories import make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db
from tests.support.cases import each
from tools.bench.site import trips

STATUSES = "/api/v1/statuses"


@pytest.fixture
def api(alice, api_of):
    return api_of(alice)


def post_json(api, body, **headers):
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return api.post(STATUSES, data, content_type="application/json", headers=headers)


def test_a_status_has_exactly_the_fields_of_its_schema(alice, bob, api):
    source = publish(
        alice, "hello @bob #tag https://example.org", content_warning="cw", language="en"
    )
    quote = publish(bob, quote_of_id=source.pk)
    wrapper = repost(bob, source.pk)
    answer = publish(bob, reply_to_id=source.pk)
    fields = set(StatusJson.__required_keys__)
    for post in (source, quote, wrapper, answer):
        body = api.get(f"{STATUSES}/{post.pk}").json()
        assert set(body) == fields
        assert set(body["account"]) == AccountJson.__required_keys__
    inner = api.get(f"{STATUSES}/{wrapper.pk}").json()["reblog"]
    assert (set(inner), inner["id"]) == (fields, str(source.pk))


def test_a_status_says_what_it_is(alice, bob, api):
    post = publish(alice, "hello @bob #tag", content_warning="cw", language="en")
    body = api.get(f"{STATUSES}/{post.pk}").json()
    assert (body["id"], body["visibility"], body["spoiler_text"], body["sensitive"], body["language"]) == (
        str(post.pk), "public", "cw", True, "en",
    )  # fmt: skip
    assert body["mentions"] == [
        {"id": str(bob.pk), "username": "bob", "acct": "bob", "url": "http://testserver/@bob"}
    ]
    assert body["content"] == (
        '<p>hello <a class="u-url mention" href="http://testserver/@bob">@bob</a> '
        '<a class="mention hashtag" href="http://testserver/tags/tag" rel="tag">#<span>tag</span></a></p>'
    )
    assert [tag["name"] for tag in body["tags"]] == ["tag"]
    assert body["url"] == f"http://testserver/@alice/{post.pk}"
    assert body["created_at"].endswith("Z")
    assert body["edited_at"] is None


OURS = {
    ("circle", "circle"),
    ("friends", "friends"),
}  # Mastodon has no word for them: programs read "private"


@each(("theirs", "ours"), sorted(set(FROM_MASTODON.items()) - OURS))
def test_visibilities_are_mastodons_words_both_ways(api, theirs, ours):
    body = post_json(api, {"status": "hello", "visibility": theirs}).json()
    assert body["visibility"] == theirs
    assert Post.objects.get(pk=body["id"]).visibility == ours


@pytest.mark.slow
@each("visibility", ["followers", "mentioned", "everybody", "PUBLIC", 5, []])
def test_other_words_are_refused(api, visibility):
    answer = post_json(api, {"status": "hello", "visibility": visibility})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["visibility"]
    assert "ErrorDetail" not in answer.content.decode()


def test_json_form_and_multipart_bodies_are_the_same(api):
    fields = {"status": "hello", "visibility": "unlisted", "spoiler_text": "cw"}
    answers = [
        post_json(api, fields),
        api.post(
            STATUSES,
            "status=hello&visibility=unlisted&spoiler_text=cw",
            content_type="application/x-www-form-urlencoded",
        ),
        api.post(STATUSES, fields, format="multipart"),
    ]
    assert [answer.status_code for answer in answers] == [200] * 3
    shapes = [
        {key: answer.json()[key] for key in ("content", "visibility", "spoiler_text")}
        for answer in answers
    ]
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.long
@each(
    "body",
    [b"{", b"null", b"[]", b'"x"', b"5", b"NaN", b'{"status": NaN}', b'{"status": "\\ud800"}', b'{"status": "\\u0000"}',
     b'{"status": "\xff"}', b'{"\\u0000": "x", "status": "hello"}',
     b'{"status": "hello", "poll": {"options": ["\\u0000"]}}',
     b"\xef\xbb\xbf{}", b'{"status": "hello"} trailing', b"{" * 100_000, b'{"a":' * 5000 + b"1" + b"}" * 5000,
     b"[" * 100_000 + b"]" * 100_000, b'{"status": "' + b"x" * (1024 * 1024) + b'"}'],
)  # fmt: skip
def test_what_is_no_sound_json_object_is_refused(api, body):
    answer = post_json(api, body)
    assert answer.status_code in {400, 413}
    assert answer.json()["status"] == answer.status_code
    assert not Post.objects.exists()


def test_no_body_is_an_empty_one(api):
    assert post_json(api, b"").status_code == 422


@pytest.mark.long
@pytest.mark.gate
@each(
    "fields",
    [{}, {"status": ""}, {"status": "  \n"}, {"status": None}, {"status": []}, {"status": {"a": 1}}, {"status": True},
     {"status": "x" * 501}, {"status": "x" * 100_000}, {"status": "ok", "spoiler_text": "x" * 201},
     {"status": "ok", "language": "english please"}, {"status": "ok", "language": "e"},
     {"status": "ok", "in_reply_to_id": "abc"}, {"status": "ok", "in_reply_to_id": "-1"},
     {"status": "ok", "in_reply_to_id": "9" * 19}, {"status": "ok", "in_reply_to_id": 5.5},
     {"status": "ok", "in_reply_to_id": "99"}, {"status": "ok", "quoted_status_id": "٣"}],
)  # fmt: skip
def test_fields_that_break_a_rule_are_refused_by_name(api, fields):
    answer = post_json(api, fields)
    assert answer.status_code in {400, 404, 422}
    body = answer.json()
    assert body["error"] == body["detail"]
    assert (body["type"], body["title"]) == ("about:blank", HTTPStatus(body["status"]).phrase)
    assert body["error"]
    assert "ErrorDetail" not in body["error"]
    assert not Post.objects.exists()


def test_unknown_fields_are_ignored(api):
    assert (
        post_json(
            api, {"status": "hello", "scheduled_at": None, "media_ids": [], "x": {"y": [1]}}
        ).status_code
        == 200
    )


def test_the_same_idempotency_key_is_the_same_status(api):
    headers = {"Idempotency-Key": "abc"}
    first, second = (post_json(api, {"status": "hello"}, **headers).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert Post.objects.count() == 1
    refused = post_json(api, {"status": "other"}, **headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert post_json(api, {"status": "hello"}, **{"Idempotency-Key": "k" * 300}).status_code == 422


def test_a_key_belongs_to_its_account(api, carol, api_of):
    first = post_json(api, {"status": "hello"}, **{"Idempotency-Key": "abc"}).json()
    second = post_json(api_of(carol), {"status": "hello"}, **{"Idempotency-Key": "abc"}).json()
    assert first["id"] != second["id"]


def test_authors_find_their_status_at_home_at_once(api):
    api.get("/api/v1/timelines/home")
    made = post_json(api, {"status": "hello"}).json()
    assert [one["id"] for one in api.get("/api/v1/timelines/home").json()] == [made["id"]]


def test_an_edit_shows_at_once(alice, api):
    post = publish(alice, "before", content_warning="cw", language="en")
    answer = api.put(f"{STATUSES}/{post.pk}", {"status": "after"}, format="json")
    body = answer.json()
    assert (body["content"], body["spoiler_text"], body["language"]) == ("<p>after</p>", "cw", "en")
    assert body["edited_at"]
    assert api.get(f"{STATUSES}/{post.pk}").json() == body


@pytest.mark.slow
@each("body", [{}, {"status": ""}, {"status": None}, {"status": "ok", "language": "x" * 30}])
def test_an_edit_that_breaks_a_rule_is_refused(alice, api, body):
    post = publish(alice, "before")
    assert api.put(f"{STATUSES}/{post.pk}", body, format="json").status_code in {400, 422}
    post.refresh_from_db()
    assert (post.body, post.version) == ("before", 1)


def test_an_edit_by_form_is_guarded_like_one_by_json(alice, api):
    post = publish(alice, "before")
    for raw in ("status=a%00b", "status=%FF"):
        answer = api.put(
            f"{STATUSES}/{post.pk}", raw, content_type="application/x-www-form-urlencoded"
        )
        assert answer.status_code == 400
    post.refresh_from_db()
    assert post.body == "before"


def test_a_delete_answers_with_the_source_text(alice, api):
    post = publish(alice, "hello <b>")
    body = api.delete(f"{STATUSES}/{post.pk}").json()
    assert (body["id"], body["text"]) == (str(post.pk), "hello <b>")
    assert set(body) == DeletedStatusJson.__required_keys__
    assert api.get(f"{STATUSES}/{post.pk}").status_code == 404
    assert api.delete(f"{STATUSES}/{post.pk}").status_code == 404


@pytest.mark.parametrize(("do", "undo", "flag", "count"), [
    ("favourite", "unfavourite", "favourited", "favourites_count"),
    ("bookmark", "unbookmark", "bookmarked", None),
])  # fmt: skip
def test_acts_are_idempotent_and_answer_with_the_new_state(
    alice, carol, api_of, do, undo, flag, count
):
    post, client = publish(alice), api_of(carol)
    for act, on in ((do, True), (do, True), (undo, False), (undo, False)):
        body = client.post(f"{STATUSES}/{post.pk}/{act}").json()
        assert body[flag] is on
        if count:
            assert body[count] == int(on)


def test_a_reblog_answers_with_the_new_wrapper_and_an_unreblog_with_the_original(
    alice, carol, api_of
):
    post, client = publish(alice), api_of(carol)
    first, second = (client.post(f"{STATUSES}/{post.pk}/reblog").json() for _ in range(2))
    assert first["id"] == second["id"] != str(post.pk)
    assert (
        first["reblog"]["id"],
        first["reblog"]["reblogged"],
        first["reblog"]["reblogs_count"],
    ) == (str(post.pk), True, 1)
    undone = client.post(f"{STATUSES}/{post.pk}/unreblog").json()
    assert (undone["id"], undone["reblogged"], undone["reblogs_count"]) == (str(post.pk), False, 0)


def test_a_restricted_post_is_not_reblogged(alice, bob, api_of):
    post = publish(alice, visibility="followers")
    answer = api_of(bob).post(f"{STATUSES}/{post.pk}/reblog")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


def test_a_context_is_ancestors_from_the_first_and_descendants(alice, bob, api):
    root = publish(alice)
    middle = publish(bob, reply_to_id=root.pk)
    leaf = publish(alice, reply_to_id=middle.pk)
    body = api.get(f"{STATUSES}/{middle.pk}/context").json()
    assert [one["id"] for one in body["ancestors"]] == [str(root.pk)]
    assert [one["id"] for one in body["descendants"]] == [str(leaf.pk)]


def test_a_quote_of_a_hidden_post_says_so(alice, carol, api_of):
    enemy = make_user()
    quote = publish(carol, quote_of_id=publish(alice, "secret words").pk)
    body = api_of(enemy).get(f"{STATUSES}/{quote.pk}").json()
    assert (body["quote"]["state"], body["quote"]["quoted_status"]["content"]) == (
        "accepted",
        "<p>secret words</p>",
    )
    suspend(alice)
    answer = api_of(enemy).get(f"{STATUSES}/{quote.pk}")
    assert answer.json()["quote"] == {"state": "unauthorized", "quoted_status": None}
    assert b"secret" not in answer.content


def test_posting_too_fast_says_when_to_come_back(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (1, 60)}
    assert post_json(api, {"status": "hello"}).status_code == 200
    answer = post_json(api, {"status": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    assert 0 < int(answer.headers["Retry-After"]) <= 60


def test_the_limit_of_posts_is_counted_with_the_request(alice, api, settings):
    """In one round trip once the process knows the token; a repeated request costs nothing, a page shares the count."""
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (4, 60)}
    post_json(api, {"status": "The token is not known yet."})
    with trips.counted() as found:
        post_json(api, {"status": "Known."})
    assert found.by_server[trips.REDIS] == 2
    keyed = {"Idempotency-Key": "one"}
    for _time in range(3):
        assert post_json(api, {"status": "Once."}, **keyed).status_code == 200
    publish(alice, "Not by the API.")
    assert post_json(api, {"status": "The fifth."}).status_code == 429
    assert post_json(api, {"status": "Once."}, **keyed).status_code == 200


def test_what_publishes_nothing_does_not_count_as_a_post(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (2, 60)}
    assert post_json(api, {"status": "The token is not known yet."}).status_code == 200
    now = timezone.now()
    later, soon = [(now + timedelta(minutes=minutes)).isoformat() for minutes in (60, 1)]
    for body, status in (
        ({"status": "Later.", "scheduled_at": later}, 200),
        ({"status": "Too soon.", "scheduled_at": soon}, 422),
        ({"status": ""}, 422),
        ({"status": "Hello.", "visibility": "nowhere"}, 422),
    ):
        assert [post_json(api, body).status_code for _time in range(2)] == [status] * 2, body
    assert post_json(api, {"status": "The second."}).status_code == 200
    assert post_json(api, {"status": "The third."}).status_code == 429


def test_reposts_count_as_posts(alice, bob, api, settings):
    first, second = publish(bob), publish(bob)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (1, 60)}
    assert api.post(f"{STATUSES}/{first.pk}/reblog").status_code == 200
    assert api.post(f"{STATUSES}/{second.pk}/reblog").status_code == 429


def test_html_of_a_status_runs_nothing(alice, api):
    post = publish(alice, "<script>alert(1)</script> <img src=x onerror=alert(1)> <div hx-get=/x>")
    content = api.get(f"{STATUSES}/{post.pk}").json()["content"]
    assert "<script" not in content
    assert "<img" not in content
    assert "<div" not in content
    edit_post(alice, post.pk, body="javascript:alert(1)")
    assert "href" not in api.get(f"{STATUSES}/{post.pk}").json()["content"]


def test_what_a_post_does_not_say_its_author_has_said_before(alice, api):
    update_profile(alice, post_visibility="unlisted", post_sensitive=True, post_language="zh")
    body = post_json(api, {"status": "hello"}).json()
    assert (body["visibility"], body["sensitive"], body["language"]) == ("unlisted", True, "zh")
    said = {"status": "hello", "visibility": "public", "sensitive": False, "language": "en"}
    body = post_json(api, said).json()
    assert (body["visibility"], body["sensitive"], body["language"]) == ("public", False, "en")


def test_null_and_blank_inside_a_poll_say_nothing(api):
    poll = {"options": ["a", "b"], "expires_in": 600, "multiple": None, "hide_totals": ""}
    answer = post_json(api, {"status": "Which?", "poll": poll, "visibility": "", "language": None})
    assert answer.status_code == 200
    assert answer.json()["poll"]["multiple"] is False
