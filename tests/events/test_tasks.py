"""Every Celery task, run twice: the same PostgreSQL and the same Redis as after once."""

import io
import math
from contextlib import suppress
from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from apps.accounts.email import sending
from apps.accounts.models import Mail, MailKind
from apps.accounts.queries import user_by_handle
from apps.digest.models import DigestReader, Issue
from apps.engagement.actions import like_post
from apps.errors import Unavailable
from apps.events.leases import LEASE, LeasedRow, State
from apps.events.models import Event
from apps.gameday.models import Run
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group, leave_circle
from apps.graph.models import Circle
from apps.operations.models import CacheEpoch
from apps.pagination import Cursor
from apps.posts.actions import transcoding
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Attachment, MediaState, Medium, Post, Transcode
from apps.previews.models import Preview
from apps.privacy.erasure import delete_account
from apps.privacy.export import request_export
from apps.privacy.models import Erasure, Export, Import, ImportKind
from apps.privacy.moving.imports import request_import
from apps.promotions.actions import start_campaign, state_trait
from apps.push.models import Delivery
from apps.ranking import rank_timeline
from apps.ranking.algorithms import weights_of
from apps.ranking.ordering import choose_algorithm
from apps.ranking.scoring import heavy
from apps.search.models import TrendingPost
from apps.spam.dry_run import request_dry_run
from apps.spam.models import DryRun
from apps.timeline import tasks as fanout_tasks
from apps.timeline.fanout import dispatch as fanout
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import (
    AuthorPolicy,
    Backfill,
    BackfillChunk,
    FanoutChunk,
    FanoutJob,
    Policy,
)
from apps.webhooks.actions import create_endpoint
from apps.webhooks.models import Endpoint, Kind
from feedcache.connections import timelines
from feedcache.ids import MAX_ID
from feedcache.structures.home_window import NO_MORE
from feedsite.celery import app as celery_app
from tests.promotions.conftest import make_campaign, make_segment, trait
from tests.support.factories import PASSWORD, deliver, make_user, moderator, publish, repost

pytestmark = pytest.mark.django_db
celery_app.loader.import_default_modules()  # as a worker does

APPS = {
    "accounts",
    "oauth",
    "events",
    "operations",
    "graph",
    "search",
    "tags",
    "posts",
    "engagement",
    "filters",
    "promotions",
    "timeline",
    "ranking",
    "notifications",
    "privacy",
    "previews",
    "push",
    "digest",
    "webhooks",
    "gameday",
    "spam",
}
CLOCKS = {
    "score",
    "attempts",
    "due_at",
    "finished_at",
    "created_at",
    "last_error",
    "measured_at",
    # where a receipt stands in the chain of its job: what `due_again` says is still to do gets another receipt
    "number",
    "seal",
    "receipts",
    "beats",  # one for each look at the database
}  # when, not what


def digest():
    """All rows of the project's apps, and all windows."""
    rows = {}
    for model in apps.get_models():
        if model._meta.app_label in APPS:
            names = [field.attname for field in model._meta.concrete_fields]
            if issubclass(model, LeasedRow | AuthorPolicy | CacheEpoch | TrendingPost):
                names = [name for name in names if name not in CLOCKS]
            rows[model._meta.label] = sorted(map(str, model._default_manager.values_list(*names)))
    client = timelines()
    windows = {
        key: client.lrange(key, 0, -1)
        for key in client.keys("*")
        if client.type(key) == b"list"
        and not str(key).endswith(":late'")  # when it came is no state
    }
    return rows, windows


def due_again():
    """As if every message were delivered again, and every lease had run out."""
    Event.objects.update(
        state=State.PENDING, due_at=timezone.now() - timedelta(minutes=5), attempts=0
    )
    for model in (FanoutJob, FanoutChunk, Backfill, BackfillChunk, Import):
        model.objects.update(
            state=State.PENDING, due_at=timezone.now() - timedelta(minutes=5), attempts=0
        )


