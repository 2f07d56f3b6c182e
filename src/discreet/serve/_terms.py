"""A protocol's public parameters as an operator tells them: by name, as numbers or as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from discreet.domain import Catalog, InputError, Scale

_APART = ("catalog", "scale")
_THOUSANDTHS = "_thousandths"
_EXAMPLES = {"epsilon": "epsilon=1", "mechanism": "mechanism=modified-laplace"}


def make_collection(
    kind: str, make: Callable[..., Any], catalog: Catalog, scale: Scale, told: Mapping[str, Any]
) -> Any:
    """A protocol's `Collection` with these terms; those left out are the protocol's own.

    Args:
        kind: The protocol's short name.
        make: Its `Collection`.
        catalog: The items.
        scale: The scale that ratings live on.
        told: Terms by name. What a message counts in thousandths is told as it is: `bit_epsilon`
            for `bit_epsilon_thousandths`. Numbers may be text.

    Raises:
        InputError: Says which term is missing, unknown or wrong, and what would be right.
    """
    parameters = signature(make).parameters
    known = [_Term(each) for name, each in parameters.items() if name not in _APART]
    names = ", ".join(term.name for term in known)
    for name in told:
        if not any(term.is_called(name) for term in known):
            raise InputError(f"'{kind}' has no term '{name}'; it has {names}")
    given = {}
    for term in known:
        found = [name for name in told if term.is_called(name)]
        if len(found) > 1:
            raise InputError(f"the term '{term.name}' is told twice")
        if found:
            given[term.parameter.name] = term.read(found[0], told[found[0]])
        elif term.parameter.default is Parameter.empty:
            like = _EXAMPLES.get(term.name, f"{term.name}=...")
            raise InputError(f"'{kind}' needs the term '{term.name}', like {like}")
    try:
        return make(catalog, scale, **given)
    except InputError as error:
        raise InputError(_plain(error.reason)) from None


@dataclass(frozen=True)
class _Term:
    parameter: Parameter

    @property
    def name(self) -> str:
        return self.parameter.name.removesuffix(_THOUSANDTHS)

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.parameter.name)

    def read(self, name: str, value: Any) -> Any:
        """What the parameter takes."""
        if self.parameter.annotation == "int" and name == self.parameter.name:
            return self._whole(value)
        if self.parameter.annotation == "int":
            return self._thousandths(value)
        if self.parameter.annotation == "float":
            return self._number(value)
        if not isinstance(value, str):
            raise self._wrong("a text", value)
        return value

    def _whole(self, value: Any) -> int:
        number = self._number(value)
        if not number.is_integer():
            raise self._wrong("a whole number", value)
        return int(number)

    def _thousandths(self, value: Any) -> int:
        number = self._number(value)
        found = round(number * 1000)
        if found / 1000 != number:
            raise self._wrong("a number with three decimals at most", value)
        return found

    def _number(self, value: Any) -> float:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                raise self._wrong("a number", value) from None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise self._wrong("a number", value)
        return float(value)

    def _wrong(self, wanted: str, value: Any) -> InputError:
        return InputError(f"the term '{self.name}' is {wanted}, not {value!r}")


def _plain(reason: str) -> str:
    """A refusal of a message's field, said of the term that was told."""
    reason = re.sub(r"^[\w -]+: '", "the term '", reason)
    reason = reason.replace(" in thousandths, not", ", with three decimals at most, not")
    pattern = rf"'(\w+){_THOUSANDTHS}' should be a whole number from ([\d,]+) to ([\d,]+)"
    return re.sub(pattern, _in_units, reason)


def _in_units(found: re.Match[str]) -> str:
    least, most = (int(text.replace(",", "")) / 1000 for text in found.group(2, 3))
    return f"'{found.group(1)}' should be a number from {least:g} to {most:g}"
