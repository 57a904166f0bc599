"""`manage policy`: show and change the delivery policies of the site and of authors, while the site runs."""

import getpass
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import DomainError
from apps.timeline.fanout import auto_policy, switch
from apps.timeline.fanout.progress import delivery_progress, with_receipts
from apps.timeline.models import AuthorPolicy, Backfill, Mode, Policy, SitePolicy
from feedcache.connections import RedisError

EXAMPLES = """
A policy is push (to everybody), online (to readers with a home window; the default), pull (to nobody: posts are merged
when a page is read) or auto (the cheapest of these). An author's policy can also be site, for the site's policy.
Restricted posts are always pushed to inboxes.

examples:
  ./run manage policy show                            the policies of the site and of authors, backfills
  ./run manage policy set site pull --reason "Redis is being moved"
  ./run manage policy set site online                 windows are rebuilt one by one, as readers return
  ./run manage policy set @alice auto
  ./run manage policy set @alice site                 the site's policy
  ./run manage policy back site                       the previous policy; @alice works too
  ./run manage policy explain @alice                  the current mode, the measurements, and the choice of auto
  ./run manage policy explain site                    the current mode, and the measurements
  ./run manage policy auto                            measure now instead of within five minutes
"""
SITE = "site"


class Command(BaseCommand):
    """Shows and changes the delivery policies."""

    help = "Show and change delivery policies. No post is lost or shown twice while they change."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        verbs = parser.add_subparsers(dest="verb", metavar="WHAT", required=True)
        verbs.add_parser("show", help="show the policies in force")
        change = verbs.add_parser("set", help="choose a policy")
        change.add_argument("target", metavar="WHOSE", help="site, or @handle")
        change.add_argument("policy", choices=list(Policy.values))
        change.add_argument("--reason", default="", help="a reason for the history")
        back = verbs.add_parser("back", help="return to the previous policy")
        back.add_argument("target", metavar="WHOSE", help="site, or @handle")
        explain = verbs.add_parser("explain", help="explain how posts are delivered, and the cost")
        explain.add_argument("target", metavar="WHOSE", help="site, or @handle")
        verbs.add_parser("auto", help="measure all authors whose policy is auto, and choose again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the subcommand. Errors are printed on one line."""
        verbs = {
            "show": self._show,
            "set": self._set,
            "back": self._back,
            "explain": self._explain,
            "auto": self._auto,
        }
        with override("en"):
            try:
                verbs[options["verb"]](options)
            except DomainError as refusal:
                raise CommandError(refusal.message) from None
            except RedisError as error:
                text = (
                    f"Redis is not available ({error}). The switch continues by itself when it is."
                )
                raise CommandError(text) from None

    def _show(self, _options: dict[str, Any]) -> None:
        self._show_site()
        rows = AuthorPolicy.objects.select_related("author")
        for row in rows.order_by("author__handle"):
            self.stdout.write(f"@{row.author.handle}: {_in_words(row)}")
        for job in with_receipts(Backfill.objects.select_related("author")):
            left = delivery_progress(job).pending
            if left:
                self.stdout.write(
                    f"backfill of @{job.author.handle}: {len(job.post_ids)} posts, {left} followers left"
                )

    def _show_site(self) -> None:
        site = SitePolicy.objects.filter(pk=1).first() or SitePolicy()
        merged = ", merged at read time" if site.pulls_all else ""
        self.stdout.write(
            f"site: {site.policy} ({site.mode} now{merged}; version {site.version}, generation {site.generation})"
        )

    def _set(self, options: dict[str, Any]) -> None:
        policy, target = Policy(options["policy"]), options["target"]
        if target != SITE:
            row = switch.set_author_policy(
                _author(options), policy, by=_by(), reason=options["reason"]
            )
            if policy == Policy.AUTO:
                auto_policy.measure_author(row.pk)
                row.refresh_from_db()
            self.stdout.write(f"{target}: {_in_words(row)}")
        elif policy == Policy.SITE:
            raise CommandError("Only authors can have the policy site.")
        else:
            site = switch.set_site_policy(policy, by=_by(), reason=options["reason"])
            self.stdout.write(f"site: {site.policy} ({site.mode} now)")

    def _back(self, options: dict[str, Any]) -> None:
        is_site = options["target"] == SITE
        before = switch.policy_before(None if is_site else _author(options).pk)
        if before is None:
            raise CommandError("There is no previous policy: it was never changed.")
        self._set({**options, "policy": before.value, "reason": "Back to the policy before."})

    def _explain(self, options: dict[str, Any]) -> None:
        author = None if options["target"] == SITE else _author(options)
        if author is None:
            self._show_site()
        else:
            row = AuthorPolicy.objects.filter(author=author).first()
            self.stdout.write(_in_words(row) if row else "no policy of their own: that of the site")
            now = Mode(row.mode) if row and row.mode else None
            choice = auto_policy.choose(auto_policy.measure(author.pk), now)
            self.stdout.write(f"auto would choose {choice.mode}: {choice.reason}")
        for label, value in auto_policy.before_switch(author):
            self.stdout.write(f"{label}: {value}")

    def _auto(self, _options: dict[str, Any]) -> None:
        number = auto_policy.measure_all()
        for row in AuthorPolicy.objects.filter(policy=Policy.AUTO).select_related("author"):
            self.stdout.write(f"@{row.author.handle}: {_in_words(row)}")
        self.stdout.write(f"{number} measured")


def _by() -> str:
    return f"command line ({getpass.getuser()})"


def _author(options: dict[str, Any]) -> User:
    return user_by_handle(options["target"].removeprefix("@"))


def _in_words(row: AuthorPolicy) -> str:
    merged = ", merged at read time" if row.pulled_since else ""
    why = f": {row.reason}" if row.reason else ""
    return f"{row.policy} ({row.mode or 'as the site'} now{merged}){why}"
