from pathlib import Path

import pytest

from runner.arguments import VERBS, parse
from runner.checkout import DEFAULT_DATA_DIR
from runner.site import ServeOptions


def test_no_arguments_serve_with_the_defaults(monkeypatch):
    monkeypatch.delenv("FEEDSITE_DATA_DIR", raising=False)
    request = parse([])
    assert request.verb == "serve"
    assert request.data_dir == DEFAULT_DATA_DIR
    assert request.serve == ServeOptions("127.0.0.1", 8000, None, 2)


def test_options_without_a_verb_are_those_of_serve():
    request = parse(
        ["--port", "81", "--host", "::1", "--data-dir", "/d", "--demo", "none", "--workers", "3"]
    )
    assert request.verb == "serve"
    assert request.data_dir == Path("/d")
    assert request.serve == ServeOptions("::1", 81, "none", 3)


def test_the_environment_names_the_data_directory(monkeypatch):
    monkeypatch.setenv("FEEDSITE_DATA_DIR", "/elsewhere")
    assert [parse(line).data_dir for line in ([], ["stop"], ["reset"], ["manage", "check"])] == [
        Path("/elsewhere")
    ] * 4


@pytest.mark.parametrize(
    "verb",
    [
        "manage",
        "test",
        "bench",
        "capacity",
        "docs",
        "drill",
        "fuzz",
        "house",
        "mutate",
        "scale",
        "vitals",
    ],
)
def test_everything_after_these_verbs_is_passed_on(verb):
    assert parse([verb, "--help", "-x", "--port", "nonsense"]).rest == [
        "--help",
        "-x",
        "--port",
        "nonsense",
    ]


@pytest.mark.parametrize(
    "line",
    [
        ["bogus"],
        [""],
        ["--port", "0"],
        ["--port", "65536"],
        ["--port", "８０"],
        ["--port", "1e3"],
        ["--workers", "0"],
        ["--demo", "huge"],
        ["--dat", "/d"],
        ["stop", "--yes"],
        ["check", "extra"],
        ["lint", "nonsense"],
    ],
)
def test_mistakes_show_the_usage_and_exit_with_2(line, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse(line)
    assert stopped.value.code == 2
    assert "usage: ./run" in capsys.readouterr().err


def test_help_names_every_verb_and_shows_examples(capsys):
    with pytest.raises(SystemExit) as stopped:
        parse(["--help"])
    text = capsys.readouterr().out
    assert stopped.value.code == 0
    assert [verb for verb in VERBS if verb != "serve" and f"./run {verb}" not in text] == []
    assert "examples:" in text
    assert "--data-dir" in text


def test_lint_takes_steps_by_name():
    request = parse(["lint", "--fix", "types", "format"])
    assert (request.rest, request.quick, request.fix) == (["types", "format"], False, True)


def test_dev_takes_the_options_of_the_site():
    request = parse(["dev", "--port", "81", "--demo", "none"])
    assert request.verb == "dev"
    assert request.serve == ServeOptions(port=81, demo="none", in_development=True)
