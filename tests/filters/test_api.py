"""Filters as clients and browsers use them."""

import re

import pytest

from apps.filters.actions import FilterChange, KeywordChange, add_keyword, create_filter
from apps.filters.models import Filter
from apps.web.forms.filters import KEEP_EXPIRY
from tests.support.cases import each
from tests.support.factories import publish
from tests.support.pages import EMPTY, QUESTION

pytestmark = pytest.mark.django_db
FILTERS = "/api/v2/filters"


def test_a_whole_life(alice, bob, api_of):
    client, post = api_of(bob), publish(alice, "tea")
    body = {
        "title": "Quiet",
        "context": ["home", "public"],
        "filter_action": "hide",
        "expires_in": 3600,
        "keywords_attributes": [{"keyword": "tea", "whole_word": True}],
    }
    made = client.post(FILTERS, body, format="json").json()
    assert (made["title"], made["context"], made["filter_action"]) == ("Quiet", ["home", "public"], "hide")  # fmt: skip
    assert made["expires_at"].endswith("Z")
    [word] = made["keywords"]
    assert (word["keyword"], word["whole_word"]) == ("tea", True)
    one = f"{FILTERS}/{made['id']}"
    change = {"filter_id": made["id"], "title": "Loud", "expires_in": None,
              "keywords_attributes": [{"id": word["id"], "_destroy": True}, {"keyword": "milk"}]}  # fmt: skip
    changed = client.put(one, change, format="json").json()
    assert (changed["title"], changed["expires_at"], changed["context"]) == (
        "Loud",
        None,
        ["home", "public"],
    )
    assert [each["keyword"] for each in changed["keywords"]] == ["milk"]
    added = client.post(f"{one}/keywords", {"keyword": "sugar"}).json()
    assert added["whole_word"] is changed["keywords"][0]["whole_word"] is True
    assert (
        client.put(f"{FILTERS}/keywords/{added['id']}", {"whole_word": "false"}).json()[
            "whole_word"
        ]
        is False
    )
    assert [each["keyword"] for each in client.get(f"{one}/keywords").json()] == ["milk", "sugar"]
    old = client.get("/api/v1/filters").json()
    assert [each["phrase"] for each in old] == ["milk", "sugar"]
    assert old[0]["irreversible"] is True
    assert client.get(f"/api/v1/filters/{added['id']}").json()["phrase"] == "sugar"
    assert client.delete(f"{FILTERS}/keywords/{added['id']}").json() == {}
    named = client.post(f"{one}/statuses", {"status_id": str(post.pk)}).json()
    assert named["status_id"] == str(post.pk)
    assert client.get(f"{one}/statuses").json() == client.get(one).json()["statuses"] == [named]
    assert client.get(f"{FILTERS}/statuses/{named['id']}").json() == named
    assert client.delete(f"{FILTERS}/statuses/{named['id']}").json() == {}
    assert client.delete(one).json() == {}
    assert client.get(FILTERS).json() == []


def test_forms_are_the_same(bob, api_of):
    fields = {
        "title": "Quiet",
        "context[]": ["home", "thread"],
        "keywords_attributes[0][keyword]": "tea",
        "keywords_attributes[0][whole_word]": "1",
    }
    made = api_of(bob).post(FILTERS, fields).json()
    assert (made["context"], made["keywords"][0]["whole_word"]) == (["home", "thread"], True)


@each(
    "body",
    [
        {},
        {"title": "x"},
        {"title": "", "context": ["home"]},
        {"title": "x", "context": ["nowhere"]},
        {"title": "x", "context": ["home"], "filter_action": "explode"},
        {"title": "x", "context": ["home"], "expires_in": -1},
        {"title": "x", "context": ["home"], "expires_in": 10**30},
        {"title": "x", "context": ["home"], "keywords_attributes": [{"keyword": ""}]},
        {"title": "x", "context": ["home"], "keywords_attributes": [{}]},
        {"title": "x", "context": ["home"], "keywords_attributes": "tea"},
    ],
)
def test_bad_filters(bob, api_of, body):
    assert api_of(bob).post(FILTERS, body, format="json").status_code == 422
    assert not Filter.objects.exists()


def test_the_form_can_be_sent_as_it_comes(bob, page_of):
    browser, address = page_of(bob), "/settings/filters"
    checked = re.findall(r'name="places" value="(\w+)"[^>]* checked', browser.get(address).text)
    assert checked == ["home", "notifications", "public", "thread"]
    fields = {"title": "Quiet", "keywords": "tea", "places": checked, "act": "warn", "expires": "0"}
    assert browser.post(address, fields).status_code == 303


def test_the_pages(bob, page_of):
    browser, address = page_of(bob), "/settings/filters"
    assert EMPTY in browser.get(address).text
    fields = {"title": "Quiet", "keywords": "tea\n 天气 \n\ntea", "whole_word": "on", "places": ["home"], "act": "warn",
              "expires": "86400"}  # fmt: skip
    assert browser.post(address, fields).status_code == 303
    made = Filter.objects.get()
    assert [word.keyword for word in made.keywords.order_by("pk")] == ["tea", "天气"]
    page = browser.get(f"{address}/{made.pk}").text
    assert "天气" in page
    assert f'value="{KEEP_EXPIRY}"' in page
    changed = {**fields, "keywords": "天气", "act": "hide", "expires": "keep"}
    assert browser.post(f"{address}/{made.pk}", changed).status_code == 303
    after = Filter.objects.get()
    assert (after.act, after.expires_at) == ("hide", made.expires_at)
    assert [word.keyword for word in after.keywords.all()] == ["天气"]
    assert browser.post(address, {**fields, "places": []}).status_code == 422
    assert "过滤规则" in browser.get(address, headers={"Accept-Language": "zh-hans"}).text
    assert page_of(None).get(address).status_code == 302
    assert QUESTION in browser.get(f"{address}/{made.pk}/delete").text
    assert browser.post(f"{address}/{made.pk}/delete").status_code == 303
    assert not Filter.objects.exists()


