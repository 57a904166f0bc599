"""docs/commands.md: the verbs of `./run` and the commands of `./run manage`, from their own parsers.

argparse words its help differently in each version of Python, so the page is written from the parsers' actions.
"""

import argparse
from collections.abc import Iterator
from importlib import import_module

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from runner import arguments, testing
from runner.tools import MODULES

HEAD = """# Commands

`./run VERB` starts the site, its tests and its tools; it needs Python 3.11 or newer and nothing else. `./run manage
COMMAND` runs a Django command in the environment of the running site; on a deployed site, use `manage.py
COMMAND`. Django's own commands (`shell`, `createsuperuser`, ...) are available, too. All of them have `--help`.

`./run lint --fix documents` writes this page; `./run lint` fails when it is out of date.
"""
OURS = ("apps", "feedsite")
OF_HELP = frozenset({"-h", "--help"})


def document() -> Iterator[str]:
    """The lines of docs/commands.md."""
    yield HEAD
    yield "## Verbs of `./run`\n"
    yield _block(arguments.SUMMARY + "\n" + arguments.EXAMPLES)
    yield from _verbs()
    yield "## Commands of `./run manage`\n"
    commands = dict(_manage_commands())
    yield "| command | purpose |"
    yield "|---|---|"
    for name, parser in commands.items():
        first = (parser.description or "").partition("\n")[0].replace("|", "&#124;")
        yield f"| [`{name}`](#manage-{name}) | {first} |"
    yield ""
    of_django = _actions(BaseCommand().create_parser("manage", "any"))
    without = frozenset(option for action in of_django for option in action.option_strings)
    for name, parser in commands.items():
        yield f"### manage {name}\n"
        yield from described(parser, without)


def _verbs() -> Iterator[str]:
    own = {name: parser for name, _help, parser in _below(arguments.command_parser())}
    for verb in arguments.VERBS:
        yield f"### run {verb}\n"
        if verb in MODULES:
            yield from described(import_module(_entry(MODULES[verb])).command_parser())
        elif verb == "manage":
            yield "Runs one of [these commands](#commands-of-run-manage), or one of Django's.\n"
        elif verb == "test":
            yield _block(testing.HELP.format(processes=testing.MAX_PROCESSES))
        else:
            yield from described(own[verb])


def _entry(module: str) -> str:
    found = import_module(module)
    return f"{module}.__main__" if hasattr(found, "__path__") else module


def _manage_commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The project's own commands, by name."""
    for name, app in sorted(get_commands().items()):
        if str(app).partition(".")[0] in OURS:
            yield name, load_command_class(str(app), name).create_parser("manage", name)


def described(
    parser: argparse.ArgumentParser, without: frozenset[str] = OF_HELP, level: int = 4
) -> Iterator[str]:
    """What a parser does, its arguments, the parsers below it, and its examples, as Markdown.

    Options in `without` are left out. `level` is that of the headings of parsers below this one.
    """
    if parser.description and parser.description != arguments.SUMMARY:
        yield f"{' '.join(parser.description.split())}\n"
    rows = [
        _row(action, parser)
        for action in _actions(parser)
        if not isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 -- argparse has no public name for it
        and not without.intersection(action.option_strings)
        and action.help != argparse.SUPPRESS
    ]
    if rows:
        yield "| argument | meaning |"
        yield "|---|---|"
        yield from rows
        yield ""
    for name, said, below in _below(parser):
        yield f"{'#' * level} {parser.prog.removeprefix('./')} {name}\n"
        if said and not below.description:
            yield f"{said}\n"
        yield from described(below, without, level + 1)
    if parser.epilog:
        yield _block(parser.epilog)


def _below(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """The subcommands of a parser: name, one line of help, and their own parser."""
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 -- argparse has no public name for it
            said = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001 -- as above
            for name, below in action.choices.items():
                yield name, said.get(name, ""), below


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 -- argparse shows them nowhere else


def _row(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """The row of an argument."""
    value = _value(action)
    if action.option_strings:
        named = ", ".join(
            f"`{one} {value}`" if value else f"`{one}`" for one in action.option_strings
        )
    else:
        named = f"`{value}`"
    return f"| {named} | {_help(action, parser)} |".replace("| |", "|  |")


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    return action.dest if not action.option_strings else action.dest.upper()


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """The help of an argument with its values, and its default where argparse shows it."""
    text = (action.help or "").replace("%%", "%")
    for name, value in (("default", action.default), ("prog", parser.prog)):
        text = text.replace(f"%({name})s", str(value))
    choices = list(action.choices or ()) if not action.metavar else []
    if choices:
        text += f"{'; ' if text else ''}one of {', '.join(f'`{one}`' for one in choices)}"
    shows_defaults = parser.formatter_class is argparse.ArgumentDefaultsHelpFormatter
    if shows_defaults and action.default not in (None, False) and "default" not in text:
        text = f"{text} (default: {action.default})".strip()
    return " ".join(text.replace("|", "&#124;").split())


def _block(text: str) -> str:
    return f"```text\n{text.strip(chr(10)).rstrip()}\n```\n"
