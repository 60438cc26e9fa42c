"""Attention, layers and a language model, by their formulas and by PyTorch's own modules.

The results are of explicit formulas in f64, with gradients by autograd. The script compares the formulas with PyTorch's
modules where there is one. By design, some conventions of `nn_ops` differ from PyTorch's:

- matrices of weights are [inputs, outputs], transposed to `Linear`, `MultiheadAttention` and `GRU`;
- a causal mask has an offset; `is_causal` of `scaled_dot_product_attention` means an offset of 0;
- the result of a query that reads no key is zeros, and the logarithm of its sum -inf; a plain softmax has NaN;
- `GRU` resets the state after the product; the other variant has formulas only;
- dropout draws from a counter, so it is not compared.
"""

import math

import torch
from tensors import F64, weighted
from torch.nn import functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-erf": F.gelu,
    "silu": F.silu,
}


def reset_before(x, h, w, u, b):
    """A step of a unit that resets its state before the product: Cho et al., arXiv 1406.1078v3."""
    n = h.shape[-1]
    (wz, wr, wc), (uz, ur, uc), (bz, br, bc) = (part.split(n, dim=-1) for part in (w, u, b))
    z, r = torch.sigmoid(x @ wz + bz + h @ uz), torch.sigmoid(x @ wr + br + h @ ur)
    return (1 - z) * h + z * torch.tanh(x @ wc + bc + (r * h) @ uc)


def agree(name, ours, theirs):
    """Requires a formula to have the values of PyTorch's module."""
    if not torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12):
        raise SystemExit(f"{name}: the formula and PyTorch's module differ")


def causal(queries, keys, offset):
    """Whether query t reads key s, [queries, keys]."""
    return torch.arange(keys) <= torch.arange(queries)[:, None] + offset


def attend(q, k, v, read, addend):
    """Vaswani et al., arXiv 1706.03762, section 3.2.1.

    q is [batch, queries, heads, dim], k and v are [batch, keys, kv_heads, dim]; `read` and `addend` broadcast to
    [batch, heads, queries, keys]. Returns the results, [batch, queries, heads, dim], and the logarithms of the sums,
    [batch, heads, queries].
    """
    scores = torch.einsum("bthd,bshd->bhts", q, by_head(q, k)) / math.sqrt(q.shape[3]) + addend
    scores = scores.masked_fill(~read, -torch.inf)
    # finite for queries without keys too: their exponentials are zeros
    greatest = scores.detach().amax(-1, keepdim=True).clamp(min=-1e30)
    weights = (scores - greatest).exp()
    sums = weights.sum(-1, keepdim=True)
    y = torch.einsum("bhts,bshd->bthd", weights / torch.where(sums > 0, sums, 1.0), by_head(q, v))
    return y, (sums.log() + greatest)[..., 0]


