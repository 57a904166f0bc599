"""The virtual environment: created once, updated when the pinned requirements change.

The stamp of the requirements is written last. An installation that was killed leaves a mark, and the next one starts
from scratch.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from runner.checkout import DEFAULT_VENV, DEVELOPMENT_REQUIREMENTS, REQUIREMENTS, ROOT
from runner.terminal import LaunchError, Progress

STAMP = "feedsite-packages"
UNFINISHED = "feedsite-unfinished"
# pip's settings that would install elsewhere, or build from source; those for mirrors and certificates are kept.
UNWANTED_PIP_SETTINGS = (
    "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_NO_BINARY", "PIP_CONSTRAINT",
    "PIP_REQUIREMENT", "PIP_DRY_RUN", "PIP_QUIET", "PIP_VERBOSE", "PIP_PYTHON", "PIP_EDITABLE", "PIP_NO_DEPS",
)  # fmt: skip


def venv_dir() -> Path:
    """FEEDSITE_VENV, or else .venv in the checkout, with links resolved: the venv module does not accept a link."""
    path = os.environ.get("FEEDSITE_VENV")
    return (Path(path).expanduser() if path else DEFAULT_VENV).resolve()


def running_inside() -> bool:
    """Whether this interpreter is the one of the virtual environment."""
    return Path(sys.prefix).resolve() == venv_dir().resolve()


def ensure_packages(*, development: bool) -> Path:
    """The interpreter of a virtual environment with the pinned packages, installed if missing. Raises LaunchError."""
    venv = venv_dir()
    fingerprints = _fingerprints(development=development)
    if not fingerprints <= _stamps(venv):
        with _install_lock(venv):
            if not fingerprints <= _stamps(venv):
                _install(venv, development=development)
                _write_stamps(venv, fingerprints)
    return venv / "bin" / "python"


def enter(*, development: bool) -> None:
    """Replace this process by the virtual environment's interpreter, unless this process already runs it."""
    python = ensure_packages(development=development)
    if running_inside():
        return
    os.environ["PYTHONPATH"] = str(ROOT)
    # Packages are installed without bytecode: the first process that imports a module compiles it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.execv(python, [str(python), "-P", "-m", "runner", *sys.argv[1:]])  # noqa: S606 -- no shell needed


def _fingerprints(*, development: bool) -> set[str]:
    files = [REQUIREMENTS, DEVELOPMENT_REQUIREMENTS] if development else [REQUIREMENTS]
    return {f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files}


def _stamps(venv: Path) -> set[str]:
    """Fingerprints of the installed requirements; empty if the environment's interpreter does not exist."""
    if not (venv / "bin" / "python").exists():
        return set()
    try:
        return set((venv / STAMP).read_text().splitlines())
    except OSError:
        return set()


def _write_stamps(venv: Path, stamps: set[str]) -> None:
    unfinished = venv / UNFINISHED
    unfinished.write_text("\n".join(sorted(stamps)) + "\n")
    unfinished.rename(venv / STAMP)


