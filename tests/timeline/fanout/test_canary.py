"""The canary: a policy for a share of the authors, always the same ones, there and back without a loss."""

import pytest
from django.db import connection

from apps.accounts.queries import user_by_id
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline import policy as policies
from apps.timeline.fanout import switch
from apps.timeline.fanout.switch import apply_canary, set_author_policy, set_canary, set_site_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import AuthorPolicy, FanoutJob, Mode, Policy, PolicyChange, SitePolicy
from apps.timeline.tasks import measure_policies
from feedcache.connections import RedisError
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db

# Never a number that an account of an earlier test had: caches may still know its posts.
_NEXT = """
SELECT setval('accounts_user_id_seq', (SELECT (last_value / 100 + 1) * 100 + %s FROM accounts_user_id_seq), false)
"""


def author_numbered(last_two, handle=""):
    """An author who has written, with an account number that ends so."""
    with connection.cursor() as sql:
        sql.execute(_NEXT, [last_two])
    author = make_user(handle)
    assert author.pk % 100 == last_two
    publish(author)
    return author


def members():
    return set(AuthorPolicy.objects.filter(in_canary=True).values_list("author", flat=True))


def modes(*authors):
    return [policies.mode_for(author.pk, "public") for author in authors]


def pages_are_right(*readers):
    oracle = Oracle()
    for reader in readers:
        viewer, found, cursor = user_by_id(reader.pk), [], Cursor(limit=3)
        while True:
            page = home_timeline(viewer, cursor)
            found += [item.id for item in page.items]
            if page.older is None:
                break
            cursor = Cursor(max_id=page.older, limit=3)
        assert found == oracle.home(reader.pk)


@pytest.fixture
def crowd(db):
    """Authors by the last two digits of their numbers."""
    return {last_two: author_numbered(last_two) for last_two in (0, 1, 4, 5, 49, 50, 99)}


def test_the_same_authors_stay_in_it_while_it_grows_and_shrinks(crowd):
    seen = []
    for percent in (1, 5, 50, 5, 1):
        set_canary(Policy.PULL, percent, by="a test")
        seen.append({number for number, author in crowd.items() if author.pk in members()})
    assert seen == [{0}, {0, 1, 4}, {0, 1, 4, 5, 49}, {0, 1, 4}, {0}]
    apply_canary()
    assert members() == {crowd[0].pk}


def test_its_authors_have_its_policy_and_others_that_of_the_site(crowd):
    set_canary(Policy.PULL, 1, by="dora", reason="Try it.")
    assert modes(crowd[0], crowd[1]) == [Mode.PULL, Mode.ONLINE]
    assert policies.load().pulled == {crowd[0].pk}
    change = PolicyChange.objects.get()
    assert (change.author, change.made_by, change.percent) == (None, "dora", 1)
    assert (change.before, change.after) == ("online", "pull")
    set_canary(Policy.PUSH, 1, by="dora")
    assert modes(crowd[0], crowd[1]) == [Mode.PUSH, Mode.ONLINE]
    set_canary(Policy.PUSH, 0, by="dora")
    assert modes(crowd[0], crowd[1]) == [Mode.ONLINE, Mode.ONLINE]
    assert members() == set()


def test_an_author_with_a_policy_of_their_own_is_not_in_it(crowd):
    set_author_policy(crowd[0], Policy.PUSH, by="a test")
    set_canary(Policy.PULL, 5, by="a test")
    assert members() == {crowd[1].pk, crowd[4].pk}
    set_author_policy(crowd[1], Policy.ONLINE, by="a test")
    assert members() == {crowd[4].pk}
    assert PolicyChange.objects.filter(author=crowd[1]).get().before == "site"
    set_canary(Policy.PULL, 0, by="a test")
    assert modes(crowd[0], crowd[1], crowd[4]) == [Mode.PUSH, Mode.ONLINE, Mode.ONLINE]


def test_who_writes_for_the_first_time_comes_in_later(crowd):
    set_canary(Policy.PULL, 5, by="a test")
    newcomer, silent = author_numbered(3), make_user()
    assert newcomer.pk not in members()
    measure_policies()
    assert newcomer.pk in members()
    assert silent.pk not in members()


