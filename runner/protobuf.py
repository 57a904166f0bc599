"""Code generated from the `.proto` files: written by `make proto`, compared by `./run check`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from runner.checkout import ROOT
from runner.terminal import LaunchError, complain, say

SUFFIXES = ("_pb2.py", "_pb2.pyi")


def generate(root: Path, target: Path) -> list[Path]:
    """Compile every `.proto` file of the apps below `root` into the same paths below `target`.

    Returns the paths written, relative to `target`. LaunchError if the compiler is missing or fails.
    """
    sources = sorted(path.relative_to(root) for path in (root / "apps").rglob("*.proto"))
    compiler = Path(sys.executable).parent / "protoc"
    options = ["--proto_path=.", f"--python_out={target}", f"--pyi_out={target}"]
    command = [str(compiler), *options, *map(str, sources)]
    try:
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LaunchError(f"Cannot run {compiler}: {error.strerror}") from None
    if result.returncode:
        raise LaunchError(f"protoc failed: {result.stderr.strip()}")
    return [source.with_name(source.stem + suffix) for source in sources for suffix in SUFFIXES]


def outdated(root: Path) -> list[Path]:
    """Generated files below `root` that differ from their sources, are missing, or have no source."""
    with tempfile.TemporaryDirectory(prefix="feedsite-generated-") as directory:
        target = Path(directory)
        generated = generate(root, target)
        changed = {path for path in generated if not _same(root / path, target / path)}
    present = [path for suffix in SUFFIXES for path in (root / "apps").rglob(f"*{suffix}")]
    return sorted(changed | {path.relative_to(root) for path in present} - {*generated})


def _same(expected: Path, other: Path) -> bool:
    return expected.exists() and expected.read_bytes() == other.read_bytes()


def main(arguments: list[str]) -> int:
    """`--check` compares; without arguments the code is written. Returns the exit status."""
    try:
        if arguments != ["--check"]:
            for path in generate(ROOT, ROOT):
                say(str(path))
            return 0
        paths = outdated(ROOT)
    except LaunchError as error:
        complain(str(error))
        return 1
    for path in paths:
        complain(f"{path} does not match its source; run: make proto")
    return 1 if paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
