"""What each heuristic finds and does not find; heuristics of others, and wrong settings."""

import re
import sys
from types import ModuleType

import pytest
from django.conf import settings as site_settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from apps.graph.actions import follow_user
from apps.posts.actions.publish import delete_post
from apps.spam import built_in
from apps.spam.actions import remember
from apps.spam.built_in import CONTACTS, LINKS, STRANGERS, TEXTS
from apps.spam.heuristics import available, check_setting, domain_of, judge, sentences
from apps.spam.models import BlockedDomain, Fingerprint
from apps.spam.queries import candidates
from tests.support.cases import each
from tests.support.factories import make_follow, make_user, moderator, publish, repost, seconds_ago

pytestmark = pytest.mark.django_db
PAGE = site_settings.BASE_DIR / "docs/spam.md"


def found(heuristic, *posts):
    """What a heuristic says of posts, by their position."""
    rows = candidates([post.pk for post in posts])
    remember(rows)
    places = {post.pk: place for place, post in enumerate(posts)}
    return {places[pk]: values for pk, values in heuristic.find(rows).items()}


# --- the same text or link -----------------------------------------------------------------------


def test_the_same_text_is_found_from_the_fourth_post_on(aged):
    texts = ["Buy my pills now, folks!", "BUY my   pills now, folks!", "Buy my pills now, folks! https://a.example/1",
             "@alice Buy my pills now, folks!"]  # fmt: skip
    posts = [publish(aged(), text) for text in texts]
    posts.append(publish(aged(), "Something else that is long."))
    assert len(texts) == TEXTS
    assert found(built_in.same_text, *posts) == {TEXTS - 1: {"posts": 4, "authors": 4}}


def test_the_text_of_accounts_that_are_not_new_is_not_compared(aged):
    posts = [publish(aged(8), "Good morning to all of you.") for _ in range(TEXTS)]
    assert found(built_in.same_text, *posts) == {}
    assert not Fingerprint.objects.exists()


def test_a_short_text_is_not_compared(aged):
    author = aged()
    posts = [publish(author, "Good day.") for _ in range(TEXTS)]
    assert found(built_in.same_text, *posts) == {}


def test_a_text_of_the_day_before_does_not_count(aged):
    with seconds_ago(25 * 3600):
        old = [publish(aged(3), "Buy my pills now, folks!") for _ in range(TEXTS)]
    new = publish(aged(), "Buy my pills now, folks!")
    assert found(built_in.same_text, *old, new).keys() == {TEXTS - 1}


def test_a_deleted_copy_counts(aged):
    author = aged()
    posts = [publish(author, "Buy my pills now, folks!") for _ in range(TEXTS - 1)]
    assert found(built_in.same_text, *posts) == {}
    for post in posts:
        delete_post(post.pk, by=author)
    last = publish(author, "Buy my pills now, folks!")
    assert found(built_in.same_text, last) == {0: {"posts": TEXTS, "authors": 1}}


def test_the_same_link_is_found_in_many_posts(aged):
    posts = [publish(aged(), f"{n}. https://pills.example/buy?x=1") for n in range(LINKS)]
    assert found(built_in.same_text, *posts) == {}
    assert found(built_in.same_link, *posts) == {LINKS - 1: {"posts": LINKS, "authors": LINKS}}


# --- mentions, links, contacts -------------------------------------------------------------------


def test_mentions_of_people_who_do_not_follow_the_author_are_counted(alice):
    people = [make_user() for _ in range(STRANGERS)]
    text = " ".join(f"@{person.handle}" for person in [*people, alice])
    assert found(built_in.mentions, publish(alice, text)) == {0: {"number": STRANGERS}}
    make_follow(people[0], alice)
    assert found(built_in.mentions, publish(alice, text)) == {}


@each("link, domain", [
    ("https://pills.example/buy", "pills.example"),
    ("http://www.Pills.example./", "pills.example"),
    ("https://пилюли.example/buy", "xn--h1aaiar6g.example"),
    ("https://notpills.example/", None),
    ("https://pills.example.org/", None),
])  # fmt: skip
def test_links_to_blocked_domains_are_found(alice, link, domain):
    for name in ("pills.example", "пилюли.example"):
        row = BlockedDomain(domain=name)
        row.clean()
        BlockedDomain.objects.get_or_create(domain=row.domain)
    expected = {0: {"domain": domain}} if domain else {}
    assert found(built_in.blocked_links, publish(alice, f"Look: {link}")) == expected


@each("text", ["", "example", "https://", "no domain", "-"])
def test_what_is_no_domain_is_refused(text):
    with pytest.raises(ValidationError) as refused:
        BlockedDomain(domain=text).full_clean()
    assert "domain" in refused.value.message_dict


def test_an_address_may_be_pasted_as_a_domain():
    row = BlockedDomain(domain=" https://Pills.Example/buy?x=1 ")
    row.full_clean()
    assert row.domain == domain_of("https://pills.example") == "pills.example"


