"""The files of emoji, from the package they are written from."""

from pathlib import Path

import orjson

from tools import emoji as tool


def test_the_files_are_written_from_the_package(tmp_path, monkeypatch):
    entries = [
        {"hexcode": "2", "emoji": "B", "label": "b", "group": 1, "order": 2, "tags": ["be", "bee"]},
        {"hexcode": "1", "emoji": "A", "label": "a big one", "group": 0, "order": 1, "tags": ["big", "first"]},
        {"hexcode": "3", "emoji": "tone", "label": "tone", "group": 2, "order": 3},
        {"hexcode": "4", "emoji": "letter", "label": "letter"},
    ]  # fmt: skip
    for folder in tool.LANGUAGES.values():
        (tmp_path / folder / "shortcodes").mkdir(parents=True)
        (tmp_path / folder / "data.json").write_bytes(orjson.dumps(entries))
    codes = Path(tmp_path / "en" / "shortcodes" / "github.json")
    codes.write_bytes(orjson.dumps({"1": "one", "2": ["two", "zwei"]}))
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    tool.main(tmp_path)
    english = orjson.loads((tmp_path / "en.json").read_bytes())
    assert english == [["A|a big one|one|first"], ["B|b|two|zwei|be|bee"]]
    chinese = orjson.loads((tmp_path / "zh-hans.json").read_bytes())
    assert chinese == [["A|a big one||first"], ["B|b||be|bee"]]
