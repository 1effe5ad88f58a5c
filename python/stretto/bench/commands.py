"""The commands `stretto bench ring|matrix|jacobi|cg|amr` and their options."""

import pathlib
import sys
from typing import List, Optional

import typer

from stretto import units
from stretto.bench import amr as amr_, cg as cg_, jacobi as jacobi_, matrix as matrix_, ring as ring_, running
from stretto.errors import Failure

MPIRUN = typer.Option(None, "--mpirun", metavar="COMMAND", help="The launcher and its options. Without it: the launcher of stretto's MPI.")
HOSTS = typer.Option(None, "--hosts", metavar="A,B", help="Hosts to start on, in the launcher's own notation (Open MPI: a:2,b:2).")
RANKS = typer.Option(None, "--ranks", "-n", "-np", metavar="N,...", help="Numbers of ranks, a run each: 1,2,4. Without it 1,2, or what --mpirun says.")
MAP = typer.Option(None, "--map", metavar="PLACE", help="Put each next rank on the next core, socket or host.")
EMULATE = typer.Option(None, "--emulate", metavar="HOSTS@RATE",
                       help="Between hosts that this machine makes, as in 4@1gbit. Needs a checkout, and a machine that permits namespaces.")
COMPARE = typer.Option(0, "--compare", metavar="TURNS", min=0, max=1000,
                       help="Run the same program with and without the profiling library, in so many turns.")
PROFILE = typer.Option(None, "--profile", metavar="FILE", help="The model's links: a profile of stretto tune, or a shipped name. Else this machine's.")
CORES = typer.Option(None, "--comm-cores", metavar="LIST", help="Cores that move what stretto started: STRETTO_COMM_CORES of the ranks.")
WEAK = typer.Option(False, "--weak", help="The size given is that of each rank's block: the whole grows with the ranks.", metavar="")
WEAK_PLANES = typer.Option(False, "--weak", help="Each rank has as many planes as --side says: the whole grows with the ranks.", metavar="")
STRONG = typer.Option(False, "--strong", help="The size given is that of the whole, however many ranks there are (the default).", metavar="")
JSON = typer.Option(False, "--json", help="JSON on standard output instead of tables.", metavar="")
GRID = typer.Option(None, "--grid", metavar="AxBxC,...",
                    help="Process grids, a row each: 8x3x1,4x6x1; may be given several times. Without --ranks they say how many ranks there are.")
OVERLAY = typer.Option(None, "--overlay", metavar="FILE", help="Draw an earlier run, the output of --json, into the same plot; may be given several times.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Draw model and measurement: .png, .svg or .pdf; may be given several times.")


def settings(mpirun, hosts, ranks, by, turns, profile, emulate, cores=None, grid=None):
    grids = running.grids_of(grid)
    numbers = running.ranks_of_grids(grids, ranks, mpirun, emulate) if grids else running.ranks_of(ranks, mpirun, emulate)
    made = running.Settings(mpirun, hosts, numbers, by, turns, cores, profile, emulate, grids)
    if emulate:
        running.check_emulated(made)
    return made


def is_weak(weak, strong):
    if weak and strong:
        raise Failure("--weak and --strong exclude each other")
    return weak


def finish(module, result, plot, json_, out, overlay=None):
    """What all commands end with: the picture, and the table or JSON."""
    if plot:
        from stretto.bench import figures  # noqa: PLC0415  it takes a second to load
        from stretto.pictures import plots  # noqa: PLC0415  the same

        plots.save(figures.DRAW[result["program"]](result, overlay or ()), plot)
    if json_:
        running.save_json(result, sys.stdout)
    else:
        module.show(out, result)


def check(plot, overlay=None, program=None):
    """That the pictures can be saved; returns the earlier runs of `overlay`, by name."""
    if overlay and not plot:
        raise Failure(f"--overlay {overlay[0]} is drawn by --plot, which is not given")
    if plot:
        from stretto.pictures import plots  # noqa: PLC0415  it takes a second to load

        plots.check(plot)
    return [(pathlib.Path(file).stem, running.read_json(file, program)) for file in overlay or ()]


