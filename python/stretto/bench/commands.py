"""The commands `stretto bench ring|matrix|jacobi|cg` and their options."""

import sys
from typing import List, Optional

import typer

from stretto import units
from stretto.bench import ring as ring_, running

MPIRUN = typer.Option(None, "--mpirun", metavar="COMMAND", help="The launcher and its options. Without it: mpirun on the PATH.")
HOSTS = typer.Option(None, "--hosts", metavar="A,B", help="Hosts to start on, in the launcher's own notation (Open MPI: a:2,b:2).")
RANKS = typer.Option(None, "--ranks", "-n", metavar="N,...", help="Numbers of ranks, a run each: 1,2,4. Without it 1,2, or what --mpirun says.")
MAP = typer.Option(None, "--map", metavar="PLACE", help="Put each next rank on the next core, socket or host.")
COMPARE = typer.Option(0, "--compare", metavar="TURNS", min=0, max=1000,
                       help="Run the same program with and without the profiling library, in so many turns.")
PROFILE = typer.Option(None, "--profile", metavar="FILE", help="The model's links: a profile of stretto tune, or a shipped name. Else this machine's.")
JSON = typer.Option(False, "--json", help="JSON on standard output instead of tables.", metavar="")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Draw model and measurement: .png, .svg or .pdf; may be given several times.")


def settings(mpirun, hosts, ranks, by, turns, profile, cores=None):
    return running.Settings(mpirun, hosts, running.ranks_of(ranks, mpirun), by, turns, cores, profile)


def finish(module, result, plot, json_, out):
    """What all commands end with: the picture, and the table or JSON."""
    if plot:
        from stretto.bench import figures  # noqa: PLC0415  it takes a second to load

        figures.DRAW[result["program"]](result, plot)
    if json_:
        running.save_json(result, sys.stdout)
    else:
        module.show(out, result)


def check(plot):
    if plot:
        from stretto import plots  # noqa: PLC0415  it takes a second to load

        plots.check(plot)


def add(bench, out, err):
    """Adds the commands to `bench`; results go to the console `out`, progress to `err`."""

    @bench.command("ring", epilog="""Examples:

stretto bench ring --ranks 2,4,8 --plot ring.png

stretto bench ring --mpirun 'mpirun -n 8' --hosts node1:4,node2:4 --bytes 1M --json > ring.json

stretto bench ring --ranks 2,4 --map core""")
    def ring(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP,
             size: str = typer.Option("8000000", "--bytes", metavar="SIZE", help="A message; a multiple of 8."),
             repeats: int = typer.Option(9, "--repeats", min=1, max=10000, help="Rounds that are timed."), compare: int = COMPARE,
             profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, json_: bool = JSON):
        """Messages around a ring of ranks, both ways, until they are home: 2p² of them.

        Blocking, nonblocking, Sendrecv, persistent and neighbourhood variants. Time, MB/s, and the penalty against a rate that grows with the ranks.
        """
        check(plot)
        result = ring_.measure(settings(mpirun, hosts, ranks or (None if mpirun else "2"), by, compare, profile), err, units.parse_size(size), repeats)
        finish(ring_, result, plot, json_, out)
