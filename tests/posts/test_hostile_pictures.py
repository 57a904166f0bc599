"""Files that want to do harm: each is refused or becomes a plain picture, and none takes much memory."""

import json
import random
import subprocess
import sys
import zlib
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest
from django.conf import settings
from PIL import Image

from apps.media.pixels import MAX_COPIED_PIXELS
from apps.media.sandbox import ENVIRONMENT
from apps.media.sizes import MAX_PIXELS
from tests.support.pictures import moving, picture, stereo, with_place, with_words

pytestmark = pytest.mark.long

NUMBER = 400
BATCH = 50  # in one process, as the limits of its time are for one large picture
MOST_MEGABYTES = 300
HEIC = Path(__file__).parent / "heic"

# Takes files as the program takes its one, under the same limits, and says what became of each.
_BATCH = """
import sys
from apps.media.pixels import limit, outcome
%s
limit(rehearse)
files = sys.stdin.buffer
while line := files.readline():
    code, answer = outcome(rewritten, files.read(int(line)))
    sys.stdout.buffer.write(b"%%d %%d\\n" %% (code, len(answer)) + answer)
"""


OF_POSTS = "from apps.media.reencode import rehearse, rewritten"
OF_PROFILES = """
from functools import partial
from apps.media.crop import crop_picture
from apps.media.pixels import samples
rewritten = partial(crop_picture, size=(400, 400), box=(0.1, 0.1, 0.9, 0.9))
def rehearse():
    return [rewritten(one) for one in samples()]
"""


def sound():
    """Pictures of every kind that is taken, small ones."""
    kinds = [picture(kind=kind) for kind in ("PNG", "JPEG", "WEBP", "GIF", "AVIF")]
    kinds += [stereo(), *(path.read_bytes() for path in sorted(HEIC.glob("[ast]*.heic")))]
    modes = [picture(mode=mode) for mode in ("RGBA", "LA", "P", "1", "I;16")]
    odd = [picture(kind="JPEG", mode="CMYK", progressive=True), picture(kind="TIFF"), picture(kind="BMP")]  # fmt: skip
    return [*kinds, *modes, *odd, with_place(), with_words(), moving(12)]


def chunk(name, data):
    """A part of a PNG."""
    return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)


def png_that_says(width, height, *, depth=8, colour=6, data=b"\0" * 4096, more=b""):
    """A PNG whose header promises something; its data unpack to a thousand times what they weigh."""
    head = width.to_bytes(4) + height.to_bytes(4) + bytes([depth, colour, 0, 0, 0])
    packed = zlib.compress(data * 250, 9)
    parts = chunk(b"IHDR", head) + more + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def made_by_hand():
    """What has been sent to sites before."""
    script = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    archive = b"PK\x03\x04" + b"canary" * 100
    compressed = zlib.compress(b"canary" * 10**6)
    text = chunk(b"zTXt", b"Comment\0\0" + compressed) + chunk(b"iCCP", b"canary\0\0" + compressed)
    return [
        b"", b"\0", b"GIF89a", b"\xff\xd8\xff", b"RIFF\xff\xff\xff\xffWEBP", script, archive, b"%PDF-1.7 canary",
        b"<!doctype html><script>canary</script>", b"#!/bin/sh\ncanary", b"\0\0\0 ftypavif", b"II*\0" + b"\xff" * 100,
        b"8BPS" + b"\0" * 100, b"%!PS-Adobe canary", b"GIF89a/*" + script + b"*/=1;", picture() + archive,
        picture(kind="JPEG") + script,
        picture(kind="GIF") + b"<script>canary</script>", png_that_says(50_000, 50_000), png_that_says(2**31 - 1, 1),
        png_that_says(0, 0), png_that_says(10, 10, depth=16), png_that_says(10, 10, depth=3),
        png_that_says(10, 10, colour=5),
        png_that_says(4, 4, more=text), png_that_says(4, 4, data=b"\xff" * 4096), moving(601, (1, 1)),
        moving(600, (1, 1)),
        picture((2048, 1)), picture((1, 2049)), picture((16_000, 1), "WEBP"), picture((60_000, 1), "JPEG"),
    ]  # fmt: skip


def spoilt(data, chance):
    """A picture cut off, turned at some bits, with foreign bytes in it, or with other numbers in its head."""
    ways = chance.randrange(5)
    at = chance.randrange(len(data))
    if ways == 0:
        return data[:at]
    if ways == 1:
        return data[:at] + b"canary" * chance.randrange(1, 200) + data[at:]
    if ways == 2:
        return data[:at] + chance.choice(sound())[at:]
    changed = bytearray(data)
    for _bit in range(chance.choice([1, 4, 40])):
        place = chance.randrange(min(len(data), 64)) if ways == 3 else chance.randrange(len(data))
        changed[place] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    return bytes(changed)


