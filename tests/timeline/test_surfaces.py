"""Pages and the API show the same posts in the same order to the same viewer, whoever looks at whatever where."""

import re
from contextlib import suppress

import pytest

from apps.accounts.actions import update_settings
from apps.engagement.actions import bookmark_post, like_post
from apps.errors import NotFound
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, UserList
from apps.posts.models import Visibility
from tests.support.factories import deliver, make_user, publish, repost

pytestmark = [pytest.mark.django_db, pytest.mark.long]
VIEWERS = [
    "alice",
    "follower",
    "stranger",
    "blocked",
    "blocking",
    "muting",
    "named",
    "member",
    None,
]
_CARD = re.compile(r'<article class="post[^"]*" id="p(\d+)')


@pytest.fixture
def people():
    """alice, who is looked at, and everybody who stands to her in another way."""
    found = {name: make_user(name) for name in VIEWERS if name}
    for name in ("follower", "blocked", "blocking", "muting", "named", "member"):
        follow_user(found[name], found["alice"])
    follow_user(found["alice"], found["stranger"])
    deliver()
    return found


@pytest.fixture
def posts(people):
    """What alice wrote for everybody and for some: each visibility plain, as an answer, and as a quote; and reposts."""
    alice, stranger = people["alice"], people["stranger"]
    circle = create_group(Circle, alice, name="Close")
    add_members(Circle, alice, circle.pk, [people["member"].pk])
    theirs = publish(stranger, "By somebody else. #river")
    made = [theirs]
    for visibility in Visibility.values:
        to = {"circle_id": circle.pk} if visibility == "circle" else {}
        plain = publish(alice, f"{visibility} @named #river", visibility=visibility, **to)
        made += [
            plain,
            publish(alice, "More. #river", reply_to_id=plain.pk, visibility=visibility, **to),
        ]
        # nobody is quoted behind their back
        quoted = made[1] if visibility == Visibility.MENTIONED else theirs
        said = f"Look, {visibility}."
        made += [publish(alice, said, quote_of_id=quoted.pk, visibility=visibility, **to)]
    made += [repost(alice, theirs.pk), publish(stranger, "@alice I see.", reply_to_id=made[1].pk)]
    deliver()
    mine = create_group(UserList, people["follower"], name="Mine")
    add_members(UserList, people["follower"], mine.pk, [alice.pk])
    for viewer in people.values():
        for post in made:
            _try(like_post, viewer, post.pk)
            _try(bookmark_post, viewer, post.pk)
    block_user(people["blocking"], alice)
    block_user(alice, people["blocked"])
    mute_user(people["muting"], alice)
    deliver()
    return made, mine


def _try(act, viewer, post_id):
    """Those who may not see it are refused: that is no news here."""
    with suppress(NotFound):
        act(viewer, post_id)


def surfaces(alice, posts, mine):
    """(page, endpoint) of everything that both have."""
    for_all = [
        ("/public", "timelines/public"),
        ("/@alice", f"accounts/{alice.pk}/statuses?exclude_replies=1"),
        ("/@alice/with_replies", f"accounts/{alice.pk}/statuses"),
        ("/tags/river", "timelines/tag/river"),
    ]
    for_members = [("/home", "timelines/home"), ("/bookmarks", "bookmarks")]
    one_by_one = [(f"/@{post.author.handle}/{post.pk}", f"statuses/{post.pk}") for post in posts]
    of_list = [(f"/lists/{mine.pk}", f"timelines/list/{mine.pk}")]
    return for_all, for_members, one_by_one, of_list


def shown_by_page(browser, address):
    answer = browser.get(address, {"limit": 40}, follow=True)
    return (
        [int(found) for found in _CARD.findall(answer.content.decode())]
        if answer.status_code == 200
        else None
    )


def shown_by_api(program, address):
    joined = "&" if "?" in address else "?"
    answer = program.get(f"/api/v1/{address}{joined}limit=40")
    return [int(status["id"]) for status in answer.json()] if answer.status_code == 200 else None


def thread_by_api(program, address):
    answer = program.get(f"/api/v1/{address}")
    if answer.status_code != 200:
        return None
    around = program.get(f"/api/v1/{address}/context").json()
    parts = [*around["ancestors"], answer.json(), *around["descendants"]]
    return [int(status["id"]) for status in parts]


def test_a_viewer_sees_the_same_everywhere(people, posts, page_of, api_of, subtests):
    made, mine = posts
    for viewer in VIEWERS:
        with subtests.test(viewer=viewer):
            check(viewer, people, made, mine, page_of, api_of)


def check(viewer, people, made, mine, page_of, api_of):
    user = people.get(viewer)
    if user:
        update_settings(user, groups_reposts=False)  # programs group for themselves
    browser, program = page_of(user), api_of(user)
    for_all, for_members, one_by_one, of_list = surfaces(people["alice"], made, mine)
    lists = for_all + (for_members if user else []) + (of_list if viewer == "follower" else [])
    cells = 0
    for page, endpoint in lists:
        found = shown_by_api(program, endpoint)
        assert (page, shown_by_page(browser, page)) == (page, found)
        cells += len(made)
    for page, endpoint in one_by_one:
        if "/@" in page and repost_of(made, page):
            continue  # a repost has no page of its own
        assert (page, shown_by_page(browser, page)) == (page, thread_by_api(program, endpoint))
        cells += 1
    assert cells >= 80


def repost_of(made, page):
    return any(post.kind == "repost" and page.endswith(str(post.pk)) for post in made)
