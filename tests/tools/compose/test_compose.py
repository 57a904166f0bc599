"""The parts of `python -m tools.compose` that can be right or wrong without a running site."""

import subprocess

import pytest
import yaml

from runner.checkout import ROOT
from runner.services.binaries import on_path
from tools.compose import alerts, file
from tools.compose.engines import engines

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


def test_every_alert_has_a_fault_or_is_named_as_one_without():
    caused = set.union(*(case.fires for case in alerts.CASES))
    assert caused | set(alerts.WITHOUT) == ALERTS
    assert not caused & set(alerts.WITHOUT)


def test_the_shorter_rules_are_the_same_rules(tmp_path):
    shorter = yaml.safe_load(alerts.rules())["groups"]
    names = {rule["alert"] for group in shorter for rule in group["rules"] if "alert" in rule}
    assert names == ALERTS - set(alerts.WITHOUT)
    recorded = [[one for one in group["rules"] if "record" in one] for group in (*GROUPS, *shorter)]
    assert sum(map(len, recorded[: len(GROUPS)])) == sum(map(len, recorded[len(GROUPS) :]))
    text = alerts.rules()
    assert "[5m]" not in text
    assert "for: 5m" not in text
    assert "feedsite_due_seconds > 30\n" in text
    if promtool := on_path("promtool"):
        place = tmp_path / "rules.yml"
        place.write_text(text)
        subprocess.run([promtool, "check", "rules", place], check=True, capture_output=True)


def test_the_engines_are_those_of_the_deployment_page(tmp_path):
    settings, services = engines({"POSTGRES_PASSWORD": "word"}, tmp_path)
    assert set(services) == {"rabbitmq", "pgbouncer"}
    assert settings["DATABASE_URL"] == "postgres://feedsite:word@pgbouncer:6432/feedsite"
    text = (tmp_path / "pgbouncer.ini").read_text()
    assert "feedsite = host=postgres port=5432" in text
    assert "listen_addr = *" in text
