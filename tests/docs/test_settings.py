"""docs/settings.md has every setting that is read from the environment, with what the code says of it."""

import re
import subprocess
import sys

import pytest

from runner.checkout import ROOT
from tools.docs.settings import ELSEWHERE, checks, removed, settings

# Imports the settings, and prints the names that they look up.
RECORDER = """
from feedsite import environment
names = set()
class Recording(type(environment.Environment.ENVIRON)):
    def __getitem__(self, key):
        names.add(key)
        return super().__getitem__(key)
environment.Environment.ENVIRON = Recording()
import tools.lint.settings
print(*sorted(names))
"""
# Set by the system, by a framework, or for processes that the project itself starts.
NOT_SET_BY_PEOPLE = {"PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "DJANGO_SETTINGS_MODULE"}
READS = re.compile(r"os\.environ(?:\.get\(|\.setdefault\(|\[)\"([A-Z_]+)\"")
FOLDERS = ("apps", "feedsite", "feedcache", "runner")


@pytest.fixture(scope="module")
def read():
    done = subprocess.run(
        [sys.executable, "-P", "-c", RECORDER], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return set(done.stdout.split())


def test_every_setting_that_the_code_reads_is_there_and_no_other(read):
    assert len(read) > 150
    assert {one.name for one in settings()} == read - set(removed())
    assert read >= set(removed())


def test_none_stands_twice_and_each_has_a_meaning():
    names = [one.name for one in settings()]
    assert len(names) == len(set(names))
    assert [one.name for one in settings() if not one.meaning] == []


def test_what_other_programs_read_is_there():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = set()
    for path in [*paths, *ROOT.glob("*.py")]:
        if "environ" in (text := path.read_text()):
            found |= set(READS.findall(text))
    compose = (ROOT / "docker-compose.yml").read_text()
    found |= set(re.findall(r"\$\{([A-Z_]+)", compose))
    names = {one.name for one in settings()}
    from_files = {f"{name}_FILE" for name in names}
    assert found - NOT_SET_BY_PEOPLE - names - from_files <= ELSEWHERE.keys()
    assert len(found) > 5


@pytest.mark.slow
def test_the_example_of_the_environment_has_only_what_is_read(read):
    named = re.findall(r"^(?:# )?([A-Z_0-9]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert [name for name in named if name not in read | ELSEWHERE.keys()] == []


def test_every_check_of_the_settings_module_is_there():
    """Each message has a code; those of feedsite/checks.py are all about settings or what these name."""
    codes = set(re.findall(r'id="(feedsite\.\w+)"', (ROOT / "feedsite" / "checks.py").read_text()))
    assert len(codes) > 25
    assert codes - {one.code for one in checks()} == set(NOT_ABOUT_SETTINGS)


NOT_ABOUT_SETTINGS = {"feedsite.W005"}  # the kernel


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("feedsite.E010", {"DATABASE_POOLER"}),  # by its message
        ("feedsite.E004", {"SECURE_COOKIES"}),  # by its hint
        (
            "feedsite.E009",
            {"REDIS_COUNTERS_URL", "CELERY_BROKER_URL"},
        ),  # by the constant of its loop
        ("feedsite.E014", {"WEB_CONCURRENCY", "WEB_WRITES_CONCURRENCY", "WEB_REST_CONCURRENCY"}),
    ],
)
def test_a_check_names_its_settings(code, names):
    assert {name for one in checks() if one.code == code for name in one.names} == names


def test_a_default_is_shown_as_one_would_set_it():
    shown = {one.name: one.default for one in settings()}
    assert shown["HOME_WINDOW_LENGTH"] == "800"
    assert shown["HOME_WINDOW_TTL_SECONDS"] == "259200"
    assert shown["DEBUG"] == "0"
    assert shown["LOG_FILE"] == "empty"
    assert shown["ALLOWED_HOSTS"] == "`localhost,127.0.0.1,[::1]`"
    assert shown["REDIS_GRAPH_URL"] == "that of `REDIS_URL`"
    assert shown["DATABASE_URL"] is None
