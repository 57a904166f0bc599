"""docs/settings.md: every setting that feedsite/settings.py reads from the environment.

Name, kind and default come from the call of `env`, the meaning from the comments beside it, and the checks from the
messages of the system checks.
"""

import ast
import io
import operator
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runner.checkout import ROOT
from tools.docs.checks import Refusal, refusals

SETTINGS = ROOT / "feedsite" / "settings.py"
HEAD = """# Settings

All settings of a site are environment variables. `./run` sets those of its own servers, and `docker-compose.yml` reads
`.env` (`.env.example` has examples of most settings). A setting that you leave out has its default.

- **Secrets in files**: instead of `NAME=value` you can set `NAME_FILE=/run/secrets/name`, the path of a file that
  contains the value. The file takes precedence over `NAME`.
- **Lists** are separated by commas. Switches are `1` or `0`. Times are in the unit at the end of the name.
- **Invalid values**: no process starts with an invalid value, or with one that a check in the last column refuses.
  Checks whose code begins with W only warn. `./run manage check` and `manage migrate` print the same messages, which
  are [listed below](#checks). Checks marked *production* run only with `PRODUCTION=1`.

`./run lint --fix documents` writes this page; `./run lint` fails when it is out of date.
"""
KINDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "switch",
    "list": "list",
    "tuple": "two values",
    "db": "address",
    "email": "address",
    "some_of": "list",
}
TLS = {
    "CA_FILE": "A PEM file with the CA that signed the certificates of these servers. Empty: the CAs of the system.",
    "CERT_FILE": "A PEM file with a certificate, for servers that require one.",
    "KEY_FILE": "A PEM file with the key of that certificate.",
}
# Values with which no process starts, although no system check refuses them.
REFUSED_AT_START = {
    "OPTIONAL_APPS": "names of apps that do not exist",
    "MEDIA_BUCKET": "a bucket without the package `django-storages[s3]`",
    "MEDIA_BUCKET_ENDPOINT": "an endpoint without `MEDIA_BUCKET`",
}
# Variables that are read elsewhere than in feedsite/settings.py: the reader, and the meaning.
ELSEWHERE = {
    "AWS_ACCESS_KEY_ID": (
        "the S3 client",
        "The access key of the bucket; needs `AWS_SECRET_ACCESS_KEY`. Without both, the machine's role is used.",
    ),
    "AWS_SECRET_ACCESS_KEY": ("the S3 client", "The secret part of that key."),
    "BACKUPS": (
        "`docker-compose.yml`",
        "The folder on the host for backups ([backup.md](backup.md)). Default: `./backups`.",
    ),
    "COMPOSE_PROFILES": (
        "`docker-compose.yml`",
        "The services to start: `large` or `small`, and `proxy` for nginx with TLS ([deployment.md](deployment.md)).",
    ),
    "CERTIFICATES": (
        "`docker-compose.yml`",
        "The folder on the host with the proxy's certificates. Default: `/etc/letsencrypt`.",
    ),
    "ACME": (
        "`docker-compose.yml`",
        "The folder on the host in which certbot proves that you control the domain. Default: `/var/www/acme`.",
    ),
    "POSTGRES_MEMORY": (
        "`docker-compose.yml`",
        "The memory limit of PostgreSQL. Default: `6g`.",
    ),
    "REDIS_MEMORY": (
        "`docker-compose.yml`",
        "The memory limit of each Redis; has to be larger than its `maxmemory`. Default: `3g`.",
    ),
    "TIMELINE_MAXMEMORY": (
        "`docker-compose.yml`",
        "The `maxmemory` of the Redis for home caches. Default: `2gb`.",
    ),
    "MEMCACHED_MEMORY": (
        "`docker-compose.yml`",
        "The memory limit of each Memcached. Default: `768m`.",
    ),
    "MEMCACHED_MAIN_MEGABYTES": (
        "`docker-compose.yml`",
        "The size of the cache in the Main pool. Default: 512.",
    ),
    "SITE_MEMORY": (
        "`docker-compose.yml`",
        "The memory limit of each service of the site but `web`. Default: `2g`.",
    ),
    "WEB_MEMORY": (
        "`docker-compose.yml`",
        "The memory limit of the service `web`, which has two processes. Default: `2g`.",
    ),
    "WORKER_QUEUES": (
        "`docker-compose.yml`",
        "The queues of the service `worker`. Default: `sweep,default,fanout`.",
    ),
    "POSTGRES_PASSWORD": (
        "`docker-compose.yml`",
        "The password of the database, the same as in `DATABASE_URL`. Required.",
    ),
    "OTEL_SERVICE_NAME": (
        "OpenTelemetry",
        "The name of the process in traces. Default: `feedsite-web`, `feedsite-worker` and so on.",
    ),
    "RUST_MIN_STACK": (
        "`serve.py`",
        "Bytes of stack for each thread of the web server; `serve.py` sets it if it is not set.",
    ),
    "FEEDSITE_DATA_DIR": (
        "`./run`",
        "The directory for all data, like `--data-dir`. Default: `var` in the checkout.",
    ),
    "FEEDSITE_VENV": (
        "`./run`",
        "The directory for the Python packages. Default: `.venv` in the checkout.",
    ),
    "CHECK_SINCE": (
        "`./run check`",
        "A commit, like `--since`.",
    ),
    "FEEDSITE_TESTS_ON": (
        "the tests",
        "With `citus`, the tests run on a distributed database ([CONTRIBUTING](../CONTRIBUTING.md#tests)).",
    ),
    "CITUS_URL": (
        "the tests",
        "The coordinator of a cluster with an empty database, for tests on Citus.",
    ),
    "CHROMIUM": ("`./run vitals`, the tests", "The browser to use. Default: the one on the PATH."),
}
_HEADING = re.compile(r"# --- (.+?):? -{3,}$")
_SYMBOLS = {ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub}


