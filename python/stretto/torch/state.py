"""The state of the DDP hook: its bound, its communicator, what the bound left out, and what it has sent."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import threading
import time

import numpy as np
import torch
import torch.distributed as dist

from stretto.api import ranks
from stretto.api.feedback import check_payload
from stretto.errors import ArgumentError, StrettoError, UnsupportedError
from stretto.torch.bounds import Bound, check_keywords, check_wire
from stretto.torch.buckets import Choices, Layouts
from stretto.torch.feedback import Residuals
from stretto.torch.group import GRACE, communicators, next_place, timeout_of
from stretto.torch.lane import Lane

_numbers = itertools.count()
HINT = "is the hook registered on all ranks, with equal States, for all models in one order?"
LANES = 2  # buckets that travel at once: while one ends, and its last messages are awaited, another uses the network
AGREEMENTS = LANES  # the number of the communicator on which ranks agree on bounds
SEGMENT = 512 << 10  # bytes of values in a message of streams between hosts: shorter messages overlap more, and take more of the cores on which models train


@dataclasses.dataclass
class Totals:
    """What a State has sent on this rank."""

    steps: int = 0
    calls: int = 0
    raw_calls: int = 0  # whose values travelled raw: exact ones, and those in which a stream would not pay
    raw_bytes: int = 0
    bytes_sent: int = 0  # handed to the network, or as streams to shared memory; values that travel raw in shared memory are not counted
    promised_error: float = 0.0  # the largest of all calls: |mean - exact mean| <= this, without the rounding of rounded_calls
    rounded_calls: int = 0  # whose values travelled as bfloat16
    seconds: float = 0.0  # in calls
    wait_seconds: float = 0.0  # of these with nothing to do but wait for messages
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def ratio(self) -> float:
        """raw_bytes for a byte sent."""
        return self.raw_bytes / self.bytes_sent if self.bytes_sent else 1.0

    def add(self, report, rounded=False):
        with self._lock:
            self.calls += 1
            self.rounded_calls += rounded
            self.raw_calls += report.payload == "raw"
            self.raw_bytes += report.raw_bytes
            self.bytes_sent += report.bytes_sent
            self.promised_error = max(self.promised_error, report.promised_error)
            self.seconds += report.seconds
            self.wait_seconds += report.wait_seconds

    def __str__(self):
        steps = f"{self.steps} steps, " if self.steps else ""  # fsdp() knows no steps
        sent = f"{self.bytes_sent} bytes sent of {self.raw_bytes}, ratio {self.ratio:.2f}" if self.raw_bytes else "no bytes sent: ranks of one host read raw values in shared memory"
        rounded = f" beside the rounding to bfloat16 in {self.rounded_calls} calls" if self.rounded_calls else ""
        return f"{steps}{self.calls} calls, {self.raw_calls} of them raw, {sent}, error within {self.promised_error:.3g}{rounded}, {self.seconds:.3f} s in calls"


def parameters_of(exclude):
    """The tensors of exclude=."""
    try:
        found = [exclude] if isinstance(exclude, torch.Tensor) else list(exclude)
    except TypeError:
        found = [exclude]
    for one in found:
        if not isinstance(one, torch.Tensor):
            raise ArgumentError(f"exclude has {one!r}; it takes a list of the model's parameters")
    return found


def adds_codes(how):
    """Whether calls with these options send streams whose codes are added by a schedule, so that one call may take several bounds."""
    payload = how.get("payload", "auto")
    adds = payload in ("fused", "homomorphic") or (payload == "auto" and how.get("reproducible"))
    return adds and not how.get("raw_below") and how.get("schedule") not in ("node", "native")


def streams_in_one_host(comm, seconds):
    """Whether streams of all ranks meet in one host's memory, which takes a bound a call. Collective."""
    try:
        comm.allreduce(np.zeros(1, np.float32), abs=1.0, payload="fused", schedule="node", timeout=seconds)
    except UnsupportedError:
        return False
    return True


