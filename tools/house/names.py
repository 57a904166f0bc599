"""The names of modules, and the names of dependencies that begin with an underscore."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# Module names that readers know from Django, DRF or Celery.
ROLES = frozenset({
    "__init__", "__main__", "actions", "admin", "api", "apps", "asgi", "cache", "celery", "checks",
    "context_processors", "converters", "entities",
    "errors", "exceptions", "feeds", "forms", "handlers", "managers", "middleware", "models", "pagination",
    "permissions", "queries", "receivers",
    "routers", "serializers", "settings", "signals", "sitemaps", "storage", "tasks", "throttling", "urls", "validators",
    "views", "widgets", "wsgi",
})  # fmt: skip
# Public despite their underscore: documented by Django, or for named tuples.
PUBLIC = frozenset(
    {"_meta", "_asdict", "_replace", "_fields", "_make", "_state", "_db", "_default_manager"}
)
FRAMEWORK_FOLDERS = frozenset({"migrations", "management", "commands", "templatetags"})


def modules_by_folder(paths: Iterable[Path]) -> Counter[Path]:
    """The number of modules in every folder, without `__init__` and migrations."""
    return Counter(
        path.parent
        for path in paths
        if path.stem != "__init__" and "migrations" not in path.parent.parts
    )


def ad_hoc_modules(paths: Iterable[Path]) -> dict[Path, list[str]]:
    """By folder, the modules that are not named after a role; the longest list first."""
    found: dict[Path, list[str]] = {}
    for path in paths:
        if path.stem not in ROLES and FRAMEWORK_FOLDERS.isdisjoint(path.parent.parts):
            found.setdefault(path.parent, []).append(path.stem)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def underscore_names(sources: Mapping[Path, str], own: Iterable[str]) -> list[str]:
    """`file:line name` of every underscore name that our packages, `own`, use from other packages."""
    trees = {path: ast.parse(source) for path, source in sources.items()}
    defined = {path: set(_defined(tree)) for path, tree in trees.items()}
    anywhere = set[str]().union(*defined.values())
    packages = set(own)
    return [
        f"{path}:{line} {name}"
        for path, tree in trees.items()
        for line, name in sorted(
            {*_imported(tree, packages), *_read(tree, defined[path], anywhere)}
        )
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in {"_", *PUBLIC}


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(name)):  # __slots__
                yield name


def _imported(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules, names = [node.module or ""], [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            modules, names = [alias.name for alias in node.names], []
        else:
            continue
        foreign = [module for module in modules if module.partition(".")[0] not in own]
        if foreign:
            parts = [part for module in foreign for part in module.split(".")]
            yield from ((node.lineno, name) for name in [*parts, *names] if _is_private(name))


def _read(tree: ast.Module, here: set[str], anywhere: set[str]) -> Iterator[tuple[int, str]]:
    """The underscore names that a module reads, except its own names and those that a class may inherit."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            is_of_self = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            if node.attr not in (anywhere if is_of_self else here):
                yield node.lineno, node.attr
