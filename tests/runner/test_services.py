import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner import identity, privileges, site
from runner.checkout import ROOT
from runner.services import binaries, group, postgres, redis
from runner.services.group import plan_services, throwaway_services
from runner.services.memcached import L1, MAIN, SITE, Memcached, Tiers
from runner.services.postgres import Postgres
from runner.services.redis import Redis, ask
from runner.services.service import Service, restart
from runner.terminal import LaunchError
from tests.runner.onlookers import processes_naming
from tests.support.waiting import wait_until

pytestmark = pytest.mark.flows


def sql(server: Postgres, statement: str) -> str:
    answer = subprocess.run(
        [str(server.programs / "psql"), "-h", str(server.sockets), "-U", "feedsite", "-Atc", statement],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return answer.stdout.strip()


def kill(server: Service) -> None:
    """As a crash would."""
    assert server.child is not None
    os.kill(server.child.pid, signal.SIGKILL)
    server.child.popen.wait()


@pytest.fixture
def database(place):
    (place / "log").mkdir()
    server = Postgres(place / "postgres", place, place / "log", options=postgres.THROWAWAY)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def memory(place):
    server = Redis(place / "redis", place, place / "log")
    server.start()
    yield server
    server.stop()


def test_all_servers_start_and_leave_no_process(place):
    with throwaway_services(place) as services:
        assert services.settings().keys() >= {"DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL"}
        assert len(processes_naming(place)) >= 2
    wait_until(lambda: processes_naming(place) == [], "all servers have ended")


def test_the_database_is_utf8_and_knows_chinese_trigrams(database):
    assert sql(database, "select current_database(), current_user") == "feedsite|feedsite"
    assert sql(database, "show server_encoding; show listen_addresses") == "UTF8"
    sql(
        database,
        "create extension pg_trgm; create extension unaccent; create extension pg_stat_statements",
    )
    assert sql(database, "select similarity('微博', '微博网') > 0.3") == "t"


def test_the_database_keeps_its_data_over_a_restart(database):
    sql(database, "create table kept as select 42 as answer")
    restart(database)
    assert sql(database, "select answer from kept") == "42"


def test_the_database_starts_after_kill_9(database):
    sql(database, "create table kept as select 42 as answer")
    sql(database, "checkpoint")
    kill(database)
    assert (database.data / "postmaster.pid").exists()
    database.start()
    assert sql(database, "select answer from kept") == "42"


def test_a_pid_file_naming_a_stranger_is_removed(database):
    database.stop()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (database.data / "postmaster.pid").write_text(f"{stranger.pid}\n{database.data}\n")
    database.start()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_server_left_by_another_launcher_is_ended_first(database):
    left = database.child
    second = Postgres(
        database.data, database.sockets, database.log.parent, options=postgres.THROWAWAY
    )
    second.start()
    assert left.popen.wait(10) == 0
    assert sql(second, "select 1") == "1"
    second.stop()


def test_a_killed_initdb_leaves_no_half_database(place):
    (place / "log").mkdir()
    (place / "postgres.new").mkdir()
    (place / "postgres.new" / "PG_VERSION").write_text("18")
    (place / "postgres").mkdir()
    server = Postgres(place / "postgres", place, place / "log", options=postgres.THROWAWAY)
    server.start()
    assert sql(server, "select 1") == "1"
    server.stop()
    assert not (place / "postgres.new").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give up being root")
def test_the_database_runs_as_nobody_where_namespaces_are_forbidden(place, monkeypatch):
    monkeypatch.setattr(privileges, "namespaces_allowed", lambda: False)
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    (closed / "log").mkdir()
    server = Postgres(closed / "postgres", closed, closed / "log", options=postgres.THROWAWAY)
    server.start()
    assert server.child is not None
    assert Path(f"/proc/{server.child.pid}").stat().st_uid != 0
    assert sql(server, "select 1") == "1"
    server.stop()
    monkeypatch.undo()
    server.start()  # and back: the files change hands again
    assert sql(server, "select 1") == "1"
    server.stop()


def test_redis_has_the_options_and_begins_empty(memory):
    """What a log brings back after a crash would lack the last second, and look whole."""
    assert ask(memory.socket, b"SET lost 42\r\n") == b"+OK\r\n"
    assert b"noeviction" in ask(memory.socket, b"CONFIG GET maxmemory-policy\r\n")
    assert b"1024" in ask(memory.socket, b"CONFIG GET zset-max-listpack-entries\r\n")
    kill(memory)
    memory.start()
    assert ask(memory.socket, b"GET lost\r\n") == b"$-1\r\n"


def test_a_redis_that_keeps_a_log_has_what_was_written(place):
    server = Redis(place / "redis", place, place / "log", persistence=redis.PERSISTENCE)
    server.start()
    ask(server.socket, b"SET kept 42\r\n")
    server.stop()
    server.start()
    assert ask(server.socket, b"GET kept\r\n") == b"$2\r\n42\r\n"
    server.stop()


def test_valkey_from_the_wheel_works_where_no_redis_is_installed(place, monkeypatch):
    monkeypatch.setattr(redis, "on_path", lambda _name: None)
    server = Redis(place / "redis", place, place / "log")
    assert server.describe().startswith("Valkey 9.")
    server.start()
    assert b"1024" in ask(server.socket, b"CONFIG GET zset-max-listpack-entries\r\n")
    server.stop()


def test_an_old_redis_is_passed_over(monkeypatch):
    monkeypatch.setattr(redis, "on_path", lambda _name: Path("/usr/bin/redis-server"))
    versions = {"redis-server": "6.2.14", "valkey-server": "9.1.2"}
    monkeypatch.setattr(redis, "version", lambda program: versions[program.name])
    assert redis._choose()[1] == "Valkey 9.1.2"


def test_data_of_another_program_is_dropped(memory, place):
    ask(memory.socket, b"SET old 1\r\n")
    memory.stop()
    (place / "redis" / "written-by").write_text("Valkey 8.0")
    memory.start()
    assert ask(memory.socket, b"DBSIZE\r\n") == b":0\r\n"


def test_memcached_answers_and_starts_over_a_leftover_socket(place):
    program = binaries.on_path("memcached")
    if program is None:
        pytest.skip("memcached is not installed")
    server = Memcached(program, "main", place, place)
    for _ in range(2):
        server.start()
        assert ask(server.socket, b"version\r\n").startswith(b"VERSION")
        kill(server)
        assert server.socket.exists()
    server.stop()


def test_the_site_is_told_every_layer_and_its_sizes(place):
    tiers = Tiers(place / "memcached", SITE, place, place)
    settings = tiers.settings()
    assert len(settings["MEMCACHED_URLS"].split(",")) == 2
    assert len(settings["MEMCACHED_BACKUP_URLS"].split(",")) == 1
    assert len(settings["MEMCACHED_L1_URLS"].split(";")) == 4
    assert len({node.socket for node in tiers.all()}) == len(tiers.all()) == 7
    assert [settings[layer.size] for layer in SITE] == ["64", "64", "16"]


def test_the_sizes_of_the_layers_are_a_setting(place):
    given = {"MEMCACHED_MAIN_MEGABYTES": "100", "MEMCACHED_L1_MEGABYTES": ""}
    tiers = Tiers(place / "memcached", SITE, place, place, given=given)
    assert {node.megabytes for node in tiers.nodes[MAIN]} == {100}
    assert {node.megabytes for node in tiers.nodes[L1]} == {16}
    for nonsense in ("much", "0", "-1", "1.5", "١"):
        with pytest.raises(LaunchError, match="MEMCACHED_MAIN_MEGABYTES"):
            Tiers(place / "m", SITE, place, place, given={"MEMCACHED_MAIN_MEGABYTES": nonsense})


def test_a_memcached_has_the_memory_of_its_layer(place):
    program = binaries.on_path("memcached")
    if program is None:
        pytest.skip("memcached is not installed")
    server = Memcached(program, "l1-0", place, place, megabytes=16)
    server.start()
    assert b"STAT limit_maxbytes 16777216" in ask(server.socket, b"stats\r\n")
    server.stop()


def test_all_servers_of_a_site_are_named_once(place, monkeypatch):
    monkeypatch.setattr(group, "find_memcached", lambda _directory: binaries.on_path("memcached"))
    if binaries.on_path("memcached") is None:
        pytest.skip("memcached is not installed")
    services = plan_services(data=place, sockets=place, log=place, environment={})
    assert services.describe().count("Memcached") == 1
    assert services.describe().endswith(" x 7")
    assert len(services.all()) == 9


def test_a_server_whose_address_is_given_is_not_started(place):
    given = {
        "DATABASE_URL": "postgres://elsewhere/db",
        "REDIS_URL": "redis://elsewhere",
        "MEMCACHED_URLS": "",
    }
    services = plan_services(data=place, sockets=place, log=place, environment=given)
    assert services.all() == []
    assert not services.memcached_missing


def test_without_memcached_the_others_are_planned_and_it_is_noted(place, monkeypatch):
    monkeypatch.setattr(group, "find_memcached", lambda _directory: None)
    services = plan_services(data=place, sockets=place, log=place, environment={"DATABASE_URL": ""})
    assert [server.name for server in services.all()] == ["PostgreSQL", "Redis"]
    assert services.memcached_missing
    assert "MEMCACHED_URLS" not in services.settings()


def test_servers_die_with_a_killed_parent(place):
    program = (
        "import time; from pathlib import Path; from runner.services.group import throwaway_services\n"
        f"with throwaway_services(Path({str(place)!r})):\n    print('up', flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"up\n"
    parent.kill()
    parent.communicate()
    wait_until(lambda: processes_naming(place) == [], "all servers have ended")
    assert not identity.alive(parent.pid)


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get update && sudo apt-get install memcached"),
        ("dnf", "sudo dnf install memcached"),
        ("apk", "sudo apk add memcached"),
        ("brew", "brew install memcached"),
    ],
)
def test_what_to_type_is_that_of_the_system(manager, command, monkeypatch):
    monkeypatch.setattr(
        binaries, "on_path", lambda name: Path(name) if name in (manager, "port") else None
    )
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert binaries.install_command("memcached") == command
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert binaries.install_command("memcached") == command.replace("sudo ", "")
    monkeypatch.setattr(binaries, "on_path", lambda _name: None)
    assert binaries.install_command("memcached") == ""


def test_without_memcached_the_start_says_what_is_absent_and_what_helps(monkeypatch):
    monkeypatch.setattr(site, "install_command", lambda name: f"sudo dnf install {name}")
    said = site._without_memcached()
    assert "none of its three tiers (L1, Main, Backup)" in said
    assert "sudo dnf install memcached" in said.split("\n")[2]
    monkeypatch.setattr(site, "install_command", lambda _name: "")
    assert "package memcached" in site._without_memcached()