def test_links_of_the_first_day_are_found(aged):
    young, old = publish(aged(0.5), "https://a.example/"), publish(aged(1.1), "https://a.example/")
    without = publish(aged(), "Hello.")
    assert found(built_in.first_links, young, old, without) == {0: {"hours": 12}}


@pytest.mark.slow
def test_many_follows_and_replies_of_a_new_account_are_found(aged, alice):
    new, old, people = aged(), aged(30), [make_user() for _ in range(CONTACTS - 1)]
    for person in people:
        make_follow(new, person)
        make_follow(old, person)
    own = publish(new, "A thread.")
    publish(new, "goes on.", reply_to_id=own.pk)
    assert found(built_in.contacts, publish(new, "Still one too few.")) == {}
    hello = publish(alice, "Hello.")
    publish(new, "Hi!", reply_to_id=hello.pk)
    publish(old, "Hi!", reply_to_id=hello.pk)
    last = publish(new, "Look at me."), publish(old, "Look at me.")
    assert found(built_in.contacts, *last) == {0: {"number": CONTACTS}}


# --- what is examined ----------------------------------------------------------------------------


def test_only_open_posts_that_somebody_wrote_are_examined(alice, bob):
    open_posts = [publish(alice, visibility=each) for each in ("public", "unlisted")]
    follow_user(alice, bob)
    others = [
        publish(alice, "@bob Hi.", visibility=each)
        for each in ("followers", "friends", "mentioned")
    ]
    gone = publish(alice)
    delete_post(gone.pk, by=alice)
    others += [gone, repost(bob, open_posts[0].pk), publish(moderator())]
    rows = candidates([post.pk for post in (*open_posts, *others)])
    assert [row.id for row in rows] == [post.pk for post in open_posts]


@pytest.mark.parametrize("name", list(available()))
def test_a_heuristic_takes_the_same_queries_for_any_number_of_posts(name, aged, blocked):
    people = [make_user() for _ in range(STRANGERS)]
    text = "Buy! https://pills.example/ " + " ".join(f"@{one.handle}" for one in people)
    posts = [publish(aged(0.1), text) for _ in range(4)]
    remember(rows := candidates([post.pk for post in posts]))
    heuristic = available()[name]
    with CaptureQueriesContext(connection) as of_one:
        heuristic.find(rows[:1])
    with CaptureQueriesContext(connection) as of_all:
        heuristic.find(rows)
    assert len(of_one) == len(of_all) <= 2


# --- plug-ins ------------------------------------------------------------------------------------


@pytest.fixture
def shouting(settings, monkeypatch):
    """The example of the page, imported and named as the page says."""
    page = PAGE.read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (named,) = re.findall(r"^SPAM_HEURISTICS=(.*)$", page, re.MULTILINE)
    module = ModuleType("shouting")
    monkeypatch.setitem(sys.modules, "shouting", module)
    exec(compile(source, str(PAGE), "exec"), module.__dict__)
    settings.SPAM_HEURISTICS = named.split(",")


@pytest.mark.usefixtures("shouting")
def test_the_example_of_the_page_finds_what_it_says(alice):
    assert check_setting() == []
    assert list(available()) == ["same_text", "mentions", "blocked_links", "shouting"]
    loud = publish(alice, "BUY THE BEST PILLS OF THE WHOLE WORLD FROM ME, AND BUY THEM TODAY!")
    quiet = publish(alice, "Buy the best pills of the whole world from me, and buy them today!")
    findings = judge(available().values(), candidates([loud.pk, quiet.pk]))
    assert {pk: finding.score for pk, finding in findings.items()} == {loud.pk: 20}
    assert sentences(findings[loud.pk].reasons) == ["100 % of its letters are capitals."]


def test_the_page_lists_the_built_in_heuristics_with_their_points():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert {id_: int(points) for id_, points in rows} == {
        one.id: one.points for one in available().values()
    }


@each("paths, message", [
    (["apps.spam.built_in.nothing"], "nothing"),
    (["nowhere.at.all"], "nowhere"),
    (["apps.spam.built_in.TEXTS"], "is not a heuristic"),
    (["apps.spam.built_in.mentions"] * 2, "twice"),
    (["apps.spam.built_in.ALL", "apps.spam.built_in.mentions"], "twice"),
])  # fmt: skip
def test_a_wrong_setting_is_named_before_the_site_starts(settings, paths, message):
    settings.SPAM_HEURISTICS = paths
    assert [message in error.msg for error in check_setting()] == [True]


def test_points_are_added_and_reasons_are_told_in_the_readers_language(aged, blocked):
    post = publish(aged(), "Buy https://pills.example/")
    finding = judge(available().values(), candidates([post.pk]))[post.pk]
    assert finding.score == 130
    assert sentences(finding.reasons) == [
        "It links to pills.example, which is blocked.",
        "It has links, and the account was 0 hours old.",
    ]
    with override("zh-hans"):
        assert "pills.example" in sentences(finding.reasons)[0]
        assert sentences(finding.reasons)[0] != "It links to pills.example, which is blocked."


def test_reasons_of_a_heuristic_that_is_gone_are_its_id():
    assert sentences({"gone": {"x": 1}}) == ["gone"]
