import sys
from types import ModuleType

import pytest

from tools.house.trace import Trace, trace

pytestmark = pytest.mark.long


def module(path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    found = ModuleType(path.stem)
    exec(compile(source, str(path), "exec"), found.__dict__)
    return found


def test_only_own_calls_are_noted_with_their_files_and_ways_between_folders(tmp_path):
    low = module(
        tmp_path / "apps/low/cache.py", "def get(key):\n    return [one for one in range(key)]\n"
    )
    foreign = module(tmp_path / "elsewhere/text.py", "def shout(text):\n    return text.upper()\n")
    high = module(
        tmp_path / "apps/high/home.py",
        "def page():\n    shout('a')\n    one()\n    get(1)\n    get(2)\n    one()\n\n\ndef one(): ...\n",
    )
    high.get, high.shout = low.get, foreign.shout
    found = trace(high.page, tmp_path, ["apps"], library="library")
    names = [name for _file, name in found.calls if not name.endswith(">")]
    assert names == ["page", "one", "get", "get", "one"]
    assert {file for file, _name in found.calls} == {"apps/high/home.py", "apps/low/cache.py"}
    assert (found.files, found.functions, found.ways_in) == (2, 3, 2)


def test_a_library_is_one_door_and_calls_back(tmp_path):
    library = module(
        tmp_path / "library/text.py",
        "def each(names, call):\n    return [told(call, one) for one in names]\n\n\n"
        "def told(call, name):\n    return call(name)\n",
    )
    high = module(
        tmp_path / "apps/high/home.py",
        "def page():\n    each('ab', name)\n\n\ndef name(one): ...\n",
    )
    high.each = library.each
    found = trace(high.page, tmp_path, ["apps"], library="library")
    assert found.calls == [
        ("apps/high/home.py", "page"),
        ("apps/high/home.py", "name"),
        ("apps/high/home.py", "name"),
    ]
    assert (found.files, found.ways_in) == (1, 3)


def test_the_profile_ends_with_the_action_also_when_it_fails(tmp_path):
    def fail():
        raise LookupError

    with pytest.raises(LookupError):
        trace(fail, tmp_path, ["apps"], library="library")
    assert sys.getprofile() is None


def test_nothing_called_is_nothing():
    empty = Trace()
    assert (empty.files, empty.functions, empty.ways_in) == (0, 0, 0)
