"""One rank's training: the model, its data, and a step whose wait for communication is measured."""

import itertools
import pathlib
import time
import weakref

import gpt
import methods
import text
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

import stretto.torch

VALIDATION = 16  # pieces of text a rank
WARMUP = 20  # steps in which the learning rate rises


def sent_by_this_host():
    """Bytes that this host's network interfaces have sent so far; 0 where the kernel does not tell."""
    try:
        lines = pathlib.Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()[2:]
    except OSError:
        return 0
    return sum(int(line.partition(":")[2].split()[8]) for line in lines)


class Training:
    """`hook` is a name of methods.HOOKS; `how`: its options. With sharded=True the model is sharded (FSDP2), and `how` goes to stretto.torch.fsdp. `group`: a process
    group of all ranks; None: the default group."""

    def __init__(self, size="10m", hook="none", sharded=False, seed=0, batch=2, context=64, rate=1e-3, group=None, keep=None, **how):
        self.rank, self.ranks, self.seed, self.batch, self.context, self.rate = dist.get_rank(), dist.get_world_size(), seed, batch, context, rate
        torch.manual_seed(seed)  # so that all ranks begin with equal weights
        model = gpt.GPT(gpt.SHAPES[size], context)
        self.state, self._last = None, None
        if sharded:
            mesh = DeviceMesh.from_group(group or dist.group.WORLD, "cpu")
            for block in model.blocks:
                fully_shard(block, mesh=mesh)
            self.model = fully_shard(model, mesh=mesh)
            if hook == "stretto":
                self.state = stretto.torch.fsdp(self.model, **how)
        else:
            self.model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
            self.state, self._hook = methods.of(hook, group or dist.group.WORLD, **how)
            self.keep = keep  # called with each bucket before it is averaged
            timed = weakref.WeakMethod(self._timed)  # the model keeps its hook, in C++ where no collector of cycles sees it
            self.model.register_comm_hook(self.state, lambda state, bucket: timed()(state, bucket))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), rate, betas=(0.9, 0.95), weight_decay=0.1)
        self.train, self.held_out = text.corpus()
        self.steps = 0

    def _timed(self, state, bucket):
        """Notes when the gradients of the last bucket are there: from then on a step only waits."""
        if self.keep:
            self.keep(bucket)
        if bucket.is_last():
            self._last = time.perf_counter()
        return self._hook(state, bucket)

    def step(self):
        """{loss on this rank's pieces, seconds, wait: seconds from the last gradient to the end of communication, bytes that this host's network sent, sent: bytes
        that this rank handed to the network or to shared memory, which stretto's hooks alone count}.

        The wait is None where the model is sharded: its communication is spread over the step."""
        numbers = torch.Generator().manual_seed((self.seed * 1_000_003 + self.steps) * 1009 + self.rank)
        piece = text.pieces(self.train, self.batch, self.context + 1, numbers)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1, (self.steps + 1) / WARMUP)
        self.optimizer.zero_grad()
        totals = getattr(self.state, "totals", None)
        handed = totals and totals.bytes_sent
        sent, began = sent_by_this_host(), time.perf_counter()
        loss = gpt.loss_of(self.model, piece)
        loss.backward()
        waited = self._last and time.perf_counter() - self._last
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.steps += 1
        return {"loss": loss.item(), "seconds": time.perf_counter() - began, "wait": waited, "bytes": sent_by_this_host() - sent,
                "sent": totals and totals.bytes_sent - handed}

    @torch.no_grad()
    def validate(self):
        """The mean loss over the same pieces of held-out text, a share of them on each rank."""
        numbers = torch.Generator().manual_seed(self.rank)
        loss = gpt.loss_of(self.model, text.pieces(self.held_out, VALIDATION, self.context + 1, numbers))
        dist.all_reduce(loss)
        return loss.item() / self.ranks

    def course(self, steps, every):
        """The steps; `every` so many of them, and after the last, a dictionary of their means, and the validation loss."""
        seen = []
        for number in itertools.count(1):
            seen.append(self.step())
            if number % every == 0 or number == steps:
                means = {name: None if seen[0][name] is None else sum(one[name] for one in seen) / len(seen) for name in seen[0]}
                yield {"step": number, "steps": len(seen), **means, "validation": self.validate()}
                seen = []
            if number == steps:
                return

    def free(self):
        """Ends what stretto holds, collectively."""
        if hasattr(self.state, "totals"):
            self.state.free()
