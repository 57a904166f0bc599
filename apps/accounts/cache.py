"""What this app keeps in caches: the counts of accounts, all of them."""

from django.conf import settings

from apps.accounts.counts_store import CountsTable
from apps.accounts.models import UserCounts
from feedcache.structures.counters.layout import IdBuckets
from feedcache.structures.counters.schema import Field, Schema
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import CounterStore

_FIELDS = (Field("followers"), Field("following"), Field("posts"))  # new ones at the end

USER_COUNTS_TABLE = CountsTable(
    UserCounts,
    tuple(field.name for field in _FIELDS),
    rebuild="apps.accounts.tasks.maintain_counts",
)
USER_COUNTS = CounterService(
    CounterStore(Schema("users", _FIELDS, rules=2), IdBuckets(settings.COUNTERS_USERS_PER_BUCKET)),
    USER_COUNTS_TABLE,
)
