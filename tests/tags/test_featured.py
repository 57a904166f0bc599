"""Tags on profiles: who shows which, how often they are used, on pages and for programs."""

import pytest

from apps.errors import Invalid, NotFound
from apps.posts.actions.publish import delete_post
from apps.tags.actions import (
    MAX_FEATURED,
    choose_featured_tags,
    feature_tag,
    remove_featured_tag,
    unfeature_tag,
)
from apps.tags.models import FeaturedTag
from apps.tags.queries import featured_ids, featured_tags, tags_to_feature
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db


def shown(user):
    return [(use.row.tag.name, use.uses) for use in featured_tags(user.pk)]


def test_a_tag_is_shown_with_the_owner_s_public_posts(alice, bob):
    feature_tag(alice, "#River")
    feature_tag(alice, "sea")
    for body in ("#river", "#river again", "#sea"):
        last = publish(alice, body)
    publish(alice, "#sea", visibility="unlisted")
    publish(alice, "#sea for some", visibility="followers")
    publish(bob, "#sea")
    assert shown(alice) == [("river", 2), ("sea", 1)]  # the most used first
    assert featured_tags(alice.pk)[1].last_post_id == last.pk
    delete_post(last.pk, by=alice)
    assert shown(alice) == [("river", 2), ("sea", 0)]
    assert shown(bob) == []


def test_a_tag_is_shown_once_and_by_its_owner(alice, bob):
    first = feature_tag(alice, "river")
    assert feature_tag(alice, "RIVER").pk == first.pk
    with pytest.raises(NotFound):
        remove_featured_tag(bob, first.pk)
    assert featured_ids(alice) == {first.tag_id}
    assert featured_ids(bob) == featured_ids(None) == set()
    unfeature_tag(alice, "river")
    unfeature_tag(alice, "river")
    assert shown(alice) == []


@pytest.mark.slow
def test_there_are_at_most_ten(alice):
    names = [f"tag{number}" for number in range(MAX_FEATURED)]
    choose_featured_tags(alice, names)
    with pytest.raises(Invalid):
        feature_tag(alice, "more")
    choose_featured_tags(alice, ["more", *names[1:]])
    assert {name for name, _uses in shown(alice)} == {"more", *names[1:]}
    with pytest.raises(Invalid):
        choose_featured_tags(alice, [*names, "more"])
    assert FeaturedTag.objects.count() == MAX_FEATURED


def test_tags_that_are_used_are_suggested(alice, bob):
    for body in ("#sea", "#sea", "#river #lake", "#river", "#river"):
        publish(alice, body)
    publish(alice, "#secret", visibility="followers")
    publish(bob, "#pond")
    feature_tag(alice, "lake")
    assert [tag.name for tag in tags_to_feature(alice.pk, maximum=5)] == ["river", "sea"]
    assert [tag.name for tag in tags_to_feature(alice.pk, maximum=1)] == ["river"]


@pytest.mark.slow
def test_the_profile_shows_them_to_everybody(alice, bob, page_of):
    choose_featured_tags(alice, ["river", "茶"])
    for reader in (alice, bob, None):
        page = page_of(reader).get("/@alice").text
        assert 'href="/search?q=from%3Aalice+%23river&amp;type=statuses"' in page
        assert "#茶" in page
    assert "from%3Abob+%23" not in page_of(None).get("/@bob").text


def test_they_are_chosen_in_the_settings(alice, page_of):
    browser = page_of(alice)
    form = {"display_name": "Alice", "featured_tags": "#river, Sea"}
    browser.post("/settings/profile", form)
    assert {name for name, _uses in shown(alice)} == {"river", "sea"}
    page = browser.get("/settings/profile").text
    assert 'value="#river #sea"' in page
    answer = browser.post("/settings/profile", {**form, "featured_tags": "#no-tag!"})
    assert "cannot be a tag" in answer.text
    browser.post("/settings/profile", {**form, "featured_tags": ""})
    assert shown(alice) == []


def test_they_go_with_the_account_that_shows_them(alice):
    other = make_user()
    feature_tag(other, "river")
    other.delete()
    assert not FeaturedTag.objects.exists()
