"""The history in the person's own file: by the items' names, so that it outlives a catalogue.

Another catalogue with the same items draws no fakes anew: what both uploads shared would be true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError
from discreet.protocols.obfuscation.client._history import History
from discreet.protocols.obfuscation.messages import Obfuscation

_KEY = "obfuscation"
_NOWHERE = -1

_Places = npt.NDArray[np.int32]


class Memory:
    """What a state remembers of obfuscated ratings, as it looks in one catalogue.

    `names` are all items that the history speaks of, id and title; `history` has places in that
    list; `turn` counts versions; `scale` is what codes live on.

    Args:
        state: The person's whole state, which `keep` changes.
        public: The terms of a collection.

    Raises:
        InputError: The history is damaged, on another scale, or the catalogue gives an item that
            was sent another id or title: then neither to send it again nor to leave it out hides
            what is true.
    """

    def __init__(self, state: Mapping[str, Any], public: Obfuscation) -> None:
        self._public = public
        told = state.get(_KEY, {})
        try:
            self.turn = int(told.get("turn", 0))
            self._names = [(str(item), str(title)) for item, title in told.get("names", [])]
            self._whole = History.from_state(told["history"]) if self.turn else History()
            if not self._whole.is_within(len(self._names)):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError("the client's state has no usable history of uploads") from None
        if self.turn and told.get("scale") != public.scale.spelling:
            raise InputError(
                f"ratings were sent on the scale {told.get('scale')} with this file; on "
                f"{public.scale.spelling} the true ones could be told from the made-up ones"
            )
        self._places = self._find(public.catalog)

    @property
    def history(self) -> History:
        """What was sent of the catalogue's items."""
        return self._whole.moved(self._places)

    def keep(self, history: History, state: dict[str, Any], turn: int) -> None:
        """Remember what is sent from now on, beside what other catalogues have, as this version."""
        catalog = self._public.catalog
        place_of = np.full(len(catalog), _NOWHERE, np.int32)
        here = self._places >= 0
        place_of[self._places[here]] = np.flatnonzero(here)
        new = np.flatnonzero((place_of < 0) & history.mentions(len(catalog)))
        place_of[new] = np.arange(len(self._names), len(self._names) + len(new))
        names = [*self._names, *((catalog.ids[i], catalog.titles[i]) for i in new.tolist())]
        elsewhere = np.where(here, _NOWHERE, np.arange(len(here))).astype(np.int32)
        whole = self._whole.moved(elsewhere).beside(history.moved(place_of))
        state[_KEY] = {
            "scale": self._public.scale.spelling,
            "names": [list(name) for name in names],
            "history": whole.as_state(),
            "turn": turn,
        }

    def _find(self, catalog: Catalog) -> _Places:
        """Where the catalogue has each of the names; -1 where it has not."""
        sent = self._whole.mentions(len(self._names), hidden=False)
        places = np.full(len(self._names), _NOWHERE, np.int32)
        for place, ((item, title), was_sent) in enumerate(zip(self._names, sent, strict=True)):
            by_id, by_title = catalog.find(item), catalog.find(title)
            if by_id is not None and by_id == by_title:
                places[place] = by_id
            elif was_sent and by_id != by_title:
                # What was not sent must not be known by this: it is left out in silence.
                raise InputError(
                    f"'{title}' ({item}) was sent with this file, and this catalogue has another "
                    "item by its id or title: for other items use another file"
                )
        return places
