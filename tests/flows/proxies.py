"""The proxies of deploy/, with their real programs, on ports of their own; stopped by their own pids."""

import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from runner.processes import child_setup
from tests.support.ports import free_port
from tests.support.processes import stop
from tests.support.waiting import wait_until

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/bin")


def program(name):
    """Where a server program is; many paths have no sbin."""
    return shutil.which(name) or next(
        (path for folder in PATHS if (path := shutil.which(name, path=folder))), None
    )


@contextmanager
def running(command, port, log, **options):
    """A program that listens on a port."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options
        )  # fmt: skip
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None, log.read_text)
        assert process.poll() is None, f"ended with {process.returncode}: {log.read_text()}"
        yield process
    finally:
        stop(process)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def certificate(directory):
    """A key and a certificate of localhost that signs itself."""
    key, signed = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", signed],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, signed


@contextmanager
def nginx(directory, *, tls_port, web, streaming):
    """deploy/nginx.conf in front of a web server and a streaming server; its certificate and its port without TLS."""
    plain = free_port()
    key, signed = certificate(directory)
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in {
        "listen 80": f"listen 127.0.0.1:{plain}",
        "listen 443 ssl http2": f"listen 127.0.0.1:{tls_port} ssl http2",
        "/etc/letsencrypt/live/feed.example.org/fullchain.pem": str(signed),
        "/etc/letsencrypt/live/feed.example.org/privkey.pem": str(key),
        "/var/log/nginx/feedsite.log": str(directory / "access.log"),
        "alias /data/media/": f"alias {settings.MEDIA_ROOT}/",
        "127.0.0.1:8000": web.removeprefix("http://"),
        "127.0.0.1:8001": streaming.removeprefix("http://"),
        "feed.example.org": "localhost",
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    whole = directory / "nginx.conf"
    temporary = "\n".join(
        f"{name}_temp_path {directory / name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole.write_text(
        f"user root;\ndaemon off;\npid {directory / 'nginx.pid'};\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}\n{text}\n}}\n"
    )
    log = directory / "nginx.log"
    with running([program("nginx"), "-c", whole], tls_port, log):
        yield signed, plain


@contextmanager
def pgbouncer(directory, *, host, database, user):
    """deploy/pgbouncer.ini in front of the database of the test; its port."""
    port = free_port()
    text = (DEPLOY / "pgbouncer.ini").read_text()
    for old, new in {
        "host=127.0.0.1 port=5432 dbname=feedsite": f"host={host} dbname={database} user={user}",
        "listen_port = 6432": f"listen_port = {port}\nunix_socket_dir =",
        "auth_type = scram-sha-256": "auth_type = any",
        "auth_file = /etc/pgbouncer/userlist.txt": "",
        "logfile = /var/log/postgresql/pgbouncer.log": "",
        "pidfile = /var/run/postgresql/pgbouncer.pid": "",
        "default_pool_size = 20": "default_pool_size = 3",  # so that clients meet on connections
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    whole = directory / "pgbouncer.ini"
    whole.write_text(text)
    prepare = child_setup(15, not_as_root=True)
    with running(
        [program("pgbouncer"), whole], port, directory / "pgbouncer.log", preexec_fn=prepare
    ):
        yield port
