"""The picture of a stack: what it shows of arrays that are known, and what is refused."""

import base64
import json
import os
import re
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest

from stretto.pictures import plots, stacking
from stretto.errors import Failure

ABOUT = {"stack": "stack.f32", "error": "error.f32", "type": "f32", "images": 12, "origin": "made up", "cell_km": 0, "schedule": "ring",
         "payload": "fused", "worst_error": 0.5, "promised_error": 2.0}
PAGE = "<html><p>before</p><figure><p>No picture yet</p></figure><p>after</p></html>\n"


def leave(directory, summed, error, **about):
    """What the program leaves of these arrays."""
    directory.mkdir(exist_ok=True)
    about = {**ABOUT, "height": error.shape[0], "width": error.shape[1], **about}
    summed.astype(stacking.TYPES[about["type"]]).tofile(directory / about["stack"])
    error.astype("<f4").tofile(directory / about["error"])
    (directory / "stack.json").write_text(json.dumps(about), encoding="utf-8")
    (directory / "stack.html").write_text(PAGE, encoding="utf-8")
    return directory


@pytest.fixture
def arrays():
    made = np.random.default_rng(7)
    return made.normal(size=(30, 50)), made.uniform(-0.5, 0.5, size=(30, 50))


def drawn(directory, name="stack.png"):
    """The colours of a picture as integers, rows first."""
    return np.rint(255 * matplotlib.image.imread(directory / name)).astype(int)[..., :3]


