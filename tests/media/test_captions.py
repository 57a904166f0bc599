"""Captions: cues alone are kept of a WebVTT file."""

import pytest

from apps.media.captions import MAX_BYTES, MAX_CUES, clean_captions

CUE = "00:01.000 --> 00:02.500\nHello."


def test_the_cues_are_kept_without_anything_else():
    text = (
        "\ufeffWEBVTT - a title\r\nX-TIMESTAMP-MAP=1\r\n\r\nSTYLE\r\n::cue { color: red }\r\n\r\nNOTE none\r\n\r\n"
        "NOTES\r\n00:00:01.000 --> 00:00:02.500 line:0 position:20%\r\n<v Mei>河水\r\nof today\r\n\r\n\r\n"
        "00:03.000   -->\t00:04.000\r\nEnd\r\n"
    )
    assert clean_captions(text.encode()).decode() == (
        "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<v Mei>河水\nof today\n\n00:03.000 --> 00:04.000\nEnd\n"
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"WEBVTT", b"WEBVTT\n\nNOTE x", CUE.encode(), f"WEBVTTX\n\n{CUE}".encode(), b"WEBVTT\n\nHello.",
     b"WEBVTT\n\n00:01 --> 00:02\nx", b"WEBVTT\n\n00:61.000 --> 00:62.000\nx", b"\xff\xfe" + CUE.encode("utf-16-le"),
     f"WEBVTT\n\n{CUE}\n00:03.000 --> 00:04.000\nx".encode(), f"WEBVTT\n\n{CUE}\0".encode(),
     b"WEBVTT\n\nname\n", b"1\n00:00:01,000 --> 00:00:02,000\nSRT", b"WEBVTT\n\n" + b"x" * MAX_BYTES,
     ("WEBVTT\n\n" + f"{CUE}\n\n" * (MAX_CUES + 1)).encode(), b"\x00\x00\x00\x18ftypmp42" * 50],
)  # fmt: skip
def test_what_is_no_webvtt_is_refused(data):
    with pytest.raises(ValueError):  # noqa: PT011 -- of several kinds
        clean_captions(data)
