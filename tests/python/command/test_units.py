import math

import pytest

from stretto import units
from stretto.errors import Failure


@pytest.mark.parametrize(("text", "bytes_"), [("0", 0), ("4096", 4096), ("64K", 65536), ("1.5MiB", 3 << 19), ("1 g", 1 << 30),
                                              ("2TB", 2 << 40)])
def test_sizes_are_read(text, bytes_):
    assert units.parse_size(text) == bytes_


@pytest.mark.parametrize("text", ["", "-1", "4X", "1e6", "K", "64 M M"])
def test_what_is_no_size_is_named(text):
    with pytest.raises(Failure, match="is no number of bytes"):
        units.parse_size(text)


def test_figures_have_three_digits_and_a_unit():
    assert [units.size(n) for n in (0, 1000, 1536, 1 << 30, 1 << 50)] == ["0 B", "1000 B", "1.5 KiB", "1 GiB", "1024 TiB"]
    assert [units.seconds(t) for t in (0, 2.5e-10, 1.234e-6, 0.1, 123)] == ["0", "0.25 ns", "1.23 µs", "100 ms", "123 s"]
    assert [units.rate(r) for r in (12, 7118e6, math.inf)] == ["12 B/s", "7.12 GB/s", "no limit"]
    assert units.per_byte(0) == "no limit"
