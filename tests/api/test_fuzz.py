"""Ids, cursors, texts and sizes that nobody thought of: a clear answer to each, and never a failure of ours."""

import json
from itertools import product
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from apps.posts.models import Post
from tests.api.test_endpoints import ENDPOINTS, base
from tests.support.cases import each
from tests.support.factories import publish

pytestmark = pytest.mark.django_db
EXAMPLES = hypothesis_settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

DIGITS = "0123456789٠١٢٣۴५０１²"
NUMBERS = (
    st.integers(-(2**70), 2**70).map(str)
    | st.sampled_from([0, 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64]).map(str)
    | st.text(DIGITS + "-+_. eE", min_size=1, max_size=30)
    | st.text("0123456789", min_size=4000, max_size=4400)
)
ANYTHING = st.text(min_size=1, max_size=40)  # of every plane, controls too; no lone surrogates
IDS = NUMBERS | ANYTHING
CURSORS = ["max_id", "min_id", "since_id", "limit", "offset"]
LISTS = ["timelines/home", "timelines/public", "timelines/tag/tea", "bookmarks", "favourites", "notifications",
         "conversations", "scheduled_statuses", "followed_tags", "blocks", "mutes", "endorsements", "v2/notifications",
         "trends/statuses"]  # fmt: skip
WITH_IDS = sorted({(method, address) for method, address, _needs in ENDPOINTS if "<int:" in address})  # fmt: skip


@pytest.fixture
def api(alice, bob, api_of, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    publish(bob, "#tea")
    return api_of(alice)


def is_clear(answer):
    """An answer, or a refusal that says what is wrong."""
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.json()["status"] == answer.status_code
        assert answer.json()["error"]
    return answer


@pytest.mark.long
@EXAMPLES
@given(which=st.sampled_from(WITH_IDS), text=IDS)
def test_ids(api, which, text):
    method, address = which
    head, _sep, tail = address.partition("<int:")
    path = head + quote(text, safe="") + tail.partition(">")[2].replace("<str:emoji>", "%F0%9F%91%8D")  # fmt: skip
    answer = is_clear(api.generic(method, base(address) + path, b"{}", "application/json"))
    is_number = text.isascii() and text.isdecimal() and not text.startswith("0")
    assert is_number or answer.status_code in {
        400,
        403,
        404,
        405,
        422,
    }  # whoever may not, and an empty body


@pytest.mark.slow
@EXAMPLES
@given(
    address=st.sampled_from(LISTS),
    asked=st.lists(st.tuples(st.sampled_from(CURSORS), IDS), max_size=3),
)
def test_cursors(api, address, asked):
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked)
    answer = is_clear(api.get(f"{base(address)}{address}?{query}"))
    assert answer.status_code in {200, 400}
    if answer.status_code == 200 and isinstance(answer.json(), list):
        assert len(answer.json()) <= 40


@pytest.mark.long
@EXAMPLES
@given(text=st.text(max_size=600), warning=st.text(max_size=80))
def test_what_is_written_is_kept_as_it_is_or_refused(api, text, warning):
    answer = is_clear(
        api.post("/api/v1/statuses", {"status": text, "spoiler_text": warning}, format="json")
    )
    if answer.status_code != 200:
        assert answer.status_code in {400, 422}
        return
    number = answer.json()["id"]
    said = api.get(f"/api/v1/statuses/{number}/source").json()
    again = {"status": said["text"], "spoiler_text": said["spoiler_text"]}
    changed = api.put(f"/api/v1/statuses/{number}", again, format="json")
    assert changed.status_code == 200
    assert api.get(f"/api/v1/statuses/{number}/source").json() == said  # it was in its normal form
    assert changed.json()["content"] == answer.json()["content"]


@pytest.mark.long
@EXAMPLES
@given(name=st.text(max_size=60), note=st.text(max_size=200))
def test_names_have_one_normal_form(api, name, note):
    address = "/api/v1/accounts/update_credentials"
    answer = is_clear(api.patch(address, {"display_name": name, "note": note}, format="json"))
    if answer.status_code != 200:
        assert answer.status_code in {400, 422}
        return
    first = answer.json()
    kept = {"display_name": first["display_name"], "note": first["source"]["note"]}
    second = api.patch(address, kept, format="json").json()
    assert second["display_name"] == first["display_name"]
    assert second["source"]["note"] == first["source"]["note"]


SCALARS = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | ANYTHING
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANYTHING, inner, max_size=4), max_leaves=12
)  # fmt: skip
FIELDS = [
    "status",
    "media_ids",
    "poll",
    "visibility",
    "in_reply_to_id",
    "quoted_status_id",
    "language",
    "scheduled_at",
    "sensitive",
    "title",
    "context",
    "keywords_attributes",
    "account_ids",
    "id",
    "types",
    "languages",
    "reblogs",
    "duration",
    "display_name",
    "fields_attributes",
    "source",
    "home",
    "comment",
    "phrase",
    "choices",
    "focus",
]
WRITES = sorted((method, address) for method, address,
                _needs in ENDPOINTS if method in {"POST", "PUT", "PATCH"} and "<" not in address)  # fmt: skip


@pytest.mark.slow
@EXAMPLES
@given(
    which=st.sampled_from(WRITES),
    body=st.dictionaries(st.sampled_from(FIELDS) | ANYTHING, VALUES, max_size=6),
)
def test_bodies_of_any_shape(api, which, body):
    method, address = which
    data = json.dumps(body).encode()  # NaN and infinities too, which are no JSON
    answer = is_clear(api.generic(method, base(address) + address, data, "application/json"))
    assert answer.status_code in {200, 400, 401, 403, 404, 409, 415, 422, 429}


@each("depth", [10, 1000, 100_000])
def test_depth(api, depth):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        middle = "1" if opening != "[" else ""
        body = '{"status": ' + opening * depth + middle + closing * depth + "}"
        answer = api.generic("POST", "/api/v1/statuses", body.encode(), "application/json")
        assert is_clear(answer).status_code in {400, 422}
    assert not Post.objects.filter(author__handle="alice").exists()


@pytest.mark.long
@each(
    ("field", "value"),
    [
        ("status", "a" * 1_000_000),
        ("status", "e\u0301" * 100_000),
        ("status", "x" + "\u0301" * 10_000),
        ("status", "@a " * 10_000),
        ("status", "#a " * 10_000),
        ("status", "http://a.b/ " * 10_000),
        ("status", "\u202e" * 600),
        ("media_ids", ["1"] * 10_000),
        ("poll", {"options": ["x"] * 10_000, "expires_in": 300}),
        ("spoiler_text", "y" * 100_000),
        ("in_reply_to_id", "9" * 100_000),
    ],
)
def test_sizes(api, field, value):
    body = {"status": "hello", field: value}
    answer = is_clear(api.post("/api/v1/statuses", body, format="json"))
    assert answer.status_code in {400, 404, 422}


@pytest.mark.parametrize("megabytes", [1, 3])
def test_large_bodies_are_refused_whole(api, megabytes):
    body = b'{"status": "' + b"a" * (megabytes * 1024 * 1024) + b'"}'
    answer = api.generic("POST", "/api/v1/statuses", body, "application/json")
    assert is_clear(answer).status_code in {400, 413, 422}


MANY = ["accounts/relationships", "accounts", "statuses", "accounts/familiar_followers"]


@each("address, number", product(MANY, [101, 20_000]))
def test_many_ids_at_once(api, address, number):
    query = "&".join(f"id[]={one}" for one in range(1, number + 1))
    assert is_clear(api.get(f"/api/v1/{address}?{query}")).status_code in {200, 400, 414}
