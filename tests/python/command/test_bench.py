"""The models' arithmetic against published rows, what is made of turns, and the pictures; no MPI runs here."""

import io
import json

import pytest
from rich.console import Console

from stretto.bench import amr, cg, figures, formulas, jacobi, matrix, ring, running
from stretto.errors import Failure
from stretto.pictures import plots

LINK = [{"from": 0, "alpha": 1e-6, "beta": 1e-9}, {"from": 4096, "alpha": 2e-6, "beta": 1e-10}]


@pytest.mark.parametrize(("ranks", "seconds", "megabytes", "rate", "penalty"), [
    (4, 0.0167382, 256, "15294.357", "1.000000"),
    (5, 0.0229452, 400, "17432.840", "1.096663"),
    (24, 0.6935790, 9216, "13287.600", "6.906149"),
])
def test_the_rings_published_rows_come_out(ranks, seconds, megabytes, rate, penalty):
    assert formulas.ring_megabytes(ranks) == megabytes
    assert f"{formulas.ring_rate(ranks, seconds):.3f}" == rate
    assert f"{formulas.ring_penalty(ranks, formulas.ring_rate(ranks, seconds), 4, formulas.ring_rate(4, 0.0167382)):.6f}" == penalty


def test_a_message_takes_the_latency_and_bandwidth_of_its_range():
    assert running.link_at(LINK, 8) == pytest.approx((1e-6, 1e9))
    assert running.link_at(LINK, 4096) == pytest.approx((2e-6, 1e10))
    assert formulas.ring_seconds(4, 8000, *running.link_at(LINK, 8000)) == pytest.approx(8 * (2e-6 + 8e-7))


def test_jacobis_published_rows_come_out():
    assert f"{formulas.mlups(500**3, 1.12343):.4f}" == "111.2664"
    bandwidth = 16e6 / 0.00224776  # of the row of 4 directions, about 7118 MB/s; no latency was told apart from it
    assert f"{bandwidth / 1e6:.0f}" == "7118"
    for neighbours, size, seconds in ((4, 16e6, "0.00224776"), (6, 24e6, "0.00337164")):
        assert formulas.halo_bytes(500, neighbours) == size
        assert f"{formulas.halo_seconds(size, neighbours, 0, bandwidth):.8f}" == seconds
    assert formulas.halo_seconds(16e6, 4, 1e-6, bandwidth) == pytest.approx(0.00224776 + 4e-6)
    assert formulas.penalty(8, 111.2664, 8 * 111.2664 / 2) == pytest.approx(2)


@pytest.mark.parametrize(("processes", "side", "neighbours", "megabytes"), [
    (4, 756, 4, "36.5783"), (8, 600, 6, "34.56"), (12, 524.14, 6, "26.37338"), (24, 416, 6, "16.61338"), (48, 330, 6, "10.45440"),
])
def test_strong_scalings_published_volumes_come_out(processes, side, neighbours, megabytes):
    """The sides are the published ones, rounded in several ways; each is L = 1200/N^(1/3) within a part in a thousand."""
    assert side == pytest.approx(1200 / processes ** (1 / 3), rel=1e-3)
    digits = len(megabytes.partition(".")[2])
    assert f"{formulas.halo_bytes(side, neighbours) / 1e6:.{digits}f}" == megabytes


@pytest.mark.parametrize(("dimensions", "dims"), [(1, (8, 1, 1)), (2, (4, 4, 1)), (3, (4, 4, 4))])
def test_volumes_of_an_exchange_are_the_faces_of_a_block(dimensions, dims):
    processes = dims[0] * dims[1] * dims[2]
    assert formulas.VOLUMES[dimensions](96, processes) == pytest.approx(8 * formulas.faces((96, 96, 96), dims))
    assert formulas.directions(dims) == 2 * dimensions


@pytest.mark.parametrize(("text", "bound"), [("none", None), ("bounded", None), ("overlapped", 1e-6), ("", None)])
def test_halos_that_are_none_are_refused(text, bound):
    with pytest.raises(Failure, match="--halo|--bound"):
        jacobi.halos_of(text, bound)


