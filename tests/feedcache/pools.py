"""Memcached nodes of a test's own, in three layers: what is in them, and what happens to them."""

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from feedcache.connections import timelines
from feedcache.memcached_node import sync_generations
from feedcache.memcached_tiers import TieredCache
from feedcache.topology import Node, Topology
from runner.services.debian import find_memcached
from runner.services.memcached import Memcached
from tests.support.memory import contents, told
from tests.support.processes import freeze
from tests.support.waiting import wait_until

MAIN, BACKUP, L1 = ("main-a", "main-b"), ("backup",), (("l1-a",), ("l1-b", "l1-c"), ("l1-d",))
LABELS = (*MAIN, *BACKUP, *(label for group in L1 for label in group))


class Pools:
    """The servers by label, and the topology with or without L1."""

    def __init__(self, servers, layers):
        self.servers = servers
        self.layers = layers
        self.clients = []
        self.topology = Topology(
            version=1,
            main=self.group(MAIN),
            backup=self.group(BACKUP),
            l1=tuple(self.group(labels) for labels in L1) if layers == 3 else (),
        )

    def group(self, labels):
        return tuple(Node(label, self.servers[label].address, 64) for label in labels)

    def client(self, topology=None):
        """The tiers as one more process has them."""
        made = TieredCache(topology or self.topology, {})
        self.clients.append(made)
        return made

    def kill(self, label):
        self.servers[label].child.kill()

    def freeze(self, label):
        freeze(self.servers[label].child.pid)

    def bring_back(self, label):
        """From death without memory, from a freeze with all of it."""
        server = self.servers[label]
        if server.child.running():
            os.kill(server.child.pid, signal.SIGCONT)
        else:
            server.stop()
            server.start()

    def reset(self):
        """All running and empty."""
        for label in LABELS:
            self.bring_back(label)
            told(self.servers[label].address, b"flush_all\r\n")

    def close(self):
        """As it was before the test."""
        for cache in self.clients:
            for node in cache.nodes():
                node.retire()
        self.reset()

    def gets(self, label):
        """How many keys a node was asked for since it started."""
        for line in told(self.servers[label].address, b"stats\r\n", end=b"END\r\n").split(b"\r\n"):
            if line.startswith(b"STAT cmd_get "):
                return int(line.split()[-1])
        raise AssertionError(label)


@contextmanager
def started(labels):
    """Servers by label, in a directory with a short name; None where there is no memcached."""
    directory = Path(tempfile.mkdtemp(prefix="fst-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        program = find_memcached(directory / "memcached")
        if program is None:
            yield None
            return
        servers = {
            label: Memcached(program, label, directory, directory / "log") for label in labels
        }
        for server in servers.values():
            server.start()
            stack.callback(server.stop)
        yield servers


def all_of(cache):
    """The contents of every layer of some tiers: values only, and what is under tombstones as None."""
    for node in cache.nodes():
        # on the connection it used last: everything that was sent before is done
        wait_until(node.ping, "the node answers")
    return {
        name: merged(nodes)
        for name, nodes in {
            "main": cache.main,
            "backup": cache.backup,
            **{f"l1 {number}": group for number, group in enumerate(cache.groups)},
        }.items()
    }


def merged(layer):
    found = {}
    for slot in layer.slots:
        for key, item in contents(slot.node).items():
            assert layer.slot_of(key.encode()) is slot
            found[key] = None if item.kind == 1 else item.data
    return found


def a_second_passes(cache):
    """What the listener does every second in every process."""
    sync_generations(list(cache.nodes()), by=timelines())


class Chosen:
    """Which L1 group the next reads ask."""

    def __init__(self, monkeypatch):
        self.number = 0
        monkeypatch.setattr(
            "feedcache.memcached_tiers.random.choice", lambda groups: groups[self.number]
        )
