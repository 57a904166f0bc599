"""What the lint of waits refuses in tests, and what it lets pass."""

import pytest

from tools.lint import waits
from tools.lint.waits import findings_in

HEAD = (
    "import asyncio, time\nimport time as clock\nfrom time import monotonic, sleep\nimport pytest\n"
)


def refused(body):
    """The line numbers of what is refused in a body, counted from 1."""
    return [
        finding.line - HEAD.count("\n") for finding in findings_in(HEAD + body, "tests/test_x.py")
    ]


@pytest.mark.parametrize(
    "sleeping",
    [
        "time.sleep(0.051)", "time.sleep(1)", "clock.sleep(2)", "sleep(0.3)", "time.sleep(seconds)",
        "time.sleep(self.seconds)", "time.sleep(0.01 * 10)", "time.sleep(max(ends - time.monotonic(), 0))",
    ],
)  # fmt: skip
def test_long_and_unknown_sleeps_are_refused(sleeping):
    assert refused(f"def test_it():\n    {sleeping}\n") == [2]


def test_a_sleep_of_a_coroutine_too():
    assert refused("async def read():\n    await asyncio.sleep(0.1)\n") == [2]


@pytest.mark.parametrize(
    "sleeping", ["time.sleep(0.05)", "sleep(0)", "time.sleep(STEP)", "x.sleep(9)"]
)
def test_a_step_of_polling_is_not(sleeping):
    assert refused(f"STEP = 0.02\ndef test_it():\n    {sleeping}\n") == []


def test_a_constant_may_be_too_long():
    assert refused("STEP = 0.2\ndef test_it():\n    time.sleep(STEP)\n") == [3]


def test_text_of_a_child_process_is_not_code_of_the_test():
    assert refused('CHILD = "import time; time.sleep(60)"\n') == []


@pytest.mark.parametrize(
    "body",
    [
        "began = time.monotonic()\nassert time.monotonic() - began < 1",
        "began = monotonic()\nassert 0.3 <= monotonic() - began < LIMIT",
        "began = time.process_time()\ntook = time.process_time() - began\nassert took < 0.7",
        "deadline = time.monotonic() + 5\nassert time.monotonic() < deadline",
        "assert 29 < node.due - time.monotonic() <= 30",
        "took = []\nbegan = time.time()\ntook.append(time.time() - began)\nassert max(took) < 2",
    ],
)
def test_an_assertion_on_how_long_something_took_is_refused(body):
    lines = body.splitlines()
    inside = "".join(f"    {line}\n" for line in lines)
    assert refused(f"def test_it():\n{inside}") == [1 + len(lines)]


def test_also_of_a_function_that_returns_it():
    timer = "def seconds():\n    began = monotonic()\n    return monotonic() - began\n"
    assert refused(f"{timer}def test_it():\n    assert seconds() < 1\n") == [5]


def test_also_in_a_function_inside_and_in_a_block():
    body = """
def test_it():
    began = time.monotonic()
    def inner():
        with x:
            assert time.monotonic() - began < 1
"""
    assert refused(body) == [6]


@pytest.mark.parametrize(
    "body",
    [
        "now = time.time()\n    assert expires == now + 5",
        "took = left - right\n    assert took < 3",
        "began = time.monotonic()\n    assert node.due >= began + 30",
        "end = time.monotonic() + 1\n    while time.monotonic() < end:\n        work()",
    ],
)
def test_other_uses_of_a_clock_are_not(body):
    assert refused(f"def test_it():\n    {body}\n") == []


@pytest.mark.parametrize(
    "marked",
    [
        "@pytest.mark.waits('why')\ndef test_it():\n    sleep(1)\n",
        "@pytest.mark.waits('why')\nclass TestIt:\n    def test_it(self):\n        sleep(1)\n",
        "pytestmark = pytest.mark.waits('why')\ndef test_it():\n    sleep(1)\n",
        "pytestmark = [pytest.mark.django_db, pytest.mark.waits('why')]\ndef test_it():\n    sleep(1)\n",
    ],
)
def test_a_marker_with_a_reason_lets_real_time_pass(marked):
    assert refused(marked) == []
    assert refused(marked + "def helper():\n    sleep(1)\n") == (
        [] if "pytestmark" in marked else [marked.count("\n") + 2]
    )


@pytest.mark.parametrize(
    "marker",
    ["waits()", "waits", "waits('')", "waits(' ')", "waits(REASON)", "waits(reason='why')"],
)
def test_a_marker_without_a_reason_is_refused(marker):
    assert 1 in refused(f"@pytest.mark.{marker}\ndef test_it():\n    pass\n")


def test_a_finding_says_where_what_and_what_to_do_instead():
    [found] = findings_in("import time\ntime.sleep(2)\n", "tests/test_x.py")
    assert str(found).startswith(
        "tests/test_x.py:2: sleeps: time.sleep(2); wait for what the test needs"
    )
    assert "wait_until()" in str(found)
    assert "@pytest.mark.waits('reason')" in str(found)


def test_a_folder_is_looked_through_and_the_status_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(waits, "ROOT", tmp_path)
    place = tmp_path / "tests" / "deep"
    place.mkdir(parents=True)
    (place / "test_a.py").write_text("import time\n\ntime.sleep(9)\n")
    assert waits.main() == 1
    assert capsys.readouterr().out.startswith("tests/deep/test_a.py:3: sleeps")
    (place / "test_a.py").unlink()
    assert waits.main() == 0


@pytest.mark.long
@pytest.mark.gate
def test_the_tests_of_this_project_pass():
    assert waits.main() == 0