@pytest.fixture
def life(settings):
    """A little of everything that happens, none of it worked off yet; chunks of two followers."""
    settings.FANOUT_CHUNK_SIZE = 2
    settings.AUDIT_PROMISE_SECONDS = 3600  # nothing is late, however slow the machine is
    alice, bob, carol, dora = (make_user(name) for name in ("alice", "bob", "carol", "dora"))
    for reader in (bob, carol, dora):
        follow_user(reader, alice)
        home_timeline(reader, Cursor())
    set_author_policy(bob, Policy.AUTO, by="life")
    set_author_policy(carol, Policy.PULL, by="life")
    post = publish(alice, "hello @bob, #tea")
    answer = publish(bob, "hello", reply_to_id=post.pk)
    repost(carol, post.pk)
    repost(bob, doomed := publish(alice, "soon gone").pk)
    edit_post(alice, post.pk, body="hello @carol")
    circle = create_group(Circle, alice, name="Ours", is_shared=True)
    add_members(Circle, alice, circle.pk, [bob.pk, carol.pk])
    publish(alice, "for some", visibility="circle", circle_id=circle.pk)
    publish(alice, "for @carol", visibility="mentioned")
    publish(alice, "for followers", visibility="followers")
    leave_circle(carol, circle.pk)
    like_post(bob, post.pk)
    like_post(alice, answer.pk)
    unfollow_user(dora, alice)
    block_user(carol, dora)
    delete_post(doomed, by=alice)
    set_author_policy(carol, Policy.ONLINE, by="life")
    state_trait(bob, "cook")
    cooks = make_segment("cooks", "keen cooks", ("trait", trait("cook")))
    start_campaign(make_campaign(dora, cooks).pk, by=moderator())
    return alice


def all_events():
    return list(Event.objects.values_list("pk", flat=True))


def run_dispatch(task):
    task(all_events())


def run_plain(task):
    task()


def run_transcode(task):
    """Of an upload whose file is gone: it fails, once."""
    owner = user_by_handle("alice")
    lost, is_new = Attachment.objects.get_or_create(
        owner=owner,
        medium=Medium.VIDEO,
        defaults={"state": MediaState.PROCESSING, "width": 0, "height": 0},
    )
    if is_new:
        transcoding.begin(lost, "uploads/lost.mp4")
    task(Transcode.objects.values_list("pk", flat=True).first() or 1)
    lost.refresh_from_db()
    assert lost.state == MediaState.FAILED


def run_scores(task):
    for handle in ("bob", "carol"):
        reader = user_by_handle(handle)
        choose_algorithm(reader, "heavy")
        if not rank_timeline.online([reader.pk]):  # before anything is delivered
            rank_timeline.order(heavy, reader, weights_of(heavy))
    deliver()
    for pk in FanoutChunk.objects.values_list("pk", flat=True):
        task(pk)


def run_splits(task):
    for post_id in (e.payload["post_id"] for e in Event.objects.filter(name="post_published")):
        fanout.start_job(post_id)
        task(post_id)


def run_export(task):
    made = Export.objects.first() or request_export(user_by_handle("alice"))
    task(made.pk)


def run_import(task):
    alice = user_by_handle("alice")
    row = Import.objects.first() or request_import(
        alice, ImportKind.MUTES, "mutes.csv", io.BytesIO(b"bob\ncarol\nnobody\n")
    )
    task(row.pk)


def run_erase(task):
    gone = user_by_handle("dora") if not Erasure.objects.exists() else None
    number = delete_account(gone, password=PASSWORD).pk if gone else Erasure.objects.get().pk
    task(number)


def run_mail(task):
    if not Mail.objects.exists():
        sending.enqueue_mail(MailKind.PASSWORD_RESET, address="alice@example.org")
    for pk in Mail.objects.values_list("pk", flat=True):
        task(pk)


def run_measure(task):
    deliver()  # receipts are what is measured
    task()


def run_hand_over_cuts(task):
    for pk in Backfill.objects.values_list("pk", flat=True):
        task(pk)


def run_hand_over(task):
    run_hand_over_cuts(fanout_tasks.split_backfill)
    for pk in BackfillChunk.objects.values_list("pk", flat=True):
        task(pk)


def run_keep(task):
    task(user_by_handle("bob").pk, MAX_ID >> 3)  # long ago


def run_chunks(task):
    run_splits(fanout_tasks.split_job)
    for pk in FanoutChunk.objects.values_list("pk", flat=True):
        task(pk)


def run_rows(model):
    """With each row that waits, after what makes them."""

    def run(task):
        run_dispatch(celery_app.tasks["apps.events.tasks.dispatch"])
        for pk in model.objects.values_list("pk", flat=True):
            task(pk)

    return run


