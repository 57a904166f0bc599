"""docs/commands.md has every verb and every command, with all their arguments."""

import argparse

from django.core.management import get_commands

from runner.arguments import VERBS
from tools.docs.commands import described, document


def test_every_verb_and_every_command_of_ours_is_there():
    text = "\n".join(document())
    ours = [name for name, app in get_commands().items() if app.startswith(("apps.", "feedsite"))]
    assert len(ours) > 20
    assert [verb for verb in VERBS if f"\n### run {verb}\n" not in text] == []
    assert [name for name in ours if f"\n### manage {name}\n" not in text] == []


def test_a_parser_is_described_with_what_is_below_it():
    parser = argparse.ArgumentParser(
        "./run tidy", description="Tidies  up.", epilog="examples:\n  ./run tidy"
    )
    parser.add_argument(
        "--level", type=int, default=3, metavar="N", help="how much (default: %(default)s)"
    )
    parser.add_argument("--dry", action="store_true", help="100%% harmless")
    below = parser.add_subparsers().add_parser("attic", help="the attic only")
    below.add_argument("corner", choices=["left", "right"])
    assert "\n".join(described(parser)) == (
        "Tidies up.\n\n"
        "| argument | meaning |\n|---|---|\n"
        "| `--level N` | how much (default: 3) |\n"
        "| `--dry` | 100% harmless |\n\n"
        "#### run tidy attic\n\n"
        "the attic only\n\n"
        "| argument | meaning |\n|---|---|\n"
        "| `corner` | one of `left`, `right` |\n\n"
        "```text\nexamples:\n  ./run tidy\n```\n"
    )
