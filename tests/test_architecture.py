"""Rules of the house that a machine can check."""

import ast
import re
import tokenize
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
    with path.open("rb") as source:
        return [
            token for token in tokenize.tokenize(source.readline) if token.type == tokenize.COMMENT
        ]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_for(path):
    text = path.read_text()
    if text.strip():
        assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", [*MODULES, *TESTS], ids=name_of)
def test_every_exception_to_a_rule_has_a_reason(path):
    bare = re.compile(
        r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[a-z, -]+\])?|pragma: no cover|fmt: off|nosec)\s*\Z"
    )
    assert [token.line.strip() for token in comments(path) if bare.search(token.string)] == []


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


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_posts_are_written_through_publishing(path):
    """Nobody has to remember what comes after the rows: `timeline.publishing` is the only entry."""
    if name_of(path) in MAY_WRITE_POSTS or path.parts[len(ROOT.parts)] in {"bench", "tools"}:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in {
            "apps.posts.actions.publish",
            "apps.posts.actions.edit",
        }:
            assert not {alias.name for alias in node.names} & WRITERS
        if isinstance(node, ast.ImportFrom) and node.module == "apps.posts":
            assert "actions" not in {alias.name for alias in node.names}


REQUESTS = {"django.http", "django.shortcuts", "django_htmx", "rest_framework"}
KNOW_REQUESTS = {
    "api", "http", "streaming", "web",
}  # fmt: skip
# A login is a session, and a session is of a request.
ABOUT_SESSIONS = {
    "apps/accounts/authentication/devices.py", "apps/accounts/handlers.py", "apps/accounts/authentication/backends.py", "apps/accounts/authentication/sessions.py",
    "apps/accounts/authentication/passkeys.py", "apps/oauth/provider.py",
}  # fmt: skip


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_pages_and_endpoints_know_requests(path):
    """What both do lies below them, once. Staff pages are requests too, and stay with their models."""
    parts = path.relative_to(ROOT).parts
    if (
        parts[0] not in {"apps", "feedcache"}
        or parts[1] in KNOW_REQUESTS
        or name_of(path) in ABOUT_SESSIONS
    ):
        return
    if path.stem == "admin" or {"admin", "templatetags"} & set(parts):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert not any(
                node.module == one or node.module.startswith(f"{one}.") for one in REQUESTS
            ), node.module


def test_every_module_named_in_the_architecture_exists():
    document = ROOT / "docs" / "architecture.md"
    if not document.exists():
        pytest.skip("docs/architecture.md is not written yet")
    named = re.findall(
        r"`((?:apps|feedcache|feedsite|runner|tools|tests|templates|static|docs)/[\w./-]+)`",
        document.read_text(),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_a_template_trusts_no_text(path):
    text = path.read_text()
    assert "|safe" not in text
    assert "autoescape off" not in text
    assert not re.search(
        r"\son[a-z]+=", text
    )  # handlers in markup: the content security policy would stop them
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\sstyle=", text)
