"""Pictures of a profile: which part of them is kept."""

from io import BytesIO
from typing import cast

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from tests.support.cases import each
from tests.support.pages import ERROR

pytestmark = pytest.mark.django_db


class TestCropping:
    """The part that was chosen is kept, else the middle."""

    @pytest.fixture
    def halves(self):
        """A picture that is red on the left and blue on the right, 200 x 100."""
        picture = Image.new("RGB", (200, 100), (200, 0, 0))
        picture.paste((0, 0, 200), (100, 0, 200, 100))
        buffer = BytesIO()
        picture.save(buffer, "PNG")
        return buffer.getvalue()

    def colours(self, alice, page_of, data, **fields):
        """Of the left and the right edge of the avatar that is made of a picture: r or b."""
        file = SimpleUploadedFile("a.png", data, content_type="image/png")
        answer = page_of(alice).post("/settings/profile", {"avatar": file, **fields})
        assert answer.status_code == 303
        alice.refresh_from_db()
        with Image.open(alice.avatar.path) as made:
            assert made.size == (400, 400)
            edges = np.asarray(made.convert("RGB"))[200, [10, 390]].astype(int)
        return "".join("r" if red > blue else "b" for red, _green, blue in edges)

    @pytest.mark.long
    @each(
        ("box", "kept"),
        [
            ("", "rb"),
            ("0,0,0.5,1", "rr"),
            ("0.5,0,1,1", "bb"),
            ("0.99999,0.99999,1,1", "bb"),
            ("0,0,1,1", "rb"),
            *((wrong, "rb") for wrong in ("x", "1,1,0,0", "nan,0,1,1", "-1,0,0.5,1", "0,0,9,1", "0,0,1")),
        ],
    )  # fmt: skip
    def test_the_part_that_was_chosen(self, alice, page_of, halves, box, kept):
        assert self.colours(alice, page_of, halves, avatar_box=box) == kept

    @pytest.mark.long
    @each(("kind", "side"), [("PNG", 800), ("GIF", 40), ("WEBP", 400)])
    def test_a_clear_ground_stays_clear(self, alice, page_of, kind, side):
        logo = Image.new("RGBA", (side, side))
        logo.paste((200, 0, 0), (side // 4, side // 4, side // 2, side // 2))
        buffer = BytesIO()
        logo.save(buffer, kind)
        files = {name: SimpleUploadedFile("a", buffer.getvalue()) for name in ("avatar", "header")}
        assert page_of(alice).post("/settings/profile", files).status_code == 303
        alice.refresh_from_db()
        for stored in (alice.avatar, alice.header):
            with Image.open(stored.path) as made:
                places = (2, 2), (made.width * 3 // 8, made.height * 3 // 8)
                clear, red = (cast("tuple[int, ...]", made.getpixel(place)) for place in places)
                assert (clear[3], red[3], red[0] > 150) == (0, 255, True)

    @pytest.mark.slow
    def test_nothing_is_decoded_in_this_process(self, alice, page_of, halves, monkeypatch):
        def decode(*_args, **_more):
            raise AssertionError

        with monkeypatch.context() as patched:
            patched.setattr(Image, "open", decode)
            file = SimpleUploadedFile("a.png", halves, content_type="image/png")
            fields = {"avatar": file, "header": SimpleUploadedFile("b.png", halves)}
            assert page_of(alice).post("/settings/profile", fields).status_code == 303
        alice.refresh_from_db()
        assert alice.avatar.name.endswith(".webp")

    @pytest.mark.slow
    def test_too_many_pixels_for_a_profile(self, alice, page_of):
        buffer = BytesIO()
        Image.new("1", (5001, 5000)).save(buffer, "PNG")
        file = SimpleUploadedFile("a.png", buffer.getvalue(), content_type="image/png")
        answer = page_of(alice).post("/settings/profile", {"avatar": file})
        assert answer.status_code == 422
        assert ERROR in answer.text

    @pytest.mark.slow
    def test_a_header_is_three_times_as_wide(self, alice, page_of, halves):
        file = SimpleUploadedFile("a.png", halves, content_type="image/png")
        fields = {"header": file, "header_box": "0.5,0,1,0.33333"}
        assert page_of(alice).post("/settings/profile", fields).status_code == 303
        alice.refresh_from_db()
        with Image.open(alice.header.path) as made:
            red, _green, blue = np.asarray(made.convert("RGB"))[10, 10]
            assert (made.size, red < blue) == ((1500, 500), True)
