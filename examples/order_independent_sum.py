"""The same sum to the last bit, however many ranks add and in whatever order: what floating sums do not promise, and sums of streams do.

    python order_independent_sum.py [VALUES.npy]

The array of a file is parts x values; without one the script draws parts of very different size. Ranks are threads of this process.
"""

import hashlib
import sys

import numpy as np

import stretto


def computed(parts=12, values=100_000):
    random = np.random.default_rng(5)
    return (random.standard_normal((parts, values)) * 10.0 ** random.integers(-3, 4, (parts, 1))).astype(np.float32)


def digest(values):
    return hashlib.sha256(values.tobytes()).hexdigest()[:12]


parts = np.load(sys.argv[1]) if len(sys.argv) > 1 else computed()
orders = [np.random.default_rng(seed).permutation(len(parts)) for seed in range(4)]

plain = {digest(np.add.reduce(parts[order])) for order in orders}
print(f"floating sums of {len(parts)} parts in {len(orders)} orders: {len(plain)} different results")

# Streams on one grid: their codes are integers, and sums of integers have no order.
streams = [stretto.compress(part, abs=1e-3) for part in parts]
ordered = {digest(stretto.sum(streams[i] for i in order).decompress()) for order in orders}
print(f"sums of streams in the same orders: {len(ordered)} result, within {stretto.sum(streams).promised_error:g}")

# Ranks: each has its share of the parts, and the allreduce adds all of them. As above, the bound is of each part.
across = set()
for ranks in (1, 2, 3, 5):
    def work(comm):
        own = [part for i, part in enumerate(parts) if i % comm.size == comm.rank]
        return comm.allreduce_multi(own, out=np.empty_like(parts[0]), abs=1e-3, scope="contribution", payload="homomorphic")[0]

    results = stretto.threads(ranks)(work)()
    across |= {digest(result) for result in results}
print(f"allreduce on 1, 2, 3 and 5 ranks: {len(across)} result")

assert len(ordered) == 1 and across == ordered
assert np.abs(results[0] - parts.sum(axis=0, dtype=np.float64)).max() <= 1e-3 * len(parts) * (1 + 1e-4)