class State:
    """Options of stretto.torch.hook, the same on all ranks.

    abs=, rel= or rms=: the bound of a mean of gradients. rms is a fraction of the root mean square of all ranks' gradients. Without one the mean is exact.
    scope: "result", so that the bound is of the mean; "contribution": of each rank's gradients.
    per_parameter: each parameter has the bound by its own range or root mean square; else a bucket has. Parameters of fewer than 2000 values are exact then.
    error_feedback: what the bound leaves out of this rank's gradients is added to those of the next step.
    deterministic: the same bits for any schedule, segment and order of arrival.
    warmup_steps: so many first steps are exact. exclude: parameters (tensors) that are always exact.
    wire="bf16": values travel as bfloat16 and are summed in float32; no bound goes with it.
    group: the process group of the model, of any backend; None: the default group. Its store makes a communicator at the first step.
    log: a line a step to the logger "stretto".
    timeout: seconds after which a call without a rank fails; else the process group's.
    how: further options of stretto.CallOptions.
    """

    def __init__(self, *, abs=None, rel=None, rms=None, scope="result", per_parameter=False, error_feedback=False, deterministic=False,  # noqa: A002
                 warmup_steps=0, exclude=(), wire=None, group=None, log=False, **how):
        check_keywords(type(self), how)
        if not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise ArgumentError(f"warmup_steps is {warmup_steps!r}; it takes a number of steps")
        if deterministic:
            how = {**how, "reproducible": True}
        self.exact = Bound(**{name: value for name, value in how.items() if name not in ("payload", "scope")})
        if group is not None and not isinstance(group, dist.ProcessGroup):
            raise ArgumentError(f"group is {group!r}; it takes a process group of torch.distributed that this rank is in")
        if error_feedback:
            check_payload(how.get("payload", "auto"))
        bounded = {"payload": "fused"} if deterministic or error_feedback else {}
        self.chooses = not bounded and not how.keys() & {"payload", "schedule", "segment", "coding", "reproducible"}
        self.bound = Bound(abs, rel, rms, scope=scope, **{**bounded, **how})
        if error_feedback and not self.bound:
            raise ArgumentError("error_feedback=True adds what a bound leaves out; give abs=, rel= or rms=")
        if per_parameter and not self.bound:
            raise ArgumentError("per_parameter=True gives each parameter a bound of its own; give abs=, rel= or rms=")
        if not self.bound:
            self.bound = self.exact
        check_wire(wire, self.bound)
        self.wire, self.per_parameter, self.warmup_steps, self.log = wire, per_parameter, warmup_steps, log
        self.exclude = {id(one): one for one in parameters_of(exclude)}
        self.layouts = Layouts(self.exclude, per_parameter)
        self.residuals = Residuals() if error_feedback else None
        self.choices, self.scratch = Choices(keeps_raw=scope == "contribution"), {}
        self.unkept = []  # passes that make the residuals of this step's buckets
        self.failure = None  # of a residual that could not be kept, or of buckets that differ among ranks: no bucket is agreed on after it
        # Known once there are communicators:
        self.sends_parts = False  # several bounds travel in one call
        self.streams = {}  # further options of calls whose streams travel between hosts
        self.totals = Totals()
        self._group, self._comms, self._place, self._settings, self._lost = group, None, None, None, None  # _place: among the States that the group uses
        number = next(_numbers)
        self.lanes = [Lane(f"hook {number}.{lane}", background=True) for lane in range(LANES)]
        self.agreements = Lane(f"agreements {number}", background=True)
        self.passes = Lane(f"passes {number}")  # over this rank's values
        self._under_way, self._ending = 0, False  # buckets; whether the last of the step is among them
        self._lock, self._making = threading.Lock(), threading.Lock()

    def comm(self, lane=0):
        """The hook's own communicator of a lane. The first use is collective: it makes those of all lanes, in their order."""
        with self._making:
            if self._lost is not None:  # other buckets of the step do not wait again
                raise self._lost
            if self._comms is None:
                group = self._group or dist.group.WORLD
                seconds = self.exact.limit(timeout_of(group))
                self.bound.limit(seconds)
                names = [f"stretto-hook-{self._place}-{lane}" for lane in range(LANES + 1)]
                try:
                    self._comms = communicators(group, names, seconds, settings=self._settings, what="States", hint=HINT)
                    several = bool(self.bound) and (self.per_parameter or bool(self.exclude))
                    between_hosts = bool(self.bound) and adds_codes(self.bound.how) and not streams_in_one_host(self._comms[0], seconds)
                    self.sends_parts = several and between_hosts
                    if between_hosts and not self.bound.how.get("segment"):
                        self.streams = {"segment": SEGMENT}
                except StrettoError as error:
                    self._lost = error
                    raise
            return self._comms[lane]

    def begin_bucket(self, bucket):
        """Called in the order of the backward pass, which ranks share."""
        with self._lock:
            if self._place is None:
                self._place, self._settings = next_place(self._group or dist.group.WORLD, "hook"), self.settings(bucket)
            self._under_way += 1

    def settings(self, bucket):
        """What ranks compare before the first call: options, and the first bucket."""
        values, warmup = bucket.buffer(), self.warmup_steps
        own = {"wire": self.wire, "per_parameter": self.per_parameter, "error_feedback": self.residuals is not None, "warmup_steps": warmup,
               "the number of steps before": self.totals.steps if warmup else None, "exclude": sorted(list(one.shape) for one in self.exclude.values()),
               "the first bucket": f"number {bucket.index()} of {values.numel()} values of {values.dtype} on {values.device.type}"}
        shapes = {f"the shape of its parameter {number}": list(one.shape) for number, one in enumerate(bucket.parameters())}
        return {**self.bound.settings(), **own, **shapes}

    def end_bucket(self, is_last):
        """Ends the step with the last bucket that is under way."""
        with self._lock:
            self._under_way -= 1
            self._ending |= is_last
            ends = self._ending and self._under_way == 0
            self._ending &= not ends
        if not ends:
            return
        self.totals.steps += 1
        if self.log:
            logging.getLogger("stretto").info("hook: %s", self.totals)
        for keep in self.unkept:  # not before: passes would delay the calls of ranks that share cores
            try:
                self.passes.start([], keep)
            except RuntimeError:  # free() has not waited for this bucket
                keep()
        self.unkept.clear()

    def free(self):
        """Frees the communicators, collectively, after what is on its way, for which it waits 5 s at most. Otherwise the program's end does."""
        lanes, end = (self.passes, self.agreements, *self.lanes), time.monotonic() + GRACE
        for lane in (*lanes, self.passes):  # as a bucket takes them: its end hands the residual to the first again
            lane.drain(max(0, end - time.monotonic()))
        done = [lane.close(max(0, end - time.monotonic())) for lane in lanes]
        self.layouts.clear()
        for one in self._comms or ():
            if all(done):
                one.free()
            else:
                ranks.leave(one)
        self._comms = None

    def state_dict(self):
        """Steps and residuals of this rank, for a checkpoint of each rank."""
        self.passes.drain()
        return {"steps": self.totals.steps, "residuals": [] if self.residuals is None else self.residuals.state()}

    def load_state_dict(self, state):
        """What state_dict() gave on this rank, for a model with the same parameters. Before the first step of the new run."""
        self.passes.drain()
        self.totals.steps = state["steps"]
        if self.residuals is not None:
            self.residuals.load(state["residuals"])

    def __getstate__(self):
        raise TypeError("a State holds a communicator; save its state_dict() and give it to load_state_dict() of a new State")
