"""Images of many shots, one stack: each rank migrates its shots, and an allreduce within a bound adds the partial images.

    mpirun -n 4 python seismic_stack.py [IMAGES.npy]

The array of a file is shots x depth x distance, float32; without one each rank computes the images of its shots. Needs mpi4py.
"""

import sys

import numpy as np
from mpi4py import MPI

import stretto

SHOTS, DEPTH, DISTANCE = 12, 200, 600


def image(shot):
    """What one shot sees of three reflectors: bright below the shot, with noise of its own."""
    depth, distance = np.mgrid[0:DEPTH, 0:DISTANCE]
    reflectors = [40 + 10 * np.sin(distance / 60), 90 + distance / 20, 160 - distance / 15]
    source = DISTANCE * (shot + 0.5) / SHOTS
    seen = np.exp(-((distance - source) / 90) ** 2)
    wave = sum(np.exp(-((depth - r) / 3) ** 2) * (1 - 2 * ((depth - r) / 3) ** 2) for r in reflectors)
    return (seen * wave + 0.02 * np.random.default_rng(shot).standard_normal(wave.shape)).astype(np.float32)


world = MPI.COMM_WORLD
images = np.load(sys.argv[1], mmap_mode="r") if len(sys.argv) > 1 else None
shots = SHOTS if images is None else len(images)
mine = [image(shot) if images is None else np.array(images[shot]) for shot in range(world.rank, shots, world.size)]

with stretto.Comm(world) as comm:
    # Ranks may have different numbers of images, and none where there are more ranks than shots: so out= says what the sum is like.
    out = np.empty((DEPTH, DISTANCE) if images is None else images.shape[1:], np.float32)
    stack, report = comm.allreduce_multi(mine, out=out, rel=1e-4)

    exact = np.zeros(stack.shape, np.float64)
    for one in mine:
        exact += one
    world.Allreduce(MPI.IN_PLACE, exact)
    error = np.abs(stack - exact).max()
    assert error <= report.promised_error * (1 + 1e-5), (error, report)
    if comm.rank == 0:
        print(f"{shots} images of {stack.shape} on {comm.size} ranks, by {report.algorithm} {report.payload}")
        print(f"the stack is within {error:.2e} of the exact one, where {report.promised_error:.2e} is promised")
        print("ratio", f"{report.ratio:.1f}" if report.ratio else "1: nothing travelled compressed")
