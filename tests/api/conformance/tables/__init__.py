"""All expectations by area, in the order of the documentation."""

from tests.api.conformance.expectations import Expectation
from tests.api.conformance.tables.accounts import ACCOUNTS, CREDENTIALS, RELATIONS
from tests.api.conformance.tables.collections import COLLECTIONS
from tests.api.conformance.tables.instance import APPS, HTTP, INSTANCE, SEARCH
from tests.api.conformance.tables.notifications import NOTIFICATIONS
from tests.api.conformance.tables.staff import STAFF
from tests.api.conformance.tables.statuses import (
    ACTIONS,
    MEDIA_AND_POLLS,
    QUOTES,
    STATUSES,
    WRITING,
)
from tests.api.conformance.tables.timelines import FILTERS, LISTS, TAGS, TIMELINES

AREAS: dict[str, list[Expectation]] = {
    "apps": APPS,
    "accounts": ACCOUNTS,
    "own account": CREDENTIALS,
    "relations": RELATIONS,
    "statuses": STATUSES,
    "writing": WRITING,
    "actions": ACTIONS,
    "quotes": QUOTES,
    "media, polls": MEDIA_AND_POLLS,
    "timelines": TIMELINES,
    "lists": LISTS,
    "filters": FILTERS,
    "tags": TAGS,
    "notifications": NOTIFICATIONS,
    "search, trends": SEARCH,
    "instance": INSTANCE,
    "http": HTTP,
    "collections": COLLECTIONS,
    "staff": STAFF,
}
