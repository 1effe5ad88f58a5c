"""The fits recover what made the data."""

import numpy as np
import pytest

from stretto.machine import fit

SIZES = [0] + [2**k for k in range(27)]


def times(lines, sizes=SIZES):
    return fit.predict(lines, sizes)


def test_a_line_gives_back_its_latency_and_bandwidth():
    found = fit.line(SIZES, times([fit.Line(3e-6, 1 / 7e9)]))
    assert found.alpha == pytest.approx(3e-6, rel=1e-6)
    assert found.bandwidth == pytest.approx(7e9, rel=1e-9)


@pytest.mark.parametrize("relative", [False, True])
def test_the_line_has_the_least_squares(relative):
    made = np.random.default_rng(1)
    n = np.array(SIZES[:16], float)
    t = (5e-6 + n / 2e9) * (1 + 0.05 * made.standard_normal(len(n)))
    weight = 1 / t if relative else np.ones_like(t)

    def squares(alpha, beta):
        return (((t - alpha - n * beta) * weight) ** 2).sum()

    found = fit.line(n, t, relative=relative)
    assert found.alpha > 0
    best = squares(found.alpha, found.beta)
    for factor in (0.999, 1.001):
        assert squares(found.alpha * factor, found.beta) > best
        assert squares(found.alpha, found.beta * factor) > best


def test_no_coefficient_is_negative():
    falling = fit.line([1, 2, 3], [3.0, 2.0, 1.0])
    assert (falling.alpha, falling.beta) == (2.0, 0.0)
    below = fit.line([1, 2, 3], [0.1, 2.0, 4.0])
    assert below.alpha == 0.0 and below.beta > 0


@pytest.mark.parametrize("lines", [
    [fit.Line(2e-6, 1e-9)],
    [fit.Line(3e-7, 4e-10), fit.Line(2e-6, 2.5e-10, 4096)],
    [fit.Line(3e-7, 4e-10), fit.Line(2e-6, 2.5e-10, 4096), fit.Line(2e-5, 1e-10, 131072)],
    [fit.Line(1e-6, 1e-9), fit.Line(0.0, 3e-10, 65536), fit.Line(1e-3, 6e-10, 8388608)],
])
def test_protocol_ranges_are_found_where_they_break(lines):
    found = fit.segmented(SIZES, times(lines))
    assert [piece.start for piece in found] == [piece.start for piece in lines]
    for got, made in zip(found, lines):
        assert got.alpha == pytest.approx(made.alpha, rel=1e-6, abs=1e-12)
        assert got.beta == pytest.approx(made.beta, rel=1e-6)


def test_noise_alone_makes_no_ranges():
    made = np.random.default_rng(2)
    t = times([fit.Line(2e-6, 1e-9)]) * (1 + 0.02 * made.standard_normal(len(SIZES)))
    found = fit.segmented(SIZES, t)
    assert len(found) == 1
    assert np.abs(fit.residuals(found, SIZES, t)).max() < 0.08


def test_a_range_begins_at_the_first_size_that_belongs_to_it():
    lines = [fit.Line(1e-6, 0.0), fit.Line(5e-6, 1e-9, 100)]
    assert list(fit.predict(lines, [0, 99, 100, 1000])) == pytest.approx([1e-6, 1e-6, 5.1e-6, 6e-6])


def test_one_point_is_refused():
    with pytest.raises(ValueError, match="1 points"):
        fit.segmented([8], [1e-6])


def test_operations_share_the_cost_of_a_call():
    betas = {"compress": 2e-10, "add": 5e-11}
    points = {name: [(n, 4e-7 + n * beta) for n in (4096, 65536, 1 << 20)] for name, beta in betas.items()}
    call, found = fit.common_constant(points)
    assert call == pytest.approx(4e-7)
    assert found == pytest.approx(betas)
