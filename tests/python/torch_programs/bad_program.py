"""A rank of test_torch.py: what DistributedDataParallel with stretto.torch.hook does with bad input. Says `fine`."""

import datetime
import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import stretto.torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
dist.init_process_group(sys.argv[1], timeout=datetime.timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
BOUNDS = ({}, {"rms": 0.01}, {"rel": 1e-3}, {"wire": "bf16"}, {"rms": 0.01, "error_feedback": True, "per_parameter": True}, {"abs": 1e-5, "deterministic": True})


def new(state, width=40, **ddp):
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(width, 50), torch.nn.Linear(50, width)), **ddp)
    model.register_comm_hook(state, stretto.torch.hook)
    return model


def raises(words, call):
    try:
        call()
    except RuntimeError as error:
        assert words in str(error), (words, error)
    else:
        raise AssertionError(f"nothing was raised; expected {words!r}")


def overflow_is_seen_by_grad_scaler():
    for how in BOUNDS:
        for bad in (float("inf"), float("nan")):
            state = stretto.torch.State(**how)
            model = new(state)
            before = [one.detach().clone() for one in model.parameters()]
            optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=1024.0)
            for scale in (1024.0, 512.0):
                assert scaler.get_scale() == scale, (how, scaler.get_scale())
                optimizer.zero_grad()
                loss = model(torch.ones(2, 40)).sum() * (bad if rank == 1 and scale == 1024.0 else 1.0)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                unchanged = all(torch.equal(one, old) for one, old in zip(model.parameters(), before))
                assert unchanged == (scale == 1024.0), (how, bad, scale)
            assert all(one.isfinite().all() for one in model.parameters()), (how, bad)
            state.free()


def zeros_stay_zero():
    for how in BOUNDS:
        state = stretto.torch.State(**how)
        model = new(state)
        for _ in range(2):
            model.zero_grad()
            (model(torch.ones(2, 40)) * 0).sum().backward()
            assert not any(one.grad.any() for one in model.parameters()), how
        state.free()


class Branches(torch.nn.Module):
    """Rank 0 takes one branch, the others take the other one, and no rank takes the third."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.third = (torch.nn.Linear(30, 30) for _ in range(3))

    def forward(self, x):
        return (self.first if rank == 0 else self.second)(x)


def unused_parameters_count_as_zero():
    def gradients(state):
        model = DistributedDataParallel(Branches(), find_unused_parameters=True)
        if state:
            model.register_comm_hook(state, stretto.torch.hook)
        for _ in range(2):
            model.zero_grad()
            model(torch.ones(2, 30)).sum().backward()
        return [one.grad for one in model.parameters()]

    exact = gradients(None)
    assert exact[0][0, 0] == 2 / size and exact[2][0, 0] == 2 * (size - 1) / size and exact[4] is None
    for how in BOUNDS:
        state = stretto.torch.State(**how)
        for mean, expected in zip(gradients(state), exact):
            assert (mean is None) == (expected is None)
            assert mean is None or (mean - expected).abs().max() < 0.05, how
        state.free()


def sparse_gradients_are_refused():
    state = stretto.torch.State(rms=0.01)
    model = DistributedDataParallel(torch.nn.Embedding(10, 4, sparse=True))
    model.register_comm_hook(state, stretto.torch.hook)
    raises("gradients of layout torch.sparse_coo", lambda: model(torch.tensor([1, 2])).sum().backward())


def a_hook_without_a_state_is_refused():
    for state in (None, stretto.torch.State):
        model = new(state)
        try:
            model(torch.ones(2, 40)).sum().backward()
        except (RuntimeError, TypeError) as error:
            assert "the state of the hook is" in str(error), error
        else:
            raise AssertionError("nothing was raised")


def a_second_hook_is_refused():
    """By DDP. The first one stays, and serves the next step."""
    state, other = stretto.torch.State(rms=0.01), stretto.torch.State(rms=0.1)
    model = new(state)
    for _ in range(2):
        raises("only be called once", lambda: model.register_comm_hook(other, stretto.torch.hook))
        model(torch.ones(2, 40)).sum().backward()
    assert (state.totals.steps, other.totals.steps) == (2, 0), (state.totals, other.totals)
    state.free()


def ranks_that_differ_are_told():
    """Ranks with one State and model go on waiting for no other."""
    excluded = torch.nn.Linear(3, 5).weight
    for ours, others, words in (({"abs": 1e-3}, {"abs": 1e-4}, "abs is 0.001 on rank 0, 0.0001 on rank 1"), ({"rms": 0.01}, {"rel": 1e-3}, "rms is 0.01 on rank 0, None on rank 1"),
                                ({"rel": 1e-3}, {}, "rel is 0.001 on rank 0, None on rank 1"), ({"wire": "bf16"}, {"rms": 0.1}, "wire is bf16 on rank 0"),
                                ({"rms": 0.1, "payload": "fused"}, {"rms": 0.1, "error_feedback": True}, "error_feedback is False on rank 0, True on rank 1"),
                                ({"rel": 0.1, "exclude": [excluded]}, {"rel": 0.1}, "exclude is [[5, 3]] on rank 0, [] on rank 1"),
                                ({"rel": 0.1, "warmup_steps": 2}, {"rel": 0.1}, "warmup_steps is 2 on rank 0, 0 on rank 1"),
                                ({"rel": 0.1, "coding": "fixed", "segment": 4096}, {"rel": 0.1}, "segment is 4096 on rank 0, 0 on rank 1, coding is fixed on rank 0")):
        model = new(stretto.torch.State(**(ours if rank == 0 else others)))
        raises(words, lambda model=model: model(torch.ones(2, 40)).sum().backward())
        raises(words, lambda model=model: model(torch.ones(2, 40)).sum().backward())  # no rank waits in a later step


def a_bucket_that_one_rank_cannot_prepare_is_told():
    """The ranks' next agreements meet on different buckets of one size: no later one waits, and none is sent."""
    state = stretto.torch.State(rms=0.01, error_feedback=True, timeout=20)
    residuals_of, refused = state.residuals.of, []

    def of(*bucket):
        if rank == size - 1 and not refused:
            refused.append(bucket)
            raise ValueError("no residual for the first bucket")
        return residuals_of(*bucket)

    state.residuals.of = of
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(*(torch.nn.Linear(40, 40, bias=False) for _ in range(4))), bucket_cap_mb=0.001, find_unused_parameters=True)
    model.register_comm_hook(state, stretto.torch.hook)
    words = "no residual for the first bucket" if rank == size - 1 else f"bucket 0 of 1600 values on rank {rank} meets another"
    raises(words, lambda: model(torch.ones(2, 40)).sum().backward())
    assert state.totals.calls == 0, state.totals
    state.free()


