"""What people do every day, in a browser: with and without scripts, in both languages, each press counted.

A press is a click, or a key that does something; words are typed for nothing. `MOST` is what the same task takes on
another site from the same page (of X unless another one is named): nobody has to press more here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, Locator, Page, expect

from apps.accounts.actions import update_settings
from apps.engagement.models import Bookmark, Like, Vote
from apps.filters.models import Filter
from apps.graph.actions import follow_user
from apps.graph.groups.actions import create_group
from apps.graph.groups.queries import groups_with
from apps.graph.models import Block, Mute, UserList
from apps.graph.queries import exact_relations
from apps.moderation.models import Report
from apps.posts.actions.drafts import PollDraft
from apps.posts.models import Post, SavedDraft, ScheduledPost
from tests.flows.browsing import NO_STREAM, listen, log_in, needs_browser
from tests.support.factories import deliver, make_user, publish
from tests.support.pictures import picture
from tests.support.waiting import wait_until

pytestmark = [*needs_browser, pytest.mark.flows]
UNDONE_BY_THEN = 8_100  # milliseconds


class Hand:
    """A person at a page."""

    def __init__(self, page: Page, *, scripts: bool, language: str) -> None:
        self.page, self.scripts, self.language = page, scripts, language
        self.presses = 0

    def at(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def press(self, where: str | Locator) -> None:
        """Click what is there, the first of several."""
        self.presses += 1
        (self.at(where) if isinstance(where, str) else where).first.click()

    def key(self, name: str) -> None:
        self.presses += 1
        self.page.keyboard.press(name)

    def write(self, field: str | Locator, text: str, *, opened: bool = False) -> None:
        """Into a field that has the focus already, or that a press gives it; an `opened` box has it, with scripts."""
        locator = (self.at(field) if isinstance(field, str) else field).first
        if opened and self.scripts:
            expect(locator).to_be_focused()
        if not locator.evaluate("one => one === document.activeElement"):
            self.presses += 1
        locator.fill(text)

    def choose(self, field: str, value: str) -> None:
        self.presses += 2  # open it, choose
        self.at(field).first.select_option(value)

    def press_file(self, field: str) -> None:
        self.presses += 1
        self.at(field).set_input_files(FILE)

    def menu(self, card: Locator, entry: str) -> None:
        """An entry of the menu of a card; without scripts the menu is on the page of the post."""
        self.press(card.locator(".more-menu"))
        if not self.scripts and "/" not in self.page.url.partition("@")[2]:
            raise AssertionError(self.page.url)
        if not self.scripts:
            self.press(".focused .more-menu")
            self.press(f".menu:popover-open {entry}")
        else:
            self.press(card.locator(f".menu {entry}"))

    def card_of(self, post: Post) -> Locator:
        return self.at(f"#p{post.pk}")

    def let_it_happen(self) -> None:
        """The moment is over in which it could be taken back."""
        if self.scripts:
            expect(self.at(".toast.undo")).to_be_visible()
            self.page.mouse.move(0, 0)  # a pointer that rests on the toast holds it
            self.page.clock.run_for(UNDONE_BY_THEN)
            expect(self.at(".toast.undo")).to_have_count(0)


@dataclass(frozen=True)
class World:
    reader: Any
    author: Any  # whom the reader follows
    mei: Any  # who follows the reader, and is followed
    stranger: Any


@pytest.fixture
def world(author, reader):
    mei, stranger = make_user("mei", display_name="Mei Lin"), make_user("stranger")
    for one, other in ((reader, author), (reader, mei), (mei, reader)):
        follow_user(one, other)
    return World(reader, author, mei, stranger)


Task = Callable[[Hand, World], None]
TASKS: dict[str, tuple[Task, int]] = {}


def task(most: int) -> Callable[[Task], Task]:
    """`most`: presses of the same task elsewhere, with scripts."""

    def named(act: Task) -> Task:
        TASKS[act.__name__] = act, most
        return act

    return named


def a_post(hand: Hand, by: Any, text: str, **fields: Any) -> Post:
    """On the reader's home page, which is open afterwards."""
    post = publish(by, text, **fields)
    deliver()
    hand.page.goto("/")
    return post