def run_dry_run(task):
    row = DryRun.objects.first() or request_dry_run(
        by=moderator(), heuristics=["mentions"], report_from=1, hide_from=None, limit_from=None
    )
    task(row.pk)


def run_game_day(task):
    """On a site that does not answer, so that no fault is put into it. The second time, it has already ended."""
    row = Run.objects.first() or Run.objects.create(fault="posts_locked", seconds=5)
    with suppress(Unavailable):
        task(row.pk)


def run_webhooks(task):
    """With an endpoint whose server is not public, so that nothing arrives there."""
    if not Endpoint.objects.exists():
        create_endpoint(user_by_handle("alice"), "https://a.example/", Kind.values)
        Endpoint.objects.update(address="https://127.0.0.1/")
    run_dispatch(celery_app.tasks["apps.events.tasks.dispatch"])
    for pk in Endpoint.objects.values_list("pk", flat=True):
        task(pk)


def run_weekly(task):
    """The mails of the week, once however often they are made."""
    DigestReader.objects.get_or_create(user=user_by_handle("bob"))
    celery_app.tasks["apps.digest.tasks.make"]()
    for pk in Issue.objects.values_list("pk", flat=True):
        task(pk)


TASKS = {
    "apps.previews.tasks.fetch": run_rows(Preview),
    "apps.previews.tasks.sweep": run_plain,
    "apps.previews.tasks.purge": run_plain,
    "apps.webhooks.tasks.send": run_webhooks,
    "apps.webhooks.tasks.sweep": run_plain,
    "apps.webhooks.tasks.purge": run_plain,
    "apps.push.tasks.send": run_rows(Delivery),
    "apps.push.tasks.sweep": run_plain,
    "apps.push.tasks.purge": run_plain,
    "apps.sign_ups.tasks.purge": run_plain,
    "apps.site_activity.tasks.count": run_plain,
    "apps.gameday.tasks.run": run_game_day,
    "apps.spam.tasks.dry_run": run_dry_run,
    "apps.spam.tasks.sweep": run_plain,
    "apps.strikes.tasks.purge": run_plain,
    "apps.digest.tasks.make": run_plain,
    "apps.digest.tasks.send": run_weekly,
    "apps.digest.tasks.sweep": run_plain,
    "apps.events.tasks.dispatch": run_dispatch,
    "apps.events.tasks.sweep": run_plain,
    "apps.events.tasks.purge": run_plain,
    "apps.events.tasks.recall": run_plain,
    "apps.notifications.tasks.purge": run_plain,
    "apps.oauth.tasks.purge": run_plain,
    "apps.accounts.tasks.maintain_counts": run_plain,
    "apps.accounts.tasks.send_mail": run_mail,
    "apps.accounts.tasks.sweep_mail": run_plain,
    "apps.accounts.tasks.purge_mail": run_plain,
    "apps.accounts.tasks.purge_sessions": run_plain,
    "apps.posts.tasks.maintain_counts": run_plain,
    "apps.posts.tasks.write_back_reads": run_plain,
    "apps.posts.tasks.evict_counts": run_plain,
    "apps.timeline.tasks.publish_due": run_plain,
    "apps.posts.tasks.end_polls": run_plain,
    "apps.posts.tasks.purge_unused_uploads": run_plain,
    "apps.posts.tasks.purge_keys": run_plain,
    "apps.posts.tasks.transcode": run_transcode,
    "apps.posts.tasks.sweep_transcodes": run_plain,
    "apps.engagement.tasks.recount_polls": run_plain,
    "apps.audit.tasks.reconcile_counts": run_plain,
    "apps.engagement.tasks.maintain_filters": run_plain,
    "apps.timeline.tasks.split_job": run_splits,
    "apps.timeline.tasks.deliver_chunk": run_chunks,
    "apps.timeline.tasks.split_backfill": run_hand_over_cuts,
    "apps.timeline.tasks.deliver_backfill": run_hand_over,
    "apps.second_level.tasks.fill": run_keep,
    "apps.second_level.tasks.purge": run_plain,
    "apps.timeline.tasks.maintain_policies": run_plain,
    "apps.timeline.tasks.measure_policies": run_measure,
    "apps.timeline.tasks.sweep": run_plain,
    "apps.timeline.tasks.maintain_replicas": run_plain,
    "apps.timeline.tasks.repair_square": run_plain,
    "apps.timeline.tasks.purge_history": run_plain,
    "apps.graph.tasks.end_due_mutes": run_plain,
    "apps.ranking.tasks.purge": run_plain,
    "apps.ranking.tasks.score_delivered": run_scores,
    "apps.search.tasks.index_newcomers": run_plain,
    "apps.search.tasks.index_older_posts": run_plain,
    "apps.search.tasks.index_older_people": run_plain,
    "apps.search.tasks.rank_trends": run_plain,
    "apps.tags.tasks.count_tags": run_plain,
    "apps.privacy.tasks.build_export": run_export,
    "apps.privacy.tasks.move_in": run_import,
    "apps.privacy.tasks.erase": run_erase,
    "apps.privacy.tasks.sweep": run_plain,
    "apps.privacy.tasks.purge": run_plain,
    "apps.operations.tasks.advance": run_plain,
    "apps.operations.tasks.publish": run_plain,
    "apps.operations.tasks.watch_bursts": run_plain,
    "apps.operations.tasks.watch_database": run_plain,
    "apps.audit.tasks.audit": run_plain,
    "apps.audit.tasks.keep_days": run_plain,
    "apps.promotions.tasks.apply_time": run_plain,
    "apps.promotions.tasks.sweep_segments": run_plain,
    "apps.promotions.tasks.purge_impressions": run_plain,
}