def panel(picture, which, shape):
    """The pixels of one panel's image, one for each value: found by the margins that the figure promises."""
    down, across = stacking.enlarged(shape)
    top = stacking.ABOVE + which * (picture.shape[0] // 2)
    inside = picture[top + down // 2: top + shape[0] * down: down, stacking.LEFT + across // 2: stacking.LEFT + shape[1] * across: across]
    assert inside.shape[:2] == shape
    return inside


def colours(name, steps, scaled):
    return (255 * plots.matplotlib.colormaps[name].resampled(steps)((np.clip(scaled, -1, 1) + 1) / 2)[..., :3]).astype(int)


def test_every_value_is_in_the_picture_with_its_colour(tmp_path, arrays):
    stack, error = arrays
    stacking.draw(leave(tmp_path, stack, error), [])
    picture = drawn(tmp_path)
    assert picture.shape == (2 * (stacking.ABOVE + 240 + stacking.BELOW), stacking.LEFT + stacking.NARROWEST, 3)
    end = np.quantile(np.abs(stack.astype("f4")), 0.99, method="lower")
    assert np.abs(panel(picture, 0, stack.shape) - colours("gray", 65, stack.astype("f4") / end)).max() <= 1
    assert np.abs(panel(picture, 1, error.shape) - colours("RdBu_r", 17, error / np.abs(error).max())).max() <= 1


def test_titles_axes_and_scales_say_what_is_shown(tmp_path, arrays):
    stack, error = arrays
    error[0, 0] = -0.5
    for cell, words, extent in ((0, ("column", "row"), [0, 50, 30, 0]), (0.01, ("distance, km", "depth, km"), [0, 0.5, 0.3, 0])):
        data = stacking.read(leave(tmp_path, stack, error, cell_km=cell))
        above, scale, below, error_scale = stacking.figure(data).axes
        assert above.get_title(loc="left") == "Stack of 12 images, by ring fused"
        assert below.get_title(loc="left") == "Its error: at most 0.5, error bound 2 (25% of the bound)"
        for axes in (above, below):
            assert (axes.get_xlabel(), axes.get_ylabel()) == words
            assert np.allclose(axes.images[0].get_extent(), extent)
        assert (scale.get_ylabel(), error_scale.get_ylabel()) == ("sum", "error")
        assert [label.get_text() for label in error_scale.get_yticklabels()] == ["-0.5", "-0.25", "0", "0.25", "0.5"]
        plots.plt.close("all")


@pytest.mark.parametrize(("shape", "size"), [((30, 50), 1.0), ((3, 4), 1.23456e-123), ((18, 432), -1.23456e-5), ((5000, 30), 1.23456e30)])
def test_all_words_stand_inside_the_picture_and_apart(tmp_path, arrays, shape, size):
    values = np.resize(arrays[1] * 2 * size, shape)
    about = {"worst_error": abs(size), "promised_error": abs(1.2345 * size), "schedule": "recursive_doubling", "payload": "homomorphic",
             "images": 131072, "type": "f64", "stack": "stack.f64"}
    data = stacking.read(leave(tmp_path, values, values.clip(-1e30, 1e30), **about))
    made = stacking.figure(data)
    made.draw_without_rendering()
    words = []
    for axes in made.axes:
        shown = [*axes.get_children(), axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown += [label for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)]
        words += [text.get_window_extent() for text in shown
                  if isinstance(text, plots.matplotlib.text.Text) and text.get_text() and text.get_visible()]
    assert len(words) > 12
    for i, box in enumerate(words):
        assert made.bbox.x0 <= box.x0 and box.x1 <= made.bbox.x1 and made.bbox.y0 <= box.y0 and box.y1 <= made.bbox.y1
        assert not any(box.overlaps(other) for other in words[:i])
    plots.plt.close(made)


def test_what_is_not_finite_or_is_no_data_is_yellow_in_both_panels(tmp_path, arrays):
    stack, error = arrays
    stack[3, 4], error[5, 6] = np.inf, np.nan  # a fill value is finite in the stack
    stacking.draw(leave(tmp_path, stack, error), [])
    yellow = [int(stacking.MISSING[i:i + 2], 16) for i in (1, 3, 5)]
    for which in (0, 1):
        missing = (panel(drawn(tmp_path), which, stack.shape) == yellow).all(axis=2)
        assert {tuple(at) for at in np.argwhere(missing).tolist()} == {(3, 4), (5, 6)}


def test_large_images_are_thinned_to_a_page_and_keep_their_outliers(tmp_path):
    error = np.zeros((10, 5000))
    error[3, 4321] = -1
    error[7, 10] = np.nan
    stacking.draw(leave(tmp_path, np.ones(error.shape), error), [])
    picture = drawn(tmp_path)
    assert picture.shape[1] < 1500
    below = panel(picture, 1, (2, 1000))
    dark = np.argwhere((below == colours("RdBu_r", 17, np.array([-1.0]))).all(axis=2))
    assert dark.tolist() == [[0, 864]]
    assert (below[1, 2] == [int(stacking.MISSING[i:i + 2], 16) for i in (1, 3, 5)]).all()


@pytest.mark.parametrize(("shape", "pixels"), [((1, 1), (96, 96)), ((2, 3), (48, 32)), ((30, 50), (8, 8)), ((286, 941), (1, 1)),
                                               ((2, 1000), (48, 1)), ((1200, 64), (1, 2))])
def test_small_images_are_enlarged_and_panels_have_a_least_width(shape, pixels):
    assert stacking.enlarged(shape) == pixels


def test_scales_ignore_what_is_not_known_and_are_never_empty():
    assert stacking.ends(np.array([-4, 1, np.nan, 2, -3, 0]), 0) == (-4, 4)
    assert stacking.ends(np.array([-4, 1, np.nan, 2, -3, 0]), 0.5) == (-2, 2)
    assert stacking.ends(np.array([np.nan, 7, 9, 8]), 0) == (7, 9)
    assert stacking.ends(np.array([np.nan, 0, 9, 8]), 0) == (0, 9)
    assert stacking.ends(np.array([np.nan]), 0) == (-1, 1)
    assert stacking.ends(np.zeros(4), 0.01) == (-1, 1)
    assert stacking.ends(np.full(4, -3.0), 0.01) == (-3, 3)


def test_fields_without_zero_are_no_white_sheet(tmp_path, arrays):
    temperatures = 16000 + arrays[0]
    stacking.draw(leave(tmp_path, temperatures, arrays[1]), [])
    greys = panel(drawn(tmp_path), 0, temperatures.shape)[..., 0]
    assert np.ptp(greys) == 255 and 30 < greys.std() < 100
    order = np.argsort(temperatures.astype("f4"), axis=None)
    assert (np.diff(greys.ravel()[order]) >= 0).all()


def test_a_tiled_stack_of_doubles_is_drawn_once(tmp_path, arrays):
    stack, error = arrays
    tiled = np.concatenate([stack.ravel(), stack.ravel()[:700]])
    data = stacking.read(leave(tmp_path, tiled, error, type="f64", stack="stack.f64"))
    assert (data.stack == stack).all()


def test_a_bound_beyond_all_numbers_is_told_as_that(tmp_path, arrays):
    data = stacking.read(leave(tmp_path, *arrays, promised_error=None))  # JSON has no infinity
    assert [title for title, *_ in stacking.panels(data)][1] == "Its error: at most 0.5, error bound inf"


def test_without_errors_or_values_a_picture_is_drawn_all_the_same(tmp_path):
    for value, worst in ((0.0, 0.0), (np.nan, None), (1e300, 0.0), (-1.7e308, 0.0)):
        about = {"worst_error": worst, "promised_error": worst, "type": "f64", "stack": "stack.f64"}
        leave(tmp_path, np.full((4, 5), value), np.zeros((4, 5)), **about)
        stacking.draw(tmp_path, [])
        assert len(np.unique(drawn(tmp_path).reshape(-1, 3), axis=0)) > 20


def test_the_command_draws_both_formats_and_embeds_the_picture(stretto, arrays):
    leave(stretto.home / "out", *arrays)
    for _ in range(2):  # the second time over the first
        assert stretto.succeeds("draw", "out") == "out/stack.png\nout/stack.svg\n"
    page = (stretto.home / "out" / "stack.html").read_text(encoding="utf-8")
    assert page.startswith("<html><p>before</p><figure>") and page.endswith("</figure><p>after</p></html>\n")
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(data) == (stretto.home / "out" / "stack.png").read_bytes()
    assert "No picture yet" not in page and "ring fused gave on every rank" in page
    svg = (stretto.home / "out" / "stack.svg").read_text(encoding="utf-8")
    assert svg.count("<image ") == 4  # two panels and their scales


def test_named_files_are_drawn_alone_and_alike_each_time(stretto, arrays):
    leave(stretto.home / "out", *arrays)
    assert stretto.succeeds("draw", "out", "--plot", "a.svg", "--plot", "b.svg", "--plot", "c.pdf") == "a.svg\nb.svg\nc.pdf\n"
    assert (stretto.home / "a.svg").read_bytes() == (stretto.home / "b.svg").read_bytes()
    assert not (stretto.home / "out" / "stack.png").exists()
    assert (stretto.home / "out" / "stack.html").read_text(encoding="utf-8") == PAGE


def test_what_is_no_stack_is_told_with_the_file(stretto, arrays):
    assert "stretto: nowhere/stack.json: No such file" in stretto.refused("draw", "nowhere")
    out = leave(stretto.home / "out", *arrays)
    assert ".gif" in stretto.refused("draw", "out", "--plot", "p.gif")
    (out / "error.f32").write_bytes(bytes(400))
    assert "out/error.f32: 100 values of f32, of the 1500 that 30 x 50 are" in stretto.refused("draw", "out")
    (out / "error.f32").unlink()
    assert "out/error.f32: No such file" in stretto.refused("draw", "out")
    for text in ("{", "{}", "[]", json.dumps({**ABOUT, "height": "x", "width": 3}), json.dumps({**ABOUT, "type": "f16", "height": 3, "width": 3})):
        (out / "stack.json").write_text(text, encoding="utf-8")
        assert "out/stack.json does not describe a stack" in stretto.refused("draw", "out"), text


def test_a_page_of_something_else_is_left_as_it_is(tmp_path, arrays):
    leave(tmp_path, *arrays)
    (tmp_path / "stack.html").write_text("<html></html>", encoding="utf-8")
    with pytest.raises(Failure, match="no place for a picture"):
        stacking.draw(tmp_path, [])
    assert (tmp_path / "stack.html").read_text(encoding="utf-8") == "<html></html>"


def test_without_matplotlib_that_is_said_in_one_line(stretto, arrays):
    leave(stretto.home / "out", *arrays)
    (stretto.home / "matplotlib.py").write_text('raise ImportError("No module named matplotlib")\n', encoding="utf-8")
    path = os.pathsep.join([str(stretto.home), *sys.path])
    done = subprocess.run([sys.executable, "-m", "stretto", "draw", "out"], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": path})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "stretto: no figure can be drawn: No module named matplotlib (pip install matplotlib)\n"