@contextmanager
def _install_lock(venv: Path) -> Iterator[None]:
    """Lock the parent directory, which leaves no lock file behind."""
    try:
        venv.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(venv.parent, os.O_RDONLY)
    except OSError as error:
        raise LaunchError(f"Cannot use {venv.parent} for the packages: {error.strerror}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _install(venv: Path, *, development: bool) -> None:
    label = _announcement(venv, development=development)
    if (venv / UNFINISHED).exists() or not (venv / "bin" / "python").exists():
        _make_environment(venv)
    requirements = DEVELOPMENT_REQUIREMENTS if development else REQUIREMENTS
    log = venv / "feedsite-install.log"
    (venv / UNFINISHED).touch()
    (venv / STAMP).unlink(missing_ok=True)
    with Progress(label, total=len(_pinned(requirements))) as progress:
        if _run_pip(venv, requirements, log, progress):
            raise LaunchError(_why_pip_failed(log))


def _announcement(venv: Path, *, development: bool) -> str:
    """The packages to install, as a line for the terminal."""
    there, site = _stamps(venv), _pinned(REQUIREMENTS)
    wanted = _pinned(DEVELOPMENT_REQUIREMENTS) if development else site
    if development and _fingerprints(development=False) <= there:
        return (
            f"Installing {len(wanted - site)} more packages into {venv}, for tests and tools (once)"
        )
    if there:
        return f"Updating the {len(wanted)} packages in {venv}"
    return f"Installing {len(wanted)} packages into {venv} (once)"


def _pinned(requirements: Path) -> set[str]:
    """Name and version of each package of a lock file."""
    return set(re.findall(r"^[a-zA-Z0-9].*==[^\s;]+", requirements.read_text(), re.MULTILINE))


def _make_environment(venv: Path) -> None:
    """Create an empty environment; clears an existing one only if it is unfinished or has no interpreter."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise LaunchError(
            f"Python {version} lacks its venv module; on Debian or Ubuntu: apt install python{version}-venv"
        )
    if venv.is_dir() and any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
        raise LaunchError(
            f"{venv} exists but is not a virtual environment; move it away or set FEEDSITE_VENV."
        )
    clear = (
        ["--clear"]
        if (venv / UNFINISHED).exists() or not (venv / "bin" / "python").exists()
        else []
    )
    _check_writable(venv)
    command = [sys.executable, "-I", "-m", "venv", *clear, str(venv)]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if result.returncode:
        last = (result.stdout + result.stderr).strip().splitlines()[-1:]
        raise LaunchError(f"Cannot create the virtual environment {venv}: {' '.join(last)}")


def _check_writable(venv: Path) -> None:
    try:
        venv.mkdir(parents=True, exist_ok=True)
        (venv / UNFINISHED).touch()
    except OSError as error:
        raise LaunchError(
            f"Cannot write to {venv} ({error.strerror}); set FEEDSITE_VENV to a writable directory."
        ) from None


def _run_pip(venv: Path, requirements: Path, log: Path, progress: Progress) -> int:
    """Install from wheels only, so that no compiler is needed. Returns the exit status of the pip that failed, or 0.

    The lock file is complete, so pip need not resolve dependencies, and two halves can be installed in parallel: one
    pip uses only one processor. Bytecode is not compiled, because that would take nearly half of the time, and most
    modules are never imported.
    """
    environment = {
        name: value for name, value in os.environ.items() if name not in UNWANTED_PIP_SETTINGS
    }
    environment.pop("PYTHONPATH", None)
    command = [
        str(venv / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
        "--progress-bar", "off", "--only-binary=:all:", "--require-hashes", "--no-deps", "--no-compile",
        "--requirement",
    ]  # fmt: skip
    started = time.monotonic()
    reading, writing = os.pipe()  # both pips write to it, and it is read line by line
    with (
        ExitStack() as running,
        os.fdopen(reading, errors="replace") as lines,
        log.open("w") as record,
    ):
        pips = [
            running.enter_context(
                subprocess.Popen(
                    [*command, str(half)], env=environment, stdin=subprocess.DEVNULL, stdout=writing,
                    stderr=subprocess.STDOUT,
                )
            )
            for half in _halves(venv, requirements)
        ]  # fmt: skip
        os.close(writing)
        for line in lines:
            record.write(line)
            if line.startswith(("Collecting ", "Requirement already satisfied: ")):
                progress.advance()
        statuses = [pip.wait() for pip in pips]
        record.write(f"pip took {time.monotonic() - started:.1f} seconds\n")
    return next(filter(None, statuses), 0)


def _halves(venv: Path, requirements: Path) -> list[Path]:
    """Two files, each with every second package of a lock file."""
    packages = re.findall(r"^[a-zA-Z0-9].*(?:\n[ ].*)*", requirements.read_text(), re.MULTILINE)
    halves = [venv / f"feedsite-{requirements.stem}-{number}.txt" for number in (1, 2)]
    for first, half in enumerate(halves):
        half.write_text("\n".join(packages[first::2]) + "\n")
    return halves


def _why_pip_failed(log: Path) -> str:
    text = log.read_text(errors="replace")
    missing = re.search(r"No matching distribution found for (\S+)", text)
    if re.search(
        r"NewConnectionError|ConnectTimeout|Temporary failure in name resolution|ProxyError|SSLError",
        text,
    ):
        return (
            f"Cannot reach the package index; check the network or pip's settings (details: {log})."
        )
    if missing:
        return f"The package index has no wheel of {missing[1]} for this Python and machine (details: {log})."
    if "No space left on device" in text:
        return f"The disk is full: cannot install packages (details: {log})."
    errors = [line for line in text.splitlines() if line.startswith("ERROR")]
    return f"Installing packages failed: {errors[-1] if errors else 'pip stopped early'} (details: {log})."
