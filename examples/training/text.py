"""Text to learn: the sources of Python's own library, which lie beside the interpreter. Nothing is downloaded."""

import functools
import pathlib
import sysconfig

import numpy as np
import torch

MOST = 1 << 24  # bytes
HELD_OUT = 20  # of so many files one is for validation


@functools.cache
def corpus():
    """(bytes to train on, bytes to validate on)."""
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    files = sorted(file for file in root.rglob("*.py") if not {"site-packages", "dist-packages", "test", "tests"} & set(file.relative_to(root).parts))
    parts = ([], [])
    for at, file in enumerate(files):
        parts[at % HELD_OUT == 0].append(np.fromfile(file, np.uint8))
    return tuple(torch.from_numpy(np.concatenate(part)[:MOST]) for part in parts)


def pieces(text, count, length, generator):
    """(count, length) bytes from random places of the text."""
    starts = torch.randint(text.numel() - length, (count,), generator=generator)
    return torch.stack([text[at:at + length] for at in starts]).long()
