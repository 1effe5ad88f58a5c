"""python -m stretto.torch ARGUMENTS: torchrun ARGUMENTS, with tensors of 64 KiB and more where the other ranks of a host see them.

Collectives read such tensors in place, which takes a half to a quarter of the time from 1 MB on. docs/torch.md has the price.
"""

import os
import sys

from stretto.errors import Failure
from stretto.launch import programs


def main():
    try:
        os.environ.update(programs.preloaded([programs.library("libstretto_arena.so")]))
    except Failure as failure:
        sys.exit(f"python -m stretto.torch: {failure}")
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
