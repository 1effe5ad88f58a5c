"""The page of a machine and a program: what it shows of inputs made up for the purpose, what is refused, and how a browser shows it."""

import copy
import html.parser
import io
import json
import re
import shutil
import subprocess

import pytest
import synthetic
from conftest import Command
from test_bench import RESULTS, result
from test_doctor import HEALTHY
from test_model import ANSWERS

from stretto.errors import Failure
from stretto.launch import programs
from stretto.machine import measuring, pingpong
from stretto.pictures import page
from stretto.report import course, inputs, placement, program

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (1280, 800)


def row(operation, path, why, calls=12, seconds=0.5, **more):
    return {"operation": operation, "path": path, "why": why, "up_to_bytes": 1 << 24, "calls": calls, "bytes": calls * 4e6, "seconds": seconds, "raw_bytes": None, "sent_bytes": None,
            "promised_error": 0.0, "saved_seconds": 0.0, "saved_between": [0.0, 0.0], "predicted_seconds": 0.2, "predicted_mpi_seconds": 0.4,
            "in_flight_seconds": 0.0, "hidden_seconds": 0.0, "attended_seconds": 0.0, "split": 0, "calls_over_time": [calls - 2, 0, 2], "seconds_over_time": [seconds, 0, 0], "ignored": None, **more}


RUN = {"ranks": 4, "hosts": {"node7": 2, "node8": 2}, "stretch_seconds": 0.5, "calls": [
    row("allreduce", "MPI", "the first calls of a communicator", 6),
    row("allreduce", "ring, fused", "STRETTO_BOUND; unequal counts", 1200, 3.25, raw_bytes=8e9, sent_bytes=5e8, promised_error=1.5e-4, saved_seconds=2.0,
        saved_between=[1.5, 2.5], calls_over_time=[0, 600, 600],
        ignored={"calls": 7, "values": 4608, "range": [0, 9], "range_with_them": [0, 14]}),
    row("allreduce", "node", "assumed", 30, 0.1, saved_seconds=0.1, saved_between=[-0.1, 0.3]),
    row("bcast", "chain", "predicted", 44, 0.2, saved_seconds=-0.3, saved_between=[-0.4, -0.2]),
    row("iallreduce", "node", "communication cores", 9, 0.05, in_flight_seconds=0.4, hidden_seconds=0.3, attended_seconds=0.125, split=2),
    row("reduce", "native", "a rule <of> line 2 & more", 5, 0.01),
]}


def two_hosts():
    report = copy.deepcopy(HEALTHY)
    other = copy.deepcopy(report["hosts"][0])
    other.update(name="node8", ranks=[2, 3], failing=1, pairs=[{"way": "kernel", "from": 0, "to": 1, "why": "Operation not permitted"}])
    other["ways"][0]["usable"] = other["ways"][1]["usable"] = other["ways"][2]["usable"] = False
    report["hosts"].append(other)
    report["ranks"] += [{**copy.deepcopy(report["ranks"][0]), "rank": r, "host": 1, "cpus": "0-3", "cpu_count": 4, "core": None} for r in (2, 3)]
    report["advice"] = [{"host": "node8", "what": "a bad thing", "how": "mend it"}]
    return report


def pingpong_json():
    measurement = measuring.Measurement()
    for event in [*synthetic.events(), *synthetic.pingpong_rows()]:
        measurement.take(event)
    written = io.StringIO()
    pingpong.write_json(measurement, pingpong.analyse(measurement.of("pingpong")), written)
    return json.loads(written.getvalue())


def everything():
    made = {"run": RUN, "doctor": two_hosts(), "pingpong": pingpong_json(), **{name: result(name, module, rows) for name, (module, rows) in RESULTS.items()}}
    made["ring"]["comparison"] = [{"ranks": 4, "variant": "blocking", "alone": 0.2, "stretto": 0.1, "ratio": 2.0, "ratio_low": 1.5, "ratio_high": 2.5, "turns": 5}]
    return made


def with_answers(stretto):
    """A stretto-model that answers from ANSWERS, and stays away from this machine's MPI."""
    (stretto.home / "explain").write_text(json.dumps(ANSWERS["explain"]), encoding="utf-8")
    (stretto.home / "profiles").write_text(json.dumps({"name": "node7", "source": "stretto tune",
                                                       "links": {"cache": [{"from": 0, "alpha": 1e-6, "beta": 1e-9}]}}), encoding="utf-8")
    stretto.executable("bin/stretto-model", f'echo "$*" >>"{stretto.home}/asked"\ncat "{stretto.home}/$1"\n')
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    return stretto


@pytest.fixture
def answering(stretto):
    return with_answers(stretto)


