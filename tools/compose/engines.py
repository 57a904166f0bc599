"""What docs/deployment.md offers besides docker-compose.yml: RabbitMQ, PgBouncer, and a replica of PostgreSQL."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from runner.checkout import ROOT
from tools.compose.file import Service

# epmd would put itself into the background, and outlive the server.
RABBITMQ_COMMAND = ["sh", "-c", "epmd & exec /usr/lib/rabbitmq/bin/rabbitmq-server"]

REPLICA = "postgres-replica"
REPLICA_COMMAND = (
    'test -s "$PGDATA/PG_VERSION" || pg_basebackup -h postgres -U feedsite -D "$PGDATA" -R -c fast;'
    " exec postgres -c max_connections=200"
)


def engines(env: Mapping[str, str], directory: Path) -> tuple[dict[str, str], dict[str, Service]]:
    """The settings for RabbitMQ and PgBouncer, and their services, as an operator would add them."""
    password, database_password = secrets.token_urlsafe(16), env["POSTGRES_PASSWORD"]
    settings = {
        "CELERY_BROKER_URL": f"amqp://feedsite:{password}@rabbitmq:5672//",
        "DATABASE_URL": f"postgres://feedsite:{database_password}@pgbouncer:6432/feedsite",
        "DATABASE_POOLER": "transaction",
        "MIGRATIONS_DATABASE_URL": f"postgres://feedsite:{database_password}@postgres:5432/feedsite",
    }
    rabbitmq = {
        "image": "rabbitmq:3",
        "environment": {"RABBITMQ_DEFAULT_USER": "feedsite", "RABBITMQ_DEFAULT_PASS": password},
        "command": RABBITMQ_COMMAND,
        "healthcheck": _listens(5672),
    }
    pgbouncer = {
        "image": "pgbouncer:1",
        "command": ["pgbouncer", "/etc/pgbouncer/pgbouncer.ini"],
        "volumes": [
            f"{_pgbouncer_ini(directory)}:/etc/pgbouncer/pgbouncer.ini:ro",
            f"{_userlist(directory, database_password)}:/etc/pgbouncer/userlist.txt:ro",
        ],
        "healthcheck": _listens(6432),
    }
    return settings, {"rabbitmq": rabbitmq, "pgbouncer": pgbouncer}


def replica(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Service]]:
    """The setting for a streaming replica of PostgreSQL, and its service."""
    password = env["POSTGRES_PASSWORD"]
    service = {
        "image": "postgres:18",
        "user": "postgres",
        "environment": {"PGPASSWORD": password},
        "command": ["sh", "-ec", REPLICA_COMMAND],
        "volumes": ["replica:/var/lib/postgresql"],
        "healthcheck": {
            "test": ["CMD", "pg_isready", "-U", "feedsite", "-h", "127.0.0.1"],
            "timeout": "2s",
        },
        "depends_on": {"postgres": {"condition": "service_healthy"}},
    }
    address = f"postgres://feedsite:{password}@{REPLICA}:5432/feedsite"
    return {"REPLICA_DATABASE_URLS": address}, {REPLICA: service}


def _pgbouncer_ini(directory: Path) -> Path:
    """deploy/pgbouncer.ini for a container: PostgreSQL is another host, and so are the clients."""
    text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
    text = text.replace("host=127.0.0.1", "host=postgres").replace(
        "listen_addr = 127.0.0.1", "listen_addr = *"
    )
    place = directory / "pgbouncer.ini"
    place.write_text(text)
    return place


def _userlist(directory: Path, password: str) -> Path:
    place = directory / "userlist.txt"
    place.write_text(f'"feedsite" "{password}"\n')
    return place


def _listens(port: int) -> dict[str, object]:
    return {"test": ["CMD", "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], "timeout": "3s"}
