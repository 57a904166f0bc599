"""`manage explain`: why a post is or is not on a home page. For staff, because it names reasons that pages hide."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.audit.explain import explain, explain_home
from apps.audit.oracle import Oracle
from apps.errors import DomainError, NotFound
from apps.pagination import MAX_LIMIT, Cursor

EXAMPLES = """
If an account may not see a post, pages and the API respond as if it did not exist. This command names the rule.

examples:
  ./run manage explain alice 1611476054491274946       one post
  ./run manage explain alice --home                    her newest page, line by line
  ./run manage explain alice --home --limit 5
"""


class Command(BaseCommand):
    help = "Explain why a post is on an account's home page, or which rule keeps it off."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("handle", help="the handle of the account")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("post_id", nargs="?", type=int, help="the id of a post")
        what.add_argument("--home", action="store_true", help="explain the newest page")
        parser.add_argument(
            "--limit", type=int, default=20, help="with --home: posts (default: 20)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the explanation. Raises CommandError if the account does not exist."""
        try:
            viewer = user_by_handle(options["handle"])
        except DomainError as refusal:
            raise CommandError(refusal.message) from None
        if options["home"]:
            limit = min(max(options["limit"], 1), MAX_LIMIT)
            for explanation in explain_home(viewer, Cursor(limit=limit)).items:
                item = explanation.item
                self.stdout.write(f"{item.id}  @{item.author.handle}  {explanation.text}")
            return
        self.stdout.write(_explanation(viewer, options["post_id"]))


def _explanation(viewer: User, post_id: int) -> str:
    try:
        found = explain(viewer, post_id)
    except NotFound:
        return f"@{viewer.handle} may not see it: {rule(viewer.pk, post_id)}."
    state = "on the home page" if found.on_home else "not on the home page"
    ledger = f" (policy {found.policy}, chunk {found.chunk}, {found.attempts} tries)"
    return f"{state}: {found.text}{ledger if found.chunk is not None else ''}"


def rule(viewer_id: int, post_id: int) -> str:
    """The first rule that hides a post from a viewer, according to the oracle."""
    oracle = Oracle.of_viewer(viewer_id, above=post_id - 1, below=post_id + 1, also=[post_id])
    post = oracle.posts.get(post_id)
    if post is None:
        return "there is no such post"
    if oracle.may_see(viewer_id, post_id):
        return f"what it reposts is hidden ({rule(viewer_id, post['source_id'])})"
    author = post["author_id"]
    reasons = (
        (post["deleted_at"] is not None, "it was deleted"),
        (post["hidden_at"] is not None, "staff have hidden it"),
        (author in oracle.suspended, "its author is suspended"),
        (author in oracle.blocks[viewer_id], "they block its author"),
        (viewer_id in oracle.blocks[author], "its author blocks them"),
    )
    hidden = [text for applies, text in reasons if applies]
    return hidden[0] if hidden else f"it is for others only ({post['visibility']})"
