"""Golden tensors: how they are drawn and computed, and the safetensors file that has them."""

import json
import math
import random
import struct

import torch

F64 = torch.float64


class Golden:
    """Named tensors, in the order in which they were made."""

    def __init__(self):
        self.tensors = {}
        self.random = random.Random(14)

    def given(self, name, value):
        """An input, whose elements are f32 numbers; it takes part in differentiation if it is a parameter."""
        value = value.to(torch.float32)
        self.put(name, "F32", value)
        return value.to(F64).requires_grad_()

    def uniform(self, *shape, scale=1.0, shift=0.0):
        """Elements uniform around `shift`, at most `scale` from it, of a generator that every version of Python has."""
        values = [shift + scale * (2 * self.random.random() - 1) for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=F64).reshape(shape)

    def draw(self, name, *shape, **interval):
        """An input that is uniform."""
        return self.given(name, self.uniform(*shape, **interval))

    def made(self, name, value):
        """A result."""
        self.put(name, "F64", value.detach().to(F64))

    def gradients(self, prefix, loss, **of):
        """The gradients of `loss` by the named tensors."""
        gradients = torch.autograd.grad(loss, list(of.values()))
        for name, gradient in zip(of, gradients):
            self.made(f"{prefix}/d_{name}", gradient)

    def put(self, name, kind, value):
        assert name not in self.tensors, name
        self.tensors[name] = (kind, list(value.shape), value.contiguous().reshape(-1).tolist())


def weighted(golden, prefix, result):
    """A scalar that every element of a result takes part in, by factors that are an input of their own."""
    return (golden.draw(f"{prefix}/g", *result.shape) * result).sum()


FORMATS = {"F32": "f", "F64": "d"}


def to_bytes(tensors):
    header, data = {}, b""
    # eight-byte elements first, so that all are aligned
    for name, (kind, shape, values) in sorted(tensors.items(), key=lambda item: (item[1][0] != "F64", item[0])):
        part = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def from_bytes(content):
    (length,) = struct.unpack_from("<Q", content)
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + length]).items():
        kind, (start, end) = entry["dtype"], entry["data_offsets"]
        part = content[8 + length + start : 8 + length + end]
        count = len(part) // struct.calcsize(FORMATS[kind])
        tensors[name] = (kind, entry["shape"], list(struct.unpack(f"<{count}{FORMATS[kind]}", part)))
    return tensors


def differs(ours, theirs):
    kind, bound = ours[0], 0.0 if ours[0] == "F32" else 1e-9
    if (kind, ours[1]) != (theirs[0], theirs[1]):
        return True

    def near(a, b):
        # a bound relative to an infinity would admit every number
        return a == b or (math.isfinite(a) and abs(a - b) <= bound * max(1.0, abs(a)))

    return not all(near(a, b) for a, b in zip(ours[2], theirs[2]))
