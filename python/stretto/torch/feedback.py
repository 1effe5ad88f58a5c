"""What a bound left out of each parameter's gradients, kept from step to step."""

from __future__ import annotations

import torch

from stretto.errors import ArgumentError


class Residuals:
    """One tensor a parameter, in the order in which parameters were first seen: buckets may be rebuilt, parameters stay.

    The residuals of a bucket lie end to end, so that a step copies none of them."""

    def __init__(self):
        self._places, self._left = {}, []  # id of a parameter -> its number; residual of each number, a view of its bucket's
        self._parameters = []  # keeps the ids in use
        self._buckets = {}  # numbers of a bucket's parameters -> their residuals, flat
        self._loaded = None

    def of(self, parameters, counts, like):
        """The residuals of a bucket's parameters, which have so many values of the dtype and device of `like`: one flat tensor to read and write; zero at first."""
        places = tuple(map(self._places.get, map(id, parameters)))
        if None in places:
            places = tuple(self._place(parameter, count, like) for parameter, count in zip(parameters, counts, strict=True))
        found = self._buckets.get(places)
        if found is None:
            moved = set(places)
            self._buckets = {others: flat for others, flat in self._buckets.items() if moved.isdisjoint(others)}
            found = self._buckets[places] = torch.cat([self._left[place] for place in places])
            for place, part in zip(places, found.split([self._left[place].numel() for place in places])):
                self._left[place] = part
        return found

    def _place(self, parameter, count, like):
        place = self._places.get(id(parameter))
        if place is None:
            place = len(self._left)
            self._left.append(self._first(place, count, like))  # first, since it may fail
            self._places[id(parameter)] = place
            self._parameters.append(parameter)
        return place

    def _first(self, place, count, like):
        zeros = torch.zeros(count, dtype=like.dtype, device=like.device)
        if self._loaded is None or place >= len(self._loaded):
            return zeros
        found = self._loaded[place]
        if found.numel() != count or found.dtype != like.dtype:
            raise ArgumentError(f"the state has a residual of {found.numel()} values of {found.dtype} for parameter {place}; its gradient has "
                                f"{count} of {like.dtype}")
        return zeros.copy_(found)

    def state(self):
        return [one.clone() for one in self._left] if self._left else (self._loaded or [])

    def load(self, residuals):
        """Residuals of a state(), in the place of all."""
        self.__init__()
        self._loaded = [one.clone() for one in residuals]
