import pytest
from django.utils import timezone

from apps.accounts.actions import update_profile
from apps.accounts.models import User
from apps.api.entities.account import (
    AccountJson,
    CredentialAccountJson,
    FamiliarFollowersJson,
    RelationshipJson,
    SourceJson,
)
from apps.graph.actions import follow_user
from tests.support.cases import each
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db

ACCOUNTS = "/api/v1/accounts"


def test_an_account_has_exactly_the_fields_of_its_schema(alice, api_of):
    publish(alice)
    for body in (
        api_of(None).get(f"{ACCOUNTS}/{alice.pk}").json(),
        api_of(None).get(f"{ACCOUNTS}/lookup?acct=alice").json(),
    ):
        assert set(body) == AccountJson.__required_keys__
    own = api_of(alice).get(f"{ACCOUNTS}/verify_credentials").json()
    assert set(own) == CredentialAccountJson.__required_keys__
    assert set(own["source"]) == SourceJson.__required_keys__


def test_an_account_says_who_it_is(alice, bob, api_of):
    publish(alice)
    body = api_of(None).get(f"{ACCOUNTS}/{alice.pk}").json()
    assert (body["id"], body["username"], body["acct"], body["display_name"]) == (
        str(alice.pk),
        "alice",
        "alice",
        "Alice Wen",
    )
    assert (body["followers_count"], body["following_count"], body["statuses_count"]) == (1, 0, 1)
    assert body["url"] == "http://testserver/@alice"
    assert body["last_status_at"] == timezone.now().date().isoformat()
    assert "email" not in str(body)
    assert "example.org" not in str(body)


@each("bio", ["<script>alert(1)</script>", "javascript:alert(1)", '"><img src=x onerror=alert(1)>',
                                 "<a href='x'>",
                                 "https://example.org/\"onmouseover=alert(1)", "a\n\nb & c"])  # fmt: skip
def test_a_bio_is_text_in_html(alice, api_of, bio):
    update_profile(alice, display_name="", bio=bio)
    note = api_of(None).get(f"{ACCOUNTS}/{alice.pk}").json()["note"]
    assert "<script" not in note
    assert "<img" not in note
    assert 'href="javascript' not in note
    assert '"onmouseover' not in note
    assert api_of(alice).get(f"{ACCOUNTS}/verify_credentials").json()["source"]["note"] == bio


@each("acct", ["alice", "ALICE", "@alice"])
def test_an_account_is_looked_up_in_any_form(alice, api_of, acct):
    assert api_of(None).get(f"{ACCOUNTS}/lookup", {"acct": acct}).json()["id"] == str(alice.pk)


def test_a_lookup_without_a_name_is_refused_and_of_nobody_not_found(alice, api_of):
    assert api_of(None).get(f"{ACCOUNTS}/lookup").status_code == 400
    assert api_of(None).get(f"{ACCOUNTS}/lookup?acct=nobody").status_code == 404
    assert api_of(None).get(f"{ACCOUNTS}/lookup?acct=alice@elsewhere.org").status_code == 404


@pytest.mark.slow
@each("address", ["{0}", "lookup?acct=alice", "{0}/statuses", "{0}/followers", "{0}/following"])
def test_a_suspended_account_answers_like_an_absent_one(alice, api_of, address):
    User.objects.filter(pk=alice.pk).update(suspended_at=timezone.now())
    answers = [
        api_of(None).get(f"{ACCOUNTS}/{address.format(number).replace('alice', handle)}")
        for number, handle in ((alice.pk, "alice"), (99_999_999, "nobody"))
    ]
    bodies = [
        {k: v for k, v in answer.json().items() if k not in {"request_id", "instance"}}
        for answer in answers
    ]
    assert bodies[0] == bodies[1]
    assert bodies[0]["status"] == 404


def relation(api, other):
    return api.get(f"{ACCOUNTS}/relationships", {"id[]": other.pk}).json()[0]


def test_relations_are_changed_and_told(alice, carol, api_of):
    api = api_of(carol)
    for act, field, expected in [("follow", "following", True), ("follow", "following", True),
                                 ("unfollow", "following", False),
                                 ("mute", "muting", True), ("unmute", "muting", False), ("block", "blocking", True),
                                 ("unblock", "blocking", False)]:  # fmt: skip
        body = api.post(f"{ACCOUNTS}/{alice.pk}/{act}").json()
        assert set(body) == RelationshipJson.__required_keys__
        assert body[field] is expected
        assert relation(api, alice) == body
    assert relation(api_of(alice), carol)["followed_by"] is False


def test_a_refused_follow_says_403_and_oneself_422(alice, carol, api_of):
    api_of(alice).post(f"{ACCOUNTS}/{carol.pk}/block")
    assert api_of(carol).post(f"{ACCOUNTS}/{alice.pk}/follow").status_code == 403
    assert api_of(carol).post(f"{ACCOUNTS}/{carol.pk}/follow").status_code == 422


def test_relationships_come_in_the_order_asked_and_are_bounded(alice, bob, carol, api_of):
    api = api_of(carol)
    asked = [bob.pk, alice.pk, 99_999_999, bob.pk]
    body = api.get(f"{ACCOUNTS}/relationships", {"id[]": asked}).json()
    assert [one["id"] for one in body] == [
        str(bob.pk),
        str(alice.pk),
    ]  # each once, and none that is not there
    many = api.get(f"{ACCOUNTS}/relationships", {"id[]": [*[99_999_999] * 100, bob.pk]})
    assert many.json() == []  # of the first hundred
    assert api.get(f"{ACCOUNTS}/relationships").json() == []
    assert api.get(f"{ACCOUNTS}/relationships", {"id": bob.pk}).json()[0]["id"] == str(bob.pk)


