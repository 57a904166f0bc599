import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from runner import packages
from runner.checkout import ROOT
from runner.terminal import LaunchError, Progress

pytestmark = pytest.mark.flows


@pytest.fixture
def requirements(place, monkeypatch):
    """A pinned set of no packages at all, so that installing needs no network."""
    file = place / "requirements.txt"
    file.write_text("# nothing\n")
    monkeypatch.setattr(packages, "REQUIREMENTS", file)
    monkeypatch.setattr(packages, "DEVELOPMENT_REQUIREMENTS", file)
    monkeypatch.setenv("FEEDSITE_VENV", str(place / "venv"))
    return file


@pytest.fixture
def no_bootstrap(monkeypatch):
    """Environments without pip of their own are made ten times faster; pip is not called then."""

    def make(directory):
        directory.mkdir(exist_ok=True)
        venv.EnvBuilder(clear=(directory / packages.UNFINISHED).exists()).create(directory)

    monkeypatch.setattr(packages, "_make_environment", make)
    monkeypatch.setattr(packages, "_run_pip", lambda *_arguments: 0)


@pytest.fixture
def no_pip_inside(monkeypatch):
    """The venv module makes what it is asked for without pip, which takes most of the time and is not called then."""
    run = subprocess.run

    def without_pip(command, **options):
        assert command[2:4] == ["-m", "venv"]
        return run([*command[:4], "--without-pip", *command[4:]], **options)

    monkeypatch.setattr(subprocess, "run", without_pip)


def test_an_environment_is_really_made_and_then_left_alone(
    requirements, place, monkeypatch, capsys
):
    python = packages.ensure_packages(development=False)
    done = subprocess.run([str(python), "-c", "import pip"], check=False)
    assert done.returncode == 0
    assert "Installing 0 packages" in capsys.readouterr().err
    monkeypatch.setattr(packages, "_install", None)  # calling it would fail
    assert packages.ensure_packages(development=False) == python
    assert sorted(path.name for path in place.iterdir()) == ["requirements.txt", "venv"]


@pytest.fixture
def locks(place, monkeypatch, requirements):
    """What the site needs, and what development needs with it."""
    more = place / "requirements-dev.txt"
    requirements.write_text("django==5.2.19 \\\n    --hash=sha256:1\n")
    more.write_text(
        "django==5.2.19 \\\n    --hash=sha256:1\nruff==0.17 ; os_name == 'posix'\nmypy==2\n"
    )
    monkeypatch.setattr(packages, "DEVELOPMENT_REQUIREMENTS", more)
    return requirements


def announced(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line.endswith(" ...")]


def test_changed_requirements_are_installed_again(locks, no_bootstrap, capsys, place):
    packages.ensure_packages(development=False)
    locks.write_text("django==5.2.20\nredis==8\n")
    packages.ensure_packages(development=False)
    assert announced(capsys) == [
        f"Installing 1 packages into {place}/venv (once) ...",
        f"Updating the 2 packages in {place}/venv ...",
    ]


def test_development_packages_include_the_sites(locks, no_bootstrap, capsys, place):
    packages.ensure_packages(development=True)
    packages.ensure_packages(development=False)
    assert announced(capsys) == [f"Installing 3 packages into {place}/venv (once) ..."]


def test_after_the_sites_packages_only_the_others_are_announced(locks, no_bootstrap, capsys, place):
    packages.ensure_packages(development=False)
    packages.ensure_packages(development=True)
    assert announced(capsys)[1:] == [
        f"Installing 2 more packages into {place}/venv, for tests and tools (once) ..."
    ]


def test_an_environment_that_is_there_is_not_made_again(locks, no_bootstrap, monkeypatch):
    packages.ensure_packages(development=False)
    monkeypatch.setattr(packages, "_make_environment", None)  # calling it would fail
    packages.ensure_packages(development=True)


def test_a_killed_set_up_is_started_from_nothing(requirements, no_bootstrap, place, monkeypatch):
    def killed(*_arguments):
        (place / "venv" / "half-written").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(packages, "_run_pip", killed)
        with pytest.raises(KeyboardInterrupt):
            packages.ensure_packages(development=False)
    assert packages._stamps(place / "venv") == set()
    packages.ensure_packages(development=False)
    assert not (place / "venv" / "half-written").exists()


def test_an_environment_whose_python_is_gone_does_not_count(requirements, no_bootstrap, place):
    python = packages.ensure_packages(development=False)
    python.unlink()
    assert packages._stamps(place / "venv") == set()


def test_a_directory_that_is_no_environment_is_never_emptied(requirements, place):
    (place / "venv").mkdir()
    (place / "venv" / "thesis.txt").touch()
    with pytest.raises(LaunchError, match="is not a virtual environment"):
        packages.ensure_packages(development=False)
    assert (place / "venv" / "thesis.txt").exists()