def add(bench, out, err):
    """Adds the commands to `bench`; results go to the console `out`, progress to `err`."""

    @bench.command("ring", epilog="""Examples:

stretto bench ring --ranks 2,4,8 --plot ring.png

stretto bench ring --mpirun 'mpirun -n 8' --hosts node1:4,node2:4 --bytes 1M --json > ring.json

stretto bench ring --ranks 2,4 --map core

stretto bench ring --emulate 4@1gbit --ranks 2,4 --bytes 1M""")
    def ring(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP, emulate: Optional[str] = EMULATE,
             size: str = typer.Option("8000000", "--bytes", metavar="SIZE", help="A message; a multiple of 8."),
             repeats: int = typer.Option(9, "--repeats", min=1, max=10000, help="Rounds that are timed."), compare: int = COMPARE,
             profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, overlay: Optional[List[str]] = OVERLAY, json_: bool = JSON):
        """Messages around a ring of ranks, both ways, until they are home: 2p² of them.

        Blocking, nonblocking, Sendrecv, persistent and neighbourhood variants. Time, MB/s, and the penalty against a rate that grows with the ranks.
        """
        earlier = check(plot, overlay, "ring")
        ranks = ranks or (None if mpirun or emulate else "2")
        result = ring_.measure(settings(mpirun, hosts, ranks, by, compare, profile, emulate), err, units.parse_size(size), repeats)
        finish(ring_, result, plot, json_, out, earlier)

    @bench.command("jacobi", epilog="""Examples:

stretto bench jacobi --ranks 1,2,4 --side 200 --plot jacobi.png

stretto bench jacobi --ranks 1,2,4,8 --side 200 --weak --halo blocking,overlapped

stretto bench jacobi --ranks 2 --side 64 --halo overlapped,bounded --bound 1e-6 --tolerance 1e-9 --sweeps 100000

stretto bench jacobi --ranks 2 --side 32 --check 1 --compare 9

stretto bench jacobi --grid 4x1x1,2x2x1,1x1x4 --side 100

stretto bench jacobi --ranks 2 --side 32 --check 1 --reduction blocking,started,stretto --comm-cores 2""")
    def jacobi(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP, emulate: Optional[str] = EMULATE,
               side: int = typer.Option(128, "--side", min=1, max=20000, help="Points along each side of a cube."),
               points: Optional[str] = typer.Option(None, "--points", metavar="Z,Y,X", help="Points of the whole box instead."),
               weak: bool = WEAK, strong: bool = STRONG,
               dimensions: int = typer.Option(3, "--dimensions", min=1, max=3, help="In which the box is cut among the ranks."),
               grid: Optional[List[str]] = GRID,
               type_: str = typer.Option("f64", "--type", metavar="TYPE", help="f32 or f64."),
               halo: str = typer.Option("overlapped", "--halo", metavar="KIND,...",
                                        help="blocking; overlapped with the inner points; bounded: compressed within --bound."),
               bound: Optional[float] = typer.Option(None, "--bound", help="Largest error of a value that is exchanged; the solution reaches 1."),
               reduction: str = typer.Option("blocking", "--reduction", metavar="KIND,...",
                                             help="blocking; started: MPI_Iallreduce beside the next sweep; stretto: stretto_iallreduce beside it."),
               sweeps: int = typer.Option(100, "--sweeps", min=1, help="At most."),
               check_: int = typer.Option(10, "--check", min=1, help="Sweeps from one reduction to the next."),
               tolerance: float = typer.Option(0, "--tolerance", min=0, help="End where no point changed by more; 0: after all sweeps."),
               cores: Optional[str] = CORES, compare: int = COMPARE, profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, overlay: Optional[List[str]] = OVERLAY, json_: bool = JSON):
        """Jacobi's method for Poisson's equation in 3-D: time of a sweep by compute, halo and reduction, and MLUP/s.

        The model: T = T_s + c/B + kλ. The residual's reduction goes through the node's memory with --compare; halos go within a bound with
        --halo bounded. The table has the sweeps until convergence, and the error against the known solution.
        """
        earlier = check(plot, overlay, "jacobi")
        halos = jacobi_.halos_of(halo, bound)
        result = jacobi_.measure(settings(mpirun, hosts, ranks, by, compare, profile, emulate, cores, grid), err, halos, bound, jacobi_.reductions_of(reduction),
                                 side=side, points=points, weak=is_weak(weak, strong), dimensions=dimensions, type=type_, sweeps=sweeps, check=check_,
                                 tolerance=tolerance)
        finish(jacobi_, result, plot, json_, out, earlier)

    @bench.command("cg", epilog="""Examples:

stretto bench cg --ranks 1,2,4 --plot cg.png

stretto bench cg --ranks 1,2,4 --side 128 --weak

stretto bench cg --ranks 1,2,3,5,8 --form reproducible --tolerance 1e-8 --steps 1000

stretto bench cg --ranks 2 --side 64 --compare 9""")
    def cg(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP, emulate: Optional[str] = EMULATE,
           side: int = typer.Option(256, "--side", min=2, max=40000, help="Points along each side, of a square or a cube."),
           weak: bool = WEAK_PLANES, strong: bool = STRONG,
           stencil: int = typer.Option(5, "--stencil", help="Points in a row of the matrix: 5 (a square) or 27 (a cube)."),
           form: str = typer.Option("blocking,pipelined,reproducible", "--form", metavar="FORM,...",
                                    help="blocking; pipelined: one MPI_Iallreduce beside the product; reproducible: planes' sums in a fixed order."),
           steps: int = typer.Option(100, "--steps", min=1, help="At most."),
           tolerance: float = typer.Option(0, "--tolerance", min=0, help="End where the residual is this part of the first; 0: after all steps."),
           compare: int = COMPARE, profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, overlay: Optional[List[str]] = OVERLAY, json_: bool = JSON):
        """Conjugate gradients on a sparse matrix: two dot products a step, each of which waits for every rank.

        Reproducible sums give the same residuals bit for bit on any number of ranks; the table says whether they are.
        """
        earlier = check(plot, overlay, "cg")
        if stencil not in (5, 27):
            raise Failure(f"--stencil {stencil} is none; it takes 5 or 27")
        result = cg_.measure(settings(mpirun, hosts, ranks, by, compare, profile, emulate), err, cg_.forms_of(form), side=side,
                             weak=is_weak(weak, strong), stencil=stencil, steps=steps, tolerance=tolerance)
        finish(cg_, result, plot, json_, out, earlier)

    @bench.command("amr", epilog="""Examples:

stretto bench amr --ranks 1,2,4 --plot amr.png

stretto bench amr --ranks 4 --cells 4 --variables 1 --compare 9

stretto bench amr --ranks 8 --roots 8 --levels 3 --radius 0.4 --json > amr.json""")
    def amr(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP, emulate: Optional[str] = EMULATE,
            roots: int = typer.Option(4, "--roots", min=1, max=1024, help="Blocks along each side of the cube at level 0."),
            levels: int = typer.Option(2, "--levels", min=0, max=16, help="Levels of refinement; a block of one level has eight of the next."),
            cells: int = typer.Option(8, "--cells", min=2, max=128, help="Along each side of a block, an even number."),
            variables: int = typer.Option(4, "--variables", min=1, max=1000, help="Values of a cell."),
            steps: int = typer.Option(200, "--steps", min=1, max=100000, help="A multiple of --every."),
            every: int = typer.Option(5, "--every", min=1, max=100000, help="Steps from one refinement to the next."),
            radius: float = typer.Option(0.25, "--radius", min=0.001, max=2, help="Of the sphere, in sides of the cube."),
            speed: float = typer.Option(0.01, "--speed", min=0, max=1, help="Sides of the cube that the sphere moves in a step."),
            compare: int = COMPARE, profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, overlay: Optional[List[str]] = OVERLAY, json_: bool = JSON):
        """An adaptive mesh of blocks, as miniAMR has it: those that a moving sphere's surface cuts are refined, others coarsened.

        A step is a stencil, ghost cells of the neighbours, and an allreduce. A refinement agrees on the new blocks by allreduces, and balances them by
        an alltoallv. The table has each phase, and the collectives' share. Blocks and values have the same bits on any number of ranks.
        """
        earlier = check(plot, overlay, "amr")
        result = amr_.measure(settings(mpirun, hosts, ranks, by, compare, profile, emulate), err, roots=roots, levels=levels, cells=cells,
                              variables=variables, steps=steps, every=every, radius=radius, speed=speed)
        finish(amr_, result, plot, json_, out, earlier)

    @bench.command("matrix", epilog="""Examples:

stretto bench matrix --ranks 1,2,4 --plot matrix.png

stretto bench matrix --ranks 8 --points 400,300,200 --json > matrix.json

stretto bench matrix --ranks 6 --points 5000,4000

stretto bench matrix --ranks 1,2,4 --points 128,128,128 --weak

stretto bench matrix --grid 8x3x1,4x6x1,2x3x4

stretto bench matrix --ranks 2,4 --plot two.png --overlay mpich.json""")
    def matrix(mpirun: Optional[str] = MPIRUN, hosts: Optional[str] = HOSTS, ranks: Optional[str] = RANKS, by: Optional[str] = MAP, emulate: Optional[str] = EMULATE,
               points: str = typer.Option("256,256,256", "--points", metavar="N,...", help="Rows and columns, or the three sides of a volume."),
               grid: Optional[List[str]] = GRID,
               weak: bool = WEAK, strong: bool = STRONG,
               repeats: int = typer.Option(5, "--repeats", min=1, max=10000, help="Runs that are timed."), compare: int = COMPARE,
               profile: Optional[str] = PROFILE, plot: Optional[List[str]] = PLOT, overlay: Optional[List[str]] = OVERLAY, json_: bool = JSON):
        """Two matrices or volumes, scattered over grids of 1, 2 and 3 dimensions, added, and gathered.

        Without an exchange the grid does not matter. The table also has what an exchange with the neighbours costs on each grid, and its volume.
        """
        earlier = check(plot, overlay, "matrix")
        result = matrix_.measure(settings(mpirun, hosts, ranks, by, compare, profile, emulate, grid=grid), err, points, is_weak(weak, strong), repeats)
        finish(matrix_, result, plot, json_, out, earlier)
