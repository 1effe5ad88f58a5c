"""What a bound left out of each parameter's gradients, kept from step to step."""

from __future__ import annotations

import torch

from stretto.errors import ArgumentError


class Residuals:
    """One tensor a parameter, in the order in which parameters were first seen: buckets may be rebuilt, parameters stay."""

    def __init__(self):
        self._places, self._left = {}, []  # id of a parameter -> its number; residual of each number
        self._parameters = []  # keeps the ids in use
        self._loaded = None

    def of(self, parameters, gradients):
        """The residuals of a bucket's parameters, zero at first."""
        return [self._one(parameter, gradient) for parameter, gradient in zip(parameters, gradients, strict=True)]

    def _one(self, parameter, gradient):
        place = self._places.get(id(parameter))
        if place is None:
            place = self._places[id(parameter)] = len(self._left)
            self._parameters.append(parameter)
            self._left.append(self._first(place, gradient))
        return self._left[place]

    def _first(self, place, gradient):
        zeros = torch.zeros(gradient.numel(), dtype=gradient.dtype)
        if self._loaded is None or place >= len(self._loaded):
            return zeros
        found = self._loaded[place]
        if found.numel() != gradient.numel() or found.dtype != gradient.dtype:
            raise ArgumentError(f"the state has a residual of {found.numel()} values of {found.dtype} for parameter {place}; its gradient has "
                                f"{gradient.numel()} of {gradient.dtype}")
        return zeros.copy_(found)

    def state(self):
        return [one.clone() for one in self._left] if self._left else (self._loaded or [])

    def load(self, residuals):
        """Residuals of a state(), in the place of all."""
        self.__init__()
        self._loaded = [one.clone() for one in residuals]
