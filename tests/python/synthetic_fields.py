"""Fields for tests of shaped streams."""

import numpy as np


def rough_rows(shape, dtype=np.float32, seed=5):
    """Rough along each row, and alike from row to row and from plane to plane."""
    random = np.random.default_rng(seed)
    rows = np.cumsum(random.standard_normal(shape[:-1]) * 0.5, -1)[..., None]
    x = random.standard_normal(shape[-1]) * 20 + rows + random.standard_normal(shape) * 0.1
    return (x + 1j * x[..., ::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)
