"""`stretto run --emulate 4@1gbit`: hosts of a network that this machine makes for a run (tests/hosts/hosts.py of the checkout)."""

import importlib.util
import pathlib
import re
import sys
import tempfile

from stretto import model
from stretto.launch import programs
from stretto.machine import profile
from stretto.errors import Failure

SPECIFICATION = re.compile(r"(\d+)@(\d+(?:\.\d+)?)([kmg])bit", re.IGNORECASE)
FACTORS = {"k": 1e3, "m": 1e6, "g": 1e9}
MEASURED = "zen4-2core"  # whose messages between hosts crossed such a network


def parse(text):
    """Hosts, the rate as tc has it, and bits a second."""
    found = SPECIFICATION.fullmatch(text)
    if not found or int(found[1]) < 2 or not float(found[2]) > 0:
        raise Failure(f"--emulate {text!r} is no network; it takes hosts and the rate of each, as in 4@1gbit")
    return int(found[1]), text.partition("@")[2].lower(), float(found[2]) * FACTORS[found[3].lower()]


def place():
    """Where hosts.py is."""
    path = programs.CHECKOUT / "tests" / "hosts" / "hosts.py"
    if not path.is_file():
        raise Failure("--emulate needs a checkout of stretto: use the command .venv/bin/stretto of one")
    return path


def harness():
    """The module hosts.py."""
    specification = importlib.util.spec_from_file_location("stretto_hosts", place())
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


def profile_of(bits):
    """This machine's profile, with a network of this rate: the hosts have names of their own, under which none is found."""
    named = model.ask("choose", ["allreduce", "-n", "2"])["profile"].removeprefix("STRETTO_PROFILE=")
    made = model.ask("profiles", [named])
    network = model.ask("profiles", [MEASURED])["links"]["network"]
    made["links"]["network"] = [{**span, "beta": 8 / bits} for span in network]
    made.pop("short_calls", None)
    made["name"] += f", network emulated at {bits / 1e9:g} Gb/s"
    return made


def check_launcher(words):
    if len(words) > 1:
        raise Failure("--emulate starts the launcher with options of its own; name it alone, as in --mpirun mpirun")


def command(text, launcher, ranks, arguments):
    """The command line that makes the hosts, runs the program on so many ranks between them, and takes the hosts away."""
    count, rate, _ = parse(text)
    check_launcher(launcher)
    return [sys.executable, str(place()), "run", "--hosts", str(count), "--rate", rate, "--slots", str(-(-ranks // count)), "--ranks", str(ranks),
            "--mpirun", launcher[0], "--", *arguments]


def run(text, launcher, ranks, arguments, environment):
    """The launcher's status."""
    count, rate, bits = parse(text)
    hosts = harness()
    ranks = ranks or count
    check_launcher(launcher)
    programs.check_program(arguments[0])
    with tempfile.TemporaryDirectory(prefix="stretto-emulate-") as directory:
        if "STRETTO_PROFILE" not in environment:
            path = pathlib.Path(directory, "profile.json")
            profile.write(profile_of(bits), path)
            environment = {**environment, "STRETTO_PROFILE": str(path)}
        program = ["env", *(f"{name}={value}" for name, value in environment.items()), *arguments]
        try:
            with hosts.Hosts(count, rate, slots=-(-ranks // count)) as world:
                return world.launch(launcher[0], ranks, program, check=False).returncode
        except hosts.NotPermitted as reason:
            raise Failure(f"--emulate: this machine does not permit several hosts: {reason}", status=1) from None
        except (ValueError, OSError, RuntimeError) as error:
            raise Failure(f"--emulate: {error}", status=1) from None
