#!/usr/bin/env python3
"""Prints rows of a benchmark (bench/NAME.jsonl) as a table: a line a case, a column a metric and unit.

A figure that has a peer shows the peer's value and the ratio, ours against the peer's; larger is better.
"""

import json
import sys

NAMED = ("bench", "case", "metric", "value", "unit", "peer", "peer_value", "ratio")


def number(value):
    """Four significant digits, without an exponent where a reader needs none."""
    if value is None:
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        digits = len(str(int(abs(value)))) if abs(value) >= 1 else 0
        return f"{value:.{max(0, 4 - max(digits, 1))}f}"
    return f"{value:.3e}"


def text(value):
    return number(value) if isinstance(value, float) else str(value)


def read(path):
    rows = []
    with open(path, encoding="utf-8") as lines:
        for at, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                missing = [key for key in NAMED[:5] if key not in row]
            except (ValueError, TypeError) as error:
                sys.exit(f"{path}:{at}: not a row of JSON: {error}")
            if missing:
                sys.exit(f"{path}:{at}: a row without {', '.join(missing)}")
            rows.append(row)
    return rows


def table(rows):
    header = ["case", "metric", "value", "unit", "peer", "peer's", "ratio"]
    # A table shows only values that fit a cell, so no lists or objects.
    extra = sorted({key for row in rows for key, value in row.items() if key not in NAMED and not isinstance(value, (list, dict))})
    body = []
    last = None
    for row in rows:
        case = "" if row["case"] == last else str(row["case"])
        last = row["case"]
        peer = [str(row["peer"]), number(row.get("peer_value")), number(row.get("ratio"))] if "peer" in row else [""] * 3
        body.append([case, row["metric"], number(row["value"]), row["unit"], *peer,
                     *(text(row[key]) if key in row else "" for key in extra)])
    header += extra
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    right = {i for i, name in enumerate(header) if name in ("value", "peer's", "ratio")}
    for line in [header, ["-" * width for width in widths], *body]:
        cells = (cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths)))
        print("  ".join(cells).rstrip())


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: table.py FILE.jsonl...")
    for path in sys.argv[1:]:
        rows = read(path)
        if not rows:
            sys.exit(f"{path}: no rows")
        print(f"{rows[0]['bench']}: {len(rows)} rows of {path}")
        table(rows)


if __name__ == "__main__":
    main()
