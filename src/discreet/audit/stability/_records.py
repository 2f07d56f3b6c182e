"""What was read, as text that can be compared."""

from __future__ import annotations

from discreet.audit.stability._rows import ITEMS
from discreet.audit.stability._search import Reading
from discreet.domain import Catalog
from discreet.ratings import Ratings

CATALOG = Catalog(ITEMS)
SCALE = (1, 5, 1)


def records_of(ratings: Ratings) -> Reading:
    """Each record by user and item, as text."""
    users = [str(user) for user in ratings.users.tolist()] if ratings.users is not None else []
    names = [users[user] for user in ratings.user_of_rating().tolist()]
    items = [ratings.catalog.ids[item] for item in ratings.items.tolist()]
    times = [None] * len(ratings) if ratings.times is None else ratings.times.tolist()
    values = zip(ratings.codes.tolist(), times, strict=True)
    return Reading(dict(zip(zip(names, items, strict=True), values, strict=True)), ratings.skipped)
