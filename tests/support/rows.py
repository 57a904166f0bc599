"""A reader with many rows in every list of the site; row 3 of a list is named by its number: `fan3`, "Post 3"."""

from datetime import timedelta
from io import BytesIO

from django.contrib.sessions.models import Session
from django.db.models import F
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.models import Login, User
from apps.accounts.queries import user_by_id
from apps.accounts.staff import log_action
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.curation.actions import add_account, create_collection
from apps.earlier_posts.models import EarlierPicture, EarlierPost
from apps.engagement.actions import bookmark_post, like_post
from apps.events.leases import State
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, add_keyword, add_post, create_filter
from apps.gameday.models import Run
from apps.graph.actions import block_user, endorse_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, FollowRequest, UserList
from apps.moderation.actions import file_report
from apps.notifications.actions import change_policy
from apps.notifications.models import Announcement
from apps.oauth.actions import issue_access, register_application
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.edit import edit_post, pin_post
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.saved_drafts import save_draft
from apps.previews.models import Preview
from apps.privacy.models import Erasure, Export, Import
from apps.search.trends import rank_posts
from apps.sign_ups.models import SignUpBlock
from apps.spam.models import BlockedDomain, DryRun, Verdict
from apps.strikes.models import Appeal, Strike
from apps.tags.actions import feature_tag, follow_tag
from apps.tags.trends import TRENDING_CACHE, count_days
from apps.timeline.models import AuthorPolicy, Policy, PolicyChange
from apps.webhooks.actions import create_endpoint
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models import Kind as Kinds
from tests.promotions.conftest import make_campaign, make_segment, trait
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.links import previewed
from tests.support.pictures import each_decoded_once, picture


