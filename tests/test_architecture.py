"""Rules of the house that a machine can check."""

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    path
    for folder in ("apps", "feedcache", "feedsite", "runner", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts and not path.stem.endswith("_pb2")  # generated
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
TEMPLATES = sorted(
    path for folder in ("templates", "apps") for path in (ROOT / folder).rglob("*.html")
)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def comments(path):
    """The comments of a module that may hold a rule's exception."""
    if "#" not in path.read_text():
        return []
    with path.open("rb") as source:
        return [
            token for token in tokenize.tokenize(source.readline) if token.type == tokenize.COMMENT
        ]


def test_a_module_says_what_it_is_for():
    silent = [path for path in MODULES if path.read_text().strip() and not docstring(path)]
    assert [name_of(path) for path in silent] == []


def docstring(path):
    return ast.get_docstring(tree_of(path))


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def test_every_exception_to_a_rule_has_a_reason():
    bare = re.compile(
        r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[a-z, -]+\])?|pragma: no cover|fmt: off|nosec)\s*\Z"
    )
    found = [
        (name_of(path), token.line.strip())
        for path in [*MODULES, *TESTS]
        for token in comments(path)
        if bare.search(token.string)
    ]
    assert found == []


BANNED = {
    "pickle": r"\b(import|from) pickle\b",
    "the page cache": r"\bcache_page\b|UpdateCacheMiddleware|FetchFromCacheMiddleware",
    "QuerySet.extra": r"\.extra\(",
    "eval": r"(?<![\w.])eval\(|(?<![\w.])exec\(",
    "offset paging": r"\bPaginator\b|LimitOffsetPagination|PageNumberPagination",
    "KEYS and FLUSHALL": r"\.(keys\(\"|flushall|flushdb)",
    "a countdown": r"\bapply_async\([^)]*(countdown|eta)=",
    "shell=True": r"shell=True",
}


@pytest.mark.parametrize("rule", sorted(BANNED))
def test_what_the_house_does_without(rule):
    modules = [
        path for path in MODULES if path.name != "admin.py" and path.parent.name != "admin"
    ]  # Django's admin has its own ways
    found = [name_of(path) for path in modules if re.search(BANNED[rule], path.read_text())]
    assert found == []


WRITERS = {"publish_post", "edit_post", "delete_post", "repost", "set_quote_policy"}
MAY_WRITE_POSTS = {
    "apps/posts/actions/publish.py",
    "apps/posts/actions/edit.py",
    "apps/timeline/publishing.py",
}


def test_posts_are_written_through_publishing():
    """Nobody has to remember what comes after the rows: `timeline.publishing` is the only entry."""
    found = [
        (name_of(path), name)
        for path in MODULES
        if name_of(path) not in MAY_WRITE_POSTS and path.relative_to(ROOT).parts[0] != "tools"
        for module, name in imported_names(path)
        if (module in {"apps.posts.actions.publish", "apps.posts.actions.edit"} and name in WRITERS)
        or (module == "apps.posts" and name == "actions")
        or (module == "apps.posts.actions" and name in {"publish", "edit"})
    ]
    assert found == []


@cache
def imported_names(path):
    """(module, name) of everything that a module takes from others."""
    return [
        (node.module, alias.name)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]


REQUESTS = {"django.http", "django.shortcuts", "django_htmx", "rest_framework"}
KNOW_REQUESTS = {
    "api", "http", "streaming", "web",
}  # fmt: skip
# A login is a session, and a session is of a request.
ABOUT_SESSIONS = {
    "apps/accounts/authentication/devices.py", "apps/accounts/handlers.py", "apps/accounts/authentication/backends.py", "apps/accounts/authentication/sessions.py",
    "apps/accounts/authentication/passkeys.py", "apps/oauth/provider.py",
}  # fmt: skip


def test_only_pages_and_endpoints_know_requests():
    """What both do lies below them, once. Staff pages are requests too, and stay with their models."""
    found = [
        (name_of(path), module)
        for path in MODULES
        if not may_know_requests(path)
        for module, _name in imported_names(path)
        if any(module == one or module.startswith(f"{one}.") for one in REQUESTS)
    ]
    assert found == []


def may_know_requests(path):
    parts = path.relative_to(ROOT).parts
    of_requests = parts[0] not in {"apps", "feedcache"} or parts[1] in KNOW_REQUESTS
    of_staff = path.stem == "admin" or "admin" in parts
    return of_requests or of_staff or name_of(path) in ABOUT_SESSIONS or "templatetags" in parts


def test_every_module_named_in_the_architecture_exists():
    document = ROOT / "docs" / "architecture.md"
    if not document.exists():
        pytest.skip("docs/architecture.md is not written yet")
    named = re.findall(
        r"`((?:apps|feedcache|feedsite|runner|tools|tests|templates|static|docs)/[\w./-]+)`",
        document.read_text(),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


UNTRUSTED = {
    "safe": r"\|safe",
    "autoescape": r"autoescape off",
    "a handler in markup, which the content security policy would stop": r"\son[a-z]+=",
    "a script": r"<script(?![^>]*\bsrc=)",
    "a style": r"\sstyle=",
}


@pytest.mark.parametrize("rule", UNTRUSTED)
def test_a_template_trusts_no_text(rule):
    found = [name_of(path) for path in TEMPLATES if re.search(UNTRUSTED[rule], path.read_text())]
    assert found == []