class TestForm:
    """A filter of a program, changed on its page, where one tick stands for all keywords."""

    ADDRESS = "/settings/filters"
    MIXED = (("tea", True), ("milk", False), ("天气", True))

    @pytest.fixture
    def mixed(self, bob):
        words = [KeywordChange(keyword=word, whole_word=whole) for word, whole in self.MIXED]
        return create_filter(bob, FilterChange("Quiet", ["home"], "warn", keywords=words))

    def save(self, browser, found, **changes):
        """Submit the page of a filter as it is, but for some fields."""
        form = browser.get(f"{self.ADDRESS}/{found.pk}").context["form"]
        fields = {name: form[name].value() for name in form.fields} | changes
        fields = {name: value for name, value in fields.items() if value is not False}  # unticked
        assert browser.post(f"{self.ADDRESS}/{found.pk}", fields).status_code == 303
        return [(word.keyword, word.whole_word) for word in found.keywords.order_by("pk")]

    def test_saving_a_filter_unchanged_loses_nothing(self, bob, page_of, mixed):
        assert self.save(page_of(bob), mixed) == list(self.MIXED)

    def test_the_page_says_that_keywords_differ(self, bob, page_of, mixed):
        text = "Some of these words match as whole words only."
        browser, address = page_of(bob), f"{self.ADDRESS}/{mixed.pk}"
        assert text in browser.get(address).text
        mixed.keywords.update(whole_word=True)
        assert text not in browser.get(address).text

    def test_a_tick_that_is_changed_goes_for_all_keywords(self, bob, page_of, mixed):
        whole = self.save(page_of(bob), mixed, whole_word="on")
        assert whole == [(word, True) for word, _whole in self.MIXED]
        none = self.save(page_of(bob), mixed, whole_word=False)
        assert none == [(word, False) for word, _whole in self.MIXED]

    def test_other_keywords_do_not_change_with_one_that_is_added(self, bob, page_of, mixed):
        words = "tea\nmilk\n天气\nsugar"
        assert self.save(page_of(bob), mixed, keywords=words) == [*self.MIXED, ("sugar", False)]

    def test_a_keyword_that_is_there_twice_is_kept_or_deleted_twice(self, bob, page_of, mixed):
        add_keyword(bob, mixed.pk, keyword="tea", whole_word=False)
        twice = [*self.MIXED, ("tea", False)]
        assert self.save(page_of(bob), mixed, title="Loud") == twice
        left = self.save(page_of(bob), mixed, keywords="milk\n天气")
        assert left == [("milk", False), ("天气", True)]


OLD = "/api/v1/filters"


def test_a_filter_of_the_first_version_is_a_filter_with_one_keyword(bob, api_of):
    client = api_of(bob)
    body = {"phrase": "tea", "context": ["home"], "irreversible": True, "expires_in": 60}
    made = client.post(OLD, body, format="json").json()
    assert (made["phrase"], made["context"], made["irreversible"]) == ("tea", ["home"], True)
    [whole] = client.get(FILTERS).json()
    assert (whole["title"], whole["filter_action"], len(whole["keywords"])) == ("tea", "hide", 1)
    change = {"phrase": "milk", "context": ["home", "public"], "irreversible": "false", "expires_in": "0"}  # fmt: skip
    changed = client.put(f"{OLD}/{made['id']}", change, format="json").json()
    assert changed == {
        "id": made["id"],
        "phrase": "milk",
        "context": ["home", "public"],
        "whole_word": True,
        "expires_at": None,
        "irreversible": False,
    }
    assert client.put(f"{OLD}/{made['id']}", {"whole_word": False}).json()["phrase"] == "milk"
    assert client.delete(f"{OLD}/{made['id']}").json() == {}
    assert client.get(FILTERS).json() == []
    assert not Filter.objects.exists()


def test_of_a_filter_with_more_keywords_the_first_version_changes_one(bob, api_of):
    client = api_of(bob)
    words = [{"keyword": "tea"}, {"keyword": "milk"}]
    body = {"title": "Quiet", "context": ["home"], "keywords_attributes": words}
    made = client.post(FILTERS, body, format="json").json()
    tea = f"{OLD}/{made['keywords'][0]['id']}"
    assert client.put(tea, {"phrase": "sugar", "context": ["home"], "irreversible": False},
                      format="json").status_code == 200  # fmt: skip
    assert client.get(f"{FILTERS}/{made['id']}").json()["title"] == "Quiet"
    for more in ({"context": ["public"]}, {"irreversible": True}, {"expires_in": 60}):
        answer = client.put(tea, {"phrase": "sugar", **more}, format="json")
        assert (answer.status_code, list(answer.json()["errors"][0])) == (422, ["field", "detail"])
    never = {"phrase": "sugar", "expires_in": 0}
    assert client.put(tea, never, format="json").status_code == 200  # as before
    client.put(f"{FILTERS}/{made['id']}", {"expires_in": 60}, format="json")
    assert client.put(tea, never, format="json").status_code == 422
    assert client.delete(tea).status_code == 200
    assert [word["phrase"] for word in client.get(OLD).json()] == ["milk"]


def test_another_ones_keyword_is_not_there_for_the_first_version_either(alice, bob, api_of):
    made = api_of(bob).post(OLD, {"phrase": "tea", "context": ["home"]}, format="json").json()
    for method in ("get", "put", "delete"):
        assert getattr(api_of(alice), method)(f"{OLD}/{made['id']}").status_code == 404
