"""Forms in the shape of JSON."""

from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from apps.api.parsers import nested, without_brackets
from apps.posts.actions.uploads import upload_picture
from tests.support.cases import each
from tests.support.pictures import picture


@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ([("a", "1"), ("b", "2")], {"a": "1", "b": "2"}),
        ([("a", "1"), ("a", "2")], {"a": "2"}),
        ([("a[]", "1"), ("a[]", "2")], {"a": ["1", "2"]}),
        ([("poll[options][]", "x"), ("poll[options][]", "y"), ("poll[expires_in]", "60")],
         {"poll": {"options": ["x", "y"], "expires_in": "60"}}),
        ([("fields_attributes[1][name]", "b"), ("fields_attributes[0][name]", "a")],
         {"fields_attributes": [{"name": "a"}, {"name": "b"}]}),
        ([("k[][word]", "a"), ("k[][whole]", "1"), ("k[][word]", "b")],
         {"k": [{"word": "a", "whole": "1"}, {"word": "b"}]}),
        ([("a[", "1"), ("]b", "2"), ("[]", "3")], {"a[": "1", "]b": "2", "[]": "3"}),
        ([("a[][][]", "1")], {"a": [[["1"]]]}),
    ],
)  # fmt: skip
def test_names_say_the_shape(fields, shape):
    assert nested(fields) == shape


@pytest.mark.parametrize(
    "fields",
    [
        [("a", "1"), ("a[b]", "2")],
        [("a[b]", "2"), ("a", "1")],
        [("a[]", "2"), ("a", "1")],
        [("a[]", "1"), ("a[b]", "2")],
        [("a[b]", "1"), ("a[]", "2")],
        [("a[b][c][d][e][f]", "1")],
        [("a", "\x00")],
        [("\ud800", "1")],
    ],
)
def test_contradictions_are_refused(fields):
    with pytest.raises(ParseError):
        nested(fields)


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ({"status": "x", "media_ids[]": ["1", "2"]}, {"status": "x", "media_ids": ["1", "2"]}),
        ({"media_ids[]": "1"}, {"media_ids": ["1"]}),
        ({"media_ids[]": []}, {"media_ids": []}),
        ({"poll[options]": ["a", "b"], "poll[expires_in]": 60},
         {"poll": {"options": ["a", "b"], "expires_in": 60}}),
        ({"poll": {"options[]": ["a", "b"]}}, {"poll": {"options": ["a", "b"]}}),
        ({"poll": {"options": ["a", "b"]}, "poll[multiple]": True},
         {"poll": {"options": ["a", "b"], "multiple": True}}),
        ({"k[][word]": "a", "k[][whole]": True}, {"k": [{"word": "a", "whole": True}]}),
        ({"text": "a[b]", "list": ["[]"]}, {"text": "a[b]", "list": ["[]"]}),
    ],
)  # fmt: skip
def test_names_of_json_may_be_those_of_forms(body, shape):
    assert without_brackets(body) == shape


@pytest.mark.django_db
def test_pictures_are_not_lost_by_the_name_of_their_field(api_of, alice, settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)
    image = upload_picture(alice, BytesIO(picture()))
    body = {"status": "x", "media_ids[]": [str(image.pk)]}
    answer = api_of(alice).post("/api/v1/statuses", body, format="json").json()
    assert [one["id"] for one in answer["media_attachments"]] == [str(image.pk)]
    contradiction = {"poll": "x", "poll[options]": ["a", "b"]}
    assert api_of(alice).post("/api/v1/statuses", contradiction, format="json").status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["extra", "extra[]"])
def test_json_that_is_nested_too_deeply_is_refused(client, name):
    def answer(depth):
        lists = "[" * depth + "]" * depth
        body = f'{{"client_name": "Elephant", "{name}": {lists}}}'
        return client.post("/api/v1/apps", body, content_type="application/json").status_code

    assert (answer(40), answer(1000)) == (200, 400)


steps = st.lists(st.sampled_from(["", "a", "b", "0", "1", "["]), max_size=6)
names = steps.map(lambda some: "a" + "".join(f"[{step}]" for step in some))


@given(st.lists(st.tuples(names, st.sampled_from("xy")), max_size=8))
def test_any_names_give_a_shape_or_a_refusal(fields):
    with suppress(ParseError):
        assert isinstance(nested(fields), dict)


@pytest.mark.slow
@each(
    "kind, body",
    [
        ("application/x-www-form-urlencoded", b"client_name=a%00b"),
        ("application/x-www-form-urlencoded", b"client_name=%ED%A0%80"),
        ("application/x-www-form-urlencoded", b"client_name=%FF"),
        ("application/x-www-form-urlencoded", b"client_name=a&client_name[b]=c"),
        ("application/json", b'{"client_name": "a\\u0000b"}'),
        ("application/json", b'{"client_name": "\\ud800"}'),
        ("multipart/form-data; boundary=x",
         b'--x\r\nContent-Disposition: form-data; name="client_name"\r\n\r\na\x00b\r\n--x--\r\n'),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_in_every_form(db, client, kind, body):
    for path in ("/api/v1/apps", "/oauth/token"):
        answer = client.post(path, body, content_type=kind)
        assert answer.status_code in {400, 401, 422}
        assert answer.json()["error"]
