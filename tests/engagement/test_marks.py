"""Every mark is in everything that knows all marks; a forgotten place fails here, by the name of the mark."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps

from apps.api.entities.status import StatusExtensionJson, StatusJson
from apps.audit.oracle import Oracle
from apps.engagement.marks import MARKS, REACTION, ViewerFlags
from apps.engagement.queries import Engaged
from apps.posts.models import Counts, Poll, Post
from apps.privacy import archive
from apps.privacy.erasure import STEPS
from apps.timeline.pipeline.hydrate import _flags, _PageReads
from feedsite.management.commands.distribute import DISTRIBUTED
from tests.support.factories import make_user, publish

# What readers are not told of, and the oracle of the auditor does not count: why.
UNCOUNTED = {
    "bookmarks": "told to nobody",
    "reads": "counted in Redis, without rows",
    "quotes": "only the reconciliation compares them",
    **dict.fromkeys(REACTION.counts, "only the reconciliation compares them"),
}
ROOT = Path(__file__).resolve().parents[2]
OF_REACTIONS = re.compile(r"\b(ReactionName|REACTION|REACT|hearts|item\|reactions|all_reactions)\b")
# Models that refer to posts and stay whole because nothing of them would be spread.
WHOLE = {
    "posts_scheduledpost",
    "timeline_fanoutjob",
    "moderation_reportedpost",
}


def post_of(author_id: int) -> Any:
    """As much of a post as its flags depend on."""
    return SimpleNamespace(id=9, thread_id=9, author_id=author_id)


def test_kinds_and_flags_are_different():
    assert len({mark.kind for mark in MARKS}) == len(MARKS)
    flags = [mark.flag for mark in MARKS if mark.flag]
    assert len(set(flags)) == len(flags)


def test_a_page_sets_each_flag_by_its_name():
    flags = [mark.flag for mark in MARKS if mark.flag]
    for flag in flags:
        reads = _PageReads(viewer_id=1, page=[9])
        reads.engaged.add(flag, [9])
        set_flags: dict[str, Any] = {flag: True}
        assert _flags(reads, post_of(2)) == ViewerFlags(**set_flags)


def test_what_was_not_touched_has_no_flags():
    reads = _PageReads(viewer_id=1, page=[9], engaged=Engaged())
    assert _flags(reads, post_of(2)) == ViewerFlags()
    assert _flags(reads, post_of(1)) == ViewerFlags(own=True)
    reads.engaged.add("read", [9])
    assert _flags(reads, post_of(1)) == ViewerFlags(own=True)


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.kind)
def test_a_status_says_it(mark):
    fields = StatusJson.__annotations__.keys() | StatusExtensionJson.__annotations__.keys()
    assert mark.status
    assert set(mark.status) <= fields


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.kind)
def test_what_is_kept_about_a_member_is_given_out_and_erased(mark):
    if mark.model is None:
        assert not mark.archive
        assert not mark.erasure
        return
    assert mark.archive in {part.file for part in archive.PARTS}
    assert mark.archive in archive.README.format(
        name="", handle="", marks=archive.MARK_FILES, added=""
    )
    assert mark.erasure in STEPS


@pytest.mark.django_db
def test_the_oracle_counts_what_readers_are_told():
    """It shares no code with the site; so a new count is named here until the oracle counts it, too."""
    post = publish(make_user())
    counted = set(Counts._fields) - UNCOUNTED.keys()
    assert counted == {"replies", "reposts", "likes"}
    assert Oracle().counts(post.pk) == (0,) * len(counted)


def test_the_recipe_names_every_file_that_reactions_are_in():
    """That of docs/recipes.md: what a mark needs, and nothing else."""
    page = (ROOT / "docs" / "recipes.md").read_text()
    text = page.partition("## Add a mark\n")[2].partition("\n## ")[0]
    recipe = set(re.findall(r"`((?:apps|templates)/[\w/.]+)(?:: [\w.]+)?`", text))
    files = [path for folder in ("apps", "templates") for path in (ROOT / folder).rglob("*.*")]
    written = {
        str(path.relative_to(ROOT))
        for path in files
        if path.suffix in {".py", ".html"}
        and path.parent.name != "migrations"
        and OF_REACTIONS.search(path.read_text())
    }
    assert written == recipe


def test_every_table_that_refers_to_posts_says_how_it_is_distributed():
    tables = {
        model._meta.db_table
        for model in apps.get_models()
        for field in model._meta.fields
        if field.is_relation and field.related_model in (Post, Poll)
    }
    assert tables <= DISTRIBUTED.keys() | WHOLE
    assert tables >= WHOLE