@dataclass(frozen=True)
class Setting:
    """`default` is None if the setting is required. `section` is the heading above it in feedsite/settings.py.

    `variable` is the name in feedsite/settings.py that the value is a part of, or "".
    """

    name: str
    variable: str
    kind: str
    default: str | None
    meaning: str
    section: str


def document() -> Iterator[str]:
    """The lines of docs/settings.md."""
    yield HEAD
    by_section: dict[str, list[Setting]] = defaultdict(list)
    for setting in settings():
        by_section[setting.section].append(setting)
    codes = defaultdict(list)
    for refusal in checks():
        for name in refusal.names:
            codes[name].append(refusal.code)
    for section, members in by_section.items():
        yield f"## {section[0].upper()}{section[1:]}\n"
        yield "| setting | kind | default | meaning | refused by |"
        yield "|---|---|---|---|---|"
        for one in members:
            found = [f"`{code}`" for code in dict.fromkeys(codes[one.name])]
            if one.name in REFUSED_AT_START:
                found.insert(0, f"at startup: {REFUSED_AT_START[one.name]}")
            default = "**required**" if one.default is None else one.default
            yield _row(f"`{one.name}`", one.kind, default, one.meaning, ", ".join(found))
        yield ""
    yield from _rest()


def _rest() -> Iterator[str]:
    yield "## Read by other programs\n"
    yield "| variable | read by | meaning |"
    yield "|---|---|---|"
    for name, (reader, meaning) in ELSEWHERE.items():
        yield _row(f"`{name}`", reader, meaning)
    yield "\n## Removed\n"
    yield "A process does not start while one of these is set.\n"
    yield "| setting | instead |"
    yield "|---|---|"
    for name, instead in removed().items():
        yield _row(f"`{name}`", instead)
    yield "\n## Checks\n"
    yield "| code | message | what to do |"
    yield "|---|---|---|"
    for refusal in checks():
        code = f"`{refusal.code}`" + (" *production*" if refusal.is_for_production else "")
        yield _row(code, _escaped(refusal.text), _escaped(refusal.hint))


def checks() -> list[Refusal]:
    """The messages of all system checks about settings."""
    variables: dict[str, list[str]] = defaultdict(list)
    for setting in settings():
        variables[setting.variable or setting.name].append(setting.name)
    return refusals(variables, {one.name for one in settings()})


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _escaped(text: str) -> str:
    return re.sub(r"([*<])", r"\\\1", text)


# feedsite/settings.py


def settings() -> list[Setting]:
    """Every setting, in the order of the module."""
    source = _Source(SETTINGS.read_text())
    return [one for statement in source.statements() for one in source.settings_of(statement)]


def removed() -> dict[str, str]:
    """The settings that no longer exist, and what to do instead."""
    found = {}
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        if _method(node) == "refuse":
            name, instead = _strings(node)
            found[name] = instead
    return found


