"""Where somebody was in a feed is found again after a reload,
and by a tab that was put away, without jumps or endless loading.
"""

import pytest
from playwright.sync_api import expect

from tests.flows.browsing import needs_browser
from tests.support.factories import publish

pytestmark = [*needs_browser, pytest.mark.flows]

POSTS = 65
# The post at the top edge, how far it is from there, and how many posts are loaded.
PLACE = """() => {
  const posts = [...document.querySelectorAll("#feed > .post")];
  const post = posts.find((one) => one.getBoundingClientRect().bottom > 80);
  return [post.id, Math.round(post.getBoundingClientRect().top), posts.length];
}"""


@pytest.fixture
def far_down(author, visit):
    """A visitor of a profile who has read on to the fourth page."""
    for number in range(POSTS):
        publish(author, f"Number {number}.")
    with visit() as page:
        page.goto("/@author")
        for loaded in (40, 60):
            page.get_by_role("link", name="Older posts").scroll_into_view_if_needed()
            expect(page.locator("#feed > .post")).to_have_count(loaded)
        page.locator("#feed > .post").nth(50).evaluate("(post) => scrollTo(0, post.offsetTop - 30)")
        yield page


def _is_back(page, place):
    expect(page.locator(f"#{place[0]}")).to_be_in_viewport()
    expect(page.locator("#feed")).to_be_visible()
    found = page.evaluate(PLACE)
    assert found[0] == place[0]
    assert abs(found[1] - place[1]) <= 1
    assert found[2] == place[2], "no more is loaded than was there"


def test_a_reload_and_a_way_back_come_to_the_same_post(far_down, author):
    page, place = far_down, far_down.evaluate(PLACE)
    page.reload()
    _is_back(page, place)
    above = [publish(author, f"Meanwhile {number}.").pk for number in range(3)]
    page.reload()
    expect(page.locator(f"#{place[0]}")).to_be_in_viewport()
    found = page.evaluate(PLACE)
    assert found[0] == place[0]
    assert abs(found[1] - place[1]) <= 1
    numbers = page.locator("#feed > .post").evaluate_all("posts => posts.map((post) => post.id)")
    assert numbers[:3] == [f"p{pk}" for pk in reversed(above)]
    assert len(set(numbers)) == len(numbers)
    positions = page.locator("#feed > .post").evaluate_all(
        "posts => posts.map((post) => Number(post.getAttribute('aria-posinset')))"
    )
    assert positions == list(range(1, len(numbers) + 1))
    page.goto("/about")
    page.go_back()
    expect(page.locator(f"#{place[0]}")).to_be_in_viewport()
    assert page.evaluate(PLACE)[0] == place[0]
    page.get_by_role("link", name="Older posts").scroll_into_view_if_needed()
    expect(page.get_by_text("You're all caught up.")).to_be_visible()
    page.goto("/@author")  # a new visit begins at the top
    assert page.evaluate("scrollY") == 0


def test_a_place_very_far_down_is_entered_directly(far_down):
    page, place = far_down, far_down.evaluate(PLACE)
    page.goto("/about")
    page.evaluate("""() => {
      const place = JSON.parse(sessionStorage.getItem("place:/@author"));
      sessionStorage.setItem("place:/@author", JSON.stringify({ ...place, pages: 99 }));
    }""")  # as if so many pages lay above
    page.go_back(wait_until="commit")
    page.wait_for_url("**/@author?max_id=*")
    expect(page.locator(f"#{place[0]}")).to_be_in_viewport()
    expect(page.get_by_role("link", name="Newest posts")).to_be_attached()
    assert page.locator("#feed > .post").count() <= 40
