"""The models of the programs, in seconds, bytes and bytes a second. docs/command.md lists them; λ is a message's latency, B a bandwidth.

A process grid of N processes has k directions in which a process has a neighbour: 2 for each dimension that is cut, so 0, 2, 4 or 6.
"""

import math


def message(size, latency, bandwidth):
    """λ + n/B."""
    return latency + size / bandwidth


# ---- ring: p iterations, in each of which a rank passes one message to the right and one to the left


def ring_messages(ranks):
    return 2 * ranks**2


def ring_megabytes(ranks, size=8_000_000):
    """16 p^2 for messages of 8 MB."""
    return ring_messages(ranks) * size / 1e6


def ring_rate(ranks, seconds, size=8_000_000):
    """MB/s of all messages."""
    return ring_megabytes(ranks, size) / seconds


def ring_seconds(ranks, size, latency, bandwidth):
    return ranks * 2 * message(size, latency, bandwidth)


def ring_penalty(ranks, rate, base_ranks, base_rate):
    """How far the rate stays behind one that grows with the ranks; 1 at the base, which the literature takes at 4 ranks."""
    return base_rate * (ranks / base_ranks) / rate


# ---- volumes of an exchange: a cube of side L in all, cut among N processes, w bytes a value; bytes sent per process


def volume_1d(side, processes, width=8):  # noqa: ARG001  slabs have the whole cube's faces, however many they are
    return 2 * width * side**2


def volume_2d(side, processes, width=8):
    return 4 * width * side**2 * processes ** (-1 / 2)


def volume_3d(side, processes, width=8):
    return 6 * width * side**2 * processes ** (-2 / 3)


VOLUMES = {1: volume_1d, 2: volume_2d, 3: volume_3d}


def faces(points, dims):
    """Values of the faces that a process shares, where it has all its neighbours: of its block, the share of `points` by `dims`."""
    local = [n / p for n, p in zip(points, dims)]
    return sum(2 * math.prod(local) / local[d] for d, p in enumerate(dims) if p > 1)


def directions(dims):
    """k."""
    return 2 * sum(p > 1 for p in dims)


# ---- matrix sum: the root sends two blocks to each process, and receives one


def matrix_seconds(size, ranks, latency, bandwidth):
    """Scatter and gather of matrices of `size` bytes: the root's messages follow one another, and its own block stays."""
    return 3 * ((ranks - 1) * latency + size * (ranks - 1) / ranks / bandwidth)


# ---- Jacobi: N processes, each with a cube of side L


def halo_bytes(side, neighbours, width=8):
    """c(L,N) = L^2 k 2 w: what a process sends and receives in a sweep."""
    return side**2 * neighbours * 2 * width


def halo_seconds(size, neighbours, latency, bandwidth):
    """T_c = c/B + k λ."""
    return size / bandwidth + neighbours * latency


def mlups(points, seconds):
    """Million updates of lattice points a second: P(L,N) = L^3 N / (T_s + T_c), with the points of all processes."""
    return points / seconds / 1e6


def penalty(processes, alone, together):
    """N P(1) / P(N): 1 where N processes are N times as fast."""
    return processes * alone / together


# ---- collectives


def reduction_seconds(ranks, latency):
    """An allreduce of one value, by recursive doubling: log2 p messages, and two more steps where p is no power of two."""
    if ranks == 1:
        return 0.0
    steps = int(math.log2(ranks))
    return (steps + 2 * (ranks != 1 << steps)) * latency


def alltoallv_seconds(ranks, calls, size, latency, bandwidth):
    """`calls` of them, in which a rank sends `size` bytes in all, and receives as many."""
    return calls * (ranks - 1) * latency + 2 * size / bandwidth


# ---- conjugate gradients


def cg_seconds(alone, ranks, size, neighbours, reductions, latency, bandwidth):
    """A step: 1/p of what one rank takes, the halo, and the reductions that nothing hides."""
    return alone / ranks + halo_seconds(size, neighbours, latency, bandwidth) + reductions * reduction_seconds(ranks, latency)