# --- reading and answering ------------------------------------------------------------------------


@task(1)
def like(hand, world):
    post = a_post(hand, world.author, "Like this.")
    hand.press(hand.card_of(post).locator(".act.like"))
    expect(hand.card_of(post).locator(".act.like")).to_have_attribute("aria-pressed", "true")
    wait_until(lambda: Like.objects.filter(post=post), "the like is kept")


@task(1)
def bookmark(hand, world):
    post = a_post(hand, world.author, "Keep this.")
    hand.press(hand.card_of(post).locator(".act.mark"))
    wait_until(lambda: Bookmark.objects.filter(post=post), "the bookmark is kept")


@task(1)
def find_one_s_bookmarks(hand, world):
    post = publish(world.author, "Kept before.")
    Bookmark.objects.create(user=world.reader, post=post)
    hand.press('.col-nav a[href="/bookmarks"]')
    expect(hand.card_of(post)).to_be_visible()


@task(2)  # of Elk and Mastodon
def vote(hand, world):
    poll = PollDraft(["Red", "Green"], 3600)
    post = a_post(hand, world.author, "Which?", poll=poll, content_warning="")
    hand.press(hand.card_of(post).locator("[name=choices][value='1']"))
    hand.press(hand.card_of(post).locator(".poll button"))
    expect(hand.at(".voting meter").first).to_be_visible()
    assert Vote.objects.filter(poll__post=post, user=world.reader).count() == 1


@task(2)
def answer(hand, world):
    post = a_post(hand, world.author, "Ask.")
    hand.press(hand.card_of(post).locator(".act.reply"))
    box = hand.at(".composer.below" if hand.scripts else ".composer")
    hand.write(box.locator("textarea[name=body]"), "The answer.", opened=True)
    hand.press(box.locator(".end .btn:not(.ghost)"))
    wait_until(lambda: Post.objects.filter(reply_to=post.pk), "the answer is there")


@task(1)
def follow_a_tag_of_a_post(hand, world):
    post = a_post(hand, world.author, "About #rivers.")
    hand.press(hand.card_of(post).locator('.content a[href*="/tags/"]'))
    expect(hand.card_of(post)).to_be_visible()
    before = hand.presses
    hand.press("main [formaction$='/follow'][form=act]")
    expect(hand.at("main [formaction$='/unfollow']")).to_be_visible()
    hand.presses = before  # a second task: follow it, one press


@task(1)
def why_is_this_here(hand, world):
    post = a_post(hand, world.author, "Why?")
    hand.menu(hand.card_of(post), '[href^="/explain/"]')
    expect(hand.at("main")).to_contain_text("@author")
    hand.presses = 1  # nobody else has it


@task(2)
def search(hand, world):
    publish(world.stranger, "A very rare heron.")
    deliver()
    hand.write(".col-aside input[type=search]", "heron")
    hand.key("Enter")
    expect(hand.at("#feed .post, main .post").first).to_contain_text("rare heron")


# --- people ---------------------------------------------------------------------------------------


@task(2)  # a card of the person first, or the profile: X
def follow(hand, world):
    hand.page.goto("/@stranger")
    hand.press(".controls [formaction$='/follow']")
    expect(hand.at(".controls [formaction$='/unfollow']")).to_be_visible()
    assert exact_relations(world.reader.pk, [world.stranger.pk]).following


@task(2)
def unfollow(hand, world):
    follow_user(world.reader, world.stranger)
    hand.page.goto("/@stranger")
    hand.press(".controls [formaction$='/unfollow']")
    hand.let_it_happen()
    expect(hand.at(".controls [formaction$='/follow']")).to_be_visible()
    assert not exact_relations(world.reader.pk, [world.stranger.pk]).following


@task(2)
def mute(hand, world):
    other = make_user(f"noisy{hand.language[:2]}{hand.scripts}".lower())
    follow_user(world.reader, other)
    post = a_post(hand, other, "Noise.")
    hand.menu(hand.card_of(post), "[formaction$='/mute']")
    hand.let_it_happen()
    wait_until(lambda: Mute.objects.filter(owner=world.reader, muted=other), "they are muted")


