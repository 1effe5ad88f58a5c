"""How elements of tensors look to the library: types of reductions, and types in which values only move."""

from __future__ import annotations

import torch
import torch.distributed as dist

from stretto.api.core import _core
from stretto.errors import UnsupportedError

TYPE, OP = _core.Type, _core.Op
REDUCE = dist.ReduceOp.RedOpType

# dtype -> (type, elements of that type in one of the dtype), for reductions.
NUMBERS = {
    torch.float32: (TYPE.f32, 1), torch.float64: (TYPE.f64, 1), torch.float16: (TYPE.f16, 1), torch.bfloat16: (TYPE.bf16, 1),
    torch.complex64: (TYPE.f32, 2), torch.complex128: (TYPE.f64, 2),
    torch.int8: (TYPE.i8, 1), torch.uint8: (TYPE.u8, 1), torch.int16: (TYPE.i16, 1), torch.uint16: (TYPE.u16, 1), torch.int32: (TYPE.i32, 1),
    torch.uint32: (TYPE.u32, 1), torch.int64: (TYPE.i64, 1), torch.uint64: (TYPE.u64, 1), torch.bool: (TYPE.u8, 1),
}

OPS = {REDUCE.SUM: OP.sum, REDUCE.AVG: OP.mean, REDUCE.PRODUCT: OP.prod, REDUCE.MIN: OP.min, REDUCE.MAX: OP.max, REDUCE.BAND: OP.band,
       REDUCE.BOR: OP.bor, REDUCE.BXOR: OP.bxor, REDUCE.PREMUL_SUM: OP.sum}
# A bool is a byte of 0 or 1: a sum is "any", a product is "all".
OPS_OF_BOOL = {REDUCE.SUM: OP.max, REDUCE.PRODUCT: OP.min, REDUCE.MIN: OP.min, REDUCE.MAX: OP.max, REDUCE.BAND: OP.band, REDUCE.BOR: OP.bor,
               REDUCE.BXOR: OP.bxor}
OPS_OF_COMPLEX = (REDUCE.SUM, REDUCE.AVG, REDUCE.PREMUL_SUM)
OPS_OF_INTEGERS = (REDUCE.BAND, REDUCE.BOR, REDUCE.BXOR)


def moved(dtype):
    """(type, elements of that type in one of the dtype) of values that no rank computes with; dtypes without a type move as bytes."""
    return NUMBERS.get(dtype) or (TYPE.u8, dtype.itemsize)


def reduced(dtype, reduce_op):
    """(type, elements of that type in one of the dtype, op of the library) of a reduction. UnsupportedError names dtype and op."""
    if dtype not in NUMBERS:
        raise UnsupportedError(f"no reduction of {dtype}; there are reductions of {', '.join(str(one).removeprefix('torch.') for one in NUMBERS)}")
    kind, parts = NUMBERS[dtype]
    op = (OPS_OF_BOOL if dtype is torch.bool else OPS).get(reduce_op)
    floating = dtype.is_floating_point or dtype.is_complex
    if (op is None or (dtype.is_complex and reduce_op not in OPS_OF_COMPLEX) or (floating and reduce_op in OPS_OF_INTEGERS)
            or (not floating and reduce_op == REDUCE.AVG)):
        raise UnsupportedError(f"no reduction {reduce_op.name} of {dtype}")
    return kind, parts, op
