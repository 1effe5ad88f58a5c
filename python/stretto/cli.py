"""The commands and their options; the work is in the modules named like them."""

import inspect
import json
import os
import sys
from typing import List, Optional

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from stretto import __version__, model, units
from stretto.launch import over_ucx, run as run_
from stretto.machine import doctor as doctor_, pingpong as pingpong_, tune as tune_
from stretto.bench import commands as bench_
from stretto.storage import commands as storage_
from stretto.report import commands as report_
from stretto.errors import Failure


class Command(TyperCommand):
    """Some Typers escape brackets for Rich where Rich writes no help, and lose what is said of arguments under newer Clicks."""

    arguments = {}  # what each argument is, by its name

    def format_arguments(self, ctx, formatter):
        """Nothing: Typer lists arguments among the options, and newer Clicks would list them once more."""

    def get_help(self, ctx):
        for one in self.params:
            if one.name in self.arguments:
                one.help = self.arguments[one.name]
        return super().get_help(ctx).replace("\\[", "[")


class Commands(TyperGroup):
    """Newer Clicks suggest a command as Typer does, and what is said of a slip had the suggestion twice."""

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if getattr(error, "possibilities", None):
                error.message = error.message.partition(" Did you mean")[0]
            raise

    def format_commands(self, ctx, formatter):
        """The whole first sentence of each, which Click would cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").strip().split("\n\n")[0].replace("\n", " ")) for name, command in commands])


class App(typer.Typer):
    """A Typer whose help is plain text, in a pipe as on a terminal."""

    def __init__(self, **options):
        super().__init__(cls=Commands, **{"no_args_is_help": True, "rich_markup_mode": None, **options})

    def command(self, name=None, **options):
        def add(function):
            arguments = {name: one.default.help for name, one in inspect.signature(function).parameters.items()
                         if isinstance(one.default, typer.models.ArgumentInfo)}
            return super(App, self).command(name, cls=type("Command", (Command,), {"arguments": arguments}), **options)(function)

        return add


STATUS = """Exit status: 0; 2 where what was asked is refused; 1 where something failed on the way, such as a measurement; 130 when
interrupted. `run` ends with its launcher's. The words are in docs/glossary.md."""

app = App(name="stretto", no_args_is_help=False, add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}, epilog=STATUS,
                  help="Speed up an MPI program as it is; measure a machine, predict collectives on it, choose among them, and see why.")
bench = App(help="Programs that measure: pingpong, ring, jacobi, cg, matrix, amr.")
app.add_typer(bench, name="bench")

# A file or a pipe has no width to wrap at.
out = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100000)
err = Console(stderr=True)
bench_.add(bench, out, err)


def flag(*names, help):
    """An option that takes no value, and has none in the help, whichever Typer writes it."""
    return typer.Option(False, *names, help=help, metavar="")


MPIRUN = typer.Option(None, "--mpirun", metavar="COMMAND",
                      help="The launcher and its options, as in 'mpirun -n 4'. Without it: the launcher of stretto's MPI, with two ranks.")
HOSTS = typer.Option(None, "--hosts", metavar="A,B", help="Hosts to start on, in the launcher's own notation (Open MPI: a:2,b:2).")
RANKS = typer.Option(None, "--ranks", "-n", "-np", min=2, help="Ranks to start; needed where --mpirun does not say.")
QUICK = flag("--quick", help="An eighth of the time, fewer sizes, no repeats: to try things out.")
JSON = flag("--json", help="JSON on standard output instead of tables.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Draw a figure: .png, .svg or .pdf; may be given several times.")


def ranks_of(mpirun, ranks):
    """Two where nobody says: a link has two ends."""
    return ranks if ranks or mpirun else 2


def check_carrier(carrier):
    if carrier not in ("mpi", "ucx"):
        raise Failure(f"--carrier {carrier!r} is none; it takes mpi or ucx")


