"""From figures of a known machine its profile."""

import json
import os

import pytest
import synthetic

from stretto import files
from stretto.machine import measuring, profile
from stretto.errors import Failure


@pytest.fixture
def made():
    measurement = measuring.Measurement()
    for event in synthetic.events():
        measurement.take(event)
    return profile.from_measurement(measurement)


def test_links_have_the_ranges_that_made_them(made):
    assert made["links"]["cache"] == [{"from": 0, "alpha": 3e-7, "beta": 4e-10, "cpu": 4e-10},
                                      {"from": 4096, "alpha": 2e-6, "beta": 2e-10, "cpu": 2e-10}]
    assert made["links"]["network"] == [{"from": 0, "alpha": 2.6e-6, "beta": 3.8e-9, "cpu": 1e-10, "cpu_message": 2e-7},
                                        {"from": 4096, "alpha": 1.96e-5, "beta": 1.8e-9, "cpu": 1e-10, "cpu_message": 2e-7}]


def test_the_time_of_cores_is_not_that_of_the_link_between_them():
    rows = [{"bytes": size, "seconds": 2e-6 + 1e-9 * size} for size in (0, 1024, 4096, 65536, 1 << 20)]
    assert profile.link(rows, "network", cores=[{"byte": 2e-10, "message": 4e-7}]) == [
        {"from": 0, "alpha": 1.2e-6, "beta": 6e-10, "cpu": 2e-10, "cpu_message": 4e-7}]
    (all_of_it,) = profile.link(rows, "network", cores=[{"byte": 1.0, "message": 1.0}])
    assert all_of_it == {"from": 0, "alpha": 2e-7, "beta": 1e-10, "cpu": 5.01e-10, "cpu_message": 1e-6}
    in_a_row = [{"bytes": row["bytes"], "seconds": row["seconds"]} for row in rows[1:]]
    assert profile.link(rows, "network", in_a_row, [{"byte": 2e-10, "message": 4e-7}])[-1]["beta"] > 9.9e-10


def test_a_message_in_a_row_of_them_counts_where_it_takes_longer():
    rows = [{"bytes": size, "seconds": 1e-5 + size * 4e-9} for size in [0] + [1 << k for k in range(8, 21)]]
    one = [{"from": 0, "alpha": 1e-5, "beta": 4e-9}]
    assert profile.link(rows, "network") == one
    assert profile.link(rows, "network", [{"bytes": row["bytes"], "seconds": 1e-6} for row in rows]) == one
    whole = [{"bytes": row["bytes"], "seconds": row["bytes"] * 8e-9} for row in rows if row["bytes"] >= 4096]
    assert profile.link(rows, "network", whole) == [*one, {"from": 4096, "alpha": 0.0, "beta": 8e-9}]


def test_codec_costs_are_of_busy_cores_by_ascending_ratio(made):
    assert [cost["ratio"] for cost in made["codec"]["f64"]] == [3.0, 9.0]
    assert made["codec"]["f32"][1] == {"ratio": 9.0, "call": 5e-7, "compress": 2e-10, "decompress": 4e-10, "add": 6e-10,
                                       "fused": 8e-10}


def test_short_calls_of_a_shaped_network_go_by_half_round_trips(made):
    assert "short_calls" not in made
    measurement = measuring.Measurement()
    for event in synthetic.events():
        shaped = event.get("what") == "stream"
        measurement.take({**event, "seconds": 2 * synthetic.message("network", event["bytes"])} if shaped else event)
    shaped = profile.from_measurement(measurement)
    assert shaped["links"]["network"][1]["beta"] > 1.5 * made["links"]["network"][0]["beta"]
    short, *longer = shaped["short_calls"]
    assert (short["from"], longer[0]["from"]) == (0, 4096)
    assert short["beta"] == made["links"]["network"][0]["beta"]
    merged = profile.merge(shaped, {**made, "links": {"cache": made["links"]["cache"]}})
    assert merged["short_calls"] == shaped["short_calls"]
    assert "short_calls" not in profile.merge(shaped, made)


def test_dense_streams_have_costs_of_their_own(made):
    assert [cost["ratio"] for cost in made["codec"]["dense_f32"]] == [3.0, 9.0]
    assert made["codec"]["dense_f64"][1]["fused"] == 8e-10


def test_the_other_figures_are_taken_over(made):
    assert made["gamma"] == pytest.approx(4e-5 / (1 << 18), rel=1e-3)
    assert (made["step"], made["agreement"], made["full_duplex"], made["nics"]) == (5e-7, 3e-6, True, 1)
    assert made["natives"][0] == {"collective": "allreduce", "ranks": 4, "hosts": 2, "points": [[8, 1.008e-6], [1024, 2.024e-6]]}
    assert made["node"] == made["switches"] == []
    assert "near, then far" in made["source"]
    assert "device" not in made


def test_switches_part_protocols_where_least_is_lost():
    def rows(*gains):
        return [{"bytes": 1 << (11 + i), "shorter": 1e-6, "longer": 1e-6 * gain} for i, gain in enumerate(gains)]
    assert profile.switch(rows(2, 1.5, 1.2, 0.9, 0.8), upwards=False) == 8192
    assert profile.switch(rows(2, 0.95, 1.2, 0.9, 0.8), upwards=False) == 8192  # one that was disturbed
    assert profile.switch(rows(0.5, 0.9), upwards=False) == 0
    assert profile.switch(rows(2, 1.5, 0.8), upwards=True) == 8192
    assert profile.switch(rows(2, 1.5), upwards=True) == 8192  # beyond the measured lengths


