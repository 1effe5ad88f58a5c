"""A small GPT over bytes: plain PyTorch, which knows nothing of stretto."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    width: int


SHAPES = {"tiny": Shape(2, 2, 32), "small": Shape(4, 4, 128), "10m": Shape(6, 6, 384)}  # 39 thousand, 0.9 and 10.8 million parameters
BYTES = 256


class Block(nn.Module):
    """Attention to earlier positions, then a layer of neurons, each added to what came in."""

    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.before_attention, self.before_neurons = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.asked, self.out = nn.Linear(shape.width, 3 * shape.width, bias=False), nn.Linear(shape.width, shape.width, bias=False)
        self.up, self.down = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.asked(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.before_neurons(x))))


class GPT(nn.Module):
    """Logits of the next byte at each position of (batch, length) bytes."""

    def __init__(self, shape, context):
        super().__init__()
        self.byte, self.position = nn.Embedding(BYTES, shape.width), nn.Embedding(context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm, self.head = nn.LayerNorm(shape.width), nn.Linear(shape.width, BYTES, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if residual else 0.02)

    def forward(self, x):
        x = self.byte(x) + self.position(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, text):
    """Mean cross-entropy, in nats a byte, over (batch, length + 1) bytes."""
    return functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