def by_head(q, kv):
    """Keys or values with a copy for each head of the queries."""
    return kv.repeat_interleave(q.shape[2] // kv.shape[2], dim=2)


# batch, heads, heads of keys, queries, keys, dim; the offset of a causal mask; the shape of a mask; lengths.
# `long` has more keys and queries than a block of the kernels.
ATTENTIONS = {
    "plain": {"sizes": (2, 3, 3, 5, 7, 8)},
    "causal": {"sizes": (2, 2, 2, 4, 7, 8), "offset": 3},
    "grouped": {"sizes": (2, 4, 2, 5, 6, 8)},
    "keep": {"sizes": (2, 2, 2, 5, 6, 8), "keep": (2, 1, 5, 6)},
    "additive": {"sizes": (2, 2, 2, 5, 6, 8), "addend": (2, 5, 6)},
    "ragged": {"sizes": (3, 2, 2, 4, 7, 8), "lens": [7, 4, 1]},
    "together": {"sizes": (2, 4, 1, 4, 7, 12), "offset": 3, "keep": (2, 1, 1, 7), "lens": [7, 5]},
    "nothing": {"sizes": (2, 2, 2, 3, 5, 8), "keep": (3, 5), "lens": [5, 0]},
    "long": {"sizes": (1, 2, 1, 33, 70, 20), "offset": 37},
}


def attention(golden):
    for name, case in ATTENTIONS.items():
        prefix = f"attention.{name}"
        batch, heads, kv_heads, queries, keys, dim = case["sizes"]
        q = golden.draw(f"{prefix}/q", batch, queries, heads, dim, scale=2.0)
        k = golden.draw(f"{prefix}/k", batch, keys, kv_heads, dim, scale=2.0)
        v = golden.draw(f"{prefix}/v", batch, keys, kv_heads, dim, scale=2.0)
        read, addend = torch.ones(batch, heads, queries, keys, dtype=torch.bool), torch.zeros((), dtype=F64)
        if "offset" in case:
            read = read & causal(queries, keys, case["offset"])
        if "keep" in case:
            keep = golden.uniform(*case["keep"]) > -0.3
            # the first key is read; in `nothing` one query reads none
            keep[..., 0] = True
            if name == "nothing":
                keep[1] = False
            golden.given(f"{prefix}/keep", keep)
            read = read & keep
        if "lens" in case:
            lens = torch.tensor(case["lens"])
            golden.given(f"{prefix}/lens", lens)
            read = read & (torch.arange(keys) < lens[:, None, None, None])
        if "addend" in case:
            addend = golden.uniform(*case["addend"], scale=3.0)
            addend[..., 2] = -torch.inf
            addend = golden.given(f"{prefix}/addend", addend).detach()
        y, lse = attend(q, k, v, read, addend)
        golden.made(f"{prefix}/y", y)
        golden.made(f"{prefix}/lse", lse)
        loss = weighted(golden, prefix, y)
        golden.gradients(prefix, loss, q=q, k=k, v=v)
        compare_attention(prefix, (q, k, v), read, addend, golden.tensors)


def compare_attention(prefix, qkv, read, addend, tensors):
    """Compares with `scaled_dot_product_attention`, for queries that read a key."""
    q, k, v = qkv
    mask = torch.zeros(read.shape, dtype=F64).masked_fill(~read, -torch.inf) + addend
    parts = (part.transpose(1, 2) for part in (q, by_head(q, k), by_head(q, v)))
    y = F.scaled_dot_product_attention(*parts, attn_mask=mask).transpose(1, 2)
    reads = (mask > -torch.inf).any(-1).transpose(1, 2)
    stored = {name: torch.tensor(tensors[f"{prefix}/{name}"][2], dtype=F64) for name in ("y", "g", "d_q", "d_k", "d_v")}
    agree(f"{prefix}/y", stored["y"].reshape(y.shape)[reads], y[reads])
    if reads.all():
        gradients = torch.autograd.grad((stored["g"].reshape(y.shape) * y).sum(), qkv)
        for name, gradient in zip(("d_q", "d_k", "d_v"), gradients):
            agree(f"{prefix}/{name}", stored[name], gradient.reshape(-1))


def dense(x, weights, name):
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def layer_norm(x, weights, name, eps):
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps)


def self_attention(x, weights, name, heads, is_causal):
    """Queries, keys and values of all heads from one product, attention, and another product.

    Compared with `torch.nn.MultiheadAttention`, which has the transposes of the same matrices.
    """
    batch, rows, width = x.shape
    q, k, v = dense(x, weights, f"{name}.qkv").reshape(batch, rows, 3, heads, width // heads).unbind(2)
    read = causal(rows, rows, 0 if is_causal else rows)
    mixed, _ = attend(q, k, v, read, torch.zeros((), dtype=F64))
    y = dense(mixed.reshape(batch, rows, width), weights, f"{name}.out")
    module = torch.nn.MultiheadAttention(width, heads, batch_first=True, dtype=F64)
    of_module = multihead_weights(weights, name)
    options = {"need_weights": False, "attn_mask": ~read}
    agree(name, y, torch.func.functional_call(module, of_module, (x, x, x), options)[0])
    return y


def multihead_weights(weights, name):
    """The weights of a layer by the names of `torch.nn.MultiheadAttention`."""
    return {
        "in_proj_weight": weights[f"{name}.qkv.weight"].T,
        "in_proj_bias": weights[f"{name}.qkv.bias"],
        "out_proj.weight": weights[f"{name}.out.weight"].T,
        "out_proj.bias": weights[f"{name}.out.bias"],
    }


def dense_shapes(name, inputs, outputs):
    return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}


def norm_shapes(name, features):
    return {f"{name}.weight": (features,), f"{name}.bias": (features,)}


def attention_shapes(name, width):
    return dense_shapes(f"{name}.qkv", width, 3 * width) | dense_shapes(f"{name}.out", width, width)


