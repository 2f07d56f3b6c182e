"""The most epsilon that a person allows, remembered in their own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.domain import InputError
from discreet.protocols.common._state import StateFile

_SLACK = 1e-9


class Limit:
    """What all reports together may cost.

    The file remembers a limit from `remember` on, drawn or refused, until another one is told.

    Args:
        file: The person's own.
        told: The most epsilon; absent, the remembered one holds, if there is one.

    Raises:
        InputError: It is no epsilon.
    """

    def __init__(self, file: StateFile, told: float | None = None) -> None:
        if told is not None and not _is_epsilon(told):
            raise InputError(f"a limit is an epsilon from 0 on, not {told!r}")
        self._file, self._told = file, told

    @property
    def value(self) -> float | None:
        """As told, or as remembered."""
        return self._told if self._told is not None else self._remembered(self._file.read())

    def remember(self) -> None:
        """On disk before anything else: a report that is refused must not forget why."""
        if self._told is not None:
            with self._file.change() as state:
                state["limit"] = self._told

    def allows(self, spent: float, more: float) -> bool:
        """Whether so much more may be spent."""
        return _is_within(self.value, spent + more)

    def check(self, state: Mapping[str, Any], spent: float, more: float) -> None:
        """Refuse to pass the limit that a state remembers.

        Raises:
            InputError: It would be passed.
        """
        limit, after = self._remembered(state), spent + more
        if not _is_within(limit, after):
            raise InputError(
                f"this report would take the epsilon of all to {after:g}, past your limit of "
                f"{limit:g}; nothing was drawn or sent. The limit stays until you set another"
            )

    def _remembered(self, state: Mapping[str, Any]) -> float | None:
        found = state.get("limit")
        if found is not None and not _is_epsilon(found):
            raise InputError("the limit is damaged", path=self._file.path)
        return None if found is None else float(found)


def _is_epsilon(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_within(limit: float | None, after: float) -> bool:
    return limit is None or after <= limit * (1 + _SLACK)
