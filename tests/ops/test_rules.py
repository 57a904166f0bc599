"""The alerts: each fires with its fault, alone, and is silent without; each has its runbook and its figures."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from feedcache import stats
from feedcache.servers import totals
from runner.services.binaries import on_path

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "ops" / "rules.yml"
GROUPS = yaml.safe_load(RULES.read_text())["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"] if "alert" in rule}
RECORDED = {rule["record"] for group in GROUPS for rule in group["rules"] if "record" in rule}
DASHBOARD = json.loads((ROOT / "ops" / "grafana.json").read_text())
PROMTOOL = on_path("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus"
)

SOUND, ALL = 30, 120  # minutes: without the fault, and with it until the end


def counter(before, after):
    """A counter that grows by so much a minute, until the fault and from then on."""
    return f"0+{before}x{SOUND} {before * SOUND}+{after}x{ALL - SOUND}"


def gauge(before, after):
    return f"{before}+0x{SOUND} {after}+0x{ALL - SOUND}"


# A site without faults, at ten requests a second.
HEALTHY = {
    'up{job="feedsite"}': gauge(1, 1),
    'feedsite_requests_failed_total{class="core"}': counter(1, 1),
    'feedsite_requests_refused_total{class="core"}': counter(1, 1),
    'feedsite_request_duration_seconds_count{class="core"}': counter(600, 600),
    'feedsite_request_duration_seconds_bucket{class="core",le="0.1"}': counter(590, 590),
    'feedsite_request_duration_seconds_bucket{class="core",le="1.0"}': counter(599, 599),
    'feedsite_request_duration_seconds_bucket{class="core",le="+Inf"}': counter(600, 600),
    'feedsite_backend_call_duration_seconds_count{backend="redis",role="graph"}': counter(6000, 6000),
    'feedsite_backend_call_duration_seconds_sum{backend="redis",role="graph"}': counter(6, 6),
    'feedsite_backend_calls_failed_total{backend="redis",role="graph"}': counter(1, 1),
    'feedsite_cache_reads_total{cache="post",outcome="hit"}': counter(6000, 6000),
    'feedsite_cache_reads_total{cache="post",outcome="miss"}': counter(60, 60),
    'feedsite_cache_reads_total{cache="card",outcome="miss"}': counter(6, 6),  # hardly used
    'feedsite_check_ok{check="postgresql"}': gauge(1, 1),
    'feedsite_check_ok{check="redis"}': gauge(1, 1),
    'feedsite_check_ok{check="media"}': gauge(1, 1),
    'feedsite_check_ok{check="deliveries"}': gauge(1, 1),
    'feedsite_processes{role="web"}': gauge(2, 2),
    'feedsite_processes{role="worker"}': gauge(2, 2),
    'feedsite_processes{role="beat"}': gauge(1, 1),
    'feedsite_processes{role="streaming"}': gauge(0, 0),  # a site may do without
    "feedsite_deliveries_behind_seconds": gauge(0, 12),
    'feedsite_due_seconds{queue="events.event"}': gauge(0, 20),
    'feedsite_dead_letters{queue="events.event"}': gauge(0, 0),
    'feedsite_audit_findings{state="open"}': gauge(0, 0),
    'feedsite_audit_findings{state="repaired"}': gauge(3, 3),
    "feedsite_audit_run_age_seconds": gauge(9, 9),
    "feedsite_postgresql_connections": gauge(60, 60),
    "feedsite_postgresql_connections_max": gauge(100, 100),
    'feedsite_pool_timeouts_total{database="default"}': counter(0, 0),
    'feedsite_replica_lag_seconds{replica="replica-1"}': gauge(1, 5),
    'feedsite_objective_target{objective="availability"}': gauge(0.999, 0.999),
    'feedsite_objective_events_total{objective="availability"}': counter(6000, 6000),
    'feedsite_objective_good_total{objective="availability"}': counter(5997, 5997),
    'feedsite_objective_target{objective="delivery"}': gauge(0.95, 0.95),
    'feedsite_objective_events_total{objective="delivery"}': counter(1, 1),  # a quiet night
    'feedsite_objective_good_total{objective="delivery"}': counter(1, 1),
    'feedsite_objective_duration_seconds_bucket{objective="delivery",le="+Inf"}': counter(1, 1),
}  # fmt: skip
FAULTS = {
    "SiteUnreachable": {'up{job="feedsite"}': gauge(1, 0)},
    "DatabaseDown": {'feedsite_check_ok{check="postgresql"}': gauge(1, 0)},
    "StoreDown": {'feedsite_check_ok{check="redis"}': gauge(1, 0)},
    "MediaDiskFull": {'feedsite_check_ok{check="media"}': gauge(1, 0)},
    "ProcessesMissing": {'feedsite_processes{role="worker"}': gauge(2, 0)},
    "RequestsFailing": {'feedsite_requests_failed_total{class="core"}': counter(1, 12)},
    "RequestsRefused": {'feedsite_requests_refused_total{class="core"}': counter(1, 12)},
    "RequestsSlow": {
        'feedsite_request_duration_seconds_bucket{class="core",le="0.1"}': counter(590, 300)
    },
    "DeliveriesBehind": {"feedsite_deliveries_behind_seconds": gauge(0, 90)},
    "QueueOld": {'feedsite_due_seconds{queue="accounts.mail"}': gauge(0, 400)},
    "DeadLetters": {'feedsite_dead_letters{queue="timeline.fanoutchunk"}': gauge(0, 1)},
    "AuditFindings": {'feedsite_audit_findings{state="open"}': gauge(0, 1)},
    "AuditRepairs": {'feedsite_audit_findings{state="repaired"}': gauge(3, 130)},
    "AuditorSilent": {"feedsite_audit_run_age_seconds": gauge(9, 400)},
    "ConnectionsNearlyUsed": {"feedsite_postgresql_connections": gauge(60, 90)},
    "PoolExhausted": {'feedsite_pool_timeouts_total{database="default"}': counter(0, 2)},
    "ReplicaLags": {'feedsite_replica_lag_seconds{replica="replica-1"}': gauge(1, 45)},
    "CacheMisses": {'feedsite_cache_reads_total{cache="post",outcome="miss"}': counter(60, 4000)},
    "StoreFailing": {'feedsite_backend_calls_failed_total{backend="redis",role="graph"}': counter(1, 120)},
    "ErrorBudgetBurning": {'feedsite_objective_good_total{objective="availability"}': counter(5997, 5800)},
    "ErrorBudgetShrinking": {'feedsite_objective_good_total{objective="availability"}': counter(5997, 5982)},
    "StoreSlow": {'feedsite_backend_call_duration_seconds_sum{backend="redis",role="graph"}': counter(6, 600)},
}  # fmt: skip
# Fifteen deliveries an hour, every other one too slow: ten times what may be, and too few to wake anybody.
HALF_OF_FEW = {
    'feedsite_objective_events_total{objective="delivery"}': counter(0.25, 0.25),
    'feedsite_objective_good_total{objective="delivery"}': counter(0.25, 0.125),
}


def promtool(*arguments):
    done = subprocess.run(
        [str(PROMTOOL), *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


def case(name, series, firing):
    """Which alerts fire in the end; before the fault there are none."""
    fires = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in firing]
    asked = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [
            {"expr": asked, "eval_time": f"{SOUND - 1}m", "exp_samples": []},
            {"expr": asked, "eval_time": f"{ALL - 1}m", "exp_samples": fires},
        ],
    }


@needs_promtool
def test_the_rules_are_rules():
    promtool("check", "rules", RULES)


@pytest.mark.long
@needs_promtool
def test_each_alert_fires_with_its_fault_alone_and_is_silent_otherwise(tmp_path):
    assert set(FAULTS) == set(ALERTS)
    cases = [case("a site without faults", HEALTHY, [])]
    cases += [case(alert, HEALTHY | fault, [alert]) for alert, fault in FAULTS.items()]
    cases.append(case("half of few", HEALTHY | HALF_OF_FEW, ["ErrorBudgetShrinking"]))
    file = tmp_path / "tests.yml"
    whole = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": cases}
    file.write_text(yaml.safe_dump(whole))
    promtool("test", "rules", file)


@needs_promtool
def test_what_the_dashboard_asks_is_promql(tmp_path):
    rules = [{"record": f"asked:{number}", "expr": expr} for number, expr in enumerate(asked())]
    file = tmp_path / "asked.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", file)


def asked():
    """The expressions of the dashboard."""
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.fixture
def told(db, client, settings):
    """The names of the series that /metrics has."""
    settings.METRICS_TOKEN = "kD7fJ2mQ9xW4vB8nT1sL6pR3yH5cZ0gA"
    stats.drain()
    totals.add({("requests:core", "calls"): 1})
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {settings.METRICS_TOKEN}"})
    assert answer.status_code == 200
    found = set()
    for family in text_string_to_metric_families(answer.content.decode()):
        suffixes = {
            "counter": ("_total",),
            "summary": ("_count", "_sum"),
            "histogram": ("_bucket", "_count", "_sum"),
            "gauge": ("",),
        }[family.type]
        found |= {family.name + suffix for suffix in suffixes}
    return found


def test_every_figure_of_the_rules_and_of_the_dashboard_is_on_metrics(told):
    rules = [rule["expr"] for group in GROUPS for rule in group["rules"]]
    texts = [*rules, *asked(), *(one.partition("{")[0] for one in HEALTHY)]
    used = {name for text in texts for name in re.findall(r"(?<![\w:])feedsite_\w+", text)}
    assert used - told == set()
    recorded = {name for text in texts for name in re.findall(r"feedsite:[\w:]+", text)}
    assert recorded == RECORDED


def test_every_alert_says_what_is_wrong_how_urgent_it_is_and_where_the_runbook_is():
    text = (ROOT / "docs" / "runbooks.md").read_text()
    sections = re.findall(r"^## (\w+)\n\n(.+?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert [name for name, _text in sections] == list(ALERTS)
    for name, section in sections:
        annotations, labels = ALERTS[name]["annotations"], ALERTS[name]["labels"]
        assert annotations["runbook"] == f"docs/runbooks.md#{name.lower()}"
        assert annotations["summary"].endswith(".")
        assert labels["severity"] in {"page", "ticket"}
        for part in ("**What people notice.**", "**Look.**", "**Do.**"):
            assert part in section, name