@app.callback(invoke_without_command=True)
def main(context: typer.Context, version: bool = flag("--version", help="Print the version and end.")):
    if version:
        out.print(f"stretto {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:  # shows the commands; newer Clicks would exit with status 2
        print(context.get_help())


@app.command("run", context_settings={"allow_interspersed_args": False}, epilog="""Examples:

stretto run -n 4 ./app

stretto run -n 4 --report ./app input.nml

stretto run --mpirun 'mpirun -n 8 --bind-to core' --bound rel:1e-4 --arena ./app

stretto run --emulate 4@1gbit --bound rel:1e-4 --report ./app""")
def run(command: List[str] = typer.Argument(..., metavar="PROGRAM [ARGUMENT]...", help="The program and its arguments."),
        mpirun: Optional[str] = typer.Option(None, "--mpirun", metavar="COMMAND",
                                             help="The launcher and its options, as in 'mpirun -n 4'. Without it: the launcher of the program's MPI, or one on the PATH."),
        hosts: Optional[str] = HOSTS,
        ranks: Optional[int] = typer.Option(None, "--ranks", "-n", "-np", min=1, help="Ranks to start, as the launcher's -n."),
        bound: Optional[str] = typer.Option(None, "--bound", metavar="BOUND",
                                            help="Compress floating sums, within rel:1e-4 of the range of their inputs, or abs:0.001: the error of the SUM. "
                                                 "With :contribution after it, that of each rank's part, and so of a sum of p ranks p times it. "
                                                 "Without a bound all is exact."),
        bound_moves: bool = flag("--bound-moves", help="Let bounds act on floating-point data that broadcasts, gathers, scatters and alltoalls move, "
                                                       "and on minima and maxima, too."),
        ignore_above: Optional[str] = typer.Option(None, "--ignore-above", metavar="VALUE",
                                                   help="Leave values of this magnitude and more, as fill values are, out of the range of a bound of "
                                                        "rel:. Without it 1e15; inf leaves out none."),
        rules: Optional[str] = typer.Option(None, "--rules", metavar="FILE", help="Bounds by operation, size and call site (docs/mpi.md)."),
        report: bool = flag("--report", help="Print what was done, at the end."),
        report_to: Optional[str] = typer.Option(None, "--report-to", metavar="FILE", help="Write that as JSON instead."),
        profile: Optional[str] = typer.Option(None, "--profile", "--machine", metavar="FILE", help="Choose by this profile, a file or a shipped name."),
        comm_cores: Optional[str] = typer.Option(None, "--comm-cores", metavar="CORES",
                                                 help="Move nonblocking collectives on these cores while the program computes: auto takes some that no rank is "
                                                      "bound to, 14,15 names them (docs/overlap.md)."),
        arena: bool = flag("--arena", help="Put large allocations where other ranks of the host see them."),
        carrier: str = typer.Option("mpi", "--carrier", metavar="CARRIER",
                                    help="mpi; or ucx, for a program that makes its communicator by stretto_comm_create_environment: the launcher only "
                                         "starts it, an MPI's, srun or, with --hosts, ssh. Its ranks meet in STRETTO_STORE, or in a directory in "
                                         "~/.cache, which the hosts must share."),
        emulate: Optional[str] = typer.Option(None, "--emulate", metavar="HOSTS@RATE",
                                              help="Run between hosts that this machine makes for the run, joined by a network of this rate, as in "
                                                   "4@1gbit: what several hosts would gain. Needs a checkout, and a machine that permits namespaces."),
        print_: bool = flag("--print", help="Print the command line instead of running it; not with --emulate.")):
    """Run an MPI program with stretto's collectives, as it is.

    The profiling library is preloaded in the ranks: it takes the collectives that it makes faster and leaves the others to the MPI.
    The status is the launcher's.
    """
    show = (lambda line: out.print(line, markup=False, soft_wrap=True)) if print_ else None
    check_carrier(carrier)
    if emulate:
        run_.check_emulated(carrier, print_)
    for remark in run_.unread_variables(carrier):
        err.print(f"stretto: {remark}", markup=False, soft_wrap=True)
    if carrier == "ucx":
        run_.check_over_ucx(bound=bound, bound_moves=bound_moves, ignore_above=ignore_above, rules=rules, report=report or report_to, profile=profile, arena=arena,
                             comm_cores=comm_cores)
        if remark := run_.unserved(command[0]):
            err.print(f"stretto: {remark}", markup=False, soft_wrap=True)
        raise typer.Exit(over_ucx.run(mpirun, ranks, hosts, command, show))
    wanted = dict(bound=bound, bound_moves=bound_moves, ignore_above=ignore_above, rules=rules, report=report_to or ("1" if report else None), profile=profile, arena=arena,
                  comm_cores=comm_cores)
    if emulate:
        raise typer.Exit(run_.emulated(emulate, mpirun, ranks, hosts, command, **wanted))
    run_.run(mpirun, ranks, hosts, command, show=show, **wanted)


@app.command(epilog="""Examples:

stretto doctor

stretto doctor --mpirun 'mpirun -n 8 --bind-to core' --hosts node1:4,node2:4

stretto doctor --json > doctor.json""")
def doctor(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS,
           ranks: Optional[int] = typer.Option(None, "--ranks", "-n", "-np", min=1, help="Ranks to start."), json_: bool = JSON):
    """What ranks of a job share, why not more, and what to change.

    Starts a program that tries every way to another rank's memory between every two ranks of a host, and says which serves, which is
    refused between whom, and what a user or an administrator could do about it.
    """
    report = doctor_.examine(mpirun, hosts, ranks)
    if json_:
        print(json.dumps(report, indent=1))
    else:
        doctor_.show(out, report)


@app.command(epilog="""Examples:

stretto tune

stretto tune --mpirun 'mpirun -n 4'

stretto tune --mpirun 'mpirun -n 4' --hosts node1:2,node2:2

stretto tune --carrier ucx -n 4 --hosts node1:2,node2:2

stretto tune --quick --output here.json""")
def tune(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[int] = RANKS,
         output: Optional[str] = typer.Option(None, "--output", "-o", metavar="FILE",
                                              help="Write the profile here instead of where the library finds it."),
         fresh: bool = flag("--fresh", help="Keep nothing of a former profile."),
         doubted: bool = flag("--doubted", help="Repeat nothing, and save implausible figures too: the library takes such a profile only where it is named."),
         carrier: str = typer.Option("mpi", "--carrier", metavar="CARRIER",
                                     help="mpi; or ucx, for programs without an MPI. The launcher then only starts the ranks, as with stretto run."),
         quick: bool = QUICK, json_: bool = JSON):
    """Measure this machine and keep its profile.

    From it stretto predicts and chooses. Links by what two ranks share and by message size, the codec by type and ratio, the engine, the MPI's own collectives, and a GPU
    where there is one: in under two minutes. The profile goes to the configuration directory, under the names of the host and the MPI,
    or UCX; what a former one knew besides (other links, other numbers of ranks, the other carrier) is kept. What other programs
    disturbed is measured again, and a profile that stays implausible is refused.
    """
    check_carrier(carrier)
    measurement = tune_.measure(err, mpirun, hosts, ranks_of(mpirun, ranks), quick, carrier, 0 if doubted else tune_.AGAIN)
    made, path = tune_.keep(err, measurement, output, fresh, doubted)
    if json_:
        print(json.dumps(made, indent=1))
    else:
        tune_.show(out, measurement, made, path)


@bench.command("pingpong", epilog="""Examples:

stretto bench pingpong --plot pingpong.png --csv pingpong.csv

stretto bench pingpong --hosts node1,node2 --largest 256M --json > pingpong.json""")
def pingpong(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[int] = RANKS,
             largest: str = typer.Option("64M", "--largest", metavar="SIZE", help="Largest message, up to 1G."),
             csv: Optional[str] = typer.Option(None, "--csv", metavar="FILE", help="Write every size with both fits."),
             plot: Optional[List[str]] = PLOT, quick: bool = QUICK, json_: bool = JSON):
    """The time of a message between two ranks: T = T_l + N/B.

    By least squares over all sizes, and by protocol range, since one line does not fit the middle; with one unmodified buffer (as IMB
    and OSU measure, flattered by the cache) and with rotating buffers that are rewritten before every message. At every placement that
    the ranks' hosts have: two threads of a core, one cache, one socket, across sockets, between hosts.
    """
    if plot:
        from stretto.pictures import plots  # noqa: PLC0415  it takes a second to load

        plots.check(plot)
    measurement = pingpong_.measure(err, mpirun, hosts, ranks_of(mpirun, ranks), units.parse_size(largest), quick)
    series = pingpong_.analyse(measurement.of("pingpong"))
    if csv:
        pingpong_.save_csv(series, csv)
    if plot:
        plots.pingpong(measurement, series, plot)
    if json_:
        pingpong_.write_json(measurement, series, sys.stdout)
    else:
        pingpong_.show(out, measurement, series)


report_.add(app, out)


@app.command(epilog="""Examples:

stretto draw stacking-out

stretto draw build/demo --plot stack.pdf""")
def draw(directory: str = typer.Argument("stacking-out", help="What the stacking program was given as --out."),
         plot: Optional[List[str]] = PLOT):
    """The picture of a stack of images, over a map of its error.

    Draws what the stacking program (make demo) left in DIRECTORY: to stack.png and stack.svg there, and into the page stack.html. With
    --plot, to those files alone.
    """
    from stretto.pictures import plots, stacking  # noqa: PLC0415  they take a second to load

    plots.check(plot or [])
    for path in stacking.draw(directory, plot):
        out.print(str(path), markup=False, soft_wrap=True)


@app.command(epilog="""Examples:

stretto ratio --synthetic

stretto ratio velocity_301x941.f64 --rel 1e-3,1e-5 --plot velocity.png

stretto ratio gradients.npy --abs 1e-6 --ranks 8 --rate 10""")
def ratio(file: Optional[str] = typer.Argument(None, metavar="[FILE]", help="A file that `compress` reads, such as .npy, or of nothing but float32 (.f32) or float64 (.f64)."),
          synthetic: bool = flag("--synthetic", help="A made-up field instead of a file."),
          rel: Optional[str] = typer.Option(None, "--rel", metavar="X,Y", help="Bounds as parts of the data's range. With neither: 1e-2,1e-3,1e-4."),
          abs_: Optional[str] = typer.Option(None, "--abs", metavar="X,Y", help="Bounds in the data's unit."),
          array: Optional[str] = typer.Option(None, "--array", "-a", metavar="NAME",
                                              help="This array of a file of several. Without it: the largest of float32 and float64 that is no coordinate."),
          type_: Optional[str] = typer.Option(None, "--type", "--dtype", metavar="TYPE",
                                              help="f32 or f64, of a file of nothing but values whose name ends in neither .f32 nor .f64."),
          shape: Optional[str] = typer.Option(None, "--shape", metavar="AxB", help="Of such a file; without it as the name ends: name_301x941.f32."),
          coding: Optional[str] = typer.Option(None, "--coding", metavar="CODING",
                                               help="Whose errors and speed are shown: fixed; dense, in half to five sixths of the bytes, at a third of the "
                                                    "speed; or shaped, for files, which is predicted along the array's axes, too. With fixed, sums are "
                                                    "predicted of fixed streams alone; else of fixed and dense ones. Without it fixed errors are shown."),
          ranks: int = typer.Option(4, "--ranks", "-n", "-np", min=2, help="Ranks of the sum whose time is predicted."),
          rate: float = typer.Option(1.0, "--rate", metavar="GBITS", help="Of the network, in Gb/s."),
          mark: Optional[List[float]] = storage_.MARK, no_marks: bool = storage_.NO_MARKS, plot: Optional[List[str]] = PLOT, json_: bool = JSON):
    """Which bound? Ratio, errors and speed of several on your data.

    The codec runs here, on one core. Times of sums are predicted: on ranks of this host, by its profile, and between as many hosts on a
    network of the given rate.
    """
    from stretto import ratio as ratio_  # noqa: PLC0415  NumPy takes a while to load

    if plot:
        from stretto.pictures import plots  # noqa: PLC0415  it takes a second to load

        plots.check(plot)
    if coding not in (None, *ratio_.CODINGS):
        raise Failure(f"--coding is {coding!r}; it takes {', '.join(ratio_.CODINGS)}")
    if bool(file) == synthetic:
        raise Failure("ratio takes a FILE or --synthetic, and not both")
    values, marks, name = (ratio_.synthetic(), [], "synthetic") if synthetic else ratio_.read(file, type_, shape, array)
    if no_marks and mark:
        raise Failure("--mark and --no-marks exclude each other")
    marks = [] if no_marks else [*marks, *(mark or ())]
    if not marks and not no_marks:
        storage_.needed("storage.missing").need_no_suspect(err, name, [values])
    dense, coding = coding != "fixed", coding or "fixed"
    rows = ratio_.measure(values, rel or (None if abs_ else "1e-2,1e-3,1e-4"), abs_, ranks, marks, coding)
    predicted = ratio_.times(rows, values, ranks, rate, dense)
    if plot:
        plots.ratio(name, values, rows, plot)
    if json_:
        print(json.dumps(ratio_.as_json(name, values, rows, predicted, ranks, rate, marks, coding), indent=1, allow_nan=False))
    else:
        ratio_.show(out, name, values, rows, predicted, ranks, rate, marks, coding)


storage_.add(app, out, err)

# The options of these are stretto-model's, so all but ours are handed on, --help among them.
FORWARDED = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}, "add_help_option": False}
HELP = flag("--help", "-h", help="Show the options, with examples.")