def models_in_another_order_are_told():
    """Their gradients are as many, and would be added."""
    models = []
    for width in (40, 50):
        torch.manual_seed(0)
        models.append((width, DistributedDataParallel(torch.nn.Linear(width, 2000 // width, bias=False))))
        models[-1][1].register_comm_hook(stretto.torch.State(), stretto.torch.hook)
    for width, model in reversed(models) if rank == size - 1 else models:
        raises(f"on rank {size - 1}; is the hook registered on all ranks, with equal States", lambda model=model, width=width: model(torch.ones(2, width)).sum().backward())


def sharded_models_that_differ_are_told():
    from torch.distributed.fsdp import fully_shard

    def step(widths=(40,), **how):
        model = torch.nn.Sequential(*(torch.nn.Linear(width, 2000 // width, bias=False) for width in widths))
        fully_shard(model)
        sharding = stretto.torch.fsdp(model, **how)
        model(torch.ones(2, widths[0])).sum().backward()
        return sharding

    odd = rank == size - 1
    for call, words in ((lambda: step(rms=0.1 if odd else 0.2), f"rms is 0.2 on rank 0, 0.1 on rank {size - 1}"), (lambda: step(wire="bf16" if odd else None), "wire is None on rank 0"),
                        (lambda: step(weights_rel=1e-3 if odd else 1e-4), f"weights_rel is 0.0001 on rank 0, 0.001 on rank {size - 1}"),
                        (lambda: step((50 if odd else 40,), weights_rel=1e-3), f"0.weight is [50, 40] on rank 0, [40, 50] on rank {size - 1}; is fsdp() called on all ranks")):
        raises(words, call)
    if rank == 0:  # one that is never used
        model = torch.nn.Linear(9, 9)
        fully_shard(model)
        stretto.torch.fsdp(model, rms=0.1)
    step(rms=0.1).free()


def a_state_that_one_rank_alone_made_is_no_harm():
    if rank == 0:
        stretto.torch.State(rms=0.1)
    state = stretto.torch.State(rms=0.01, timeout=20)
    model = new(state)
    model(torch.ones(2, 40)).sum().backward()
    assert state.totals.steps == 1, state.totals
    state.free()


def another_model_is_refused():
    """DDP compares each rank's model with rank 0's. The rank that differs raises alone, and leaves; over stretto the others name it."""
    odd = rank == size - 1
    words = "appears not to match sizes" if odd else f"rank {size - 1}"
    try:
        raises(words, lambda: new(stretto.torch.State(rms=0.01), width=40 + odd))
    except AssertionError:
        if odd or sys.argv[1] == "stretto":
            raise


def workers_of_a_data_loader_leave_the_group_alone():
    """They are forked from a process that has a communicator, and threads of it."""
    def in_the_child(index):
        try:
            dist.all_reduce(torch.ones(2))
        except stretto.StrettoError as error:
            return torch.tensor([float("fork" in str(error)), float(index)])
        return torch.zeros(2)

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return in_the_child(index) if index == 0 and sys.argv[1] == "stretto" else torch.tensor([1.0, float(index)])

    state = stretto.torch.State(rms=0.01)
    model = new(state, width=2)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2, multiprocessing_context="fork")
    for _ in range(2):
        for batch in loader:
            assert batch[:, 0].all(), batch
            model(batch).sum().backward()
    state.free()


overflow_is_seen_by_grad_scaler()
zeros_stay_zero()
unused_parameters_count_as_zero()
workers_of_a_data_loader_leave_the_group_alone()
sparse_gradients_are_refused()
a_hook_without_a_state_is_refused()
a_second_hook_is_refused()
ranks_that_differ_are_told()
a_bucket_that_one_rank_cannot_prepare_is_told()
models_in_another_order_are_told()
sharded_models_that_differ_are_told()
a_state_that_one_rank_alone_made_is_no_harm()
another_model_is_refused()
print("fine", flush=True)
os._exit(0)