class Rows:
    """The reader and other people. Each fan and the reader follow each other; fans react to `root`, a reader's post."""

    def __init__(self) -> None:
        self.count = 0
        self.user_id = make_user("reader").pk
        self.nag = make_user("nag")
        change_policy(self.reader, for_not_following="filter")
        self.root = publish(self.reader, "Version 0").pk
        self.list = create_group(UserList, self.reader, name="Many").pk
        self.left_out = create_group(UserList, self.reader, name="Left out", is_exclusive=True).pk
        self.circle = create_group(Circle, self.reader, name="Many").pk
        self.feed = create_feed(self.reader, name="Many", include_tags=["tea"], is_public=True).pk
        words = [KeywordChange(keyword="nothing")]
        self.filter = create_filter(self.reader, FilterChange("Many", ["home"], keywords=words)).pk
        self.webhook = create_endpoint(self.reader, "https://hooks.example/many", Kinds.values)[
            0
        ].pk
        self.collection = create_collection(self.reader, name="Many").pk
        self.fans: list[User] = []
        self.friends: list[User] = []
        self.posts: list[int] = []

    @property
    def reader(self) -> User:
        """The reader, loaded again."""
        return user_by_id(self.user_id)

    def grow(self, count: int) -> None:
        """Add rows until every list has `count`."""
        while self.count < count:
            self.count += 1
            self._add_people(self.count)
            self._add_posts(self.count)
            self._add_own(self.count)
            self._add_settings(self.count)
            self._add_staff_rows(self.count)
        deliver()
        count_days()
        rank_posts()
        TRENDING_CACHE.clear()
        self._show_links()

    def _show_links(self) -> None:
        previewed(*self.posts)
        for n in range(1, self.count + 1):
            page = Preview.objects.filter(address=f"https://example.com/{n}")
            page.update(url=F("address"), title=f"Page {n}", state=State.DONE)

    def _add_people(self, n: int) -> None:
        reader, fan = self.reader, make_user(f"fan{n}")
        listed, friend, stranger = (
            make_user(f"{name}{n}") for name in ("listed", "friend", "stranger")
        )
        for follower, followee in (
            (fan, reader), (reader, fan), (reader, listed), (fan, friend),
        ):  # fmt: skip
            follow_user(follower, followee)
        endorse_user(reader, fan)
        block_user(reader, make_user(f"foe{n}"))
        mute_user(reader, make_user(f"bore{n}"))
        FollowRequest.objects.create(owner=reader, requester=make_user(f"asker{n}"))
        add_members(UserList, reader, self.list, [fan.pk])
        add_members(UserList, reader, self.left_out, [listed.pk])
        add_members(Circle, reader, self.circle, [fan.pk])
        joined = create_group(Circle, fan, name=f"Joined {n}")
        add_members(Circle, fan, joined.pk, [reader.pk])
        deliver()
        like_post(fan, publish(friend, f"Friend {n} https://example.com/{n}").pk)
        publish(listed, f"Left out {n}", visibility="followers")
        publish(stranger, f"https://example.com/{n}")  # two people link to it
        publish(stranger, f"@reader Request {n}", visibility="mentioned")
        publish(self.nag, f"@reader Nag {n}", visibility="mentioned")
        self.fans.append(fan)
        self.friends.append(friend)

    def _add_posts(self, n: int) -> None:
        fan, root = self.fans[-1], self.root
        with each_decoded_once():
            photo = upload_picture(fan, BytesIO(picture()), alt=f"Picture {n}").pk
        text = f"Post {n} #tea #tea{n} https://example.org/{n}"
        self.posts.append(publish(fan, text, media_ids=[photo]).pk)
        poll = PollDraft(["Red", "Green"], 3600)
        publish(fan, f"Reply {n}", reply_to_id=root, poll=poll, visibility="unlisted")
        publish(fan, f"Quote {n}", quote_of_id=root, visibility="unlisted")
        publish(fan, f"@reader Direct {n}", visibility="mentioned")
        repost(fan, root)
        like_post(fan, root)

    def _add_own(self, n: int) -> None:
        reader, post = self.reader, self.posts[-1]
        edit_post(reader, self.root, body=f"Version {n}")
        with each_decoded_once():
            photo = upload_picture(reader, BytesIO(picture()), alt=f"Own picture {n}").pk
        pin_post(reader, publish(reader, f"Mine {n} #used{n}", media_ids=[photo]).pk)
        like_post(reader, post)
        bookmark_post(reader, post)
        schedule_post(reader, Draft(body=f"Later {n}"), timezone.now() + timedelta(hours=n))
        save_draft(reader, {"body": f"Begun {n}"}, [])
        self._add_earlier_post(n)
        self._add_collections(n)

    def _add_collections(self, n: int) -> None:
        reader, fan = self.reader, self.fans[-1]
        create_collection(reader, [fan.pk], name=f"Collection {n}")
        add_account(reader, self.collection, fan.pk)
        ids = [create_collection(fan, [reader.pk], name=f"With {n}").pk]
        file_report(reader, fan, category="spam", comment=f"Report {n}", collection_ids=ids)

    def _add_earlier_post(self, n: int) -> None:
        origin = f"https://old.example/{n}"
        earlier = EarlierPost.objects.create(
            owner_id=self.user_id, origin=origin, reply_to=origin, written_at=timezone.now(),
            visibility="public", body=f"Earlier {n}",
        )  # fmt: skip
        EarlierPicture.objects.create(
            post=earlier, position=0, file=f"earlier/{n}.webp", preview=f"earlier/{n}p.webp", width=9, height=9, size=9
        )  # fmt: skip

    def _add_settings(self, n: int) -> None:
        reader, fan = self.reader, self.fans[-1]
        in_list = create_group(UserList, reader, name=f"List {n}")
        add_members(UserList, reader, in_list.pk, [fan.pk])
        add_members(UserList, reader, in_list.pk, [self.fans[0].pk])
        create_group(Circle, reader, name=f"Circle {n}")
        create_feed(reader, name=f"Feed {n}", include_people=[fan.handle], is_public=True)
        words = [KeywordChange(keyword=f"keyword{n}")]
        create_filter(reader, FilterChange(f"Filter {n}", ["home"], keywords=words))
        add_keyword(reader, self.filter, keyword=f"word{n}", whole_word=True)
        add_post(reader, self.filter, self.posts[-1])
        follow_tag(reader, f"tea{n}")
        feature_tag(reader, f"own{n}")
        issue_token(reader, name=f"Token {n}")
        program = register_application(name=f"Program {n}", scopes="read").application
        issue_access(reader, program, scopes=["read"])
        address = f"https://hooks.example/hook{n}"
        Endpoint.objects.create(owner=reader, address=address, kinds=Kinds.values)
        Delivery.objects.create(
            endpoint_id=self.webhook, kind="test", subject_id=0, version=n, status=200 + n,
            state=State.DONE,
        )  # fmt: skip
        self._add_login(n)

    def _add_login(self, n: int) -> None:
        key, tomorrow = f"session{n}", timezone.now() + timedelta(days=1)
        Session.objects.create(session_key=key, session_data="", expire_date=tomorrow)
        Login.objects.create(user_id=self.user_id, session_key=key, device=f"Browser {n}")

    def _add_staff_rows(self, n: int) -> None:
        Announcement.objects.create(text=f"Announcement {n}")
        fan, friend = self.fans[-1], self.friends[-1]
        AuthorPolicy.objects.create(author=fan, policy=Policy.PULL)
        PolicyChange.objects.create(author=fan, before="site", after="pull", made_by=fan.handle)
        make_campaign(friend, make_segment(f"segment{n}", "", ("trait", trait())))
        Export.objects.create(user=friend, name=f"archive{n}")
        Import.objects.create(user_id=self.user_id, name=f"import{n}.csv", state=State.DONE)
        Erasure.objects.create(user_id=friend.pk)
        SignUpBlock.objects.create(kind="handle", value=f"spam{n}", by=self.reader)
        BlockedDomain.objects.create(domain=f"pills{n}.example", by=self.reader)
        DryRun.objects.create(day=f"2026-11-0{n}", by=self.reader, heuristics=["mentions"])
        Run.objects.create(fault="posts_locked", seconds=n, ended_at=timezone.now())
        reasons = {"mentions": {"number": n}}
        Verdict.objects.create(
            post_id=self.posts[-1], author=friend, score=n, reasons=reasons, acts=["report"]
        )
        run = AuditRun.objects.create(pages=n)
        struck = Strike.objects.create(user=self.reader, measure="warn", text=f"Strike {n}")
        Appeal.objects.create(strike=struck, text=f"Appeal {n}", decided_at=timezone.now())
        log_action(friend, self.reader, f"Warned: {n}")
        AuditFinding.objects.create(run=run, kind=Kind.MISSING, viewer_id=self.user_id)
