"""The analysis of a ping-pong whose machine is known."""

import csv
import json

import pytest
import synthetic

from stretto.machine import measuring, pingpong
from stretto.pictures import plots
from stretto.errors import Failure


@pytest.fixture
def measurement():
    measurement = measuring.Measurement()
    for event in [*synthetic.events(), *synthetic.pingpong_rows()]:
        measurement.take(event)
    return measurement


@pytest.fixture
def series(measurement):
    return pingpong.analyse(measurement.of("pingpong"))


def test_latency_and_bandwidth_of_every_range_come_out(series):
    rotated = next(one for one in series if one.buffers == "rotated")
    assert [piece.start for piece in rotated.ranges] == [0, 4096]
    assert rotated.ranges[0].alpha == pytest.approx(3e-7)
    assert rotated.ranges[1].bandwidth == pytest.approx(5e9)
    assert pingpong.worst(rotated.ranges, rotated) < 1e-6


def test_one_line_does_not_fit_the_middle_and_says_so(series):
    rotated = next(one for one in series if one.buffers == "rotated")
    assert rotated.line.bandwidth == pytest.approx(5e9, rel=0.01)
    assert pingpong.worst([rotated.line], rotated) > 1


def test_the_cache_shows_as_a_peak_of_the_unmodified_buffer(series):
    note = pingpong.cache_note(series)
    assert "4.0 times less" in note
    assert note.startswith("One unmodified buffer peaks at")


def test_the_table_of_sizes_has_both_fits_and_their_residuals(series, tmp_path):
    path = tmp_path / "p.csv"
    pingpong.save_csv(series, path)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(synthetic.SIZES)
    for row in rows:
        seconds, computed = float(row["seconds"]), float(row["ranges"])
        assert float(row["ranges_residual"]) == pytest.approx((seconds - computed) / seconds, abs=1e-12)
        assert float(row["bandwidth"]) == pytest.approx(int(row["bytes"]) / seconds)


def test_json_holds_fits_and_rows(measurement, series):
    found = json.loads(json.dumps(pingpong.as_json(measurement, series), allow_nan=False))
    assert found["machine"]["host"] == "made-up"
    assert {fit["buffers"] for fit in found["fits"]} == {"reused", "rotated"}
    assert len(found["rows"]) == 2 * len(synthetic.SIZES)


def test_plots_are_written_in_the_format_of_their_names(measurement, series, tmp_path):
    paths = [tmp_path / "p.png", tmp_path / "p.svg"]
    plots.check(paths)
    plots.pingpong(measurement, series, paths)
    assert paths[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    svg = paths[1].read_text(encoding="utf-8")
    assert svg.startswith("<?xml") and "</svg>" in svg


@pytest.mark.parametrize("name", ["p.gif", "p", "nowhere/p.png"])
def test_a_plot_that_cannot_be_is_refused_beforehand(name, tmp_path):
    with pytest.raises(Failure, match="plot"):
        plots.check([tmp_path / name])
