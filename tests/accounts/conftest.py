from io import BytesIO

import pytest
from PIL import Image

from tests.support.staff import make_staff


@pytest.fixture
def picture():
    """`picture(size, format, **options)`: an uploaded file."""

    def make(size=(640, 480), form="PNG", colour="navy", **options):
        file = BytesIO()
        Image.new("RGB", size, colour).save(file, form, **options)
        file.seek(0)
        file.name = f"picture.{form.lower()}"
        return file

    return make


@pytest.fixture(autouse=True)
def _media(media):
    """All of them store pictures."""


@pytest.fixture
def admin(db):
    return make_staff("accounts.change_user", handle="operator")