def _strings(call: ast.AST) -> list[str]:
    return [
        one.value
        for one in getattr(call, "args", ())
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def _method(node: ast.AST) -> str:
    """The method of `env` that an expression calls, "tls_files", or ""."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("env"), method), [ast.Constant(str()), *_]):
            return method
        case ast.Call(ast.Name("tls_files")):
            return "tls_files"
    return ""


class _Source:
    """A module with its comments, by line."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.lines = text.splitlines()
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        self.comments = {one.start[0]: one for one in tokens if one.type == tokenize.COMMENT}

    def statements(self) -> Iterator[ast.stmt]:
        for statement in self.tree.body:
            if not isinstance(statement, ast.FunctionDef):
                yield statement

    def settings_of(self, statement: ast.stmt) -> Iterator[Setting]:
        calls = [node for node in ast.walk(statement) if _method(node) not in ("", "refuse")]
        calls.sort(key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]  # of a Call
        section = self._section(statement.lineno)
        about = self._above(statement.lineno)
        for call in calls:
            assert isinstance(call, ast.Call)
            if len(calls) == 1 and not isinstance(getattr(statement, "value", None), ast.Dict):
                end = call.end_lineno if isinstance(statement, ast.For) else statement.end_lineno
                said = [*about, *self._beside(statement.lineno, end or call.lineno)]
            else:
                own = [] if call.lineno == statement.lineno else self._above(call.lineno)
                said = [*about, *own, *self._beside(call.lineno, call.end_lineno or call.lineno)]
            meaning = _sentences(said)
            if seconds := _seconds(call, statement):
                meaning = meaning.replace(".", f" within {_period(seconds)}.", 1)
            yield from _settings_of(call, _variable(statement), meaning, section)

    def _section(self, line: int) -> str:
        headings = [
            found[1]
            for at, comment in sorted(self.comments.items())
            if at < line and (found := _HEADING.match(comment.string))
        ]
        return headings[-1] if headings else ""

    def _above(self, line: int) -> list[str]:
        """The block of comments directly above a line, as one text."""
        found: list[str] = []
        while (comment := self.comments.get(line - 1)) and self._is_alone(comment):
            if _HEADING.match(comment.string):
                break
            found.insert(0, comment.string.removeprefix("#").strip())
            line -= 1
        return [" ".join(found)] if found else []

    def _beside(self, first: int, last: int) -> list[str]:
        """The comments in these lines; consecutive lines with nothing else are one text."""
        found: list[str] = []
        previous = 0
        for line in range(first, last + 1):
            if comment := self.comments.get(line):
                text = comment.string.removeprefix("#").strip()
                if previous == line - 1 and self._is_alone(comment):
                    found[-1] += f" {text}"
                else:
                    found.append(text)
                previous = line if self._is_alone(comment) else 0
        return found

    def _is_alone(self, comment: tokenize.TokenInfo) -> bool:
        return self.lines[comment.start[0] - 1].lstrip().startswith("#")


def _seconds(call: ast.Call, statement: ast.stmt) -> int:
    """The period of a rate limit in seconds; 0 for other settings."""
    for node in ast.walk(statement):
        match node:
            case ast.Tuple([first, second]) if first is call:
                return int(_value(second))
    return 0


def _period(seconds: int) -> str:
    for unit, length in {"day": 86400, "hour": 3600, "minute": 60}.items():
        if seconds % length == 0:
            number = seconds // length
            return (
                f"{number} {unit}s" if number > 1 else f"{'an' if unit == 'hour' else 'a'} {unit}"
            )
    return f"{seconds} seconds"


def _variable(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return name
    return ""


def _settings_of(call: ast.Call, variable: str, meaning: str, section: str) -> Iterator[Setting]:
    if _method(call) == "tls_files":
        [servers] = _strings(call)
        for suffix, text in TLS.items():
            yield Setting(f"{servers}_{suffix}", variable, "path", "empty", text, section)
        return
    kind = _method(call)
    default = next((one.value for one in call.keywords if one.arg == "default"), None)
    if default is None and len(call.args) > 1:
        default = call.args[1]
    shown = None if default is None else _shown(default)
    if kind == "some_of":
        shown = "all of `POSSIBLE_APPS` in `feedsite/settings.py`"
    [name, *_others] = _strings(call)
    yield Setting(name, variable, KINDS[kind], shown, meaning, section)


def _shown(default: ast.expr) -> str:
    """A default as a person would set it; an expression that depends on other settings, as code."""
    value = _value(default)
    if value in (None, "", []):
        return "empty"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return str(value).removesuffix(".0")
    if isinstance(default, ast.Name):
        return f"that of `{default.id}`"
    return f"`{_text(default, value)}`"


def _text(default: ast.expr, value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(default, ast.JoinedStr):
        return _template(default)
    return value if isinstance(value, str) else ast.unparse(default)


def _value(node: ast.expr) -> Any:
    """The value of a literal or of arithmetic with literals; Ellipsis for other expressions."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elements):
            return [_value(one) for one in elements]
        case ast.BinOp(left, symbol, right) if type(symbol) in _SYMBOLS:
            both = _value(left), _value(right)
            if all(isinstance(one, int | float) for one in both):
                return _SYMBOLS[type(symbol)](*both)
    return ...


def _template(text: ast.JoinedStr) -> str:
    return "".join(
        str(one.value) if isinstance(one, ast.Constant) else f"{{{ast.unparse(one.value)}}}"  # type: ignore[attr-defined]  # a FormattedValue
        for one in text.values
    )


def _sentences(texts: Sequence[str]) -> str:
    """Comments as sentences. An address at the beginning stays as it is."""
    found = []
    for text in filter(None, texts):
        starts_with_word = text.split()[0].rstrip(",.:;").replace("'", "").isalpha()
        begun = f"{text[0].upper()}{text[1:]}" if starts_with_word else text
        found.append(begun if begun.endswith(".") else f"{begun}.")
    return " ".join(found)