@pytest.mark.parametrize("text", ["", "0", "1,,2", "two", "4,-1", "1,0"])
def test_ranks_that_are_none_are_refused(text):
    with pytest.raises(Failure, match="--ranks"):
        running.ranks_of(text, None)


def test_turns_become_a_median_an_interval_and_a_ratio():
    rows = [{"ranks": 2, "library": library, "turn": turn, "seconds": seconds, "low": seconds, "high": seconds, "samples": 3}
            for library, times in (("alone", (4, 2, 6)), ("stretto", (2, 2, 2))) for turn, seconds in enumerate(times)]
    alone, ours = running.merged(rows, ("ranks",))
    assert (alone["seconds"], alone["low"], alone["high"], alone["samples"]) == (4, 2, 6, 9)
    assert ours["library"] == "stretto"
    (row,) = running.comparison(rows, ("ranks",))
    assert (row["alone"], row["stretto"], row["ratio"], row["ratio_low"], row["ratio_high"], row["turns"]) == (4, 2, 2, 1, 3, 3)


def result(program, module, rows):
    """What a command has in hand, of rows that a program could have printed."""
    fixed = {"hosts": 1, "library": "alone", "shared_cores": False, "low": 0.9e-3, "high": 1.2e-3, "samples": 9, "seconds": 1e-3}
    rows = [{**fixed, **row, "grid": "x".join(map(str, row.get("dims", [])))} for row in rows]
    module.complete(rows, LINK)
    return {"program": program, "machine": {"host": "made-up", "library": "An MPI"}, "link": {"profile": "p", "distance": "cache"}, "rows": rows,
            "comparison": [], **(MESH if program == "amr" else {})}


RESULTS = {
    "ring": (ring, [{"ranks": p, "variant": "blocking", "bytes": 8_000_000, "megabytes": 16 * p * p} for p in (4, 5)]),
    "jacobi": (jacobi, [{"points": [64, 64, 64], "dims": [p, 1, 1], "ranks": p, "halo": halo, "bound": bound, "reduction": "blocking", "type": "f64",
                         "compute": 9e-4 / p, "halo_time": 1e-5, "reduction_time": 1e-6, "of_triad": 0.9, "sent_bytes": 32768, "sweeps": 9,
                         "converged": True, "error": 1e-4} for p in (1, 2) for halo, bound in (("overlapped", 0), ("bounded", 1e-6))]),
    "matrix": (matrix, [{"points": [8, 8, 8], "dims": [p, 1, 1], "dimensions": 1, "ranks": p, "scatter": 5e-4, "add": 1e-4, "gather": 4e-4,
                         "exchange": 1e-5, "exchange_bytes": 1024} for p in (1, 2)]),
    "cg": (cg, [{"side": 64, "planes": 64 * p, "stencil": 5, "form": form, "plane_bytes": 512, "halo_time": 1e-5, "reduction_time": 1e-6, "ranks": p, "steps": 2,
                 "residuals": [2.0, 1.0, 0.5 + (p - 1) * (form == "blocking")], "error": 1e-4, "converged": True}
                for p in (1, 2, 3) for form in ("blocking", "reproducible")]),
    "amr": (amr, [{"phase": phase, "cells": 8, "variables": 4, "calls": calls, "bytes": 64 * calls, "blocks": 60, "largest_share": 60 / p, "ranks": p,
                   "seconds": 1e-3 / calls if calls else 4e-3 / p} for p in (2, 3, 4)
                  for phase, calls in (("step", 5), ("refinement", 1), ("collectives", 3), ("stencil", 0), ("ghosts", 2), ("marks", 1), ("balance", 0.2))]),
}
MESH = {"mesh": {"every": 5, "blocks": [[60 - n, 8 * n] for n in range(41)]}, "same_mesh": True}  # of the result of amr


LABELS = {"ring": "<!-- blocking -->", "jacobi": "<!-- bounded 1e-06 -->", "matrix": "<!-- 1-D grid -->", "cg": "<!-- reproducible -->", "amr": "<!-- refinement -->"}