@pytest.fixture(scope="module")
def whole_page(tmp_path_factory):
    """The page of everything(), whose pictures take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        yield made(with_answers(Command(tmp_path_factory.mktemp("page"), patch)), **everything())


def written(stretto, **contents):
    """Files of these contents."""
    for name, content in contents.items():
        (stretto.home / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return [stretto.home / f"{name}.json" for name in contents]


def made(stretto, **contents):
    """The page of these contents."""
    output = stretto.home / "page.html"
    assert stretto.succeeds("report", *written(stretto, **contents), "-o", output, "--force").strip() == str(output)
    return output.read_text(encoding="utf-8")


class Reader(html.parser.HTMLParser):
    """Whether elements are closed in their order, and what the page refers to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.names, self.words = [], [], [], set(), []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.add(tag)
        attributes = dict(attributes)
        self.ids += filter(None, [attributes.get("id")])
        self.links += [value for name, value in attributes.items() if name in ("href", "xlink:href", "src")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def test_everything_that_was_given_is_shown(whole_page):
    said = " ".join(Reader(whole_page).words).replace("\u00a0", " ")
    for words in ("4 ranks on 2 hosts, 1,294 collectives", "1 to 2.6 s saved", "All together 1 to 2.6 s in 1,274 of 1,294 calls", "ring, fused, 1,200",
                  "unequal counts", "a rule <of> line 2 & more",
                  "75%", "0.00015", "at most 4,608 in a call", "node7: 2 ranks on 4 hardware threads", "bound to no single hardware thread",
                  "copies by the kernel are refused",
                  "messages of the MPI or of UCX", "a bad thing", "rotating, rewritten buffers", "1 MiB and 2 MiB", "stretto bench jacobi", "1.50 to 2.50", "2 x 1 x 1",
                  "seconds after MPI_Init"):
        assert words in said, words
    for one in RUN["calls"]:
        assert f"{one['calls']:,}" in said and one["path"] in said
    assert said.count("allreduce ≤ 16 MiB: ring, fused, 1,200 calls") == 1  # label in the picture of the savings


@pytest.fixture
def without_programs(stretto, monkeypatch):
    """No stretto-model, whose answers are drawn for seconds."""
    def none(name, *_):
        raise Failure(f"no program {name}")

    monkeypatch.setattr(programs, "program", none)
    return stretto


def test_sizes_and_hosts_of_the_run_are_shown(without_programs):
    stretto = without_programs
    contents = {"run": copy.deepcopy(RUN), "doctor": two_hosts()}
    contents["run"]["calls"][0].update(bytes=6 * 8, up_to_bytes=1024)
    contents["run"]["calls"][4].update(bytes=9 * 5e7, up_to_bytes=None)
    contents["run"]["hosts"] = {f"h{number}": 1 for number in range(4)}
    said = " ".join(Reader(made(stretto, **contents)).words).replace("\u00a0", " ")
    for words in ("≤ 1 KiB", "> 16 MiB", "≤ 16 MiB", "on 4 hosts", "The program ran on h0 (1 rank), h1 (1 rank)", "The machine shown below is node7, node8"):
        assert words in said, words
    same = " ".join(Reader(made(stretto, run=RUN, doctor=two_hosts())).words)
    assert "The program ran on" not in same
    # A file of an older version lacks both.
    old = copy.deepcopy(RUN)
    del old["hosts"]
    for one in old["calls"]:
        del one["up_to_bytes"]
    assert "The program ran on" not in made(stretto, run=old, doctor=two_hosts())


def test_the_page_is_whole_and_alone(whole_page):
    reader = Reader(whole_page)
    assert len(reader.ids) == len(set(reader.ids))
    assert all(link.startswith(("#", "data:")) for link in reader.links), reader.links
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)
    assert not reader.names & {"script", "iframe", "object"}
    assert not re.search(r"@import|url\((?!#)", whole_page)


def test_a_page_without_a_run_asks_what_people_ask_first(answering):
    text = made(answering, doctor=HEALTHY)
    asked = (answering.home / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split()[:4] for line in asked if line.startswith("explain")] == [["explain", name, "-n", "2"] for name in ("allreduce", "allreduce", "bcast")]
    assert "2 ranks on node7" in text and 'id="program"' not in text
    assert "From the profile node7: stretto tune." in text  # no ping-pong was given


def test_questions_are_of_the_calls_that_took_longest():
    found = inputs.Inputs(run=RUN)
    assert inputs.questions(found) == [("allreduce", 16.0, 4e6), ("allreduce", 0, 4e6), ("bcast", 0, 4e6), ("reduce", 0, 4e6)]
    plain = {"iallreduce": "allreduce", "allreduce_start": "allreduce", "reduce_scatter_block": "reduce_scatter", "barrier": None, "scan": None}
    assert {name: inputs.plain(name) for name in plain} == plain


def test_what_cannot_be_had_is_said(without_programs):
    text = made(without_programs, run=RUN)
    assert "The machine could not be examined: " in text and "The model did not answer: " in text and "unequal counts" in text


def test_a_run_without_collectives_or_comparison_says_so(answering):
    assert "No collective was called by 3 ranks." in made(answering, run={"ranks": 3, "calls": []}, doctor=HEALTHY)
    alone = {"ranks": 2, "calls": [{key: value for key, value in row("barrier", "node", "assumed").items() if not key.endswith("over_time")}]}
    assert "No call of the MPI&#x27;s own was there to compare with" in made(answering, run=alone, doctor=HEALTHY)