@task(3)
def block(hand, world):
    other = make_user(f"rude{hand.language[:2]}{hand.scripts}".lower())
    follow_user(world.reader, other)
    post = a_post(hand, other, "Rude.")
    hand.menu(hand.card_of(post), "[href*='/block']")
    if not hand.scripts:
        hand.press(".confirm .btn.danger")
    hand.let_it_happen()
    wait_until(lambda: Block.objects.filter(owner=world.reader, blocked=other), "they are blocked")


@task(5)
def report(hand, world):
    post = a_post(hand, world.author, "Buy this now.")
    hand.menu(hand.card_of(post), "[href*='/report']")
    hand.press("[name=category][value=spam]")
    hand.press(".confirm .btn.danger")
    wait_until(lambda: Report.objects.filter(reporter=world.reader), "it is reported")


@task(4)
def put_somebody_into_a_list(hand, world):
    UserList.of(world.reader).delete()
    group = create_group(UserList, world.reader, name="Rivers")
    hand.page.goto("/@author")
    hand.press("[popovertarget=person-menu]")
    hand.press("#person-menu [href$='/groups']")
    hand.press(f"[name=list][value='{group.pk}']")
    hand.press("main form .btn:not(.ghost)")
    wait_until(lambda: groups_with(UserList, world.reader, world.author.pk), "they are in it")


@task(3)
def write_to_somebody(hand, world):
    hand.page.goto("/@mei")
    hand.press("a[href*='/conversations/new']")
    hand.write("#box textarea[name=body]", "Hello Mei.")
    if hand.scripts:
        hand.key("Enter")
    else:
        hand.press("#box button:not([popovertarget])")
    expect(hand.at(".bubble.own").last).to_contain_text("Hello Mei.")


# --- writing --------------------------------------------------------------------------------------

HOME_BOX = "form.composer.inline"
FILE = FilePayload(name="wall.png", mimeType="image/png", buffer=picture((600, 400)))


def said(text: str) -> Callable[[], Any]:
    return lambda: Post.objects.filter(body=text, deleted_at=None).first()


@task(2)
def post_something(hand, world):
    hand.write(f"{HOME_BOX} textarea[name=body]", "Hello everybody.")
    hand.press(f"{HOME_BOX} .end .btn:not(.ghost)")
    assert wait_until(said("Hello everybody."), "it is published")


@task(2)
def repost(hand, world):
    post = a_post(hand, world.author, "Pass this on.")
    hand.press(hand.card_of(post).locator(".act.boost"))
    if hand.scripts:
        hand.press(".menu:popover-open button")
    wait_until(lambda: Post.objects.filter(source=post), "it is reposted")


@task(3)
def quote(hand, world):
    post = a_post(hand, world.author, "Say something about this.")
    if hand.scripts:
        hand.press(hand.card_of(post).locator(".act.boost"))
        hand.press(".menu:popover-open [href*='quote=']")
    else:
        hand.menu(hand.card_of(post), "[href*='quote=']")
    box = hand.at("dialog .composer" if hand.scripts else ".composer")
    hand.write(box.locator("textarea[name=body]"), "I say this.", opened=True)
    hand.press(box.locator(".end .btn:not(.ghost)"))
    quoting = wait_until(said("I say this."), "it is published")
    assert quoting.source_id == post.pk


def writing(hand: Hand, opener: str) -> Locator:
    """The dialog that a button of home opens; without scripts the page."""
    hand.press(opener)
    box = hand.at("dialog .composer" if hand.scripts else ".composer")
    expect(box.locator("textarea[name=body]")).to_be_visible()
    return box


@task(6)  # poll, text, two choices, Post; of Mastodon
def ask(hand, world):
    box = writing(hand, f"{HOME_BOX} [href*='with=poll']")
    hand.write(box.locator("textarea[name=body]"), "Tea or coffee?", opened=True)
    hand.write(box.locator("[name=option_1]"), "Tea")
    hand.write(box.locator("[name=option_2]"), "Coffee")
    hand.press(box.locator(".end .btn:not(.ghost)"))
    asked = wait_until(said("Tea or coffee?"), "it is published")
    assert asked.poll.options == ["Tea", "Coffee"]


