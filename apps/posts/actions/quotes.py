"""Authors' decisions about existing quotes of their posts."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.errors import NotFound
from apps.events.actions import record
from apps.events.live import announce
from apps.posts import store
from apps.posts.actions.attachments import pictures_of
from apps.posts.actions.polls import poll_of
from apps.posts.cache import cache_edited
from apps.posts.content.post import PostContent
from apps.posts.models import Kind, Post
from apps.posts.queries import mentions_of, visible_posts
from apps.posts.store import Changed
from feedcache.ids import author_of


@transaction.atomic
def revoke_quote(owner: User, post_id: int, quote_id: int) -> Changed:
    """Remove one's own post from a quote. Raises NotFound if there is no such quote, or the owner may not see it."""
    if author_of(post_id) != owner.pk or quote_id not in visible_posts(owner.pk, [quote_id]).posts:
        raise NotFound(_("This post isn't here."))
    counts = UserCounts.objects.select_for_update().get(pk=author_of(quote_id))
    quotes = Post.objects.select_for_update().filter(pk=quote_id, author=counts.pk)
    quote = quotes.filter(source=post_id, kind=Kind.QUOTE, deleted_at=None).first()
    if quote is None:
        raise NotFound(_("This post isn't here."))
    changed = store.remove_quoted(quote, counts)
    content = PostContent.of(
        quote, pictures=pictures_of(quote), mentions=mentions_of(quote), poll=poll_of(quote)
    )
    cache_edited(counts, content)
    record("post_changed", post_id=quote_id)
    announce("post_edited", post_id=quote_id)
    return changed
