"""Whom a guarantee protects."""

from __future__ import annotations

import enum


class Unit(enum.StrEnum):
    """Two data sets are neighbours if one unit is in one of them and not in the other."""

    RATING = "rating"
    """One (user, item, rating) record, after duplicates were folded."""
    USER = "user"
    """One user with all their records."""
