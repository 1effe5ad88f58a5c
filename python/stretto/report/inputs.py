"""What a page is made of: the JSON that other commands wrote, told apart by its content, and answers of stretto-doctor and stretto-model."""

import dataclasses
import json
import math
from typing import Optional

from stretto import files, model
from stretto.bench import amr, cg, jacobi, matrix, ring
from stretto.errors import Failure
from stretto.machine import doctor

PROGRAMS = {"ring": ring, "jacobi": jacobi, "cg": cg, "matrix": matrix, "amr": amr}
COMMANDS = {"run": "stretto run --report-to FILE", "doctor": "stretto doctor --json", "pingpong": "stretto bench pingpong --json",
            "program": "stretto bench ring|jacobi|cg|matrix|amr --json", "profile": "stretto tune --json"}
QUESTIONS = 4  # collectives whose choice is drawn
LEAST_COMPRESSED = 1.01  # ratio from which a call counts as compressed


@dataclasses.dataclass
class Inputs:
    """Each the JSON of its command, or None."""

    run: Optional[dict] = None
    doctor: Optional[dict] = None
    pingpong: Optional[dict] = None
    profile: Optional[str] = None  # a file, or a shipped name; None: the library's profile for this host
    programs: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)  # kind: paths
    refused: list = dataclasses.field(default_factory=list)  # why a machine's part is missing

    @property
    def ranks(self):
        return self.run["ranks"] if self.run else len(self.doctor["ranks"]) if self.doctor else 2

    @property
    def per_node(self):
        """Ranks of the fullest host, where a job was examined."""
        if self.run and self.run.get("hosts"):
            return max(self.run["hosts"].values())
        return max(len(host["ranks"]) for host in self.doctor["hosts"]) if self.doctor else self.ranks

    @property
    def elsewhere(self):
        """Whether the program ran on other hosts than those that were examined; a file of an older version does not say."""
        return bool(self.run and self.run.get("hosts") and self.doctor and set(self.run["hosts"]) != {host["name"] for host in self.doctor["hosts"]})


def kind_of(content):
    """Of what command JSON is, by fields that all its results have; None: of none."""
    def has(name, kind):
        return isinstance(content.get(name), kind)

    if not isinstance(content, dict):
        return None
    if has("ranks", int) and has("calls", list):
        return "run"
    if has("hosts", list) and has("modules", list):
        return "doctor"
    if has("fits", list) and has("rows", list):
        return "pingpong"
    if content.get("program") in PROGRAMS and has("rows", list):
        return "program"
    return "profile" if has("codec", dict) and has("links", (dict, list)) else None


def no_number(name):
    raise ValueError(f"{name} is no number of JSON")


def read(path):
    """(kind, content) of a file of one of COMMANDS."""
    try:
        content = json.loads(files.read(path, "report of").decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path} is not JSON: {error}") from None
    kind = kind_of(content)
    if kind is None:
        raise Failure(f"{path} is of no command that a report shows; it takes what these write: {'; '.join(COMMANDS.values())}")
    return kind, content


def gather(paths, profile=None):
    """The files' content. One of a kind, but for measured programs."""
    found = Inputs(profile=profile)
    for path in paths:
        kind, content = read(path)
        found.files.setdefault(kind, []).append(path)
        if kind == "program":
            found.programs.append(content)
            continue
        if getattr(found, kind) is not None:
            raise Failure(f"{path}: there is a file of {COMMANDS[kind]} already ({found.files[kind][0] if len(found.files[kind]) > 1 else '--profile'}); "
                          "a page has one")
        setattr(found, kind, str(path) if kind == "profile" else content)
    return found


def examine(found, mpirun=None, hosts=None, ranks=None):
    """Has stretto-doctor look at the machine, unless its answer was given. Where it cannot, the page says why."""
    if found.doctor is None:
        try:
            found.doctor = doctor.examine(mpirun, hosts, ranks or (found.run and not (mpirun or hosts) and found.run["ranks"]) or None)
        except Failure as failure:
            found.refused.append(("doctor", str(failure)))


def plain(operation):
    """The collective of an operation of a run: of iallreduce and allreduce_start allreduce."""
    name = operation.removesuffix("_start").removesuffix("_init").removesuffix("_block")
    known = ("allreduce", "reduce", "reduce_scatter", "bcast", "allgather", "gather", "scatter", "alltoall")
    return next((one for one in known if name in (one, f"i{one}")), None)


def compressed(row):
    """The ratio of a row's calls; 0 where nothing was compressed, or nobody counted."""
    sent = row.get("sent_bytes")
    ratio = row["raw_bytes"] / sent if sent else 0
    return ratio if math.isfinite(ratio) and ratio > LEAST_COMPRESSED else 0


def questions(found):
    """(collective, ratio or 0, bytes of a call) for the model: the run's that took longest; without a run, those that people ask for first."""
    if not found.run:
        return [("allreduce", 0, 1 << 20), ("allreduce", 8, 64 << 20), ("bcast", 0, 1 << 20)]
    asked = {}
    for row in sorted(found.run["calls"], key=lambda row: -row["seconds"]):
        name = plain(row["operation"])
        if name and row["bytes"] > 0 and row["calls"] > 0:
            asked.setdefault((name, compressed(row) > 0), (compressed(row), row["bytes"] / row["calls"]))
    return [(name, ratio, size) for (name, _), (ratio, size) in list(asked.items())[:QUESTIONS]]


def choices(found):
    """What the model chooses at every size, for each of the questions."""
    answers = []
    for name, ratio, size in questions(found):
        words = [name, "-n", str(max(found.ranks, 2)), "--per-node", str(max(min(found.per_node, found.ranks), 1)), "--bytes", str(max(round(size / 8) * 8, 8))]
        words += ["--bound", "rel:1e-4", "--ratio", f"{ratio:.4g}"] if ratio else []
        words += ["--machine", found.profile] if found.profile else []
        try:
            answers.append(model.ask("explain", words))
        except Failure as failure:
            found.refused.append(("model", str(failure)))
            break
    return answers


def profile_of(found, answers):
    """The figures of the profile that answered, or None."""
    name = found.profile or (answers[0]["profile"] if answers else None)
    if name is None:
        return None
    try:
        return model.ask("profiles", [name])
    except Failure as failure:
        found.refused.append(("model", str(failure)))
        return None
