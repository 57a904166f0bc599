"""The world that all expectations are asked in: a few people, what they wrote, and what they keep."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from apps.curation.actions import create_collection
from apps.curation.models import CollectionItem
from apps.engagement.actions import bookmark_post, like_post
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, endorse_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.moderation.actions import file_report
from apps.notifications.models import Announcement, Conversation, Notification
from apps.oauth.actions import register_application
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.edit import pin_post
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.tags.actions import feature_tag, follow_tag
from tests.api.test_endpoints import in_an_hour
from tests.support.factories import deliver, make_user, publish, repost, seconds_ago, suspend
from tests.support.links import PAGE, previewed
from tests.support.pictures import picture
from tests.support.staff import make_staff


def make_world(alice: Any, bob: Any, carol: Any) -> Mapping[str, Any]:
    """bob follows alice, and she him; carol is a stranger, dave locked, erin blocked by alice, frank suspended;
    bob has reported carol, and mod is staff.
    """
    dave = make_user("dave", is_locked=True)
    erin, frank = make_user("erin"), make_user("frank")
    follow_user(alice, bob)
    follow_user(carol, dave)  # a request
    with seconds_ago(90):
        hello = publish(alice, "Hello #river @bob", language="en")
        quiet = publish(alice, "Quiet #river", visibility="unlisted")
        private = publish(alice, "For followers", visibility="followers")
        direct = publish(alice, "@bob for you", visibility="mentioned")
    with seconds_ago(60):
        reply = publish(bob, "An answer", reply_to_id=hello.pk)
        quote = publish(bob, "Look at this", quote_of_id=hello.pk)
        poll = publish(bob, "Which?", poll=PollDraft(["Red", "Green"], 3600))
        warned = publish(bob, "Behind it", content_warning="Careful")
        pictured = publish(
            bob, "A picture", media_ids=[upload_picture(bob, BytesIO(picture())).pk], sensitive=True
        )
    with seconds_ago(30):
        shared = repost(bob, hello.pk)
        stranger = publish(carol, "From a stranger #sea")
        publish(frank, "Not to be seen")
    like_post(bob, hello.pk)
    bookmark_post(bob, hello.pk)
    pin_post(alice, quiet.pk)
    mute_user(alice, carol)
    block_user(alice, erin)
    endorse_user(alice, bob)
    feature_tag(alice, "river")
    follow_tag(alice, "sea")
    suspend(frank)
    deliver()
    previewed(hello.pk, reply.pk)
    collection = create_collection(alice, [bob.pk], name="Good people")
    own_list = create_group(UserList, alice, name="Friends")
    add_members(UserList, alice, own_list.pk, [bob.pk])
    words = [KeywordChange(keyword="forbidden", whole_word=True)]
    own_filter = create_filter(alice, FilterChange("Quiet", ["home"], keywords=words))
    program = register_application(name="A program", scopes="read write")
    mod = make_staff(superuser=True, handle="mod")
    report = file_report(
        bob, carol, category="spam", comment="Look at this.", rule_ids=[1], post_ids=[stranger.pk]
    )
    return {
        "collection": collection.pk, "item": CollectionItem.objects.get().pk,
        "mod": mod.pk, "report": report.pk,
        "alice": alice.pk, "bob": bob.pk, "carol": carol.pk, "dave": dave.pk, "erin": erin.pk, "frank": frank.pk,
        "hello": hello.pk, "quiet": quiet.pk, "private": private.pk, "direct": direct.pk, "reply": reply.pk,
        "quote": quote.pk, "poll": poll.pk, "warned": warned.pk, "pictured": pictured.pk, "shared": shared.pk,
        "stranger": stranger.pk,
        "nothing": 1234567890123456789,
        "page": PAGE,
        "list": own_list.pk, "filter": own_filter.pk, "keyword": own_filter.keywords.get().pk,
        "upload": upload_picture(alice, BytesIO(picture())).pk,
        "scheduled": schedule_post(alice, Draft("Later."), in_an_hour()).pk,
        "announcement": Announcement.objects.create(text="Hello all.").pk,
        "conversation": Conversation.objects.filter(user=bob)[0].pk,
        "notification": Notification.objects.filter(user=alice, kind="like")[0].pk,
        "client_id": program.application.client_id, "client_secret": program.secret,
        "in_an_hour": lambda: in_an_hour().isoformat(),
        "picture": lambda: SimpleUploadedFile("a.png", picture(), "image/png"),
        "small_picture": lambda: SimpleUploadedFile("a.png", picture((10, 10)), "image/png"),
        "text_file": lambda: SimpleUploadedFile("a.txt", b"words", "text/plain"),
    }  # fmt: skip