@pytest.mark.parametrize(
    "policy",
    [
        Policy.PULL,
        pytest.param(Policy.PUSH, marks=pytest.mark.long),
        pytest.param(Policy.AUTO, marks=pytest.mark.long),
    ],
)
def test_there_and_back_loses_and_repeats_nothing(crowd, policy):
    reader, late = make_user(), make_user()
    for author in (crowd[0], crowd[99]):
        follow_user(reader, author)
    deliver()
    home_timeline(reader, Cursor())
    for percent in (1, 0, 2):
        set_canary(policy, percent, by="a test")
        pages_are_right(reader)  # while the posts of a pull are on their way
        publish(crowd[0])
        publish(crowd[99])
        deliver()
        pages_are_right(reader)
    follow_user(late, crowd[0])
    set_site_policy(policy, by="a test")  # everybody
    publish(crowd[0])
    deliver()
    pages_are_right(reader, late)
    assert not members()
    set_site_policy(Policy.ONLINE, by="a test")
    publish(crowd[0])
    deliver()
    pages_are_right(reader, late)
    assert not AuthorPolicy.objects.filter(pulled_since__isnull=False).exists()


def test_for_everybody_needs_no_backfill_of_what_all_readers_pull(crowd):
    follow_user(make_user(), crowd[0])
    set_canary(Policy.PULL, 1, by="a test")
    publish(crowd[0])
    deliver()
    set_site_policy(Policy.PULL, by="a test")
    row = AuthorPolicy.objects.get(pk=crowd[0].pk)
    assert (row.policy, row.mode, row.pulled_since, row.in_canary) == ("site", None, None, False)
    site = SitePolicy.objects.get()
    assert (site.policy, site.pulls_all, site.canary, site.canary_percent) == ("pull", True, "", 0)


def test_pushes_of_the_canary_end_only_when_all_readers_have_been_told(crowd):
    with dead_redis(), pytest.raises(RedisError):
        set_canary(Policy.PULL, 1, by="a test")
    row = AuthorPolicy.objects.get(pk=crowd[0].pk)
    assert (row.policy, row.mode) == ("pull", None)
    assert row.pulled_since is not None
    switch.maintain()
    assert modes(crowd[0]) == [Mode.PULL]


def test_explain_knows_how_a_post_of_the_canary_came(crowd):
    reader = make_user()
    follow_user(reader, crowd[0])
    deliver()
    home_timeline(reader, Cursor())
    set_canary(Policy.PULL, 1, by="a test")
    pulled = publish(crowd[0])
    deliver()
    viewer = user_by_id(reader.pk)
    assert explain(viewer, pulled.pk).policy == FanoutJob.objects.get(pk=pulled.pk).mode == "pull"
    set_canary(Policy.PULL, 0, by="a test")
    pushed = publish(crowd[0])
    deliver()
    assert explain(viewer, pushed.pk).policy == "online"
    assert explain(viewer, pulled.pk).policy == "pull", "as it was delivered"


def test_the_policy_before_is_what_staff_had_before(crowd):
    assert switch.policy_before(None) is None
    set_site_policy(Policy.PUSH, by="dora")
    set_canary(Policy.PULL, 1, by="dora")
    assert switch.policy_before(None) == Policy.ONLINE
    set_site_policy(Policy.PUSH, by="dora", reason="the same once more")
    set_author_policy(crowd[0], Policy.AUTO, by="dora")
    set_author_policy(crowd[0], Policy.PULL, by=Policy.AUTO)
    assert switch.policy_before(None) == Policy.ONLINE
    assert switch.policy_before(crowd[0].pk) == Policy.SITE


@pytest.mark.parametrize(
    ("policy", "percent"), [(Policy.SITE, 1), (Policy.PULL, 51), (Policy.PULL, -1)]
)
def test_there_are_canaries_that_make_no_sense(db, policy, percent):
    with pytest.raises(ValueError, match="no canary"):
        set_canary(policy, percent, by="a test")
