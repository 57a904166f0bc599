"""Who somebody is, where their name stands: a card below a pointer that rests on it."""

import pytest
from playwright.sync_api import expect

from apps.graph.queries import exact_relations
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import publish

pytestmark = [*needs_browser, pytest.mark.flows]


def test_a_name_that_the_pointer_rests_on_says_whose_it_is(author, reader, visit):
    author.bio = "Writes about rivers."
    author.save()
    publish(author, "Hello.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/public")
        name, card = page.locator(".post .name"), page.locator(".person-card")
        name.hover()
        expect(card).to_contain_text("Writes about rivers.")
        card.get_by_role("button", name="Follow The Author").click()
        expect(card.get_by_role("button", name="Following The Author")).to_be_visible()
        assert exact_relations(reader.pk, [author.pk]).following
        page.keyboard.press("Escape")
        expect(card).to_have_count(0)
        page.mouse.move(0, 0)
        name.hover()
        expect(card).to_be_visible()
        page.mouse.move(0, 0)
        expect(card).to_have_count(0)
