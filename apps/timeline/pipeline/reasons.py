"""The reasons, in words, why a post is or is not on a home page."""

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.timeline.pipeline.items import FeedItem


class Reason(TextChoices):
    """Every reason, as shown to readers, why a post is or is not on a home page."""

    OWN = "own", gettext_lazy("You wrote it.")
    CIRCLE = "circle", gettext_lazy("It is for a circle that you belong to.")
    FRIENDS = "friends", gettext_lazy("It is for friends of @%(who)s: you follow each other.")
    PUSH = (
        "push",
        gettext_lazy("It was put on your page (%(when)s), because you follow @%(who)s."),
    )
    BACKFILL = (
        "backfill",
        gettext_lazy(
            "It was written before you followed @%(who)s, and was added to your page when you did (%(when)s)."
        ),
    )
    REBUILT = (
        "rebuilt",
        gettext_lazy(
            "You follow @%(who)s. When this post was published, you had no stored home page; "
            "it was built on your next visit."
        ),
    )
    FOLLOWED = "followed", gettext_lazy("You follow @%(who)s.")
    PULL = (
        "pull",
        gettext_lazy("You follow @%(who)s, whose posts are fetched when you open the page."),
    )
    STORAGE = (
        "storage",
        gettext_lazy(
            "You follow @%(who)s. This post was not on the page prepared for you, so it was read "
            "from the database when you opened the page."
        ),
    )
    PROMOTED = (
        "promoted",
        gettext_lazy("%(why)s You do not follow @%(who)s; %(sponsor)s paid for this."),
    )
    SPACED = (
        "spaced",
        gettext_lazy(
            "@%(who)s is promoted to you, but not in this position: at most one post in eight is promoted, after "
            "seven others."
        ),
    )
    NOT_FOLLOWED = "not_followed", gettext_lazy("You do not follow @%(who)s.")
    TAG = "tag", gettext_lazy("You follow #%(who)s.")
    TAG_NOT_PUBLIC = (
        "tag_not_public",
        gettext_lazy(
            "You follow #%(who)s, but not the author of this post. Tags only show public posts, and it is not public."
        ),
    )
    LISTED = (
        "listed",
        gettext_lazy("@%(who)s is in a list whose posts you hide from your home page."),
    )
    LIMITED = (
        "limited",
        gettext_lazy("The moderators have limited @%(who)s: only followers see these posts here."),
    )
    MUTED = "muted", gettext_lazy("You mute @%(who)s.")
    HIDDEN_REPOST = "unshared", gettext_lazy("You hide reposts by @%(who)s.")
    LANGUAGE = "language", gettext_lazy("You only read @%(who)s in other languages.")
    REPLY = (
        "reply",
        gettext_lazy(
            "It replies to somebody you do not follow, and your home page leaves out such replies."
        ),
    )
    FILTERED = "filtered", gettext_lazy("Your filter hides it: %(who)s.")
    READ = (
        "read",
        gettext_lazy("You have read it, and your home page leaves out what you have read."),
    )
    WAITING = "waiting", gettext_lazy("It is on its way to you (next try: %(when)s).")
    FAILED = (
        "failed",
        gettext_lazy(
            "Its delivery to you failed. The people who run the site can see this and start the delivery again."
        ),
    )
    GIVEN_UP = (
        "given_up",
        gettext_lazy(
            "Its delivery to you was given up. The post will appear when your page is next built from the database."
        ),
    )
    LOST = (
        "lost",
        gettext_lazy(
            "It belongs on your page and is missing, which is our mistake. The program that checks pages will put it "
            "back when it notices."
        ),
    )

    @property
    def short(self) -> str:
        """The reason in a few words; all reasons why a post is missing share the same words."""
        return str(_SHORT.get(self, gettext_lazy("not there")))


_SHORT = {
    Reason.OWN: gettext_lazy("yours"),
    Reason.CIRCLE: gettext_lazy("circle"),
    Reason.FRIENDS: gettext_lazy("friends"),
    Reason.PUSH: gettext_lazy("delivered"),
    Reason.BACKFILL: gettext_lazy("added when you followed"),
    Reason.REBUILT: gettext_lazy("built when you came back"),
    Reason.FOLLOWED: pgettext_lazy("how it came", "followed"),
    Reason.PULL: gettext_lazy("fetched on opening"),
    Reason.STORAGE: gettext_lazy("from storage"),
    Reason.TAG: gettext_lazy("tag"),
    Reason.PROMOTED: gettext_lazy("promoted"),
}


def reasons(item: FeedItem) -> list[str]:
    """The lines above a post which say that a followed tag put it here, or that it is older than a recent follow."""
    tag = item.followed_tag and _("Because of #%(tag)s") % {"tag": item.followed_tag}
    return [text for text in (tag, older_than_follow(item)) if text]


def older_than_follow(item: FeedItem) -> str:
    """A line for a post older than the viewer's follow; empty unless they followed today or yesterday."""
    if item.followed_at is None:
        return ""
    name = {"name": item.author.name}
    days = (timezone.localdate() - timezone.localdate(item.followed_at)).days
    if days == 0:
        return _("Older: you followed %(name)s today") % name
    return _("Older: you followed %(name)s yesterday") % name if days == 1 else ""
