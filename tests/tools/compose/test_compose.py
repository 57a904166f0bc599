"""The parts of `python -m tools.compose` that can be right or wrong without a running site."""

import re
import subprocess

import pytest
import yaml

from runner.checkout import ROOT
from runner.processes import spawn
from runner.services.binaries import on_path
from tools.compose import alerts, faults, file
from tools.compose.containers import Container
from tools.compose.engines import engines, replica

GROUPS = yaml.safe_load((ROOT / "ops" / "rules.yml").read_text())["groups"]
ALERTS = {rule["alert"] for group in GROUPS for rule in group["rules"] if "alert" in rule}


@pytest.mark.parametrize("profile", file.PROFILES)
def test_services_start_after_those_that_they_depend_on(profile):
    found = file.services(file.example(profile), profile, "proxy")
    order = file.in_order(found)
    assert sorted(order) == sorted(found)
    assert (
        order.index("postgres") < order.index("migrate") < order.index("web") < order.index("proxy")
    )


def test_a_required_variable_is_missing():
    with pytest.raises(KeyError, match="POSTGRES_PASSWORD"):
        file.services({}, "small")


def test_every_alert_has_a_fault():
    assert set.union(*(case.fires for case in faults.CASES)) == ALERTS
    assert set.union(*(case.may for case in faults.CASES)) <= ALERTS


def test_the_shorter_rules_are_the_same_rules(tmp_path):
    text = alerts.rules()
    assert [named(group) for group in yaml.safe_load(text)["groups"]] == list(map(named, GROUPS))
    assert not re.findall(r"\[\d+[mhd]\]|for: \d+m", text.replace("[30d]", ""))
    assert "feedsite_due_seconds > 30\n" in text
    assert 'feedsite_audit_findings{state="repaired"} > 100\n' in text
    if promtool := on_path("promtool"):
        place = tmp_path / "rules.yml"
        place.write_text(text)
        subprocess.run([promtool, "check", "rules", place], check=True, capture_output=True)


def named(group):
    return [rule.get("alert") or rule["record"] for rule in group["rules"]]


def test_a_limit_that_the_rules_do_not_have_is_an_error(monkeypatch):
    monkeypatch.setitem(alerts.LIMITS, "_seconds > 61\n", "_seconds > 15\n")
    with pytest.raises(alerts.AlertsWrong, match="_seconds > 61"):
        alerts.rules()


def test_a_service_is_started_again_if_it_has_ended_but_not_if_it_was_killed(tmp_path, monkeypatch):
    started = []
    container = Container("one", [], place=tmp_path, environment={}, volumes={})
    monkeypatch.setattr(container, "start", lambda: started.append("one"))
    container.child = spawn("one", ["sleep", "60"], log=container.log)
    assert not container.restart_if_ended()
    container.child.popen.kill()
    container.wait()
    assert container.restart_if_ended()
    container.kill()
    assert not container.restart_if_ended()
    assert started == ["one"]


def test_the_engines_are_those_of_the_deployment_page(tmp_path):
    settings, services = engines({"POSTGRES_PASSWORD": "word"}, tmp_path)
    assert set(services) == {"rabbitmq", "pgbouncer"}
    assert settings["DATABASE_URL"] == "postgres://feedsite:word@pgbouncer:6432/feedsite"
    text = (tmp_path / "pgbouncer.ini").read_text()
    assert "feedsite = host=postgres port=5432" in text
    assert "listen_addr = *" in text


def test_the_replica_is_that_of_the_deployment_page():
    settings, services = replica({"POSTGRES_PASSWORD": "word"})
    [block] = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "deployment.md").read_text(), re.DOTALL
    )
    text = file.VARIABLE.sub(lambda found: "$" if found[4] else "word", block)
    assert services == yaml.safe_load(text)["services"]
    [name] = services
    assert settings == {"REPLICA_DATABASE_URLS": f"postgres://feedsite:word@{name}:5432/feedsite"}
    assert services[name]["command"][-1].endswith(f"postgres -c {most_connections()}")


def most_connections():
    command = file.services(file.example("small"), "small")["postgres"]["command"]
    return next(word for word in command if word.startswith("max_connections="))
