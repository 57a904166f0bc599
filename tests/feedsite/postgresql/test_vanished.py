"""A PostgreSQL that vanishes without closing its connections, as when its machine loses its power or a firewall its
memory.
"""

import socket
import sys

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tools.drill.proxy import Proxy

pytestmark = pytest.mark.django_db
LIMITS = ("connect_timeout", "keepalives_idle", "keepalives_interval", "tcp_user_timeout")
MOST_SECONDS = 10


@pytest.fixture
def session():
    """A connection over TCP with the limits of the settings, but a tenth of their waiting; and its link."""
    options = settings.DATABASES["default"]["OPTIONS"]
    given = {name: options[name] for name in LIMITS}
    assert given["tcp_user_timeout"] <= MOST_SECONDS * 1000
    given["tcp_user_timeout"] //= 10
    found = connection.connection.info
    with Proxy() as proxy:
        target = f"{found.host}:{found.port}"
        if found.host.startswith("/"):
            target = f"unix:{found.host}/.s.PGSQL.{found.port}"
        link = proxy.link("postgres", target)
        with psycopg.connect(
            host="127.0.0.1", port=link.port, user=found.user, password=found.password, dbname=found.dbname,
            autocommit=True, **given,
        ) as made:  # fmt: skip
            yield made, link


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can drop a connection's packets")
def test_a_statement_to_a_vanished_postgresql_ends(session):
    made, link = session
    assert made.execute("SELECT 1").fetchone() == (1,)
    link.vanish()
    with pytest.raises(psycopg.OperationalError, match="timed out"):
        made.execute("SELECT 1")


def test_who_waits_for_an_answer_asks_whether_the_server_is_there(session):
    """A server that vanishes after it has received the statement."""
    with socket.socket(fileno=socket.dup(session[0].fileno())) as its:
        assert its.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle = its.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        every = its.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
    assert idle + every <= MOST_SECONDS
