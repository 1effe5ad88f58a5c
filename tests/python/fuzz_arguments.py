"""Random arguments for everything that `import stretto` offers. Property: each call ends in a result or in an exception of a documented type.

    python fuzz_arguments.py [--calls N] [--seed S] [--first I]

A call is made of seed and number alone, so a finding is made again by `--first NUMBER --calls 1` of the same seed. Calls run in processes of some
thousand each. The death of one, an exception of another type, a bound that does not hold, and a call without end are findings, and make the status 1.
"""

import argparse
import array
import collections
import copy
import decimal
import faulthandler
import fractions
import mmap
import os
import pathlib
import pickle
import random
import signal
import struct
import subprocess
import sys
import tempfile
import traceback

import numpy as np

import stretto
from stretto.storage.numcodecs import Stretto

ENOUGH = 5000  # calls of a process: requests and ranks that were left keep their memory until its end
PATIENCE = 60  # seconds for a call, of which each wait takes at most LIMIT
LIMIT = 0.5


class Own(Exception):
    """What the objects of this program raise: stretto hands it on."""


ALLOWED = (stretto.StrettoError, TypeError, IndexError, Own)

DTYPES = ["f4", "f4", "f4", "f8", "f8", "f2", "c8", "c16", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", ">f4", ">i8", "O", "S3", "U2", "M8[s]",
          "m8[s]", "g",
          "f4,i4", "(2,)f4"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-310, 3.4e38, -1.7e308, 1e15, 1e30, 2.0**31, -(2.0**63)]
NUMBERS = [None, 0, 1, 2, 3, -1, 7, 255, 256, 257, 10**6, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63) - 1, 10**400, True, 0.0, 0.5,
           1e-3, 1e-6, 1.0,
           -1.0, 1e-320, 1e308, float("nan"), float("inf"), -float("inf"), "1e-3", "", "x", b"1", 1j, fractions.Fraction(1, 1000), fractions.Fraction(10**400),
           decimal.Decimal("0.001"), object(), [1], (2, 3), {}, np.float32(1e-3), np.int64(2), np.array(1e-3), np.array([1, 2]), slice(None), Ellipsis, len,
           stretto]
WORDS = ["sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "mean", "difference", "user", "none", "", "__class__", "summe", "\0",
         "s" * 1000]
METHODS = [form + name for form in ("", "i") for name in
           ("allreduce", "allreduce_multi", "reduce", "reduce_scatter", "allgather", "gather", "allgatherv", "gatherv", "bcast", "scatter", "scatterv", "alltoall",
            "alltoallv", "scan", "exscan", "barrier")]


class Evil:
    """An object that promises an array and gives something else."""

    def __init__(self, given):
        self.given = given

    def answer(self, *_, **__):
        if self.given is Own:
            raise Own
        return self.given


class EvilArray(Evil):
    __array__ = Evil.answer


class EvilDevice(Evil):
    __dlpack_device__ = Evil.answer

    def __dlpack__(self, **_):
        return self.given