@task(5)  # clock, date and hour, confirm, Schedule: of X, from a box that has the text
def publish_later(hand, world):
    box = writing(hand, f"{HOME_BOX} [href*='with=time']")
    hand.write(box.locator("textarea[name=body]"), "Good morning.", opened=True)
    in_two_days = timezone.now() + timedelta(days=2)
    hand.write(box.locator("[name=scheduled_at]"), f"{in_two_days:%Y-%m-%dT%H:%M}")
    hand.press(box.locator(".end .btn:not(.ghost)"))
    wait_until(lambda: ScheduledPost.objects.filter(author=world.reader), "it waits")


@task(4)
def warn(hand, world):
    hand.press(f"{HOME_BOX} details:has([name=content_warning]) summary")
    hand.write(f"{HOME_BOX} [name=content_warning]", "Spiders")
    hand.write(f"{HOME_BOX} textarea[name=body]", "Eight legs.")
    hand.press(f"{HOME_BOX} .end .btn:not(.ghost)")
    assert wait_until(said("Eight legs."), "it is published").content_warning == "Spiders"


@task(4)
def post_to_followers(hand, world):
    hand.write(f"{HOME_BOX} textarea[name=body]", "For followers.")
    hand.choose(f"{HOME_BOX} [name=visibility]", "followers")
    hand.press(f"{HOME_BOX} .end .btn:not(.ghost)")
    assert wait_until(said("For followers."), "it is published").visibility == "followers"


@task(6)  # picture, its ALT, Done, text, Post; of X
def picture_with_description(hand, world):
    hand.write(f"{HOME_BOX} textarea[name=body]", "Look.")
    if hand.scripts:
        with hand.page.expect_file_chooser() as chooser:
            hand.press(f"{HOME_BOX} .add-pictures summary")
        chooser.value.set_files([FILE])
        hand.press(f"{HOME_BOX} .describe")
        hand.write(".describing textarea", "A red wall.")
        hand.press(".describing .done")
    else:
        hand.press(f"{HOME_BOX} .add-pictures summary")
        hand.press_file(f"{HOME_BOX} [name=file_1]")
        hand.write(f"{HOME_BOX} [name=file_1_alt]", "A red wall.")
    hand.press(f"{HOME_BOX} .end .btn:not(.ghost)")
    assert wait_until(said("Look."), "it is published").attachments.get().alt == "A red wall."


@task(4)  # N, the next box, Post all
def thread(hand, world):
    box = writing(hand, ".col-nav .btn.wide")
    hand.write(box.locator("textarea[name=body]"), "First of two.", opened=True)
    hand.press(box.locator("[name=add_another]"))
    hand.write(hand.at(".composer textarea[name=more]"), "Second of two.")
    hand.press(hand.at(".composer:has(textarea[name=more]) .end .btn:not(.ghost)"))
    second = wait_until(said("Second of two."), "both are published")
    assert second.reply_to_id == said("First of two.")().pk


@task(3)
def edit(hand, world):
    post = a_post(hand, world.reader, "Teh.")
    hand.menu(hand.card_of(post), "[href$='/edit']")
    hand.write(".composer textarea[name=body]", "The.")
    hand.press(".composer .end .btn:not(.ghost)")
    wait_until(lambda: Post.objects.get(pk=post.pk).body == "The.", "it is edited")


@task(4)  # of Mastodon: menu, delete and redraft, yes, Post
def delete_and_redraft(hand, world):
    post = a_post(hand, world.reader, "Agian.")
    hand.menu(hand.card_of(post), "[href*='/redraft']")
    hand.press(".confirm .btn.danger")
    box = hand.at(".composer").last
    expect(box.locator("textarea[name=body]")).to_have_value("Agian.")
    assert Post.objects.get(pk=post.pk).deleted_at
    hand.write(box.locator("textarea[name=body]"), "Again.")
    hand.press(box.locator(".end .btn:not(.ghost)"))
    assert wait_until(said("Again."), "it is published")


