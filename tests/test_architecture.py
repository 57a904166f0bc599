"""Rules of the house that a machine can check."""

import ast
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps

from apps.api.hooks import ENDPOINTS, MASTODON_ENDPOINTS, MASTODON_V2_ENDPOINTS
from apps.web.hooks import PAGES

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


@cache
def text_of(path):
    return path.read_text()


@cache
def tree_of(path):
    """A tenth of a second for a thousand lines: only of modules whose text may break the rule."""
    return ast.parse(text_of(path))


def comments(path):
    with path.open("rb") as source:
        return [
            token for token in tokenize.tokenize(source.readline) if token.type == tokenize.COMMENT
        ]


def test_a_module_says_what_it_is_for():
    begins = re.compile(r'(#.*\n|\s)*(r?"""\s*\S|\Z)')
    assert [name_of(path) for path in MODULES if not begins.match(text_of(path))] == []


def test_every_exception_to_a_rule_has_a_reason():
    bare = re.compile(
        r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[a-z, -]+\])?|pragma: no cover|fmt: off|nosec)[ \t]*$",
        re.MULTILINE,
    )
    found = [
        (name_of(path), token.line.strip())
        for path in [*MODULES, *TESTS]
        if bare.search(text_of(path))  # perhaps in a string: to tell that takes long
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


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("rule", sorted(BANNED))
def test_what_the_house_does_without(rule):
    modules = [
        path for path in MODULES if path.name != "admin.py" and path.parent.name != "admin"
    ]  # Django's admin has its own ways
    found = [name_of(path) for path in modules if re.search(BANNED[rule], text_of(path))]
    assert found == []


WRITERS = {"publish_post", "edit_post", "delete_post", "repost", "set_quote_policy"}
MAY_WRITE_POSTS = {
    "apps/posts/actions/publish.py",
    "apps/posts/actions/edit.py",
    "apps/timeline/publishing.py",
}


@pytest.mark.slow
def test_posts_are_written_through_publishing():
    """Nobody has to remember what comes after the rows: `timeline.publishing` is the only entry."""
    found = [
        (name_of(path), name)
        for path in MODULES
        if name_of(path) not in MAY_WRITE_POSTS and path.relative_to(ROOT).parts[0] != "tools"
        if "apps.posts" in text_of(path)
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
OF_OPTIONAL_APPS = {
    *PAGES,
    *ENDPOINTS,
    *MASTODON_ENDPOINTS,
    *MASTODON_V2_ENDPOINTS,
}  # the names of modules
# A login is a session, and a session is of a request.
ABOUT_SESSIONS = {
    "apps/accounts/authentication/devices.py", "apps/accounts/handlers.py", "apps/accounts/authentication/backends.py",
    "apps/accounts/authentication/sessions.py",
    "apps/accounts/authentication/passkeys.py", "apps/oauth/provider.py",
}  # fmt: skip


def test_only_pages_and_endpoints_know_requests():
    """What both do lies below them, once. Staff pages are requests too, and stay with their models."""
    found = [
        (name_of(path), module)
        for path in MODULES
        if not may_know_requests(path) and any(one in text_of(path) for one in REQUESTS)
        for module, _name in imported_names(path)
        if any(module == one or module.startswith(f"{one}.") for one in REQUESTS)
    ]
    assert found == []


def may_know_requests(path):
    parts = path.relative_to(ROOT).parts
    of_requests = parts[0] not in {"apps", "feedcache"} or parts[1] in KNOW_REQUESTS
    of_staff = path.stem == "admin" or "admin" in parts
    of_optional_app = ".".join((*parts[:-1], path.stem)) in OF_OPTIONAL_APPS
    return (
        of_requests
        or of_staff
        or of_optional_app
        or name_of(path) in ABOUT_SESSIONS
        or "templatetags" in parts
    )


# The tables of other apps that the SQL of an app names, and why it does not ask their queries.
TABLES_OF_OTHERS = {
    "aggregate": (
        "what followees did is one range over likes, reposts and follows",
        """
        accounts_user accounts_usercounts engagement_like graph_followee graph_mute posts_post
        """,
    ),
    "audit": (
        "the oracle and the checks share no code with what they judge: they have the rows alone",
        """
        accounts_user engagement_bookmark engagement_like events_event filters_filter graph_block graph_circle
        graph_circlemember graph_followee graph_follower graph_listmember graph_mute graph_userlist
        posts_attachment posts_mention posts_poll posts_post promotions_campaign
        promotions_campaign_segments promotions_campaigncount promotions_optout promotions_promotionswitch
        promotions_readerimpressions promotions_segment promotions_segmentmembership promotions_virtualfollow
        tags_tagfollow tags_taguse timeline_fanoutchunk timeline_fanoutjob
        """,
    ),
    "demo": (
        "loads many rows at once, and counts what it has loaded",
        """
        accounts_user accounts_usercounts graph_followee graph_follower
        notifications_notification posts_attachment posts_mention posts_post posts_postcounts
        timeline_fanoutchunk timeline_fanoutjob
        """,
    ),
    "earlier_posts": (
        "a profile asks in its own statement whether its viewer would see any",
        """
        graph_followee
        """,
    ),
    "engagement": (
        "counts are compared with the rows that they count, and polls are shown with their votes",
        """
        graph_followee graph_follower posts_poll posts_post
        """,
    ),
    "feeds": (
        "candidates are ranges of posts, tags and the search index, checked in the statement that finds them",
        """
        graph_block posts_attachment posts_post search_postentry tags_tag tags_taguse
        """,
    ),
    "graph": (
        "handles of files are joined with accounts, relations have the revision they are of",
        """
        accounts_user accounts_usercounts
        """,
    ),
    "notifications": (
        "one statement decides whom of many a notification reaches",
        """
        accounts_user accounts_usercounts engagement_vote graph_block graph_followee graph_follower graph_mute
        posts_mention posts_post posts_threadmute
        """,
    ),
    "posts": (
        "posts and files are found together with their authors, and who may see them is asked of the rows",
        """
        accounts_user accounts_usercounts graph_circle graph_circlemember graph_followee graph_follower
        """,
    ),
    "promotions": (
        "what a reader may be shown is decided in one statement, with the values that the rules are about",
        """
        accounts_user graph_block graph_followee graph_mute tags_tag
        """,
    ),
    "webhooks": (
        "the rows of messages are made of new notifications, in one statement",
        """
        notifications_notification
        """,
    ),
    "push": (
        "the rows of a message are made of new notifications, in one statement",
        """
        notifications_notification
        """,
    ),
    "search": (
        "matches and suggestions are ranked in the statement that finds them",
        """
        accounts_user accounts_usercounts graph_block graph_followee graph_follower graph_followrequest
        graph_mute posts_attachment posts_post posts_postcounts tags_taguse
        """,
    ),
    "second_level": (
        "a delivery is written by one statement over the followers; a span is valid at the revision of its reader",
        """
        accounts_usercounts graph_followee graph_follower timeline_timelineentry timeline_timelinespan
        """,
    ),
    "tags": (
        "uses by suspended accounts do not count",
        """
        accounts_user
        """,
    ),
    "timeline": (
        "candidates are one range over posts, actions and relations: the deepest source, below all caches",
        """
        accounts_user accounts_usercounts graph_followee graph_listmember posts_post tags_featuredtag tags_tag
        tags_taguse
        """,
    ),
}


@pytest.mark.long
@pytest.mark.gate
def test_sql_names_tables_of_other_apps_only_where_it_says_why():
    found = {
        app: set().union(*(foreign_tables(path) for path in MODULES if app_of(path) == app))
        for app in sorted(set(map(app_of, MODULES)) - {""})
    }
    allowed = {app: set(tables.split()) for app, (_reason, tables) in TABLES_OF_OTHERS.items()}
    assert {app: tables for app, tables in found.items() if tables} == allowed


@pytest.mark.long
@pytest.mark.gate
def test_sql_names_no_table_that_is_not_there():
    """Of a model that was renamed or moved."""
    owners = set(owners_of_tables())
    folders = "|".join(
        {name.partition("_")[0] for name in owners} | set(map(app_of, MODULES)) - {""}
    )
    named = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE)\s+\"?((?:{folders})_\w+)")
    found = {
        (name_of(path), table)
        for path in MODULES
        if set(re.findall(rf"\b(?:{folders})_\w+", text_of(path))) - owners
        for text in texts_of(path)
        for table in set(named.findall(text)) - owners
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        'SQL = "SELECT id FROM posts_post"',
        "SQL = f'SELECT {names} FROM {first} JOIN \"posts_post\" p USING (id)'",
        'TABLES = ["posts_post"]',
    ],
)
def test_a_table_of_another_app_is_found(tmp_path, source):
    made = tmp_path / "apps" / "tags" / "queries.py"
    made.parent.mkdir(parents=True)
    made.write_text(
        f'"""Nothing about posts_post counts here, and public.tags_tag is its own."""\n{source}\n'
    )
    assert foreign_tables(made, root=tmp_path) == {"posts_post"}


