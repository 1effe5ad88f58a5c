"""A rank of test_training.py: the outer step of DiLoCo as docs/torch.md has it. Says `fine`."""

import pathlib
import re
import warnings

import torch

import stretto
import stretto.torch  # noqa: F401

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
H, WIDTH, losses = 5, 64, []
torch.manual_seed(0)
model = torch.nn.Linear(WIDTH, WIDTH)
outer_optimizer = torch.optim.SGD(model.parameters(), 0.7, momentum=0.9, nesterov=True)
inner = torch.optim.AdamW(model.parameters(), 1e-2)
target, numbers = torch.randn(WIDTH, WIDTH), torch.Generator().manual_seed(torch.distributed.get_rank())
batches = [torch.randn(32, WIDTH, generator=numbers) for _ in range(60)]


def inner_step(model, batch):
    inner.zero_grad()
    loss = ((model(batch) - batch @ target) ** 2).mean()
    loss.backward()
    inner.step()
    losses.append(loss.item())


page = pathlib.Path(__file__).parents[3] / "docs" / "torch.md"
names = {"torch": torch, "stretto": stretto, "model": model, "batches": batches, "inner_step": inner_step, "outer_optimizer": outer_optimizer, "H": H}
exec(re.search(r"## DiLoCo.*?```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1], names)  # noqa: S102
weights = torch.cat([one.detach().flatten() for one in model.parameters()])
first = weights.clone()
torch.distributed.broadcast(first, 0)
assert torch.equal(weights, first) and losses[-1] < losses[0] / 4, (losses[0], losses[-1])
assert all(one.any() for one in names["left"])
print("fine", flush=True)
torch.distributed.destroy_process_group()