@each("number", ["abc", "-1", "0", "٣", "1e5", "9" * 30, ""])
def test_relationships_to_what_is_no_id_are_refused(carol, api_of, number):
    assert api_of(carol).get(f"{ACCOUNTS}/relationships", {"id[]": number}).status_code == 400


@pytest.mark.slow
@each("word", ["1", "true", "True", "TRUE", "on"])
def test_replies_are_left_out_by_any_word_for_yes(alice, bob, api_of, word):
    root = publish(alice)
    publish(alice, reply_to_id=publish(bob).pk)
    statuses = f"{ACCOUNTS}/{alice.pk}/statuses"
    assert [one["id"] for one in api_of(None).get(statuses, {"exclude_replies": word}).json()] == [
        str(root.pk)
    ]
    assert len(api_of(None).get(statuses, {"exclude_replies": "False"}).json()) == 2


def familiar(client, *ids):
    return client.get(f"{ACCOUNTS}/familiar_followers", {"id[]": [str(one) for one in ids]})


def test_familiar_followers_are_those_whom_one_follows_too(alice, bob, carol, api_of):
    follow_user(carol, bob)
    body = familiar(api_of(carol), alice.pk, bob.pk, alice.pk, 99_999_999).json()
    assert [(row["id"], [one["acct"] for one in row["accounts"]]) for row in body] == [
        (str(alice.pk), ["bob"]),
        (str(bob.pk), []),
    ]
    assert set(body[0]) == FamiliarFollowersJson.__required_keys__
    assert set(body[0]["accounts"][0]) == AccountJson.__required_keys__
    assert familiar(api_of(carol), carol.pk).json() == [{"id": str(carol.pk), "accounts": []}]
    assert familiar(api_of(carol)).json() == []
    assert familiar(api_of(carol), "abc").status_code == 400


def test_at_most_twenty_accounts_are_answered(alice, carol, api_of):
    ids = [carol.pk] + [10**6 + n for n in range(19)]
    assert len(familiar(api_of(alice), *ids, alice.pk).json()) == 1


@pytest.mark.parametrize("number", [1, 6])
def test_familiar_followers_cost_the_same_statements_for_one_account_and_for_six(
    alice, bob, carol, api_of, number, django_assert_max_num_queries
):
    follow_user(carol, bob)
    others = [make_user() for _ in range(number)]
    for other in others:
        follow_user(bob, other)
    client = api_of(carol)
    # nothing is committed here, so nothing is kept: each account's followers are loaded and then intersected
    with django_assert_max_num_queries(5 + 2 * number):
        assert len(familiar(client, *(other.pk for other in others)).json()) == number


def test_profiles_have_the_links_of_posts(alice, bob, api_of, page_of, settings):
    note = "Tea with @bob.\n\nhttps://e.org/a_(b) ＃北京 “https://e.org”好"
    update_profile(alice, bio=note, lines=[("Web", "(https://e.org/x)"), ("At", "#tea")])
    seen = api_of(None).get(f"{ACCOUNTS}/{alice.pk}").json()
    site = settings.SITE_URL
    assert seen["note"].startswith(
        f'<p>Tea with <a class="u-url mention" href="{site}/@bob">@bob</a>.</p><p>'
    )
    page = page_of(None).get("/@alice").text
    for text, root in ((seen["note"], site), (page, "")):
        assert '<a href="https://e.org/a_(b)" ' in text
        assert '<a href="https://e.org" ' in text
        assert f'href="{root}/tags/%E5%8C%97%E4%BA%AC"' in text
    assert '(<a href="https://e.org/x" ' in seen["fields"][0]["value"]
    assert '(<a href="https://e.org/x" ' in page
    assert f'href="{site}/tags/tea"' in seen["fields"][1]["value"]


def test_overrides_of_direction_stay_out_of_profiles(alice, api_of):
    update_profile(alice, bio="a\u202eb\u202c\u200fc", lines=[("x\u202e", "y\u2067")])
    body = api_of(None).get(f"{ACCOUNTS}/{alice.pk}").json()
    assert body["note"] == "<p>ab\u200fc</p>"
    assert (body["fields"][0]["name"], body["fields"][0]["value"]) == ("x", "y")


@each(
    "name",
    ["\u200c", "\u200d\u200d", "\u2800", "\ufe0f", "\u034f", "\U000e0041", "\u180e", "\u3164"],
)
def test_a_name_of_nothing_is_the_handle(alice, name):
    assert update_profile(alice, display_name=name).name == "alice"


def test_lines_of_a_name_are_joined_by_blanks(alice):
    name = "Alice\nof\twonder\u2028land\u200b \x00 \u202e."
    assert update_profile(alice, display_name=name).display_name == "Alice of wonder land ."


def test_the_host_of_the_site_belongs_to_a_handle(alice, bob, api_of, settings):
    host = settings.SITE_URL.partition("://")[2]
    program = api_of(alice)
    for acct in (f"bob@{host}", f"@Bob@{host.upper()}", f"bob@{host.partition(':')[0]}"):
        assert program.get(f"{ACCOUNTS}/lookup", {"acct": acct}).json()["id"] == str(bob.pk)
        assert [found["id"] for found in program.get(f"{ACCOUNTS}/search", {"q": acct}).json()] == [
            str(bob.pk)
        ]
    body = {"status": f"@bob@{host} a secret for you", "visibility": "direct"}
    sent = program.post("/api/v1/statuses", body).json()
    assert [mention["acct"] for mention in sent["mentions"]] == ["bob"]
    assert f'href="{settings.SITE_URL}/@bob">@bob@{host}</a>' in sent["content"]
    assert api_of(bob).get(f"/api/v1/statuses/{sent['id']}").status_code == 200