def registered():
    return {name for name in celery_app.tasks if name.startswith("apps.")}


def test_every_registered_task_has_a_row_here():
    assert registered() == set(TASKS)


def test_every_scheduled_and_routed_task_exists():
    scheduled = {entry["task"] for entry in celery_app.conf.beat_schedule.values()}
    assert scheduled | set(celery_app.conf.task_routes) <= registered()


def test_tasks_that_work_on_leased_rows_end_before_the_lease():
    limited = celery_app.conf.task_annotations
    assert set(limited) <= registered()
    for name in limited:
        assert (celery_app.tasks[name].time_limit or math.inf) < LEASE.total_seconds()


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_task_that_runs_twice_leaves_what_running_once_leaves(name, life):
    task = celery_app.tasks[name]
    TASKS[name](task)
    deliver()  # what the task itself set off
    once = digest()
    due_again()
    TASKS[name](task)
    deliver()
    for before, now in zip(once, digest(), strict=True):
        assert {key: now[key] for key in now if now[key] != before.get(key)} == {}
        assert before.keys() == now.keys()


@pytest.mark.long
@pytest.mark.gate
def test_events_that_arrive_in_the_opposite_order_lead_to_the_same_windows(life):
    """Deletes before deliveries, unfollows before follows."""
    dispatch = celery_app.tasks["apps.events.tasks.dispatch"]
    for pk in all_events()[::-1]:
        dispatch([pk])
    while fanout.run_due(limit=50):
        pass
    _rows, backwards = digest()
    timelines().flushdb()
    for handle in ("alice", "bob", "carol", "dora"):
        home_timeline(user_by_handle(handle), Cursor())  # rebuilt from PostgreSQL
    _rows, rebuilt = digest()
    assert {key: alive(members) for key, members in backwards.items()} == {
        key: alive(members) for key, members in rebuilt.items() if key in backwards
    }


def alive(members):
    """What a window shows: ids of posts that still exist."""
    ids = [MAX_ID - int(member) for member in members if member != NO_MORE]
    return list(
        Post.objects.filter(pk__in=ids, deleted_at=None)
        .order_by("-pk")
        .values_list("pk", flat=True)
    )


@pytest.mark.slow
def test_the_sweeps_alone_bring_everything_to_its_end(life):
    """Every message of the doorbell is lost."""
    scheduled = {entry["task"] for entry in celery_app.conf.beat_schedule.values()}
    sweeps = [celery_app.tasks[name] for name in sorted(scheduled) if name.endswith(".sweep")]
    work = (Event, FanoutJob, FanoutChunk)
    for _ in range(
        40
    ):  # what one round sets off is the next one's work, and a sweep has a second at most
        waiting = [model.objects.filter(state=State.PENDING) for model in work]
        if not sum([rows.update(due_at=timezone.now() - timedelta(seconds=5)) for rows in waiting]):
            break
        for sweep in sweeps:
            sweep()
    for model in work:
        assert model.objects.exists()
        assert not model.objects.exclude(state=State.DONE).exists()
