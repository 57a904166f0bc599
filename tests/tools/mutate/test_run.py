"""What becomes of a mutant; no servers."""

from contextlib import nullcontext

from tools.mutate import run
from tools.mutate.mutants import Mutant
from tools.mutate.run import Verdict, try_one


class Checkouts(run.Copies):
    """One copy in which pytest says what the mutated file says."""

    def __init__(self, place):
        self.place = place

    def one(self):
        return nullcontext(self.place)

    def run(self, copy, tests):
        assert tests == ["tests/test_a.py"]
        return int((copy / "a.py").read_text()), "printed"


def test_what_fails_is_caught_and_the_copy_is_put_back(tmp_path):
    (tmp_path / "a.py").write_text("9")
    for code, verdict in ((0, Verdict.SURVIVED), (1, Verdict.CAUGHT), (4, Verdict.BROKEN)):
        mutant = Mutant("S01", "nothing", "a.py", "9", str(code), "tests/test_a.py")
        assert try_one(Checkouts(tmp_path), mutant) == run.Result(mutant, verdict, "printed")
        assert (tmp_path / "a.py").read_text() == "9"