class Capsule:
    """An array that has DLPack alone."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class EvilStore(Evil):
    set = get = remove = Evil.answer


class Gambler:
    """Draws arguments; `rare` says how often they are wrong."""

    def __init__(self, seed, rare=None):
        self.dice = random.Random(seed)
        self.rare = self.dice.choice((0.02, 0.1, 0.5)) if rare is None else rare

    def often(self):
        return self.dice.random() >= self.rare

    def pick(self, *values):
        return self.dice.choice(values)

    def number(self):
        return self.dice.choice(NUMBERS)

    def length(self):
        return self.pick(0, 1, 2, 3, 5, 31, 32, 33, 100, 1023, 1024, 1025, 3000)

    def shape(self):
        kind = self.dice.random()
        if kind < 0.6:
            return (self.length(),)
        return tuple(self.pick(0, 1, 2, 3, 4, 6, 17) for _ in range(self.pick(0, 2, 2, 3, 4)))

    def dtype(self):
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        if ml_dtypes and self.dice.random() < 0.08:
            return np.dtype(self.pick(ml_dtypes.bfloat16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4))
        return np.dtype(self.pick(*DTYPES[:13]) if self.often() else self.pick(*DTYPES))

    def values(self, shape, dtype):
        """Numbers of a kind, as an array."""
        draw = np.random.default_rng(self.dice.getrandbits(32))
        count = int(np.prod(shape, dtype=np.int64))
        if dtype.kind in "OSUMmV":
            return np.zeros(shape, dtype)
        kind = self.dice.random()
        with np.errstate(all="ignore"):
            if kind < 0.4:
                return (draw.standard_normal(shape) * 10.0 ** self.pick(-30, -3, 0, 2, 6)).astype(dtype)
            if kind < 0.55:
                return np.cumsum(draw.standard_normal(count)).reshape(shape).astype(dtype)
            if kind < 0.7:
                return np.array([self.pick(*SPECIAL) for _ in range(count)], "f8").reshape(shape).astype(dtype)
            if kind < 0.8:
                return np.full(shape, self.pick(*SPECIAL)).astype(dtype)
            if dtype.kind in "fciu" and dtype.isnative:
                return np.frombuffer(draw.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
            return np.zeros(shape, dtype)

    def layout(self, x):
        """The same, or other, values somewhere else in memory."""
        kind = self.dice.random()
        if kind < 0.6 or x.dtype.hasobject:
            return x
        if kind < 0.7:
            return x[::-1] if x.ndim else x
        if kind < 0.75:
            return x[::2] if x.ndim else x
        if kind < 0.8:
            return x.T
        if kind < 0.85:
            return np.asfortranarray(x)
        if kind < 0.9:
            x = np.array(x)
            x.flags.writeable = False
            return x
        if kind < 0.95:
            return np.broadcast_to(x, (2, *x.shape))
        raw = bytearray(1 + x.nbytes)
        moved = np.frombuffer(raw, np.uint8)[1:].view(x.dtype).reshape(x.shape) if x.size and x.dtype.isbuiltin == 1 else x  # off its alignment
        return moved

    def array(self):
        return self.layout(self.values(self.shape(), self.dtype()))

    def thing(self):
        """What may stand for an array."""
        if self.often():
            return self.array()
        x = self.values(self.shape(), np.dtype("f4"))
        return self.pick(
            lambda: x.tolist(), lambda: tuple(x.ravel().tolist()), lambda: x.tobytes(), lambda: bytearray(x.tobytes()), lambda: memoryview(x),
            lambda: memoryview(x)[::-1] if x.ndim else x,
            lambda: array.array("f", x.ravel().tolist()), lambda: Capsule(x), lambda: Capsule(x.astype(">f4")), lambda: np.ma.masked_array(x, x > 0),
            lambda: np.ma.masked_array(x),
            lambda: x.view(np.recarray), lambda: np.float32(3), lambda: 3.0, lambda: [[1, 2], [3]], lambda: [1, "x"], lambda: {}, lambda: {1, 2},
            lambda: None, lambda: "text",
            lambda: self.stream(), lambda: stretto.IN_PLACE, lambda: EvilArray(Own), lambda: EvilArray(None), lambda: EvilArray("no array"),
            lambda: EvilDevice(Own),
            lambda: EvilDevice((2, 0)), lambda: EvilDevice(None), lambda: EvilDevice((1, 0)), lambda: EvilDevice((99, 99, 99)), lambda: self.number(),
            lambda: range(5), lambda: iter([1, 2]))()

    def bound(self):
        """Keywords of a bound, mostly good."""
        if self.often():
            return {self.pick("abs", "rel"): self.pick(1e-3, 1e-1, 1e-6, 1, 100.0)}
        return {name: self.number() for name in self.dice.sample(("abs", "rel", "ignore_above", "threads", "checksum", "bound"), self.dice.randrange(4))}

    def stream(self):
        """A good one."""
        dtype = np.dtype(self.pick("f4", "f4", "f8", "f2", "c8", "i4", "i8"))
        x = self.values(self.shape(), dtype)
        return stretto.compress(x) if dtype.kind == "i" else stretto.compress(x, abs=self.pick(1e-3, 1e-3, 0.5, 1e-9), checksum=self.pick(True, True, False))

    def broken(self, content):
        """Bytes of a stream, altered."""
        content = bytearray(content)
        for _ in range(self.pick(0, 0, 1, 1, 2, 8)):
            if content:
                at = self.dice.randrange(min(len(content), 80)) if self.dice.random() < 0.7 else self.dice.randrange(len(content))
                content[at] = self.dice.randrange(256)
        cut = self.pick(len(content), len(content), len(content), self.dice.randrange(len(content) + 1))
        return bytes(content[:cut]) + self.dice.randbytes(self.pick(0, 0, 0, 0, 0, 1, 100))

    def content(self):
        """What may stand for the bytes of a stream."""
        if not self.often():
            return self.pick(self.dice.randbytes(self.length()), b"", self.number(), self.array(), memoryview(b"abc"), bytearray(80))
        return self.broken(bytes(self.stream()))

    def out(self, like):
        """What may stand for `out`: often an array that fits."""
        if self.dice.random() < 0.5:
            return None
        if self.often() and isinstance(like, np.ndarray):
            return self.layout(np.zeros(like.shape, like.dtype))
        return self.pick(like, self.array(), self.thing(), like[1:] if isinstance(like, np.ndarray) and like.ndim else like)

    def counts(self, size):
        if self.often():
            return [self.pick(0, 1, 5, 40) for _ in range(size)]
        return self.pick(self.number(), [self.number() for _ in range(self.pick(0, 1, size))], (1,) * size, np.ones(size, int), iter([1] * size), "11")

    def how(self):
        """Options of a collective. Waits end soon."""
        how = {"timeout": LIMIT}
        if self.dice.random() < 0.5:
            how.update(self.bound())
        for name, good in (("scope", ("contribution", "result")), ("schedule", ("ring", "recursive_doubling", "binomial", "native", "no such")),
                           ("check", (True, False)),
                           ("payload", ("auto", "raw", "fused", "homomorphic", "recompress", "cprp2p")), ("segment", (0, 64, 4096)),
                           ("reproducible", (True, False))):
            if self.dice.random() < 0.1:
                how[name] = self.pick(*good) if self.often() else self.number()
        how.pop("threads", None)
        return how


def compressing(g):
    x, bound = g.thing(), g.bound()
    s = stretto.compress(x, **bound)
    y = s.decompress(threads=g.pick(1, 1, 2, 5))
    if isinstance(x, np.ndarray) and x.dtype in (np.float32, np.float64) and y.size:
        known = np.isfinite(x)
        assert (np.abs(x[known].astype("f8") - y[known].astype("f8")) <= s.eps).all(), f"{s.eps} does not hold"
        assert np.array_equal(np.isnan(x), np.isnan(y)), "NaN"


def decompressing(g):
    s = g.stream()
    g.pick(s.decompress, s.mean)(**({"out": g.out(np.zeros(s.shape, s.dtype))} if g.often() else {g.pick("out", "threads", "count", "x"): g.number()}))


def combining(g):
    s = g.stream()
    t = g.pick(lambda: s, lambda: copy.copy(s), g.stream, g.number, g.thing, lambda: g.values(s.shape, s.dtype))()
    if isinstance(t, np.ma.MaskedArray):  # whose own operators come first
        t = np.asarray(t)
    g.pick(lambda: s + t, lambda: t + s, lambda: s - t, lambda: s * t, lambda: t * s, lambda: -s, lambda: s.min(t), lambda: s.max(t), lambda: s == s,
           lambda: s != g.stream(), lambda: s < t,
           lambda: s @ t, lambda: hash(s), lambda: s.reshape(t), lambda: s.reshape(*g.shape()), lambda: s / t, lambda: setattr(s, "shape", t))()


def asking(g):
    s = g.stream()
    first, last = g.number(), g.pick(0, 1, 2, -1, 10, None)
    g.pick(lambda: s[first], lambda: s[last:], lambda: s[:last], lambda: s[first:last], lambda: s[::first], lambda: s[0, 1], lambda: len(s), lambda: bytes(s),
           lambda: iter(s),
           lambda: np.asarray(s), lambda: np.asarray(s, dtype=g.dtype()), lambda: repr(s), lambda: pickle.loads(pickle.dumps(s)), lambda: copy.deepcopy(s),
           lambda: (s.ratio, s.eps, s.nbytes),
           lambda: s.promised_error, lambda: s.checksum, lambda: np.add(s, 1), lambda: bool(s), lambda: list(s[0:1].shape), lambda: stretto.Stream())()


def reading(g):
    content = g.content()
    s = stretto.Stream.from_bytes(content, *g.pick((), (), (), (g.number(),), (g.shape(),), (None, g.dtype()), (None, g.number())))
    s.decompress()
    assert bytes(s + s)


def many(g):
    streams = g.pick(lambda: [g.stream() for _ in range(g.pick(0, 1, 2, 3))], lambda: [g.stream()] * 5,
                     lambda: [s := g.stream(), s + s, s[0:1] if s.ndim else s], g.number,
                     lambda: [g.stream(), g.thing()], lambda: iter([g.stream()]), g.stream)()
    s = g.pick(stretto.sum, stretto.concatenate)(streams)
    s.decompress()


def chunks(g):
    codec = Stretto(**{name: value for name, value in g.bound().items() if name in ("abs", "rel")})
    if g.often():
        x = g.array()
        codec.decode(codec.encode(x), out=g.out(x))
    else:
        codec.decode(g.content(), out=g.out(g.array()))


def arguments(g, method, rank, size):
    """Positional and named arguments of a collective."""
    x = g.thing()
    if g.often() and isinstance(x, np.ndarray) and x.ndim and method.lstrip("i") in ("reduce_scatter", "scatter", "alltoall"):
        x = x[: len(x) // size * size]
    given = {"x": x, "out": g.out(x)}
    name = method.removeprefix("i")
    if name == "barrier":
        given = {}
    if name == "bcast":
        given.pop("out")
    if name == "allreduce_multi":
        given = {"arrays_": [g.thing() for _ in range(g.pick(0, 1, 2, 3))] if g.often() else x, "out": g.out(x)}
    if name in ("allgather", "gather", "allgatherv", "gatherv", "alltoallv") and g.often():
        given["out"] = None
    if name in ("scatter", "scatterv") and g.often() and isinstance(x, np.ndarray):
        given["out"] = np.zeros(x.shape, x.dtype)
    if name == "reduce_scatter" and g.often():
        given["out"] = None
    if name in ("allreduce", "allreduce_multi", "reduce", "reduce_scatter", "scan", "exscan") and g.dice.random() < 0.5:
        given["op"] = g.pick(*WORDS[:12]) if g.often() else g.pick(*WORDS, g.number())
    if name in ("reduce", "bcast", "gather", "scatter", "gatherv", "scatterv") and g.dice.random() < 0.5:
        given["root"] = g.pick(*range(size)) if g.often() else g.number()
    if name in ("allgatherv", "gatherv", "scatterv") or (name == "reduce_scatter" and g.dice.random() < 0.3):
        given["counts"] = g.counts(size)
    if name == "alltoallv":
        given["sendcounts"], given["recvcounts"] = g.counts(size), g.counts(size)
    if name.endswith("v") and g.dice.random() < 0.2:
        given[g.pick("displacements", "senddisplacements", "recvdisplacements")] = g.counts(size)
    if name == "allreduce" and g.dice.random() < 0.2:
        given["residual"] = g.out(x) if g.often() else g.number()
    if name == "allreduce" and g.dice.random() < 0.2:
        size = x.size if isinstance(x, np.ndarray) else 3
        given["segments"] = [(size // 2, g.bound()), (size - size // 2, {})] if g.often() else g.pick(g.number(), [(g.number(), {})], [g.number()])
    if g.dice.random() < 0.1 and "x" in given:
        given["x" if rank else g.pick("x", "out")] = stretto.IN_PLACE
    if not g.often():
        given[g.pick("x", "out", "root", "op", "y")] = g.number()
    return given


def collective(comm, seed):
    """One or two collectives, on every rank with the same dice, or with its own."""
    same = Gambler(seed, random.Random(seed).choice((0.01, 0.01, 0.05, 0.3)))
    for turn in range(same.pick(1, 1, 2)):
        method = same.pick(*METHODS)
        differ = not same.often()
        g = Gambler(f"{seed} {turn} {comm.rank}" if differ else f"{seed} {turn}", rare=same.rare)
        if same.dice.random() < 0.01:
            part = comm.split(g.pick(None, 0, 1) if g.often() else g.number(), g.pick(0, -1, 1) if g.often() else g.number())
            if part is not None:
                part.barrier(timeout=LIMIT)
        result = getattr(comm, method)(**arguments(g, method, comm.rank, comm.size), **g.how())
        if isinstance(result, stretto.Request):
            ends = same.pick("wait", "wait", "test", "report", "twice")
            if ends == "report" and not result.test():
                result.wait()
            if ends == "test":
                while not result.test():
                    pass
            if ends in ("wait", "twice"):
                result.wait()
            if ends == "twice":
                result.wait()
            str(result.report)
    return comm.rank


def ranks(g):
    size = g.pick(1, 2, 2, 3) if g.dice.random() < 0.97 else g.pick(0, -1, "2", None, 2.0, object())
    stretto.threads(size)(collective)(g.dice.getrandbits(64))


def making(g):
    """Communicators that cannot be, requests and reports of nothing."""
    g.pick(lambda: stretto.Comm(g.number()), lambda: stretto.Comm(g.array()), lambda: stretto.init(g.number(), g.number(), g.number(), timeout=0.01),
           lambda: stretto.init(EvilStore(g.pick(Own, None, b"", b"x" * 5000, "text")), g.pick(0, 1, -1, 5), g.pick(1, 2, 0, -1),
                                timeout=g.pick(0.01, -1.0, float("nan"))),
           lambda: stretto.communication_cores(g.pick(g.number(), [g.number()], "", [10**9], [-1], [])), lambda: stretto.threads(g.number()),
           lambda: stretto.threads(1)(g.number())(),
           lambda: stretto.Report(g.number()), lambda: stretto.Report(*range(22)).ratio, lambda: repr(stretto.BoundError(g.number())),
           lambda: stretto.Request(g.number(), None).wait(),
           lambda: [getattr(stretto, name) for name in dir(stretto)])()


ACTIONS = collections.Counter({compressing: 20, decompressing: 10, combining: 20, asking: 10, reading: 20, many: 10, chunks: 6, ranks: 12, making: 2})


def call(seed, number):
    """Makes one call. The name of the exception it ended in, or "result"; anything but these is raised."""
    g = Gambler(f"{seed}:{number}")
    action = g.dice.choices(*zip(*ACTIONS.items()))[0]
    try:
        with np.errstate(all="ignore"):
            action(g)
    except ALLOWED as error:
        if isinstance(error, stretto.InternalError):
            raise
        return type(error).__name__
    except AttributeError as error:
        if action in (combining, making):  # the language's own error for an attribute
            return type(error).__name__
        raise error
    return "result"


def work(options, place):
    """The calls of one process. The number of each stands in `place` before it is made, for those who look at a death."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with open(place, "r+b") as file:
        at = mmap.mmap(file.fileno(), 8)
    counts, seen = collections.Counter(), set()
    for number in range(options.first, options.first + options.calls):
        at[:] = struct.pack("<q", number)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            counts[call(options.seed, number)] += 1
        except BaseException as error:  # noqa: BLE001  each is a finding, and told once for each place
            place = (type(error), *(frame.lineno for frame in traceback.extract_tb(error.__traceback__)[-2:]))
            if place not in seen:
                print(f"call {number}: not of a documented type:\n{traceback.format_exc()}", file=sys.stderr)
            seen.add(place)
    faulthandler.cancel_dump_traceback_later()
    print(repr(dict(counts)))
    os._exit(0 if flushed() and not seen else 1)  # requests that were left are none of the interpreter's end


def flushed():
    sys.stdout.flush()
    sys.stderr.flush()
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--place", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.place:
        work(options, options.place)
    counts, findings = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch, "call")
        next_, end = options.first, options.first + options.calls
        while next_ < end and findings < 20:
            place.write_bytes(bytes(8))
            calls = min(ENOUGH, end - next_)
            done = subprocess.run([sys.executable, "-X", "faulthandler", "-W", "ignore", __file__, "--seed", str(options.seed), "--first", str(next_),
                                   "--calls", str(calls), "--place", str(place)],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 0:
                counts.update(eval(done.stdout))  # noqa: S307  of ourselves
                next_ += calls
                continue
            findings += 1
            number = struct.unpack("<q", place.read_bytes())[0]
            died = "" if done.returncode == 1 and done.stdout else f"call {number} ended the process with status {done.returncode}\n"
            print(f"{died}{done.stderr[-20000:]}", flush=True)
            next_ = number + 1 if died else next_ + calls
    print(f"{sum(counts.values()):,} calls of seed {options.seed}: {', '.join(f'{n:,} {name}' for name, n in counts.most_common())}; findings: {findings}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
