from functools import cache
from io import BytesIO

import pytest
from PIL import Image, ImageStat

from apps.demo.pictures import AVATAR_SIDE, SCENES, SHAPES, Sketch, drawn, drawn_avatar, drawn_many
from apps.posts.sizes import PREVIEW_SIDE


def test_there_are_many_scenes():
    assert len(SCENES) >= 12


first_drawn = cache(drawn)  # drawing takes its time: what several tests look at is drawn once
SCENES_AND_SHAPES = [
    *((scene, "square") for scene in SCENES),
    *(("cat_sill", shape) for shape in SHAPES if shape != "square"),
]


@pytest.mark.parametrize(("scene", "shape"), SCENES_AND_SHAPES)
def test_picture_has_its_size_and_is_not_blank(scene, shape):
    sketch = Sketch(scene, 3, shape)
    data, preview = first_drawn(sketch)
    with Image.open(BytesIO(preview)) as small:
        assert max(small.size) == PREVIEW_SIDE
    assert len(preview) < len(data)
    with Image.open(BytesIO(data)) as image:
        assert image.format == "WEBP"
        assert image.size == sketch.size
        assert max(ImageStat.Stat(image.convert("RGB")).stddev) > 10
    assert len(data) < 150_000


@pytest.mark.parametrize("scene", SCENES)
def test_picture_follows_from_its_seed(scene):
    sketch = Sketch(scene, 3, "square")
    assert drawn(sketch) == first_drawn(sketch)
    assert drawn(Sketch(scene, 6, "square")) != first_drawn(sketch)


def test_many_pictures_come_in_order_and_are_those_drawn_one_by_one():
    sketches = [Sketch(scene, 3, "square") for scene in [*SCENES][:5]]
    assert list(drawn_many(sketches)) == [first_drawn(sketch) for sketch in sketches]


@pytest.mark.parametrize("focus", [(0.5, 0.5, 0.4), (0.0, 1.0, 0.5), (1.0, 0.0, 1.0)])
def test_avatar_is_square_wherever_its_focus_lies(focus):
    with Image.open(BytesIO(drawn_avatar(Sketch("cat_sill", 3, "square"), focus))) as image:
        assert image.size == (AVATAR_SIDE, AVATAR_SIDE)