def draw_weights(golden, prefix, shapes):
    """Weights of all kinds; factors of norms lie around 1."""
    return {
        name: golden.draw(f"{prefix}/{name}", *shape, scale=0.5, shift=float("norm.weight" in name))
        for name, shape in shapes.items()
    }


def layers(golden):
    """Outputs of layers, and the gradients of their inputs and parameters, which have the names of `ParameterTable`."""

    def layer(case, of_x, shapes, function):
        prefix = f"layers.{case}"
        x, weights = golden.draw(f"{prefix}/x", *of_x, scale=2.0), draw_weights(golden, prefix, shapes)
        y = function(x, weights)
        golden.made(f"{prefix}/y", y)
        golden.gradients(prefix, weighted(golden, prefix, y), x=x, **weights)

    layer("dense", (2, 3, 7), dense_shapes("layer", 7, 5), lambda x, weights: dense(x, weights, "layer"))
    layer("layer_norm", (2, 3, 33), norm_shapes("norm", 33), lambda x, weights: layer_norm(x, weights, "norm", 1e-3))
    of_rms = {"norm.weight": (33,)}
    layer("rms_norm", (2, 3, 33), of_rms, lambda x, weights: F.rms_norm(x, (33,), weights["norm.weight"], 1e-3))
    for name, function in [("identity", lambda x: x * 1), *ACTIVATIONS.items()]:
        layer(name, (4, 9), {}, lambda x, _, function=function: function(x))
    for name, is_causal in (("attention", False), ("causal_attention", True)):

        def heads(x, weights, is_causal=is_causal):
            return self_attention(x, weights, "layer", 2, is_causal)

        layer(name, (2, 5, 8), attention_shapes("layer", 8), heads)
    of_sequence = dense_shapes("0", 5, 6) | norm_shapes("1.norm", 6) | attention_shapes("2", 6)
    of_sequence |= {"4.norm.weight": (6,)} | dense_shapes("5", 6, 3)
    layer("sequence", (2, 4, 5), of_sequence, sequence)
    table(golden)
    units(golden)


def sequence(x, weights):
    """A dense layer, a layer norm, causal attention of two heads, SiLU, an RMS norm, and a dense layer."""
    x = layer_norm(dense(x, weights, "0"), weights, "1.norm", 1e-3)
    x = F.silu(self_attention(x, weights, "2", 2, True))
    return dense(F.rms_norm(x, (6,), weights["4.norm.weight"], 1e-3), weights, "5")


def table(golden):
    weight = golden.draw("layers.embedding/layer.weight", 7, 5)
    indices = golden.given("layers.embedding/indices", torch.tensor([6, 0, 3, 3, 5, 0, 3, 6]))
    y = F.embedding(indices.detach().to(torch.int64), weight)
    golden.made("layers.embedding/y", y)
    golden.gradients("layers.embedding", weighted(golden, "layers.embedding", y), **{"layer.weight": weight})


def units(golden):
    """Recurrent layers, which start from states of zeros."""
    steps, batch, inputs, n = 5, 3, 4, 6
    for variant in ("before", "after"):
        prefix = f"layers.gru.{variant}"
        x, state = golden.draw(f"{prefix}/x", steps, batch, inputs), torch.zeros(batch, n, dtype=F64)
        if variant == "after":
            unit = torch.nn.GRU(inputs, n, dtype=F64)
            shapes = {name: weight.shape for name, weight in unit.named_parameters()}
            weights = {name: golden.draw(f"{prefix}/{name}", *shape) for name, shape in shapes.items()}
            y, _ = torch.func.functional_call(unit, weights, (x,))
        else:
            shapes = {"w": (inputs, 3 * n), "u": (n, 3 * n), "b": (3 * n,)}
            weights = {name: golden.draw(f"{prefix}/{name}", *shape) for name, shape in shapes.items()}
            by_step = []
            for step in range(steps):
                state = reset_before(x[step], state, **weights)
                by_step.append(state)
            y = torch.stack(by_step)
        golden.made(f"{prefix}/y", y)
        golden.gradients(prefix, weighted(golden, prefix, y), x=x, **weights)


