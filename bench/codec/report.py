#!/usr/bin/env python3
"""Writes the table of ratios in docs/measurements.md, and prints those of the codec, from the rows of `make bench-codec bench-ratio`.

usage: report.py [CODEC.jsonl RATIO.jsonl]    default: build/bench/codec.jsonl build/bench/ratio.jsonl
       report.py --narrow CODEC.jsonl         the tables of a processor without VBMI and GFNI
A table stands between `<!-- table NAME -->` and `<!-- end -->` in the page, and is replaced there. Tables without such a place are printed. The page's tables
have the bound 1e-3 alone, and the geometric means.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "measurements.md"
OPERATIONS = ("compress", "decompress", "add", "add_values")


def read(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def figure(x):
    return f"{x:.{1 if x >= 10 else 2}f}"


def markdown(header, body):
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body])


def cases(rows):
    return list(dict.fromkeys(row["case"] for row in rows))


def speeds(rows, suffix, peers, wanted=lambda row: True):
    """A line a case, a column an operation: our GB/s, and our ratio to each of the peers that was measured."""
    rows = [r for r in rows if r["metric"].removesuffix("_gbps" + suffix) in OPERATIONS and wanted(r)]
    body = []
    for case in cases(rows):
        line = [case]
        for operation in OPERATIONS:
            found = [r for r in rows if r["case"] == case and r["metric"] == operation + "_gbps" + suffix]
            ratios = [f"{r['ratio']:.2f}" for peer in peers for r in found if r["peer"] in peer]
            line.append(f"{figure(found[0]['value'])} ({', '.join(ratios)})" if found else "-")
        body.append(line)
    return markdown(["case", *(operation.replace("_", "\\_") for operation in OPERATIONS)], body)


def missing(rows):
    """A line a case: our GB/s with missing data, and its ratio to that without; sums with the same places missing in both, and with others."""
    columns = [("_with_fills", "compress"), ("_with_fills", "decompress"), ("_with_same_fills", "add"), ("_with_same_fills", "add_values"),
               ("_with_fills", "add"), ("_with_fills", "add_values")]
    found = {(r["case"], r["metric"]): f"{figure(r['value'])} ({r['ratio']:.2f})" for r in rows}
    names = dict.fromkeys(r["case"] for r in rows if "_fills" in r["metric"])
    body = [[case, *(found.get((case, f"{operation}_gbps{suffix}"), "-") for suffix, operation in columns)] for case in names]
    return markdown(["case", "compress", "decompress", "add, same places", "add\\_values, same", "add, others", "add\\_values, others"], body)


def published(rows):
    rows = [r for r in rows if r["metric"] == "ratio" and "peer" in r and "_f64" not in r["case"]]
    body = []
    for case in cases(rows):
        best, newest = ([r for r in rows if r["case"] == case and r["peer"].startswith(p)][0] for p in ("best", "newest"))
        body.append([case, figure(best["value"]), *(f(p) for p in (best, newest)
                                                   for f in (lambda r: figure(r["peer_value"]), lambda r: f"{r['ratio']:.3f}"))])
    return markdown(["case", "ours", "best published", "ours / it", "newest of the class", "ours / it"], body)


def others(rows):
    body = [[r["case"], figure(r["value"]), r.get("peer", ""), figure(r["peer_value"]) if "peer" in r else ""]
            for r in rows if r["unit"] == "x" and not r.get("peer", "").startswith(("best", "newest"))]
    worst = max(r["value"] for r in rows if r["unit"] == "eps")
    return markdown(["case", "ours", "beside", "its ratio"], body) + f"\n\nThe largest error seen in all of these is {worst:.4f} of the bound."


def narrow_tables(rows):
    """Those of a processor without the instructions of the AVX-512 path, whose best path is the portable one."""
    return {
        "codec-narrow-one-core": speeds(rows, "", [("memcpy",)]),
        "codec-narrow-threads": speeds(rows, "_threads", [("without threads",), ("memcpy",)], lambda row: row.get("threads") == 2),
        "codec-narrow-fills": missing(rows),
    }


def tables(codec, ratio):
    plain = lambda row: "type" not in row  # noqa: E731
    return {
        "codec-one-core": speeds(codec, "", [("memcpy",)], plain),
        "codec-f64": speeds(codec, "", [("float32",)], lambda row: "type" in row),
        "codec-portable": speeds(codec, "_portable", [("avx512",)]),
        "codec-reference": speeds(codec, "_reference", [("avx512", "portable")]),
        "codec-threads": speeds(codec, "_threads", [("without threads",), ("memcpy",)], lambda row: row.get("threads") == 2),
        "codec-checksum": speeds(codec, "_checksum", [("without checksum",)]),
        "codec-fills": missing(codec),
        "ratio-published": published(ratio),
        "ratio-others": others(ratio),
    }


def main():
    paths = sys.argv[1:] or [ROOT / "build" / "bench" / f"{name}.jsonl" for name in ("codec", "ratio")]
    if len(paths) != 2:
        sys.exit("usage: report.py [CODEC.jsonl RATIO.jsonl] | --narrow CODEC.jsonl")
    made = narrow_tables(read(paths[1])) if paths[0] == "--narrow" else tables(*(read(path) for path in paths))
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in made.items():
        place = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            print(f"{name}\n\n{table}\n")
            continue
        table = "\n".join(line for line in table.splitlines() if not re.search(r"1e-[24] \|", line) or "geometric_mean" in line)
        text = place.sub(lambda found, table=table: found[1] + table + "\n" + found[2], text)
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
