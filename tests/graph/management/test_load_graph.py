"""`manage load_graph` from end to end, with tiny files."""

import gzip
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.graph.actions import block_user
from apps.graph.management.edge_list import LINE_MAX_BYTES, EdgeList
from apps.graph.models import Followee, GraphImport
from apps.graph.queries import mirror_faults

pytestmark = pytest.mark.django_db


@pytest.fixture
def file_of(tmp_path):
    """`file_of(bytes, name)`: a file to load."""

    def make(content, name="edges.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


@pytest.fixture
def run(capsys):
    """`run(path, option=...)`: what the command says on standard output and on standard error."""

    def load(path, **options):
        out = StringIO()
        call_command("load_graph", path, stdout=out, **options)
        return out.getvalue(), capsys.readouterr().err

    return load


def follows() -> set[tuple[str, str]]:
    return set(Followee.objects.values_list("owner__handle", "followee__handle"))


def test_plain_file(run, file_of):
    out, _err = run(file_of(b"# a comment\n\n10 20\r\n30\t20\n   40   20   \n20 10"))
    assert follows() == {("u10", "u20"), ("u30", "u20"), ("u40", "u20"), ("u20", "u10")}
    assert "4 accounts made, 4 edges made, 0 edges already there, 0 bad lines" in out
    assert not any(mirror_faults().values())


def test_gzipped_file_whatever_its_name(run, file_of):
    run(file_of(gzip.compress(b"10 20\n"), "one.gz"))
    run(file_of(gzip.compress(b"30 20\n"), "two.txt"))
    assert follows() == {("u10", "u20"), ("u30", "u20")}


def test_byte_order_mark_and_empty_file(run, file_of):
    run(file_of(b"\xef\xbb\xbf10 20\n"))
    assert follows() == {("u10", "u20")}
    out, _err = run(file_of(b"", "empty.txt"))
    assert "0 edges made" in out


def test_prefix(run, file_of):
    file = file_of(b"10 20\n")
    run(file, prefix="higgs_")
    run(file, prefix="u")
    assert follows() == {("higgs_10", "higgs_20"), ("u10", "u20")}
    run(file_of(b"alice bob\n", "names.txt"), prefix="")
    assert ("alice", "bob") in follows()


def test_numbers_too_short_for_a_handle_are_filled_up(run, file_of):
    run(file_of(b"8 12\n9 8\n"))
    assert follows() == {("u_8", "u12"), ("u_9", "u_8")}


def test_duplicates_are_one_edge(run, file_of):
    out, _err = run(file_of(b"10 20\n10 20\n10 20\n"), batch=2)
    assert "1 edges made, 2 edges already there, 0 bad lines" in out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"10 10", "'10' follows itself"),
        (b"10", "not two names: '10'"),
        (b"10 20 0.5", "not two names: '10 20 0.5'"),
        (b"10 Alice", "'Alice' makes the handle 'uAlice', which is not 3 to 30 of a-z, 0-9 and _"),
        (b"10 " + b"9" * 30, "which is not 3 to 30"),
        (b"x 20", "'x' makes the handle 'ux'"),
        (b"10 a\x00b", r"'a\x00b' makes the handle"),
        (b"10 \x1b[31mred", r"'\x1b[31mred' makes the handle"),
        ("10 \u0661\u0662".encode(), r"makes the handle 'u\u0661\u0662'"),
        (b"10 _8", "_8 would be the same account as 8"),
        (b"10 " + b"a" * LINE_MAX_BYTES, "longer than 1,000 bytes"),
        (b"a" * 5 * LINE_MAX_BYTES, "longer than 1,000 bytes"),
    ],
)
def test_bad_line_is_named_and_skipped(run, file_of, line, reason):
    padding = b"50 60\n" * 100
    out, err = run(file_of(b"10 20\n" + line + b"\n30 20\n" + padding))
    assert follows() == {("u10", "u20"), ("u30", "u20"), ("u50", "u60")}
    assert "line 2: " in err
    assert reason in err
    assert "1 bad lines" in out


def test_reserved_handle_is_a_bad_line(run, file_of):
    _out, err = run(file_of(b"alice admin\nalice support\n"), prefix="")
    assert "line 2: the handle support is reserved" in err
    assert not User.objects.filter(handle="support").exists()


def test_edge_between_blocked_accounts_is_a_bad_line(run, file_of, alice, carol):
    block_user(alice, carol)
    out, err = run(file_of(b"carol alice\nbob_ alice\n"), prefix="")
    assert "line 1: one of the two has blocked the other" in err
    assert follows() == {("bob_", "alice")}
    assert "1 bad lines" in out


