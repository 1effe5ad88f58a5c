"""Memory of tensors: what a call reads and writes in place, and what goes by way of a contiguous copy."""

from __future__ import annotations

import torch

from stretto.errors import ArgumentError, UnsupportedError


def check(tensor, what):
    """Dense tensors in the host's memory and in CUDA's are served; others are refused by name."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what} is a {type(tensor).__name__}; it takes a tensor")
    if not tensor.is_cpu and not tensor.is_cuda:
        raise UnsupportedError(f"{what} is a tensor on the device {str(tensor.device)!r}; the backend stretto serves tensors of 'cpu' and of 'cuda'")
    if tensor.layout != torch.strided:
        raise UnsupportedError(f"{what} is a tensor of layout {tensor.layout}; dense tensors are served")
    return tensor


def single(tensors, what):
    """The tensor of a list that has one."""
    if isinstance(tensors, torch.Tensor):
        return check(tensors, what)
    if len(tensors) != 1:
        raise ArgumentError(f"{what} is a list of {len(tensors)} tensors; it takes one")
    return check(tensors[0], what)


def readable(tensor):
    """A contiguous tensor of the same values."""
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def resolved(tensor):
    """The tensor with its conjugation and negation carried out, since only its memory is read."""
    return tensor.resolve_conj().resolve_neg()


def end_to_end(tensors):
    """A flat tensor that shares the memory of contiguous tensors lying one after the other; None where they do not."""
    at = None
    for one in tensors:
        if not one.is_contiguous() or (at is not None and one.numel() and one.data_ptr() != at):
            return None
        if one.numel():
            at = one.data_ptr() + one.numel() * one.element_size()
    total = sum(one.numel() for one in tensors)
    first = next((one for one in tensors if one.numel()), None)
    if first is None:
        return tensors[0].new_empty(0)
    storage = first.untyped_storage()
    if (first.storage_offset() + total) * first.element_size() > storage.nbytes():
        return None
    return first.as_strided((total,), (1,))


def joined(tensors):
    """A flat tensor of the values of all; a copy where they do not lie end to end."""
    found = end_to_end(tensors)
    return torch.cat([one.reshape(-1) for one in tensors]) if found is None else found


def room(tensors):
    """(flat tensor to write, whether the tensors are views of it)."""
    found = end_to_end(tensors)
    if found is not None:
        return found, True
    return tensors[0].new_empty(sum(one.numel() for one in tensors)), False


def scatter_into(tensors, flat):
    """Copies the parts of a flat tensor into tensors, in their order."""
    at = 0
    for one in tensors:
        one.copy_(flat[at:at + one.numel()].view(one.shape))
        at += one.numel()


def overlap(a, b):
    """Whether the memory of two contiguous tensors overlaps."""
    return ranges_overlap((a.data_ptr(), a.nbytes), (b.data_ptr(), b.nbytes))


def storage_range(tensor):
    """(address, bytes) of the storage that the tensor is part of."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def ranges_overlap(a, b):
    """Whether two ranges of (address, bytes) overlap."""
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def alike(tensors, what):
    """ArgumentError where dtypes or devices differ."""
    for field in ("dtype", "device"):
        found = {getattr(one, field) for one in tensors}
        if len(found) > 1:
            raise ArgumentError(f"{what} have {field}s {', '.join(sorted(map(str, found)))}; a call takes one")
