"""Code generated from the `.proto` files: made anew by `make proto`, compared by `./run check`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from runner.checkout import ROOT
from runner.problems import LaunchError
from runner.says import complain, say

SUFFIXES = ("_pb2.py", "_pb2.pyi")


def generate(root: Path, target: Path) -> list[Path]:
    """Write the code of every `.proto` file in the apps below `root` into the same places below `target`.

    Returns the paths written, relative to `target`. Raises LaunchError when the compiler is missing or refuses.
    """
    sources = sorted(path.relative_to(root) for path in (root / "apps").rglob("*.proto"))
    compiler = Path(sys.executable).parent / "protoc"
    places = ["--proto_path=.", f"--python_out={target}", f"--pyi_out={target}"]
    command = [str(compiler), *places, *map(str, sources)]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        raise LaunchError(f"Cannot run {compiler}: {error.strerror}") from None
    if done.returncode:
        raise LaunchError(f"protoc failed: {done.stderr.strip()}")
    return [source.with_name(source.stem + suffix) for source in sources for suffix in SUFFIXES]


def outdated(root: Path) -> list[Path]:
    """The generated files below `root` that are not what their sources say, missing and left-over ones among them."""
    with tempfile.TemporaryDirectory(prefix="feedsite-generated-") as directory:
        target = Path(directory)
        made = generate(root, target)
        changed = {path for path in made if not _same(root / path, target / path)}
    present = [path for suffix in SUFFIXES for path in (root / "apps").rglob(f"*{suffix}")]
    return sorted(changed | {path.relative_to(root) for path in present} - {*made})


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.read_bytes() == other.read_bytes()


def main(arguments: list[str]) -> int:
    """`--check` compares, nothing writes. Returns the exit status."""
    try:
        if arguments != ["--check"]:
            for path in generate(ROOT, ROOT):
                say(str(path))
            return 0
        wrong = outdated(ROOT)
    except LaunchError as error:
        complain(str(error))
        return 1
    for path in wrong:
        complain(f"{path} is not what its source says; run: make proto")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
