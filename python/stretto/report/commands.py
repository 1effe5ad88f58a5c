"""The command `stretto report` and its options."""

import pathlib
from typing import List, Optional

import typer

from stretto.errors import Failure

EXAMPLES = """Examples:

stretto report

stretto run -n 4 --report-to run.json ./app; stretto report run.json -o app.html

stretto report run.json pingpong.json jacobi.json --mpirun 'mpirun -n 8' --hosts node1:4,node2:4"""


def check(path, force):
    """A page that cannot be written, or would replace another file, is told before the work."""
    if not path.parent.is_dir():
        raise Failure(f"--output {path}: there is no directory {path.parent}")
    if path.exists() and not force:
        raise Failure(f"--output {path} is there already; --force replaces it")


def add(app, out):
    """Adds the command to `app`; what it wrote goes to the console `out`."""

    @app.command("report", epilog=EXAMPLES)
    def report(files: List[str] = typer.Argument(None, metavar="[FILE]...",
                                                 help="JSON of stretto run --report-to, doctor --json, tune --json, bench pingpong --json and bench PROGRAM --json, "
                                                      "in any order."),
               output: str = typer.Option("stretto-report.html", "--output", "-o", metavar="FILE", help="The page."),
               force: bool = typer.Option(False, "--force", help="Replace the page if it is there.", metavar=""),
               mpirun: Optional[str] = typer.Option(None, "--mpirun", metavar="COMMAND", help="The launcher and its options, for the examination of the machine."),
               hosts: Optional[str] = typer.Option(None, "--hosts", metavar="A,B", help="Hosts to start on, in the launcher's own notation."),
               ranks: Optional[int] = typer.Option(None, "--ranks", "-n", "-np", min=1, help="Ranks to start. Without it as many as the program had, or two."),
               profile: Optional[str] = typer.Option(None, "--profile", "--machine", metavar="FILE", help="Predict by this profile, a file or a shipped name.")):
        """One page of HTML of a machine, and of a program that ran on it.

        The page needs no other file and no network. It shows where ranks are, what is between them, what messages take, and what is chosen
        when. With the report of a run it shows the collectives over time, what was saved and hidden, bounds and ratios. The machine is
        examined as by stretto doctor, unless FILEs have its answer.
        """
        from stretto.report import inputs, make  # noqa: PLC0415  they take a second to load

        path = pathlib.Path(output)
        check(path, force)
        found = inputs.gather(files or [], profile)
        inputs.examine(found, mpirun, hosts, ranks)
        make.write(found, path)
        out.print(str(path), markup=False, soft_wrap=True)
