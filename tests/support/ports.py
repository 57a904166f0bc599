"""Ports for servers of the tests, several processes of which run at once on one machine."""

import os
import random
import socket

# Below those that the kernel gives to outgoing connections; also with 10,000 more, where nodes of a cluster listen.
PORTS = range(13_000, 22_700)
CLUSTER = 10_000


def free_port(*, of_cluster: bool = False) -> int:
    """A port where nobody listens, and which no other process of tests gets while this one lives.

    Else two of them could get the same one before their servers listen, and one would talk to the other's server.
    """
    wanted = (0, CLUSTER) if of_cluster else (0,)
    for port in random.Random(os.urandom(8)).sample(PORTS, len(PORTS)):
        if all(_reserve(port + more) for more in wanted):
            return port
    raise RuntimeError("no free ports")


def _reserve(port: int) -> bool:
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0feedsite-tests-{port}")  # no file: it goes with the process
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    lock.detach()  # open until the process ends
    return True