def test_switches_leave_out_lengths_that_took_no_time():
    def made_of(seconds):
        measurement = measuring.Measurement()
        for event in synthetic.events():
            if event["event"] == "end":
                for size, longer in ((2048, 2e-6), (4096, seconds), (8192, 5e-7)):
                    measurement.take({"event": "row", "part": "switches", "switch": "eager", "bytes": size, "shorter": 1e-6, "longer": longer})
            measurement.take(event)
        return profile.from_measurement(measurement)["switches"]
    assert made_of(2e-6) == [{"ranks": 4, "eager": 4096}]
    assert made_of(0.0) == [{"ranks": 4, "eager": 2048}]


def test_what_only_the_former_profile_knows_is_kept(made):
    other = {"collective": "allreduce", "ranks": 16, "hosts": 2, "points": [[8, 1e-5]]}
    stale = {"collective": "allreduce", "ranks": 4, "hosts": 2, "points": [[8, 1e-5]]}
    old = {"version": 1, "links": {"node": [{"from": 0, "alpha": 1, "beta": 1}], "cache": []}, "natives": [other, stale],
           "device": {"launch": 1e-6, "staging": 1e-10}, "switches": [{"ranks": 2, "eager": 8192}]}
    merged = profile.merge(old, made)
    assert list(merged["links"]) == ["cache", "node", "network"]
    assert merged["links"]["cache"] == made["links"]["cache"]
    assert other in merged["natives"] and stale not in merged["natives"]
    assert merged["device"] == old["device"] and merged["switches"] == old["switches"]


@pytest.fixture
def over_ucx():
    measurement = measuring.Measurement()
    for event in synthetic.events():
        if event.get("part") != "native":
            measurement.take({**event, "carrier": "ucx", "library": "UCX 1.13.1"} if event["event"] == "machine" else event)
    return profile.from_measurement(measurement)


def test_messages_over_ucx_have_a_section_of_their_own(made, over_ucx):
    assert not {"mpi", *profile.MESSAGES} & set(over_ucx)
    assert over_ucx["ucx"] == {"library": "UCX 1.13.1", **{key: made[key] for key in profile.MESSAGES if key in made}}
    assert over_ucx["codec"] == made["codec"] and over_ucx["natives"] == []


def test_a_file_holds_what_was_measured_over_either_carrier(made, over_ucx):
    for first, second in ((made, over_ucx), (over_ucx, made)):
        both = profile.merge(first, second)
        assert both["ucx"] == over_ucx["ucx"]
        assert all(both.get(key) == made.get(key) for key in ("mpi", "natives", *profile.MESSAGES))
    old = {"links": {"node": [{"from": 0, "alpha": 1, "beta": 1}]}, "nics": 4, "library": "UCX 1.13.0"}
    alone = {key: value for key, value in over_ucx["ucx"].items() if key != "nics"}
    merged = profile.merge({"ucx": old}, {**over_ucx, "ucx": alone})["ucx"]
    assert list(merged["links"]) == ["cache", "node", "network"]
    assert merged["nics"] == 4 and merged["library"] == "UCX 1.13.1"


def test_a_profile_is_read_back_as_it_was_written(made, tmp_path):
    path = tmp_path / "deep" / "below" / "p.json"
    profile.write(made, path)
    assert profile.read(path) == made
    assert [file.name for file in path.parent.iterdir()] == ["p.json"]


@pytest.mark.parametrize(("text", "said"), [('{"version": 7}', "of version 7, this stretto reads version 1"),
                                            ("[]", "of version None"), ("nonsense", "is not JSON"), pytest.param("[" * 100000, "is not JSON", id="deep"),
                                            ('{"version": 1, "links": {"node": [], "node": []}}', "node stands twice in one object")])
def test_a_file_that_is_no_profile_of_ours_is_refused(text, said, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Failure, match=said):
        profile.read(path)


def test_irregular_and_large_files_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with open(tmp_path / "long", "wb") as file:
        file.truncate(files.LONGEST + 1)
    for path, said in ((tmp_path / "fifo", "is a FIFO"), ("/dev/zero", "is a device"), (tmp_path, "is a directory"),
                       (tmp_path / "long", "more than the 4194304 bytes"), (tmp_path / "none", "No such file")):
        with pytest.raises(Failure, match=said):
            profile.read(path)


def test_a_measuring_program_of_another_release_is_refused():
    measurement = measuring.Measurement()
    for event in synthetic.events():
        measurement.take({**event, "version": 2} if event["event"] == "machine" else event)
    with pytest.raises(Failure, match="version 2"):
        profile.from_measurement(measurement)


def test_a_place_that_cannot_be_written_is_named(made, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(Failure, match="file"):
        profile.write(made, tmp_path / "file" / "p.json")


def test_a_profile_that_cannot_be_written_leaves_nothing(made, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for harm, kind in ((full, Failure), (interrupted, KeyboardInterrupt)):
        monkeypatch.setattr(os, "fsync", harm)
        with pytest.raises(kind):
            profile.write(made, tmp_path / "p.json")
        assert list(tmp_path.iterdir()) == []


def test_the_profile_is_json_without_infinities(made):
    json.dumps(made, allow_nan=False)