def asked(name, context, help_, json_, plot=None):
    """Asks stretto-model and shows its answer."""
    if help_:
        print(model.help_of(name), end="")
        return
    if plot:
        from stretto.pictures import plots  # noqa: PLC0415  it takes a second to load

        plots.check(plot)
    result = model.ask(name, context.args)
    if plot:
        plots.DRAW[name](result, plot)
    if json_:
        print(json.dumps(result, indent=1))
    else:
        model.SHOW[name](out, result)


@app.command(**FORWARDED)
def explain(context: typer.Context, help_: bool = HELP, json_: bool = JSON, plot: Optional[List[str]] = PLOT):
    """The ways to run a collective, and what is chosen at which size."""
    asked("explain", context, help_, json_, plot)


@app.command(**FORWARDED)
def choose(context: typer.Context, help_: bool = HELP, json_: bool = JSON):
    """The cheapest way to run a collective."""
    asked("choose", context, help_, json_)


@app.command(**FORWARDED)
def predict(context: typer.Context, help_: bool = HELP, json_: bool = JSON):
    """The time of one schedule and payload, or of a published system."""
    asked("predict", context, help_, json_)


@app.command(**FORWARDED)
def simulate(context: typer.Context, help_: bool = HELP, json_: bool = JSON, plot: Optional[List[str]] = PLOT):
    """Systems side by side on up to 131072 ranks; what overlap hides."""
    asked("simulate", context, help_, json_, plot)


@app.command(**FORWARDED)
def plan(context: typer.Context, help_: bool = HELP, json_: bool = JSON, plot: Optional[List[str]] = PLOT):
    """How many ranks and communication cores a program should have."""
    asked("plan", context, help_, json_, plot)


@app.command(**FORWARDED)
def profiles(context: typer.Context, help_: bool = HELP, json_: bool = JSON):
    """The machines that are shipped, or the figures of one."""
    asked("profiles", context, help_, json_)
