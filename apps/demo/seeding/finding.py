"""Makes the posts and the people of the demo findable."""

from apps.accounts.models import User
from apps.demo.seeding.rows import batches
from apps.demo.seeding.world import World
from apps.search.indexing import BATCH, index_people, index_posts


def make_findable(world: World) -> None:
    """Index what was laid in this run."""
    fresh = [entry.pk for entry in world.entries if entry.is_new and not entry.is_repost]
    for batch in batches(fresh, BATCH):
        index_posts(batch)
    people = [member.pk for member in world.members if member.is_new]
    for some in batches(people, BATCH):
        index_people(list(User.objects.filter(pk__in=some)))
