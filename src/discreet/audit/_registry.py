"""What can be audited, by name: nothing is built before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Generic, TypeVar

from discreet.domain import InputError

T = TypeVar("T")
Make = TypeVar("Make", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry(Generic[T]):
    """Something that can be audited.

    Attributes:
        about: In a few words, what it is.
        make: Builds it.
        can_search: Whether it is a statistic, for which worse neighbours can be searched.
    """

    about: str
    make: Callable[[], T]
    can_search: bool = False


def register(
    registry: dict[str, Entry[T]],
    pattern: str,
    about: str,
    *,
    can_search: bool = False,
    **choices: Iterable[Any],
) -> Callable[[Make], Make]:
    """A decorator: one entry for every combination of the choices.

    Args:
        registry: Where the entries go.
        pattern: Of their names, such as "level/{unit}/{noise}".
        about: The same for what they are about.
        can_search: See `Entry`.
        choices: Values of each choice. The decorated function gets name, about and one of each.
    """

    def add(make: Make) -> Make:
        for values in product(*choices.values()):
            chosen = dict(zip(choices, values, strict=True))
            name, words = pattern.format(**chosen), about.format(**chosen)
            registry[name] = Entry(words, partial(make, name, words, **chosen), can_search)
        return make

    return add


def matching(name: str, among: Iterable[str]) -> list[str]:
    """The names that `name` stands for: itself, all that begin with it, or `all` of them."""
    return [each for each in among if name in ("all", each) or each.startswith(f"{name}/")]


def find(names: Iterable[str], among: Mapping[str, Any]) -> list[str]:
    """The full names, each once: `all`, exact names, or their beginnings ("pipeline/refined").

    Raises:
        InputError: Nothing has such a name.
    """
    found: dict[str, None] = {}
    for name in names:
        names_like_it = matching(name, among)
        if not names_like_it:
            raise InputError(f"there is no subject '{name}'")
        found |= dict.fromkeys(names_like_it)
    return list(found)
