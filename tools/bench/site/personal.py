"""The home page of readers with promoted accounts and word filters, compared with that of readers with neither.

Both follow the same number of busy authors. They take turns, one request at a time, so that a disturbance affects both.
"""

from datetime import timedelta
from pathlib import Path

from django.test import override_settings
from django.utils import timezone

from apps.accounts.models import User
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.promotions.actions import begin_batch, set_traits, start_campaign
from apps.promotions.models import Campaign, PromotedAccount, RuleKind, Segment, SegmentRule, Trait
from tools.bench.measure import Spread
from tools.bench.population import make_follower
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.systems import HOME, our_site
from tools.bench.site.visitor import Visitor, bearer, percentile
from tools.bench.site.web import fetch
from tools.bench.site.world import FOLLOWEES, Readers, make_readers, world

PATH = f"{HOME}?promoted=true"
PROMOTED, WORDS = 3, ("harvest", "nothing of this", "spoiler")
WARM, ROUNDS = 3, 15  # requests of each reader
MAX_TIMES = 1.1
WITH, WITHOUT = "with", "without"


def run(directory: Path) -> list[Line]:
    here = world()
    doing("readers with promoted accounts and filters")
    readers = {WITHOUT: here.busy, WITH: make_readers("personal", here.people.busy, FOLLOWEES)}
    _promote_to(readers[WITH])
    _filter_words(readers[WITH])
    with our_site(directory) as site:
        visitor = Visitor(site.port)
        _in_turn(visitor, readers, WARM)
        page = fetch(site.port, PATH, bearer(readers[WITH].tokens[0]))
        if page.count(b'"sponsor"') != PROMOTED:
            raise RuntimeError("the promoted posts are not on the page")
        doing("home with virtual follows and filters, and without")
        taken = _in_turn(visitor, readers, ROUNDS)
    return [_line(taken, visitor)]


def _promote_to(readers: Readers) -> None:
    """Promote accounts that the readers do not follow, each with a post on the first page."""
    trait, _is_new = Trait.objects.get_or_create(slug="bench", defaults={"name": "reader"})
    segment = Segment.objects.create(slug="bench", name="Bench", description="readers")
    SegmentRule.objects.create(segment=segment, kind=RuleKind.TRAIT, trait=trait)
    long_ago = timezone.now() - timedelta(days=365)  # new accounts get no promoted posts
    User.objects.filter(pk__in=[user.pk for user in readers.users]).update(created_at=long_ago)
    for user in readers.users:
        set_traits(user, [trait.slug])
    staff = make_follower("bench_staff", [])
    User.objects.filter(pk=staff.pk).update(is_staff=True, is_superuser=True)
    staff.refresh_from_db()
    for number in range(PROMOTED):
        author = make_follower(f"bench_sponsor{number}", [])
        campaign = Campaign.objects.create(
            account=PromotedAccount.objects.create(user=author, sponsor="Bench"),
            name=f"Bench {number}",
            ends_at=timezone.now() + timedelta(days=1),
            budget_impressions=10**9,
            frequency_cap=100,
        )
        campaign.segments.set([segment])
        with override_settings(CAMPAIGN_MIN_PEOPLE=0):
            start_campaign(campaign.pk, by=staff)
        begin_batch(campaign.pk, segment.pk, 0)  # as the event of the campaign's start does
        publish_post(author, Draft(body=f"Promoted, number {number}."))


def _filter_words(readers: Readers) -> None:
    for user in readers.users:
        keywords = [KeywordChange(keyword=word) for word in WORDS]
        create_filter(user, FilterChange("Bench", ["home"], keywords=keywords))


def _in_turn(visitor: Visitor, readers: dict[str, Readers], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each response."""
    taken: dict[str, list[float]] = {name: [] for name in readers}
    for _round in range(rounds):
        for tokens in zip(*(group.tokens for group in readers.values()), strict=True):
            for name, token in zip(readers, tokens, strict=True):
                taken[name].append(visitor.ask(PATH, bearer(token)))
    return taken


def _line(taken: dict[str, list[float]], visitor: Visitor) -> Line:
    p50, p95 = ({name: percentile(taken[name], at) for name in taken} for at in (50, 95))
    times = p95[WITH] / p95[WITHOUT]
    return Line(
        "home API with virtual follows and filters, p95",
        "ms",
        Spread.exact(p95[WITH]),
        {"without either": Spread.exact(p95[WITHOUT])},
        f"at most {MAX_TIMES:g} times",
        times <= MAX_TIMES and not visitor.errors,
        f"{times:.2f} times; p50 {p50[WITH]:.1f} and {p50[WITHOUT]:.1f}; {len(taken[WITH])} pages of each,"
        f" {visitor.complaint}",
    )
