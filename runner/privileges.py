"""Runs PostgreSQL, which refuses to run as root, when root starts the site.

The first choice is a user namespace: the server sees another user id while its files stay root's, so that a checkout
under a closed /root works. Containers often forbid namespaces; then the server runs as the user `nobody`, with the
capability to enter closed directories.
"""

import ctypes
import functools
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

CLONE_NEWUSER = 0x10000000
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
NAMESPACE_TRIES, NAMESPACE_PAUSE_SECONDS = 50, 0.01
CAPABILITIES = (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)

libc = ctypes.CDLL(None, use_errno=True)


def leave_root() -> Callable[[], None] | None:
    """A function for the child to call before it becomes a server that refuses root; None for ordinary users."""
    if os.geteuid() != 0:
        return None
    return enter_user_namespace if namespaces_allowed() else become_nobody


def take_ownership(directory: Path) -> None:
    """Give a directory to the user of the server; usually a no-op."""
    if os.geteuid() != 0:
        return
    owner = 0 if namespaces_allowed() else pwd.getpwnam("nobody").pw_uid
    if directory.stat().st_uid == owner:
        return
    for path in (directory, *directory.rglob("*")):
        os.chown(path, owner, -1, follow_symlinks=False)


@functools.cache
def namespaces_allowed() -> bool:
    """Whether root can create a user namespace; tested in a child."""
    if not sys.platform.startswith("linux"):
        return False
    probe = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         f"import ctypes,sys; sys.exit(ctypes.CDLL(None).unshare({CLONE_NEWUSER}) != 0)"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return probe.returncode == 0


def enter_user_namespace() -> None:
    """Lose the root identity while the files stay root's; called between fork and exec.

    A busy machine sometimes refuses the call, so it is retried for half a second.
    """
    for _try in range(NAMESPACE_TRIES):
        if libc.unshare(CLONE_NEWUSER) == 0:
            return
        time.sleep(NAMESPACE_PAUSE_SECONDS)
    os._exit(126)


def become_nobody() -> None:
    """Become `nobody` with the capability to enter closed directories; called between fork and exec."""
    account = pwd.getpwnam("nobody")
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
    mask = sum(1 << capability for capability in CAPABILITIES)
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    # effective, permitted, inheritable: the low words first, then the high ones
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    libc.capset(header, data)
    for capability in CAPABILITIES:
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)
