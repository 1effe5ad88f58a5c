"""A rank of test_torch.py: a small transformer of fully_shard with stretto.torch.fsdp, compared with the whole model. Says `fine`.
Arguments: the backend and, unless the host's, the device."""

import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import stretto
import stretto.torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
where = (sys.argv[2:] or ["cpu"])[0]
if where != "cpu":
    torch.cuda.set_device(where)
dist.init_process_group(sys.argv[1])
rank, size = dist.get_rank(), dist.get_world_size()


def new():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), torch.nn.Linear(32, 32)).to(where)


def train(model, steps, *, whole):
    optimizer, numbers = torch.optim.SGD(model.parameters(), 0.05), torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(4 * size, 5, 32, generator=numbers).to(where)
        x = x if whole else x[4 * rank:4 * rank + 4]
        ((model(x) - x) ** 2).mean().backward()
        optimizer.step()
    return torch.cat([(p.full_tensor() if hasattr(p, "full_tensor") else p).detach().flatten() for p in model.parameters()])


expected = train(new(), 3, whole=True)
for how, tolerance in (({}, 1e-6), ({"rms": 0.01, "deterministic": True}, None), ({"rel": 1e-3, "deterministic": True}, None), ({"wire": "bf16"}, 1e-4),
                       ({"rms": 0.01}, None), ({"weights_rel": 1e-6}, 1e-4)):
    model = new()
    fully_shard(model[0])
    fully_shard(model)
    sharding = stretto.torch.fsdp(model, **how)
    got = train(model, 3, whole=False)
    # Three steps of 0.05 move the weights by at most 0.15 of the gradients' error, and later gradients by a multiple of
    # that.
    limit = tolerance or sharding.totals.promised_error * 0.15 * 2 + 1e-6
    assert (got - expected).abs().max() <= limit, (how, (got - expected).abs().max(), limit)
    assert sharding.totals.calls and (sharding.totals.rounded_calls > 0) == ("wire" in how), (how, sharding.totals)
    sharding.free()
for model, given, words in ((new(), {}, "has no module of fully_shard()"), (model, {"rms": 0.1, "abs": 1}, "given 2 times")):
    try:
        stretto.torch.fsdp(model, **given)
    except stretto.StrettoError as error:
        assert words in str(error), error
    else:
        sys.exit(f"fsdp({given}) was accepted")
print("fine", flush=True)
dist.destroy_process_group()
