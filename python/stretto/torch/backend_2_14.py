"""The backend for torch 2.14 and later, where a Python class may be a Backend."""

from __future__ import annotations

from torch._C import _distributed_c10d as c10d

from stretto.torch.collectives import Collectives
from stretto.torch.group import Group
from stretto.torch.messages import Messages, Posts, gloo_group
from stretto.torch.work import untraced


# Backends until their end. With TORCH_DISTRIBUTED_DEBUG=DETAIL torch wraps one, and keeps its C++ part alone, which calls none of these methods.
_in_use = set()


@untraced
class StrettoBackend(Collectives, Messages, c10d.Backend):
    def __init__(self, store, rank, size, name, timeout):
        c10d.Backend.__init__(self, rank, size)
        self._group = Group(store, rank, size, name, timeout.total_seconds())
        self._store, self._given = store, c10d.Backend.Options("stretto", timeout)
        self._messages, self._posts = gloo_group(store, rank, size, timeout), Posts(size - 1)
        _in_use.add(self)

    def getBackendName(self):
        return "stretto"

    name = getBackendName

    @property
    def options(self):
        return self._given

    @property
    def supports_splitting(self):
        return False

    @property
    def supports_coalescing(self):
        return False

    def setTimeout(self, timeout):
        self._group.set_seconds(timeout.total_seconds())

    set_timeout = _set_default_timeout = setTimeout

    def _set_sequence_number_for_group(self):
        """Ranks number their calls by themselves."""

    def _get_sequence_number_for_group(self):
        return self._group.lane.calls

    def shutdown(self):
        self._posts.close()
        self._group.free()
        _in_use.discard(self)

    def abort(self):
        self._posts.close()
        self._group.abandon()
        _in_use.discard(self)


def create(options, pg_options):
    return StrettoBackend(options.store, options.group_rank, options.group_size, options.group_id, options.timeout)
