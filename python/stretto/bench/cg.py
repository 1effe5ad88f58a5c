"""`stretto bench cg`."""

from stretto import units
from stretto.bench import formulas, running
from stretto.errors import Failure

KEY = ("ranks", "form", "stencil", "side", "planes")
FORMS = {"blocking": 2, "pipelined": 0, "reproducible": 2}  # reductions of a step that nothing hides


def complete(rows, spans):
    """The model: the fewest ranks' time of a step without its reductions, the planes that are exchanged, and the reductions."""
    base = {}
    for row in rows:
        from_ = base.setdefault(row["form"], row)
        ranks = row["ranks"]
        neighbours = 2 if ranks > 2 else ranks - 1
        latency, bandwidth = running.link_at(spans, row["plane_bytes"])
        growth = row["planes"] / from_["planes"]  # 1, unless the whole grows with the ranks
        alone = growth * (from_["seconds"] - from_["halo_time"] - FORMS[row["form"]] * from_["reduction_time"]) * from_["ranks"]
        row["model"] = formulas.cg_seconds(alone, ranks, 2 * neighbours * row["plane_bytes"], neighbours, FORMS[row["form"]], latency, bandwidth)
        row["penalty"] = row["ranks"] * row["seconds"] / (growth * from_["ranks"] * from_["seconds"])


def forms_of(text):
    forms = list(dict.fromkeys(text.split(",")))
    for form in forms:
        if form not in FORMS:
            raise Failure(f"--form {form!r} is none; it takes {', '.join(FORMS)}, or several of them")
    return forms


def measure(settings, console, forms, **options):
    """A run for each form."""
    joined = None
    for form in forms:
        made = running.result("cg", settings, running.argv(form=form, **options), KEY, complete, console)
        if joined is None:
            joined = made
        else:
            joined["rows"] += made["rows"]
            joined["comparison"] += made["comparison"]
    joined["histories"] = histories(joined["rows"])
    return joined


def histories(rows):
    """By form, whether all runs have the same residuals bit for bit; nothing of a form that ran once."""
    found = {}
    for row in rows:
        found.setdefault(row["form"], []).append(row["residuals"])
    return {form: all(one == several[0] for one in several) for form, several in found.items() if len(several) > 1}


def show(console, result):
    first = result["rows"][0]
    running.show(console, result, f"Conjugate gradients, {first['stencil']} points, side {first['side']}: a step", (
        ("ranks", lambda row: row["ranks"]), ("with", lambda row: row["library"]), ("form", lambda row: row["form"]),
        ("planes", lambda row: row["planes"]),
        ("time (95 %)", running.with_interval), ("halo", lambda row: units.seconds(row["halo_time"])),
        ("a reduction", lambda row: units.seconds(row["reduction_time"])), ("model", lambda row: units.seconds(row["model"])),
        ("penalty", lambda row: f"{row['penalty']:.3f}"), ("steps", lambda row: row["steps"]), ("residual", lambda row: f"{row['residuals'][-1]:.6g}"),
        ("error", lambda row: f"{row['error']:.3g}")), keys=3)
    for form, same in result.get("histories", {}).items():
        console.print(f"{form}: the residuals of all runs are {'the same bit for bit' if same else 'not the same bits'}", highlight=False)