@pytest.mark.parametrize(("change", "told"), [
    (lambda run: run["calls"][1].pop("seconds"), "run.json: not what stretto run --report-to FILE writes (KeyError of 'seconds')"),
    (lambda run: run["calls"][1].update(saved_between=3), "run.json: not what stretto run --report-to FILE writes"),
    (lambda run: run.update(calls=3), "is of no command that a report shows"),
    (lambda run: run["calls"][0].update(seconds=float("nan")), "run.json is not JSON: NaN is no number of JSON"),
])
def test_a_file_that_no_command_wrote_is_refused(answering, change, told):
    broken = copy.deepcopy(RUN)
    change(broken)
    assert told in answering.refused("report", *written(answering, run=broken, doctor=HEALTHY), "-o", "page.html")
    assert not (answering.home / "page.html").exists()


def test_what_would_be_lost_is_refused_before_the_work(answering):
    (answering.home / "page.html").write_text("mine", encoding="utf-8")
    files = written(answering, run=RUN, doctor=HEALTHY)
    assert "page.html is there already; --force replaces it" in answering.refused("report", *files, "-o", "page.html")
    assert "there is no directory no" in answering.refused("report", *files, "-o", "no/page.html")
    (answering.home / "again.json").write_text(json.dumps(RUN), encoding="utf-8")
    assert "again.json: there is a file of stretto run --report-to FILE already" in answering.refused("report", *files, "again.json", "-o", "new.html")
    assert (answering.home / "page.html").read_text(encoding="utf-8") == "mine" and not (answering.home / "asked").exists()


def test_rows_are_of_the_kind_that_served_them():
    assert [course.kind(one) for one in RUN["calls"]] == ["mpi", "compressed", "node", "schedule", "cores", "native"]
    assert program.savings(RUN) == (1.0, pytest.approx(2.6), 1274)
    assert program.savings({"calls": [row("barrier", "node", "")]}) is None


def test_every_two_ranks_have_the_way_of_their_hosts():
    report = two_hosts()
    ways = {(a["rank"], b["rank"]): placement.way_between(report, a, b) for a in report["ranks"] for b in report["ranks"] if a is not b}
    assert ways == {(0, 1): "arena", (1, 0): "arena", (2, 3): "staged", (3, 2): "staged",
                    **{(a, b): "messages" for a in range(4) for b in range(4) if (a < 2) != (b < 2)}}
    drawn = placement.matrix(report)
    # one more each in the legend
    assert [drawn.count(placement.COLOURS[way]) for way in ("arena", "staged", "messages")] == [2 + 1, 2 + 1, 8 + 1]
    assert placement.matrix({**report, "ranks": report["ranks"][:1]}) is None


def test_text_of_others_is_no_html():
    assert page.element("p", "<b>&", class_="a") == '<p class="a">&lt;b&gt;&amp;</p>'
    assert page.element("p", page.Piece("<b>x</b>")) == "<p><b>x</b></p>"
    svg = page.inside("<?xml version='1.0'?><svg width='10px' viewBox='0 0 10px 20px'><g id='a'/><use href='#a'/><rect fill='url(#a)'/></svg>", 'a "picture"', "n")
    assert 'viewBox="0 0 10 20"' in svg and 'id="n-a"' in svg and 'href="#n-a"' in svg and "url(#n-a)" in svg and "a &quot;picture&quot;" in svg


MEASURE = """<script>addEventListener("load", () => { const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") || e.matches(".scroll"))
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80));
  document.title = JSON.stringify({inner: innerWidth, scroll: document.documentElement.scrollWidth, wide: wide,
    small: [...document.querySelectorAll("figure > svg")].filter(e => e.getBoundingClientRect().width < 20).length,
    figures: document.querySelectorAll("figure > svg, .hwloc > svg").length}); });</script></body>"""


def browsed(text, path, width):
    """(what the page measures in a window of this width, what was said on its console)."""
    path.write_text(text.replace("</body>", MEASURE), encoding="utf-8")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent / 'browser'}", f"--window-size={width},1000",
                           "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=150,
                           check=False)
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert done.returncode == 0 and title, done.stderr[-2000:]
    return json.loads(page.html.unescape(title[1])), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_the_page_within_its_window_and_says_nothing(whole_page, tmp_path, width):
    found, said = browsed(whole_page, tmp_path / "shown.html", width)
    assert said == []
    assert found["inner"] == width and found["scroll"] <= width and found["wide"] == []
    assert found["figures"] >= 12 and found["small"] == 0


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")
def test_a_page_that_is_too_wide_or_wrong_would_be_noticed(tmp_path):
    text = page.document("wide", page.Piece('<div style="width: 900px">x</div><script>console.error("wrong")</script>'))
    found, said = browsed(text, tmp_path / "shown.html", 800)
    assert found["scroll"] > 800 and len(found["wide"]) == 1 and any("wrong" in line for line in said)
