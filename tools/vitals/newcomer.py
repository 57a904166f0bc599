"""A newcomer's first day, with scripts and without: each step reads and presses the same things as a person."""

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Error, FilePayload, Locator, expect
from playwright.sync_api import Page as Tab

PASSWORD = "a long enough passphrase"  # noqa: S105 -- of an account that is deleted at the end
ENGLISH, CHINESE = "A slow walk along the river", "今天去河边慢慢走了一圈"
SPOKEN = {"walk": ENGLISH, "河边": CHINESE}  # the search, and the text to find
ALT = "A wall, painted red"
WAIT_MS = 15_000
TRIES = 40  # every half second, for workers to finish an archive or an index


@dataclass
class Newcomer:
    """A new member in a window of their own, on a site with workers."""

    tab: Tab
    handle: str
    picture: FilePayload
    scripts: bool  # whether scripts run in the window
    friend: str = field(default="", init=False)  # the first person followed

    def signs_up(self) -> None:
        self.tab.goto("/")
        self.tab.get_by_label("Handle").fill(self.handle)
        self.tab.get_by_label("Password", exact=True).fill(PASSWORD)
        self._press("Create account")

    def introduces_herself(self) -> None:
        self.tab.get_by_label("Name", exact=True).fill("Nele Ahlers")
        self.tab.get_by_label("Picture", exact=True).set_input_files(self.picture)
        self._press("Save and continue")

    def chooses_topics(self) -> None:
        self.tab.get_by_label("Other tags").fill("#tea, #walks")
        self._press("Save and continue")
        self._main.get_by_role("link", name="Continue").click()
        self._main.get_by_role("link", name="Skip this step").click()
        expect(self.tab.get_by_text("Follow someone to fill this page.")).to_be_visible()

    def follows_a_suggestion(self) -> None:
        """Follow the first person who is suggested on the empty home page."""
        person = self._main.locator(".who").first
        self.friend = str(person.get_by_role("link").last.get_attribute("href"))
        with self.tab.expect_response("**/follow"):
            person.get_by_role("button", name="Follow").click()
        self.tab.goto(self.friend)
        expect(self.tab.locator(".profile").get_by_role("button", name="Following")).to_be_visible()

    def posts_a_picture(self) -> None:
        self.tab.goto("/compose")
        self.tab.get_by_label("What is happening?").fill("Look at this.")
        add = self.tab.locator(".add-pictures summary")
        if self.scripts:
            with self.tab.expect_file_chooser() as chooser:
                add.click()
            chooser.value.set_files(self.picture)
        else:
            add.click()
            self.tab.get_by_label("Picture 1").set_input_files(self.picture)
        if self.scripts:
            self.tab.get_by_role("button", name="ALT").click()
        self.tab.get_by_label("Describe this for people who can't see it").first.fill(ALT)
        if self.scripts:
            self.tab.get_by_role("button", name="Done").click()
        self._press("Post")
        expect(self.tab.get_by_role("img", name=ALT)).to_be_visible()

    def edits(self) -> None:
        focused = self.tab.locator("article.focused")
        focused.get_by_role("button", name="More").click()
        focused.get_by_role("link", name="Edit").click()
        self.tab.get_by_label("What is happening?").fill(ENGLISH)
        self._press("Save changes")
        expect(focused.locator(".content")).to_have_text(ENGLISH)
        expect(self.tab.get_by_role("img", name=ALT)).to_be_visible()

    def replies(self) -> None:
        self.tab.goto(self.friend)
        self._posts.first.locator(".when").click()
        self.tab.locator("article.focused").get_by_role("link", name="Write a reply").click()
        area = self.tab.get_by_label("Your reply")
        if self.scripts:  # the script first puts the cursor after the name
            expect(area).to_be_focused()
        area.fill("I was there too.")
        area.locator("xpath=ancestor::form").get_by_role("button", name="Reply").last.click()
        expect(self.tab.get_by_text("I was there too.", exact=True).first).to_be_visible()

    def reposts(self) -> None:
        self.tab.goto(self.friend)
        post = self._posts.first
        post.get_by_role("button", name="Repost").click()
        if self.scripts:  # it asks for confirmation
            post.get_by_role("button", name="Repost", exact=True).click()
        expect(post.locator("button[formaction$='/unrepost']")).to_be_visible()

    def quotes(self) -> None:
        self.tab.goto(self.friend)
        menu = self._posts.first.get_by_role("button", name="More")
        if not menu.is_visible():  # without scripts it is on the page of the post
            self._posts.first.get_by_role("link", name="More").click()
            menu = self.tab.locator("article.focused").get_by_role("button", name="More")
        menu.click()
        self.tab.get_by_role("link", name="Quote", exact=True).click()
        self.tab.get_by_label("What is happening?").fill(CHINESE)
        box = self.tab.get_by_role("dialog") if self.scripts else self._main
        box.get_by_role("button", name="Post", exact=True).click()
        if self.scripts:
            self.tab.get_by_role("link", name="View").click()
        expect(self.tab.locator("article.focused .content").first).to_have_text(CHINESE)
        expect(self.tab.locator("article.focused .quote")).to_be_visible()

    def searches(self) -> None:
        for word, text in SPOKEN.items():
            self._until(f"/search?q={word}", self._main.locator("article", has_text=text).first)

    def filters_a_word(self) -> None:
        self.tab.goto("/settings/filters")
        self.tab.get_by_label("Title").fill("Endings")
        self.tab.get_by_label("Words and phrases").fill("spoiler\n结局")
        where = self._main.get_by_role("group", name="Where")
        where.get_by_role("checkbox").first.check()
        self._press("Create a filter")
        self.tab.goto("/settings/filters")
        expect(self._main.get_by_role("link", name="Edit Endings")).to_be_visible()

    def makes_a_list(self) -> None:
        self.tab.goto("/lists")
        self.tab.get_by_label("Title").fill("Close by")
        self._press("Create a list")
        self.tab.goto("/lists")
        self._main.get_by_role("link", name="Edit Close by").first.click()
        handle = self.friend.removeprefix("/@")
        self.tab.get_by_label("Handles").fill(handle)
        self._press("Add")
        expect(self._main.get_by_role("button", name=f"Remove @{handle}")).to_be_visible()

    def makes_a_circle(self) -> None:
        self.tab.goto("/settings/circles")
        self.tab.get_by_label("Name").fill("Choir")
        self._press("Create a circle")
        self.tab.goto("/settings/circles")
        expect(self._main.get_by_role("link", name="Edit Choir")).to_be_visible()

    def takes_the_data_along(self) -> None:
        self.tab.goto("/settings/export")
        self._press("Create an archive")
        ready = self._main.get_by_role("link", name="Download", exact=True)
        self._until("/settings/export", ready)
        with self.tab.expect_download() as download:
            ready.click()
        if not download.value.path().read_bytes().startswith(b"PK"):
            raise AssertionError("the archive is no ZIP file")

    def deletes_the_account(self) -> None:
        self.tab.goto("/settings/delete")
        self.tab.get_by_label("Your password").fill(PASSWORD)
        self._main.get_by_role("checkbox").first.check()
        self._press("Delete account")
        self.tab.wait_for_url("**/account-deleted")
        answer = self.tab.goto(f"/@{self.handle}")
        if answer is None or answer.status not in {404, 410}:
            raise AssertionError("the profile is still there")

    @property
    def _main(self) -> Locator:
        return self.tab.get_by_role("main")

    @property
    def _posts(self) -> Locator:
        """The friend's own posts, without reposts."""
        mine = self.tab.locator(f".name[href='{self.friend}']")
        shared = self.tab.locator(".reason")
        return self.tab.locator("#feed > article").filter(has=mine).filter(has_not=shared)

    def _press(self, name: str) -> None:
        self._main.get_by_role("button", name=name, exact=True).last.click()

    def _until(self, address: str, wanted: Locator) -> None:
        for _try in range(TRIES):
            self.tab.goto(address)
            if wanted.count():
                break
            self.tab.wait_for_timeout(500)
        expect(wanted).to_be_visible()


STEPS: tuple[Callable[[Newcomer], None], ...] = (
    Newcomer.signs_up, Newcomer.introduces_herself, Newcomer.chooses_topics, Newcomer.follows_a_suggestion,
    Newcomer.posts_a_picture, Newcomer.edits, Newcomer.replies, Newcomer.reposts, Newcomer.quotes, Newcomer.searches,
    Newcomer.filters_a_word, Newcomer.makes_a_list, Newcomer.makes_a_circle, Newcomer.takes_the_data_along,
    Newcomer.deletes_the_account,
)  # fmt: skip


def walk(newcomer: Newcomer) -> list[str]:
    """Take every step in turn, also those after a failed one. Returns the failures in words."""
    expect.set_options(timeout=WAIT_MS)
    failed = []
    for step in STEPS:
        try:
            step(newcomer)
        except (AssertionError, Error) as error:
            failed.append(f"{step.__name__.replace('_', ' ')}: {str(error).splitlines()[0]}")
    return failed
