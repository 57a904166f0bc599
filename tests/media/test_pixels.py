"""What a decoder of pictures may do, and what it says of pictures that it refuses."""

import struct
import subprocess
import sys
import zlib

from apps.media.pixels import opened, outcome
from apps.media.sizes import TOO_LARGE
from runner.checkout import ROOT

# What an exploited decoder could try: closing a file makes its number free for another.
_OPENS = """
import os
from apps.media.pixels import limit
limit(lambda: None)
os.close(0)
try:
    open("manage.py")
except OSError as error:
    print(error.strerror)
"""


def test_a_decoder_opens_no_file_even_after_closing_another():
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.'){_OPENS}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "Too many open files\n"


def test_a_picture_of_far_too_many_pixels_is_too_large_not_unreadable():
    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 20_000, 10_000, 8, 2, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    assert outcome(lambda data: opened(data).tobytes(), png) == (TOO_LARGE, b"")