def test_many_bad_lines_are_counted(run, file_of):
    out, err = run(file_of(b"only\n" * 50 + b"10 20\n"))
    assert err.count("not two names") == 20
    assert "50 bad lines" in out
    assert follows() == {("u10", "u20")}


def test_second_run_has_nothing_to_do(run, file_of):
    file = file_of(b"10 20\n30 20\n")
    run(file)
    out, _err = run(file)
    assert out.startswith("Nothing to do: edges.txt was loaded")


def test_restart_looks_at_every_line_and_changes_nothing(run, file_of):
    file = file_of(b"10 20\n30 20\n")
    run(file)
    before = list(Followee.objects.values_list("pk", "created_at"))
    out, _err = run(file, restart=True)
    assert "0 accounts made, 0 edges made, 2 edges already there" in out
    assert list(Followee.objects.values_list("pk", "created_at")) == before
    assert GraphImport.objects.get().finished_at is not None
    assert not any(mirror_faults().values())


@pytest.mark.parametrize("content", [b"1%d 20\n", b"1%d 20\r\n"])
@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_interrupted_load_goes_on_where_it_was(run, file_of, monkeypatch, content, wrap):
    file = file_of(wrap(b"".join(content % number for number in range(10, 35))))
    whole = EdgeList.lines

    def interrupted(self, *, after=0):
        for line in whole(self, after=after):
            if line.number == 18:
                raise KeyboardInterrupt
            yield line

    monkeypatch.setattr(EdgeList, "lines", interrupted)
    with pytest.raises(CommandError, match="give the same command again") as stopped:
        run(file, batch=5)
    assert stopped.value.returncode == 130
    assert Followee.objects.count() == 15
    assert not any(mirror_faults().values())
    monkeypatch.undo()
    out, _err = run(file, batch=7)
    assert out.startswith("Resuming after line 15 of 25.")
    assert "10 edges made, 0 edges already there" in out
    assert Followee.objects.count() == 25
    assert not any(mirror_faults().values())


def test_progress_is_a_line_every_tenth_in_a_log(run, file_of):
    _out, err = run(file_of(b"".join(b"10 %d\n" % number for number in range(11, 51))), batch=4)
    assert [line.split(" %")[0].strip() for line in err.splitlines()] == [
        str(percent) for percent in range(10, 101, 10)
    ]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (gzip.compress(b"10 20\n" * 5000, mtime=0)[:-20], "cut.gz", "is cut short"),
        (gzip.compress(b"10 20\n", mtime=0)[:-8] + b"\0" * 8, "crc.gz", "is not sound gzip data"),
        (b"10 20\n", "plain.gz", "is named .gz but is not gzip data"),
        (bytes(range(256)) * 20, "garbage.txt", "is binary data"),
        ("10 20\n".encode("utf-16"), "utf16.txt", "is binary data"),
        (b"10 20\n30 \xff40\n", "latin.txt", "is not UTF-8 text: see line 2"),
        (b"10 20\n30 \xe2\x82", "half.txt", "is not UTF-8 text: see line 2"),
    ],
)
def test_unsound_file_is_refused_before_anything_is_loaded(run, file_of, content, name, message):
    with pytest.raises(CommandError, match=message) as refused:
        run(file_of(content, name))
    assert "\n" not in str(refused.value)
    assert not User.objects.exists()
    assert not GraphImport.objects.exists()


def test_missing_file_and_directory(run, tmp_path):
    with pytest.raises(CommandError, match="There is no file"):
        run(tmp_path / "nothing.txt")
    with pytest.raises(CommandError, match="is not a file"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "--batch takes"),
        ({"batch": 10**9}, "--batch takes"),
        ({"prefix": "A"}, "cannot begin a handle"),
        ({"prefix": "a" * 30}, "cannot begin a handle"),
    ],
)
def test_senseless_options_are_refused(run, file_of, options, message):
    with pytest.raises(CommandError, match=message):
        run(file_of(b"10 20\n"), **options)


def test_two_processes_on_one_file(run, file_of, monkeypatch):
    file = file_of(b"10 20\n30 20\n")
    whole = EdgeList.lines

    def overtaken(self, *, after=0):
        for line in whole(self, after=after):
            GraphImport.objects.update(lines_done=2)
            yield line

    monkeypatch.setattr(EdgeList, "lines", overtaken)
    with pytest.raises(CommandError, match="Another process is loading the same file"):
        run(file)