def test_a_place_that_cannot_be_written_is_explained(requirements, place, monkeypatch):
    monkeypatch.setenv("FEEDSITE_VENV", "/proc/venv")
    with pytest.raises(LaunchError, match="FEEDSITE_VENV"):
        packages.ensure_packages(development=False)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "ERROR: No matching distribution found for hiredis==3.5.0",
            "The package index has no wheel of hiredis==3.5.0 for",
        ),
        (
            "WARNING: Retrying ... NewConnectionError\nERROR: No matching distribution found for x",
            "Cannot reach the package index",
        ),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("noise\nERROR: hashes differ", "Installing packages failed: ERROR: hashes differ"),
        ("", "Installing packages failed: pip stopped early"),
    ],
)
def test_a_failure_of_pip_is_told_in_one_line(place, said, told):
    (place / "log").write_text(said)
    line = packages._why_pip_failed(place / "log")
    assert line.startswith(told)
    assert "\n" not in line


def run_with(place, pythons):
    """./run with only these programs on the PATH."""
    for name in ("dirname", "readlink"):
        (place / name).symlink_to(f"/usr/bin/{name}")
    for name, script in pythons.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
    return subprocess.run(
        [str(ROOT / "run"), "--help"],
        env={"PATH": str(place)}, cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_missing_python_is_told_in_one_line(place):
    done = run_with(place, {})
    assert done.returncode == 1
    assert done.stderr == (
        "feedsite needs Python 3.11 or newer; found: none. Install python3.11 or newer and try again.\n"
    )


def test_an_old_python_is_passed_over_for_a_newer_one(place):
    old = 'case "$2" in *exit*) exit 1;; *) echo 3.9;; esac'
    assert "found: 3.9." in run_with(place, {"python3": old}).stderr
    for program in place.iterdir():
        program.unlink()
    done = run_with(place, {"python3": old, "python3.12": f'exec {sys.executable} "$@"'})
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ./run")


def test_the_newest_python_is_taken(place):
    other = 'case "$*" in *runner*) exit 3;; esac'  # new enough, too
    newest = f'exec {sys.executable} "$@"'
    done = run_with(place, {"python3": other, "python3.11": other, "python3.13": newest})
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ./run")


def test_the_launcher_works_through_a_link_from_anywhere_with_a_bare_environment(place):
    (place / "feedsite").symlink_to(ROOT / "run")
    (place / "runner.py").write_text("raise SystemExit('the wrong runner')")
    done = subprocess.run(
        [str(place / "feedsite"), "stop", "--data-dir", "data"],
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONHOME": "/nonsense", "PYTHONPATH": "."},
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"feedsite is not running with {place / 'data'}\n", "")


def test_an_environment_behind_a_link_is_the_one_it_leads_to(place, monkeypatch):
    """Else the launcher would replace itself by itself for ever."""
    real, link = place / "real", place / "link"
    real.mkdir()
    link.symlink_to(real)
    for chosen in (real, link):
        for prefix in (real, link):
            monkeypatch.setenv("FEEDSITE_VENV", str(chosen))
            monkeypatch.setattr(sys, "prefix", str(prefix))
            assert packages.running_inside()
    monkeypatch.setattr(sys, "prefix", str(place / "another"))
    assert not packages.running_inside()


def test_an_environment_behind_a_link_is_made_and_made_anew_where_it_leads_to(
    requirements, no_pip_inside, place, monkeypatch
):
    real, link = place / "real", place / "link"
    real.mkdir()
    link.symlink_to(real)
    monkeypatch.setenv("FEEDSITE_VENV", str(link))
    monkeypatch.setattr(packages, "_run_pip", lambda *_arguments: 0)
    python = packages.ensure_packages(development=False)
    assert python == real / "bin" / "python"
    python.unlink()
    assert packages.ensure_packages(development=False).exists()
    assert link.is_symlink()


LOCK = """# made by make lock
one==1.0 \\
    --hash=sha256:1 \\
    --hash=sha256:2
    # via two
two==2.0 ; python_version < "3.12" \\
    --hash=sha256:3
three==3.0 \\
    --hash=sha256:4
"""


class Counted(Progress):
    packages = 0

    def __init__(self):
        super().__init__("packages", total=3)

    def advance(self):
        self.packages += 1


def _pip_that_says(venv, script):
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nfor half in "$@"; do true; done\n{script}\n')
    python.chmod(0o755)


def test_two_pips_install_every_package_once(place):
    _pip_that_says(place, "grep -o '^[a-z]*==' $half | sed 's/^/Collecting /'")
    lock, progress = place / "lock.txt", Counted()
    lock.write_text(LOCK)
    assert packages._run_pip(place, lock, place / "log", progress) == 0
    assert progress.packages == 3
    said = (place / "log").read_text()
    assert sorted(re.findall(r"Collecting (\w+)", said)) == ["one", "three", "two"]
    halves = [half.read_text() for half in place.glob("feedsite-lock-*.txt")]
    assert sorted(half.count("--hash") for half in halves) == [1, 3]


@pytest.mark.parametrize("failing", ["one", "two"])
def test_it_fails_when_one_of_the_two_does(place, failing):
    _pip_that_says(place, f"! grep -q '^{failing}==' $half")
    lock = place / "lock.txt"
    lock.write_text(LOCK)
    assert packages._run_pip(place, lock, place / "log", Counted()) == 1