# The model of `trefoil nn text train`, but for its sizes: bytes, places that it can read, width, heads, blocks.
BYTES, CONTEXT, WIDTH, HEADS, BLOCKS = 256, 8, 16, 2, 2
# Windows of six bytes; the target of each byte is the next one.
WINDOWS = (b"banana ", b"bandana")
# As in `trefoil nn text train`, but for the schedule and eps. The gradient of the keys' biases is zero in exact
# arithmetic. With the usual eps of 1e-8, the rounding errors that f32 has instead would move them by a part of the rate.
RATE, BETAS, EPS, DECAY, CLIP = 0.01, (0.9, 0.99), 1e-3, 0.1, 1.0
STEPS = 3


def language_model(golden):
    """Loss and gradients of a pre-norm transformer, and its parameters after steps of AdamW."""
    shapes = {"bytes.weight": (BYTES, WIDTH), "places.weight": (CONTEXT, WIDTH)}
    for block in range(BLOCKS):
        name = f"blocks.{block}"
        shapes |= norm_shapes(f"{name}.attention_norm", WIDTH) | attention_shapes(f"{name}.attention", WIDTH)
        shapes |= norm_shapes(f"{name}.mlp_norm", WIDTH) | dense_shapes(f"{name}.mlp_in", WIDTH, 4 * WIDTH)
        shapes |= dense_shapes(f"{name}.mlp_out", 4 * WIDTH, WIDTH)
    shapes |= norm_shapes("norm", WIDTH)
    weights = draw_weights(golden, "tape", shapes)
    windows = torch.tensor([list(window) for window in WINDOWS])
    inputs, targets = windows[:, :-1], windows[:, 1:].reshape(-1)
    golden.given("tape/inputs", inputs)
    golden.given("tape/targets", targets)

    loss = F.cross_entropy(scores(weights, inputs), targets)
    agree("tape", loss, F.cross_entropy(scores_by_modules(weights, inputs), targets))
    golden.gradients("tape", loss, **weights)
    # biases and norms do not decay: they have one axis
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    groups = [
        {"params": [weight for weight in weights.values() if weight.dim() > 1], "weight_decay": DECAY},
        {"params": [weight for weight in weights.values() if weight.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer, losses = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPS), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(scores(weights, inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), CLIP)
        optimizer.step()
        losses.append(loss.detach())
    golden.made("tape/losses", torch.stack(losses))
    for name, weight in weights.items():
        golden.made(f"tape.trained/{name}", weight)


def scores(weights, inputs):
    """The scores of the byte after each byte, [windows * places, 256]."""
    x = embedded(weights, inputs)
    for block in range(BLOCKS):
        name = f"blocks.{block}"
        normed = layer_norm(x, weights, f"{name}.attention_norm", 1e-5)
        x = x + self_attention(normed, weights, f"{name}.attention", HEADS, True)
        normed = layer_norm(x, weights, f"{name}.mlp_norm", 1e-5)
        hidden = ACTIVATIONS["gelu-tanh"](dense(normed, weights, f"{name}.mlp_in"))
        x = x + dense(hidden, weights, f"{name}.mlp_out")
    return layer_norm(x, weights, "norm", 1e-5).reshape(-1, WIDTH) @ weights["bytes.weight"].T


def embedded(weights, inputs):
    return weights["bytes.weight"][inputs] + weights["places.weight"][: inputs.shape[1]]


def scores_by_modules(weights, inputs):
    """The same scores by `torch.nn.TransformerEncoderLayer`."""
    x, length = embedded(weights, inputs), inputs.shape[1]
    options = {"activation": ACTIVATIONS["gelu-tanh"], "norm_first": True, "batch_first": True, "dtype": F64}
    module = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, **options)
    for block in range(BLOCKS):
        name = f"blocks.{block}"
        of_attention = multihead_weights(weights, f"{name}.attention")
        of_module = {f"self_attn.{part}": weight for part, weight in of_attention.items()}
        for ours, theirs in (("attention_norm", "norm1"), ("mlp_norm", "norm2")):
            of_module |= {f"{theirs}.{part}": weights[f"{name}.{ours}.{part}"] for part in ("weight", "bias")}
        for ours, theirs in (("mlp_in", "linear1"), ("mlp_out", "linear2")):
            of_module |= {f"{theirs}.weight": weights[f"{name}.{ours}.weight"].T}
            of_module |= {f"{theirs}.bias": weights[f"{name}.{ours}.bias"]}
        x = torch.func.functional_call(module, of_module, (x, ~causal(length, length, 0)))
    return layer_norm(x, weights, "norm", 1e-5).reshape(-1, WIDTH) @ weights["bytes.weight"].T
