"""The import contracts of pyproject.toml, with advice for imports that they forbid."""

import os
import re
import subprocess
import sys

# What to do instead, by the name of the contract. lint-imports itself reports the import that breaks it.
INSTEAD = {
    "Imports point down: web and api know requests, the domain does not": (
        "The domain below records an event (apps/events), and the app above subscribes with a handler"
        " (handlers.py): graph may not import posts. Code that both need belongs in the lower one."
    ),
    "Pages and endpoints do not know each other": (
        "Code that a page and an endpoint share is a query or an action of the domain, below both."
    ),
    "Inside an app: staff pages and tasks on top, then handlers, actions, queries, caches, models": (
        "Move the function down to the layer that uses it; put consequences of an action into a handler."
    ),
    "No folder of modules goes round in a circle": (
        "Move the code that both modules need into a third one, or pass it as an argument."
    ),
    "feedcache is a library": (
        "Pass the value or a callable to feedcache, from feedsite or an app."
    ),
    "The oracle shares nothing with what it judges": (
        "The oracle reads tables with its own SQL; a helper shared with the site would share its mistakes."
    ),
    "Only the cache servers module knows the client libraries": (
        "Get a client from feedcache.connections, such as timelines() or counters()."
    ),
    "No app imports the project package or the launcher": (
        "An app reads django.conf.settings; code that needs feedsite belongs in feedsite."
    ),
    "The vitals see what a browser sees": "Read the page with the browser, not the site's code.",
    "Inside the vitals": "Move the code that both modules need down, or add the new module to the contract.",
    "The launcher knows only processes": (
        "Start a program (runner.programs, ./run manage) instead of importing the site."
    ),
}
_BROKEN = re.compile(r"^(.+?) BROKEN", re.MULTILINE)


def broken(output: str) -> list[str]:
    """The contracts that lint-imports reports as broken."""
    return _BROKEN.findall(output)


def main() -> int:
    program = "from importlinter.cli import lint_imports_command as c; c(['--no-logo'])"
    command = [sys.executable, "-P", "-c", program]
    environment = {**os.environ, "COLUMNS": "200"}  # so that a name stays on one line
    result = subprocess.run(  # noqa: S603 -- a fixed command
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    advice = [f"Instead: {INSTEAD[name]}" for name in broken(result.stdout) if name in INSTEAD]
    sys.stdout.write("\n".join([result.stdout, *advice]))
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
