"""What all figures share: the stylesheet's colours, and labels at the ends of lines."""

import itertools

import numpy as np
import pytest

from stretto.pictures import plots

# Linear red, green and blue seen without one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1).
EYES = {
    "all cones": np.eye(3),
    "no long": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no middle": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no short": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def lab(colour, eye):
    """CIELAB, in which a distance of 2.3 can just be seen, of a colour "#rrggbb" in an eye."""
    rgb = np.array(plots.matplotlib.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(EYES[eye] @ linear, 0, 1)
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", EYES)
def test_every_eye_tells_the_colours_of_the_style_apart(eye):
    for one, other in itertools.combinations((*plots.COLOURS, "#ffffff"), 2):
        assert np.linalg.norm(lab(one, eye) - lab(other, eye)) > 15, (one, other)


def test_the_style_is_that_of_the_stylesheet():
    with plots.style():
        parameters = plots.plt.rcParams
        assert parameters["axes.prop_cycle"].by_key()["color"] == list(plots.COLOURS)
        assert (parameters["savefig.dpi"], parameters["axes.titlelocation"], parameters["legend.frameon"]) == (150, "left", False)


@pytest.mark.parametrize(("places", "found"), [
    ([], []), ([3], [3]), ([0, 5, 10], [0, 5, 10]), ([10, 0, 5], [10, 0, 5]), ([1, 1, 1], [-1, 1, 3]), ([0, 1, 9], [-0.5, 1.5, 9]),
    ([1.5, 0, 3], [1.5, -0.5, 3.5]),
])
def test_places_of_labels_are_spread_no_further_than_they_must(places, found):
    assert plots.spread(places, 2) == pytest.approx(found)


def test_labels_stand_at_the_ends_of_their_lines_and_do_not_overlap():
    ends = {"a": 1, "b": 1.001, "c": 5, "d": 1000}
    with plots.style():
        figure, axes = plots.plt.subplots(layout="constrained")
        for name, end in ends.items():
            axes.plot([1, 2], [2, end], label=name)
        axes.plot([1, 2], [3, 3])  # without a label
        axes.set_yscale("log")
        plots.label_lines(axes)
        figure.draw_without_rendering()
        boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
        assert list(boxes) == list(ends)
        assert [text.get_color() for text in axes.texts] == list(plots.COLOURS[:4])
        for one, other in itertools.combinations(boxes.values(), 2):
            assert not one.overlaps(other)
        heights = [(box.y0 + box.y1) / 2 for box in boxes.values()]
        assert heights == sorted(heights)
        end = axes.transData.transform((2, 1000))
        assert heights[-1] == pytest.approx(end[1], abs=3)
        assert all(figure.bbox.x1 >= box.x1 and box.x0 > end[0] for box in boxes.values())
        plots.plt.close(figure)


def test_of_many_systems_two_stand_out_and_the_assumed_ratio_is_said(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(plots, "save", lambda figure, paths: kept.append(figure))
    systems = ["mpi", "ours", *(f"system{i}" for i in range(11))]
    result = {"study": "weak", "collective": "allreduce", "machine": "a100-hdr", "per_node": 4, "ratio": 8.0, "ratio_assumed": True,
              "rows": [{"system": name, "ranks": ranks, "bytes": 1 << 20, "seconds": (i + 1) * ranks * 1e-6} for i, name in enumerate(systems) for ranks in (8, 64)]}
    plots.simulate(result, [tmp_path / "p.svg"])
    (axes,) = kept[0].axes
    colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
    assert {name for name, colour in colours.items() if colour != plots.GREY} == {"mpi", "ours"}
    assert axes.get_title(loc="left") == ("allreduce, weak scaling on a100-hdr, 4 ranks a node\nstreams at ratio 8 (assumed)\n1 MiB on each rank")
    plots.plt.close(kept[0])
