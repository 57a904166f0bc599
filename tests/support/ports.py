"""Free ports for the tests' servers, when several test processes run on one machine at once."""

import os
import random
import socket

# Below the ports of outgoing connections, even with 10,000 added: the port on which a Redis node listens for others.
PORTS = range(13_000, 22_700)
CLUSTER = 10_000


def free_port(*, of_cluster: bool = False) -> int:
    """A free port that no other test process gets while this one lives.

    Otherwise two processes could get the same port before their servers listen, and one would talk to the other's
    server.
    """
    wanted = (0, CLUSTER) if of_cluster else (0,)
    for port in random.Random(os.urandom(8)).sample(PORTS, len(PORTS)):
        if all(_reserve(port + more) for more in wanted):
            return port
    raise RuntimeError("no free ports")


def _reserve(port: int) -> bool:
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0feedsite-tests-{port}")  # abstract: no file, and freed when the process ends
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    lock.detach()  # open until the process ends
    return True