def corpus():
    chance, files = random.Random(23), made_by_hand()
    while len(files) < NUMBER:
        files.append(spoilt(chance.choice(sound()), chance))
    return files


def run(command, data):
    """What a process answers, its exit code, and the most memory that it had, in megabytes."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=settings.BASE_DIR,
        env=ENVIRONMENT,
    ) as process:
        found = []
        reader = Thread(target=lambda: found.append(process.communicate(data)[0]))
        reader.start()
        maximum = 0
        while reader.is_alive():
            maximum = max(maximum, peak_of(process.pid))
            reader.join(0.005)
    return found[0], process.returncode, maximum // 1024


def peak_of(pid):
    """The high-water mark of a process, in kilobytes; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def answers(said):
    """The exit code and the answer for each file."""
    stream = BytesIO(said)
    while line := stream.readline():
        code, length = map(int, line.split())
        yield code, stream.read(length)


def outcomes_of(program, files):
    """The exit code and the answer of a program for each file."""
    outcomes = []
    for start in range(0, len(files), BATCH):
        batch = b"".join(b"%d\n" % len(data) + data for data in files[start : start + BATCH])
        said, code, megabytes = run([sys.executable, "-s", "-E", "-c", _BATCH % program], batch)
        assert (code, megabytes < MOST_MEGABYTES) == (0, True), (start, megabytes)
        outcomes += answers(said)
    assert len(outcomes) == len(files)
    return outcomes


def plain(data):
    """A picture that is nothing but pixels."""
    again = Image.open(BytesIO(data))
    again.load()
    assert (again.format, b"canary" in data) == ("WEBP", False)
    assert {"exif", "xmp", "icc_profile"}.isdisjoint(again.info)
    return again


def test_four_hundred_hostile_files_crash_nothing_and_leave_nothing():
    outcomes = outcomes_of(OF_POSTS, corpus())
    assert {code for code, _answer in outcomes} == {0, 3, 4}
    taken = [answer for code, answer in outcomes if code == 0]
    assert len(taken) > NUMBER // 10  # a changed bit may leave a picture a picture
    for answer in taken:
        line, _newline, parts = answer.partition(b"\n")
        length = json.loads(line)["bytes"][0]
        plain(parts[:length])
        plain(parts[length:])


def test_hostile_files_for_a_profile():
    outcomes = outcomes_of(OF_PROFILES, corpus()[:100])
    assert {code for code, _answer in outcomes} <= {0, 3, 4}
    taken = [answer for code, answer in outcomes if code == 0]
    assert len(taken) > NUMBER // 40
    assert {plain(answer).size for answer in taken} == {(400, 400)}


def test_the_largest_picture_for_a_profile_takes_less_than_300_megabytes():
    command = [sys.executable, "-s", "-E", "-m", "apps.media.crop", "1500", "500", "0", "0", "1", "1"]  # fmt: skip
    said, code, megabytes = run(command, largest("not halved"))
    assert (code, plain(said).size) == (0, (1500, 500))
    assert 40 < megabytes < MOST_MEGABYTES


def largest(kind):
    """Of the pictures that are just taken those that need the most."""
    if kind == "grey with opacity":
        return picture((5000, MAX_PIXELS // 5000), mode="LA")
    if kind == "webp":
        return picture((3000, MAX_COPIED_PIXELS // 3000), "WEBP", mode="RGBA", method=0)
    if kind == "heic":
        return (HEIC / "camera.heic").read_bytes()
    if kind == "avif":
        return picture((3500, MAX_COPIED_PIXELS // 3500), "AVIF", mode="RGBA", speed=10)
    if kind == "moving":
        return moving(2, (2500, MAX_COPIED_PIXELS // 5000))
    return picture((4095, 4095), mode="RGBA")  # a pixel more, and it is halved while it is read


@pytest.mark.parametrize(
    "kind", ["grey with opacity", "webp", "moving", "not halved", "avif", "heic"]
)
def test_the_largest_pictures_take_less_than_300_megabytes(kind):
    command = [sys.executable, "-s", "-E", "-m", "apps.media.reencode"]
    said, code, megabytes = run(command, largest(kind))
    assert (code, bool(said)) == (0, True)
    assert 60 < megabytes < MOST_MEGABYTES


@pytest.mark.parametrize(
    "draw",
    [
        lambda: picture((5001, 5000), mode="1"),
        lambda: picture((3536, 3536), "WEBP", method=0),
        lambda: moving(2, (2500, 2501)),
    ],
    ids=["more than 25 million", "webp of more than 12", "moving, more than 12 together"],
)
def test_more_pixels_are_refused_by_what_the_header_says(draw):
    command = [sys.executable, "-s", "-E", "-m", "apps.media.reencode"]
    said, code, megabytes = run(command, draw())
    assert (said, code) == (b"", 4)
    assert megabytes < 120
