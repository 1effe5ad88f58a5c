"""Least-squares fits of times against sizes: one line, lines by range, and lines that share their constant."""

import dataclasses
import math

import numpy as np

NOISE = 5e-3  # relative; residuals below it tell nothing
LEAST_POINTS = 3  # of a range: two would fit any line


@dataclasses.dataclass(frozen=True)
class Line:
    """t = alpha + n beta, in seconds and bytes, for sizes from `start` on."""

    alpha: float
    beta: float
    start: float = 0.0

    def __call__(self, sizes):
        return self.alpha + np.asarray(sizes, float) * self.beta

    @property
    def bandwidth(self):
        """Asymptotic, bytes a second."""
        return math.inf if self.beta == 0 else 1 / self.beta


def line(sizes, seconds, relative=False, start=0.0):
    """The line with the least squares of residuals, relative ones on request; neither coefficient is negative."""
    n, t = np.asarray(sizes, float), np.asarray(seconds, float)
    w = 1 / t**2 if relative else np.ones_like(t)
    total = w.sum()
    mean_n, mean_t = (w * n).sum() / total, (w * t).sum() / total
    spread = (w * (n - mean_n) ** 2).sum()
    beta = (w * (n - mean_n) * (t - mean_t)).sum() / spread if spread > 0 else 0.0
    alpha = mean_t - beta * mean_n
    if beta < 0:
        alpha, beta = mean_t, 0.0
    elif alpha < 0:
        alpha, beta = 0.0, float((w * n * t).sum() / (w * n * n).sum())
    return Line(float(alpha), float(beta), float(start))


def residuals(lines, sizes, seconds):
    """Relative: (observed - computed) / observed, each size by the line of its range."""
    t = np.asarray(seconds, float)
    return (t - predict(lines, sizes)) / t


def predict(lines, sizes):
    """Seconds by the line of each size's range; `lines` ascend by start."""
    n = np.asarray(sizes, float)
    which = np.searchsorted([piece.start for piece in lines], n, side="right") - 1
    return np.array([lines[max(i, 0)](size) for i, size in zip(which, n)])


def segmented(sizes, seconds, most=5):
    """Lines by protocol range: as many (at most `most`) and as they break where Schwarz's criterion on relative residuals is best.

    A range starts at the first measured size that belongs to it, the first one at 0. Sizes ascend and have one time each.
    """
    n, t = np.asarray(sizes, float), np.asarray(seconds, float)
    count = len(n)
    if count < 2:
        raise ValueError(f"{count} points fit no line")
    least = min(LEAST_POINTS, count)
    pieces, cost = {}, {}
    for i in range(count):
        for j in range(i + least, count + 1):
            piece = line(n[i:j], t[i:j], relative=True, start=0.0 if i == 0 else n[i])
            pieces[i, j] = piece
            cost[i, j] = float((((t[i:j] - piece(n[i:j])) / t[i:j]) ** 2).sum())
    # best[k][j]: least cost of the first j points in k ranges, and where the last of them begins.
    best = [{0: (0.0, 0)}]
    for _ in range(most):
        reached = {}
        for j in range(least, count + 1):
            ways = [(value + cost[i, j], i) for i, (value, _) in best[-1].items() if (i, j) in cost]
            if ways:
                reached[j] = min(ways)
        best.append(reached)
    scores = [(count * math.log(best[k][count][0] / count + NOISE**2) + 3 * k * math.log(count), k)
              for k in range(1, most + 1) if count in best[k]]
    ranges, end = min(scores)[1], count
    lines = []
    for k in range(ranges, 0, -1):
        begin = best[k][end][1]
        lines.append(pieces[begin, end])
        end = begin
    return lines[::-1]


def common_constant(points):
    """Lines that share alpha: {name: [(size, seconds), ...]} gives (alpha, {name: beta}), relative least squares, none negative."""
    names = list(points)
    rows, ones = [], []
    for column, name in enumerate(names):
        for size, seconds in points[name]:
            row = np.zeros(1 + len(names))
            row[0], row[1 + column] = 1 / seconds, size / seconds
            rows.append(row)
            ones.append(1.0)
    solved = np.linalg.lstsq(np.array(rows), np.array(ones), rcond=None)[0]
    alpha = max(0.0, float(solved[0]))
    betas = {}
    for name in names:
        n, t = np.array(points[name], float).T
        betas[name] = max(0.0, float((n * (t - alpha) / t**2).sum() / (n**2 / t**2).sum()))
    return alpha, betas