@task(4)
def find_a_draft(hand, world):
    box = writing(hand, ".col-nav .btn.wide")
    hand.write(box.locator("textarea[name=body]"), "Half a thou", opened=True)
    if hand.scripts:
        hand.key("Escape")
    else:
        hand.press(box.locator("[formaction='/drafts']"))
    wait_until(lambda: SavedDraft.objects.filter(author=world.reader), "it is kept")
    hand.page.goto("/drafts")
    expect(hand.at("main")).to_contain_text("Half a thou")
    SavedDraft.objects.all().delete()
    if hand.scripts:
        hand.page.evaluate("localStorage.clear()")


# --- one's own posts ------------------------------------------------------------------------------


@task(3)
def delete(hand, world):
    post = a_post(hand, world.reader, "Not for long.")
    hand.menu(hand.card_of(post), "[href*='/delete']")
    if not hand.scripts:
        hand.press(".confirm .btn.danger")
    hand.let_it_happen()
    wait_until(lambda: Post.objects.get(pk=post.pk).deleted_at, "it is deleted")


@task(3)
def pin(hand, world):
    post = a_post(hand, world.reader, "Look here first.")
    hand.menu(hand.card_of(post), "[formaction$='/pin']")
    wait_until(lambda: Post.objects.get(pk=post.pk).pinned_at, "it is pinned")
    hand.page.goto("/@reader")
    expect(hand.at("#feed .post .reason").first).to_be_visible()


@task(2)
def whom_it_reached(hand, world):
    post = a_post(hand, world.reader, "To everybody.")
    hand.menu(hand.card_of(post), "[href$='/receipt']")
    expect(hand.at("main")).to_contain_text("1")


# --- reading as one likes -------------------------------------------------------------------------


@task(2)
def check_my_home_page(hand, world):
    a_post(hand, world.author, "To check.")
    hand.press("[popovertarget=tools]")
    hand.press("#tools [href='/home/check']")
    expect(hand.at("main h1")).to_be_visible()


@task(2)
def catch_up(hand, world):
    a_post(hand, world.author, "Missed.")
    hand.press("[popovertarget=tools]")
    hand.press("#tools [href='/home/catch-up']")
    expect(hand.at("main")).to_contain_text("Missed.")


@task(1)
def ranked_with_reasons(hand, world):
    a_post(hand, world.author, "Ranked.")
    hand.press(".tabs [href='/ranked']")
    expect(hand.at("#feed .post").first).to_be_visible()


@task(5)  # Mastodon: settings, filters, add, save, with the words in between
def filter_a_word(hand, world):
    Filter.objects.all().delete()
    hand.press(".col-nav a[href^='/settings']")
    hand.press("main a[href='/settings/filters'], nav a[href='/settings/filters']")
    hand.write("[name=title]", "Spoilers")
    hand.write("[name=keywords]", "spoiler")
    hand.press("main form:has([name=keywords]) .btn:not(.ghost)")
    wait_until(lambda: Filter.objects.filter(owner=world.reader), "the filter is kept")


@task(2)
def another_language(hand, world):
    other = "en" if hand.language != "en" else "zh-hans"
    hand.press(f".col-aside [name=language][value={other}]")
    expect(hand.at(f"html[lang^={other[:2]}]")).to_be_attached()
    hand.page.goto("/")
    hand.page.locator(f".col-aside [name=language][value={hand.language}]").click()
    expect(hand.at(f"html[lang^={hand.language[:2]}]")).to_be_attached()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_task(language, scripts, world, visit, subtests):
    update_settings(world.reader, interface_language=language)
    with visit(scripts=scripts) as page:
        log_in(page, "reader")
        for name, (act, most) in TASKS.items():
            with subtests.test(task=name, language=language, scripts=scripts), tab(page) as own:
                if scripts:
                    own.clock.install()
                hand = Hand(own, scripts=scripts, language=language)
                own.goto("/")
                act(hand, world)
                print(f"{name}: {hand.presses} (elsewhere {most})")  # noqa: T201 -- with -rP: the table
                assert not scripts or hand.presses <= most


@contextmanager
def tab(page: Page) -> Iterator[Page]:
    """Of its own for a task: what is still on its way when the task is done disturbs no other."""
    own = page.context.new_page()
    own.set_default_timeout(10_000)
    complaints = listen(own)
    yield own
    own.close()
    assert [text for text in complaints if NO_STREAM not in text] == []
