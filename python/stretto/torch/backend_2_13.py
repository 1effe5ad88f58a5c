"""The process group for torch 2.13, whose C++ Backend has no constructor: a ProcessGroup. What torch asks of an inner backend goes to the gloo group
of the messages; every collective is overridden, since torch would hand it to that group without a word."""

from __future__ import annotations

import torch
import torch.distributed as dist

from stretto.errors import UnsupportedError
from stretto.torch.collectives import Collectives
from stretto.torch.group import Group
from stretto.torch.messages import Messages, Posts, gloo_group
from stretto.torch.work import untraced

CUSTOM = dist.ProcessGroup.BackendType.CUSTOM


@untraced
class StrettoGroup(Collectives, Messages, dist.ProcessGroup):
    def __init__(self, store, rank, size, name, timeout):
        dist.ProcessGroup.__init__(self, rank, size)
        self._group = Group(store, rank, size, name, timeout.total_seconds())
        self._store, self._name, self._desc, self._sequence = store, name, "undefined", 0
        self._messages, self._posts = gloo_group(store, rank, size, timeout), Posts(size - 1)
        for device in ("cpu", "cuda"):
            self._register_backend(torch.device(device), CUSTOM, self._messages)
        self._set_default_backend(CUSTOM)

    def getBackendName(self):
        return "stretto"

    name = getBackendName

    def getGroupName(self):
        return self._name

    def setGroupName(self, name):
        self._name = name

    def get_group_store(self):
        return self._store

    def getGroupDesc(self):
        return self._desc

    def setGroupDesc(self, desc):
        self._desc = desc

    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    group_name, group_desc = property(getGroupName), property(getGroupDesc)

    def setTimeout(self, timeout):
        self._group.set_seconds(timeout.total_seconds())

    set_timeout = setTimeout

    def _set_sequence_number_for_group(self):
        """Ranks number their calls by themselves."""

    def _get_sequence_number_for_group(self):
        return self._group.lane.calls

    def split_group(self, *arguments, **keywords):
        raise UnsupportedError("split_group of the backend stretto; torch.distributed.new_group makes a group of some ranks")

    merge_remote_group = split_group

    def shutdown(self):
        self._posts.close()
        self._group.free()

    def abort(self):
        self._posts.close()
        self._group.abandon()


def create(options, pg_options):
    return StrettoGroup(options.store, options.group_rank, options.group_size, options.group_id, options.timeout)
