"""What the command line asks for, and what is said where it is not to be had."""

import pytest
from rich.console import Console

from tools.drill import __main__ as program
from tools.drill import conductor
from tools.drill.options import Options
from tools.scale import servers


def test_without_rabbitmq_the_run_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(servers, "RABBITMQ", tmp_path / "none")
    assert conductor.conduct(Options(broker="rabbitmq"), Console(width=200)) == 2
    assert "apt-get install rabbitmq-server" in capsys.readouterr().out


def test_options(monkeypatch, capsys):
    given: list[Options] = []

    def conduct(options, _console):
        given.append(options)
        return 0

    monkeypatch.setattr(program, "conduct", conduct)
    assert program.main([]) == program.main(["--redis", "cluster", "--broker", "rabbitmq"]) == 0
    assert [(one.redis, one.broker) for one in given] == [
        ("single", "redis"),
        ("cluster", "rabbitmq"),
    ]
    assert program.main(["--with-clocks", "--with-widths", "--without-faults"]) == 0
    for one, expected in ((given[-1], True), (given[0], False)):
        assert {one.with_clocks, one.with_widths, one.without_faults} == {expected}
    with pytest.raises(SystemExit):
        program.main(["--redis", "many"])
    assert "'single', 'sentinel', 'cluster'" in capsys.readouterr().err.replace('"', "'")