def foreign_tables(path, root=ROOT):
    """The tables of other apps that stand in strings of a module; docstrings may name what they like."""
    app, owners = app_of(path, root), owners_of_tables()
    foreign = {table for table, owner in owners.items() if owner != app}
    if foreign.isdisjoint(re.findall(r"\w+", text_of(path))):
        return set()
    return foreign & {word for text in texts_of(path) for word in re.findall(r"\w+", text)}


@cache
def owners_of_tables():
    """The folder of apps/ whose models each table is of."""
    models = apps.get_models(include_auto_created=True)
    ours = [
        model for model in models if model.__module__.startswith("apps.") and not model._meta.proxy
    ]
    return {model._meta.db_table: model.__module__.split(".")[1] for model in ours}


def app_of(path, root=ROOT):
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "apps" and len(parts) > 2 else ""


def texts_of(path):
    """All strings of a module, parts of f-strings too, without docstrings."""
    tree = tree_of(path)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


GUIDES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md")
# What a path of a guide may be relative to.
FOLDERS = ("", "apps", "apps/api", "apps/timeline", "apps/web", "feedsite")
DATA = "var/"  # is there once the site runs


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_names_only_what_is_there(guide):
    named = re.findall(r"`((?:\w+/)+[\w.-]*)`", (ROOT / guide).read_text())
    missing = [
        name
        for name in named
        if name != DATA and not any((ROOT / folder / name).exists() for folder in FOLDERS)
    ]
    assert missing == []


def test_a_folder_has_at_most_twelve_modules():
    """More mean that a package is missing (decision 0123)."""
    folders = Counter(
        name_of(path.parent)
        for path in MODULES
        if path.stem != "__init__"
        and path.relative_to(ROOT).parts[0] in {"apps", "feedcache", "feedsite"}
    )
    assert {folder: number for folder, number in folders.items() if number > 12} == {}


UNTRUSTED = {
    "safe": r"\|safe",
    "autoescape": r"autoescape off",
    "a handler in markup, which the content security policy would stop": r"\son[a-z]+=",
    "a script": r"<script(?![^>]*\bsrc=)",
    "a style": r"\sstyle=",
}


@pytest.mark.parametrize("rule", UNTRUSTED)
def test_a_template_trusts_no_text(rule):
    found = [name_of(path) for path in TEMPLATES if re.search(UNTRUSTED[rule], text_of(path))]
    assert found == []
