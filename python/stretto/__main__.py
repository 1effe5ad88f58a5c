"""The command `stretto`."""

import sys

from rich.console import Console

from stretto.errors import Failure, printable


def main():
    from stretto.cli import app  # noqa: PLC0415  an import may raise a message about a missing package

    try:
        app(prog_name="stretto")
    except Failure as failure:
        Console(stderr=True, highlight=False, soft_wrap=True).print(printable(f"stretto: {failure}"), style=None, markup=False)
        sys.exit(failure.status)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
