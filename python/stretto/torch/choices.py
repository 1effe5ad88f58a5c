"""What the library chose for the calls of a bucket, kept for the next steps: choosing takes a pass over the values and a sample of them."""

from __future__ import annotations

ASKED = 3  # first calls of a period, in which the library chooses
PERIOD = 64  # calls after which it chooses again: gradients change slowly


class Choices:
    """Of each key, which a step has once. All ranks have equal reports, and so equal choices."""

    def __init__(self, keeps_raw):
        """keeps_raw: False where the library must look at each call's values to know that raw sums keep the bound."""
        self._calls, self._chosen, self._keeps_raw = {}, {}, keeps_raw

    def of(self, key):
        """The options that the next call of this key takes: None where the library chooses, {} for a call without a bound, whose values travel raw."""
        number = self._calls[key] = self._calls.get(key, -1) + 1
        if number % PERIOD < ASKED:
            self._chosen.pop(key, None)
        return self._chosen.get(key)

    def note(self, key, report):
        """The report of a call in which the library chose."""
        if report.payload == "raw":
            if self._keeps_raw:
                self._chosen[key] = {}
        elif report.payload == "fused":
            self._chosen[key] = {"payload": "fused", "schedule": report.algorithm, **({"coding": report.coding} if report.coding else {})}