@pytest.mark.parametrize("program", RESULTS)
def test_model_and_measurement_are_in_one_table_and_one_picture(program, tmp_path):
    module, rows = RESULTS[program]
    made = result(program, module, rows)
    assert all(row["model"] > 0 for row in made["rows"])
    shown = io.StringIO()
    module.show(Console(file=shown, width=200), made)
    assert "model" in shown.getvalue() and "made-up" in shown.getvalue()
    paths = [tmp_path / "p.png", tmp_path / "p.svg"]
    plots.save(figures.DRAW[program](made), paths)
    assert paths[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    drawn = paths[1].read_text(encoding="utf-8")
    assert "</svg>" in drawn and 'id="legend_1"' not in drawn  # labels stand at the lines
    assert "dashes: the model" in drawn and LABELS[program] in drawn


@pytest.mark.parametrize("program", RESULTS)
def test_tables_fit_80_columns_and_cut_no_word(program):
    module, rows = RESULTS[program]
    wide, narrow = io.StringIO(), io.StringIO()
    made = result(program, module, [{**row, "library": library} for row in rows for library in ("alone", "stretto")])
    made["comparison"] = running.comparison([{**row, "turn": 0} for row in made["rows"]], module.KEY)
    module.show(Console(file=wide, width=1000), made)
    module.show(Console(file=narrow, width=80), made)
    assert all(len(line.rstrip()) <= 80 for line in narrow.getvalue().splitlines())
    assert set(wide.getvalue().split()) <= set(narrow.getvalue().replace(",", " ").split()) | set(narrow.getvalue().split())


def test_penalty_of_1_is_equal_time_where_the_whole_grows():
    rows = result("cg", cg, RESULTS["cg"][1])["rows"]
    assert [row["penalty"] for row in rows if row["form"] == "blocking"] == pytest.approx([1, 1, 1])
    alone = 1e-3 - 1e-5 - 2e-6  # a rank's planes, without waiting
    assert rows[-1]["model"] == pytest.approx(alone + formulas.halo_seconds(2 * 2 * 512, 2, 1e-6, 1e9) + 2 * formulas.reduction_seconds(3, 1e-6))
    matrices = result("matrix", matrix, [{**row, "points": [8 * row["ranks"], 8, 8]} for row in RESULTS["matrix"][1]])["rows"]
    assert matrices[1]["model"] == pytest.approx(1e-4 + formulas.matrix_seconds(2 * 4096, 2, *running.link_at(LINK, 4096)))


def test_histories_are_the_same_where_all_bits_are():
    assert cg.histories(RESULTS["cg"][1]) == {"blocking": False, "reproducible": True}
    assert formulas.reduction_seconds(8, 1e-6) == pytest.approx(3e-6)
    assert formulas.reduction_seconds(5, 1e-6) == pytest.approx(4e-6)  # one step folds, one unfolds
    assert formulas.reduction_seconds(1, 1e-6) == 0


def test_an_adaptive_mesh_is_modelled_by_its_fullest_rank():
    rows = {(row["ranks"], row["phase"]): row for row in result("amr", amr, RESULTS["amr"][1])["rows"]}
    assert rows[4, "stencil"]["model"] == pytest.approx(rows[2, "stencil"]["seconds"] / 2)
    copies = rows[2, "ghosts"]["seconds"] - formulas.halo_seconds(256, 2, 1e-6, 1e9)
    assert rows[4, "ghosts"]["model"] == pytest.approx(copies / 2 + formulas.halo_seconds(256, 2, 1e-6, 1e9))
    assert rows[3, "marks"]["model"] == pytest.approx(3 * (1e-6 + 64e-9))  # of three ranks, the third folds and unfolds
    assert rows[3, "balance"]["model"] == pytest.approx(0.2 * 2 * 1e-6 + 2 * 12.8e-9)
    for ranks in (2, 3, 4):
        assert rows[ranks, "refinement"]["model"] == pytest.approx(rows[ranks, "marks"]["model"] + rows[ranks, "balance"]["model"])
        assert rows[ranks, "step"]["share"] == 1


def test_the_root_sends_two_blocks_per_rank_and_receives_one():
    assert formulas.matrix_seconds(4000, 4, 1e-6, 1e9) == pytest.approx(3 * (3e-6 + 3e-6))
    assert formulas.matrix_seconds(4000, 1, 1e-6, 1e9) == 0


@pytest.mark.parametrize(("words", "said"), [
    (("ring", "--ranks", "0"), "--ranks '0' is no list"),
    (("ring", "--ranks", "2", "--bytes", "many"), "size 'many' is no number of bytes"),
    (("jacobi", "--weak", "--strong"), "--weak and --strong exclude each other"),
    (("jacobi", "--halo", "bounded"), "--halo bounded takes --bound"),
    (("cg", "--stencil", "7"), "--stencil 7 is none"),
    (("cg", "--form", "lazy"), "--form 'lazy' is none"),
    (("amr", "--cells", "7"), "--cells 7 is odd"),
    (("amr", "--steps", "7"), "--steps 7 is no multiple of the 5 steps"),
    (("amr", "--levels", "-1"), "-1"),
    (("cg", "--weak", "--strong"), "--weak and --strong exclude each other"),
    (("matrix", "--weak", "--strong"), "--weak and --strong exclude each other"),
    (("ring", "--emulate", "4"), "--emulate '4' is no network"),
    (("cg", "--emulate", "2@1gbit", "--hosts", "a,b"), "--emulate makes the hosts and places the ranks, and --hosts says a,b"),
    (("jacobi", "--reduction", "started,late"), "--reduction 'late' is none"),
    (("matrix", "--plot", "p.gif"), "p.gif"),
])
def test_what_cannot_be_is_refused_before_anything_starts(stretto, words, said):
    assert said in stretto.refused("bench", *words)


@pytest.mark.parametrize("program", ["ring", "matrix", "jacobi", "cg", "amr"])
def test_every_command_has_help_with_examples(stretto, program):
    assert f"stretto bench {program} --ranks" in stretto.succeeds("bench", program, "--help")


def test_grids_give_the_rank_count_and_must_match_a_given_one():
    grids = running.grids_of(["8x3x1,4x6", "2x3", "4x6"])
    assert grids == ("8x3x1", "4x6", "2x3")
    assert running.ranks_of_grids(grids, None, None) == (6, 24)
    assert running.ranks_of_grids(grids, "24,6", None) == (24, 6)
    with pytest.raises(Failure, match="--grid 2x3 has 6 processes, and there are 24 ranks"):
        running.ranks_of_grids(grids, "24", None)
    with pytest.raises(Failure, match="no grid of 5 processes"):
        running.ranks_of_grids(grids, "5,6,24", None)


@pytest.mark.parametrize("text", ["", "8x", "x3", "0x2", "2x2x2x2", "8x3,,4", "-1", "axb"])
def test_grids_that_are_none_are_refused(text):
    with pytest.raises(Failure, match="--grid"):
        running.grids_of([text])


def test_grids_with_equal_rank_counts_have_distinct_labels(tmp_path):
    module, rows = RESULTS["matrix"]
    made = result("matrix", module, [{**rows[1], "dims": dims} for dims in ([2, 1, 1], [1, 2, 1])])
    plots.save(figures.DRAW["matrix"](made), [tmp_path / "p.svg"])
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "1-D grid, 2 x 1 x 1" in drawn and "1-D grid, 1 x 2 x 1" in drawn


@pytest.mark.parametrize("program", RESULTS)
def test_an_earlier_run_is_drawn_over_the_plot_under_its_name(program, tmp_path):
    module, rows = RESULTS[program]
    made, file = result(program, module, rows), tmp_path / "other network.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    plots.save(figures.DRAW[program](made, [("other network", running.read_json(str(file), program))]), [tmp_path / "p.svg"])
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert LABELS[program] in drawn and LABELS[program].replace(" -->", ", other network -->") in drawn


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"program": "ring", "rows": [{}]}', '{"program": "cg", "rows": []}'])
def test_overlays_that_are_no_run_of_the_program_are_refused(text, tmp_path):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(Failure, match="--overlay"):
        running.read_json(str(tmp_path / "a.json"), "cg")
