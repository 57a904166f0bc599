"""The files for production: what docker-compose.yml starts is what .env.example tells the site, in the right sizes."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from feedcache.topology import Sizes, configured, problems, warnings
from runner import programs
from tools.compose import file
from tools.compose.file import PROFILES, VARIABLE, compose_text

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = compose_text()
GIGABYTES = {"large": 32, "small": 4}  # of the host
ONCE = {"migrate", "backup"}  # they end
LIMITS_OF_ALL = 1.3  # limits are for the worst moment of each, which is not the same for all


def example(profile="large"):
    return file.example(profile)


def services(profile="large", *others):
    """What Compose starts with a profile, with the variables of its example filled in."""
    return file.services(example(profile), profile, *others)


SERVICES = services()


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


def option(service, name, profile="large"):
    command = services(profile)[service]["command"]
    return command[command.index(name) + 1]


def megabytes(text):
    number, unit = text.removesuffix("b")[:-1], text.removesuffix("b")[-1]
    return int(number) * {"m": 1, "g": 1024}[unit]


def host_of(address):
    return address.rpartition("@")[2].removeprefix("redis://").partition(":")[0]


def test_the_layers_have_the_sizes_the_validator_asks_for():
    assert problems(topology()) == []
    assert warnings(topology()) == []
    assert (len(topology().main), len(topology().backup), len(topology().l1)) == (2, 1, 4)


@pytest.mark.slow
def test_every_node_is_a_service_with_the_memory_that_is_told():
    nodes = {node.url.partition(":")[0]: node for _place, node in topology().places()}
    assert {name for name in SERVICES if name.startswith("memcached-")} == set(nodes)
    for name, node in nodes.items():
        assert int(option(name, "-m")) == node.megabytes, name


@pytest.mark.long
@pytest.mark.gate
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
@pytest.mark.parametrize("profile", PROFILES)
def test_every_redis_is_a_service(setting, profile):
    assert host_of(example(profile)[setting]) in services(profile)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("setting", ["REDIS_COUNTERS_URL", "REDIS_EXISTENCE_URL", "CELERY_BROKER_URL"])  # fmt: skip
@pytest.mark.parametrize("profile", PROFILES)
def test_what_must_be_kept_lies_in_a_redis_that_keeps_it(setting, profile):
    service = host_of(example(profile)[setting])
    assert option(service, "--maxmemory-policy", profile) == "noeviction"
    assert option(service, "--appendonly", profile) == "yes"
    assert option(service, "--appendfsync", profile) == "everysec"
    assert any(volume.endswith(":/data") for volume in services(profile)[service]["volumes"])


def test_the_site_waits_for_the_servers_it_needs():
    waited = SERVICES["web"]["depends_on"]
    needed = {name for name in SERVICES if name.startswith("redis-") and "replica" not in name}
    assert needed <= set(waited)


# --- profiles ----------------------------------------------------------------------------------------


@pytest.fixture(params=PROFILES)
def profile(request):
    return request.param


def test_a_profile_is_named_by_its_example_and_no_server_of_it_is_missing(profile):
    given, found = example(profile), services(profile)
    assert given["COMPOSE_PROFILES"] == profile
    assert {"postgres", "web", "streaming", "worker", "beat", "migrate"} <= set(found)
    hosts = {
        host_of(value)
        for name, value in given.items()
        if name.startswith("REDIS_") and value.startswith("redis://")
    }
    nodes = {node.partition(":")[0] for node in given["MEMCACHED_URLS"].split(",")}
    assert hosts | nodes <= set(found)


def test_services_wait_only_for_services_that_there_are(profile):
    found = services(profile, "proxy", "backup")
    for name, service in found.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in found or how.get("required") is False, (name, other)


def test_every_queue_has_a_worker(profile):
    served = {
        queue
        for name, service in services(profile).items()
        if name.startswith("worker")
        for queue in service["command"][service["command"].index("-Q") + 1].split(",")
    }
    assert served == set(programs.QUEUES.split(","))


def test_logs_and_memory_have_a_limit_and_all_that_run_on_say_how_they_are(profile):
    found = services(profile, "proxy", "backup")
    for name, service in found.items():
        assert service["logging"]["options"]["max-size"], name
        assert megabytes(service["mem_limit"]) > 0, name
        assert name in ONCE or service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}, name
        assert (service["restart"] == "no") == (name in ONCE), name
    running = [one for name, one in found.items() if name not in ONCE]
    total = sum(megabytes(one["mem_limit"]) for one in running)
    assert total <= GIGABYTES[profile] * 1024 * LIMITS_OF_ALL


def test_a_redis_and_a_memcached_fit_into_their_memory(profile):
    for name, service in services(profile).items():
        limit, command = megabytes(service["mem_limit"]), service.get("command", [])
        if "--maxmemory" in command:
            assert megabytes(command[command.index("--maxmemory") + 1]) * 1.5 <= limit, name
        if "-m" in command and name.startswith("memcached"):
            assert int(command[command.index("-m") + 1]) * 1.5 <= limit, name


def test_every_variable_of_the_file_is_explained_in_an_example_or_has_a_default():
    names = {found[1] for found in VARIABLE.finditer(COMPOSE) if found[1]}
    explained = set(example()) | set(example("small"))
    assert {name for name in names if f"${{{name}:?" in COMPOSE} <= explained
    assert names - explained <= {"CERTIFICATES", "ACME"}


def test_volumes_and_anchors_are_declared():
    whole = yaml.safe_load(COMPOSE)
    named = {
        volume.partition(":")[0]
        for service in whole["services"].values()
        for volume in service.get("volumes", [])
        if re.match(r"\w+:", volume)
    }
    assert named == set(whole["volumes"])


def test_the_proxy_passes_on_to_the_ports_that_are_published():
    found = services("large", "proxy")
    conf = (ROOT / "deploy" / "nginx.conf").read_text()
    assert found["proxy"]["network_mode"] == "host"
    for name in ("web", "streaming"):
        (port,) = found[name]["ports"]
        assert f"server {port.rpartition(':')[0]};" in conf
    mounted = {volume.split(":")[1] for volume in found["proxy"]["volumes"]}
    assert "/etc/letsencrypt" in mounted
    assert "/etc/letsencrypt/live/" in conf
    assert "/var/log/nginx/feedsite.log" in conf
    assert "ln -sf /dev/stdout /var/log/nginx/feedsite.log" in found["proxy"]["command"][2]


# --- processes ---------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("answer", "is_healthy"),
    [("PONG", True), ("LOADING Redis is loading the dataset in memory", False)],
)
def test_redis_is_healthy_when_it_has_loaded_its_data(tmp_path, answer, is_healthy):
    """redis-cli exits with 0 whatever the server answers."""
    program = tmp_path / "redis-cli"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    kind, line = SERVICES["redis-broker"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    done = subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": str(tmp_path)}, capture_output=True, check=False
    )
    assert (done.returncode == 0) is is_healthy


def test_postgresql_is_healthy_when_other_containers_can_connect():
    """While the image prepares an empty volume, its server listens only on a socket."""
    test = SERVICES["postgres"]["healthcheck"]["test"]
    assert test[test.index("-h") + 1] == "127.0.0.1"
