"""The files for production: what docker-compose.yml starts is what .env.example tells the site, in the right sizes."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from feedcache.topology import Sizes, configured, problems, warnings
from runner import programs

ROOT = Path(__file__).resolve().parent.parent
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def example():
    """The variables of .env.example as a shell would read them."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    words = [word for line in lines for word in shlex.split(line, comments=True)]
    return dict(word.split("=", 1) for word in words)


def topology():
    given = example()
    return configured(
        given["MEMCACHED_URLS"].split(","),
        given["MEMCACHED_BACKUP_URLS"].split(","),
        [group.split(",") for group in given["MEMCACHED_L1_URLS"].split(";")],
        sizes=Sizes(
            main=int(given["MEMCACHED_MAIN_MEGABYTES"]),
            backup=int(given["MEMCACHED_BACKUP_MEGABYTES"]),
            l1=int(given["MEMCACHED_L1_MEGABYTES"]),
        ),
    )


def option(service, name):
    command = SERVICES[service]["command"]
    return command[command.index(name) + 1]


def host_of(address):
    return address.rpartition("@")[2].removeprefix("redis://").partition(":")[0]


def test_the_layers_have_the_sizes_the_validator_asks_for():
    assert problems(topology()) == []
    assert warnings(topology()) == []
    assert (len(topology().main), len(topology().backup), len(topology().l1)) == (2, 1, 4)


def test_every_node_is_a_service_with_the_memory_that_is_told():
    nodes = {node.url.partition(":")[0]: node for _place, node in topology().places()}
    assert {name for name in SERVICES if name.startswith("memcached-")} == set(nodes)
    for name, node in nodes.items():
        assert int(option(name, "-m")) == node.megabytes, name


@pytest.mark.parametrize(
    "setting",
    [
        "REDIS_URL",
        "REDIS_GRAPH_URL",
        "REDIS_COUNTERS_URL",
        "REDIS_EXISTENCE_URL",
        "REDIS_LIMITS_URL",
        "REDIS_CACHE_URL",
        "REDIS_BROADCAST_URL",
        "CELERY_BROKER_URL",
    ],
)
def test_every_redis_is_a_service(setting):
    assert host_of(example()[setting]) in SERVICES


@pytest.mark.parametrize("setting", ["REDIS_COUNTERS_URL", "REDIS_EXISTENCE_URL", "CELERY_BROKER_URL"])  # fmt: skip
def test_what_must_be_kept_lies_in_a_redis_that_keeps_it(setting):
    service = host_of(example()[setting])
    assert option(service, "--maxmemory-policy") == "noeviction"
    assert (option(service, "--appendonly"), option(service, "--appendfsync")) == ("yes", "everysec")  # fmt: skip
    assert any(volume.endswith(":/data") for volume in SERVICES[service]["volumes"])


def test_the_site_waits_for_the_servers_it_needs():
    waited = SERVICES["web"]["depends_on"]
    needed = {name for name in SERVICES if name.startswith("redis-") and "replica" not in name}
    assert needed <= set(waited)


@pytest.mark.parametrize("name", ["web", "streaming", "worker", "worker-bulk", "beat"])
def test_every_process_of_the_site_says_how_it_is(name):
    test = SERVICES[name]["healthcheck"]["test"]
    assert test[:3] == ["CMD", "python", "healthcheck.py"]
    assert test[3] in {"http", "worker", "beat"}
    assert (ROOT / "healthcheck.py").exists()


def test_web_and_streams_are_started_as_by_the_launcher():
    image = (ROOT / "Dockerfile").read_text()
    assert '"serve.py", "web"' in image
    assert SERVICES["streaming"]["command"][:3] == ["python", "serve.py", "streaming"]
    assert programs.web()[2:4] == [str(ROOT / "serve.py"), "web"]
    assert all(
        name in image.partition("COPY manage.py")[2].splitlines()[0]
        for name in ("serve.py", "healthcheck.py")
    )


def test_the_image_has_every_folder_whose_modules_it_imports():
    copied = set(re.findall(r"^COPY (\w+) \1$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    modules = [
        *ROOT.glob("*.py"),
        *(path for folder in copied for path in (ROOT / folder).rglob("*.py")),
    ]
    imported = {
        name
        for path in modules
        for name in re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        if (ROOT / name).is_dir()
    }
    assert imported - copied == set()
