"""Writes golden results of PyTorch: python3 goldens.py FILE, or python3 goldens.py --check FILE to compare.

Needs Python 3.9 and PyTorch 2.4 or later, on the processor. FILE is a safetensors file: inputs in F32, and what PyTorch
makes of them in F64, all of whose arithmetic is f64. A comparison asks for the same names, types, shapes and inputs, and
for results within 1e-9, since sums have another order on other processors. Operators are in this file, attention and
models in networks.py.
"""

import sys
from pathlib import Path

import torch
from networks import ACTIVATIONS, attention, language_model, layers, reset_before
from tensors import F64, Golden, differs, from_bytes, to_bytes, weighted
from torch.nn import functional as F


def softmaxes(golden):
    x = golden.draw("softmax/x", 3, 5, 7, scale=4.0)
    for axis in range(3):
        for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
            prefix = f"{name}.{axis}"
            y = function(x, dim=axis)
            golden.made(f"{prefix}/y", y)
            golden.gradients(prefix, weighted(golden, prefix, y), x=x)
    mask = golden.draw("softmax.masked/addend", 5, 7, scale=2.0)
    left_out = torch.arange(7) > torch.arange(5)[:, None] + 1
    golden.made("softmax.additive/y", F.softmax(x + mask, dim=-1))
    golden.made("softmax.causal/y", F.softmax(x.masked_fill(left_out, -torch.inf), dim=-1))


def norms(golden):
    x = golden.draw("norm/x", 4, 33, scale=3.0, shift=1.0)
    gamma, beta = golden.draw("norm/gamma", 33, shift=1.0), golden.draw("norm/beta", 33)
    y = F.layer_norm(x, (33,), gamma, beta, eps=1e-3)
    golden.made("layer_norm/y", y)
    golden.gradients("layer_norm", weighted(golden, "layer_norm", y), x=x, gamma=gamma, beta=beta)
    golden.made("layer_norm.plain/y", F.layer_norm(x, (33,), eps=1e-5))
    y = F.rms_norm(x, (33,), gamma, eps=1e-3)
    golden.made("rms_norm/y", y)
    golden.gradients("rms_norm", weighted(golden, "rms_norm", y), x=x, gamma=gamma)


# In the file as their numbers; a class that is not there is ignored.
TARGETS = [0, 9, 3, 255, 5, 5]


def losses(golden):
    logits = golden.draw("cross_entropy/logits", 6, 10, scale=5.0)
    targets = golden.given("cross_entropy/targets", torch.tensor(TARGETS)).detach().to(torch.int64)
    by_row = F.cross_entropy(logits, targets, reduction="none", ignore_index=255)
    golden.made("cross_entropy/losses", by_row)
    golden.gradients("cross_entropy", by_row.sum() / 6, logits=logits)
    weights = golden.draw("cross_entropy/probs", 6, 10, scale=0.5, shift=0.5)
    by_row = F.cross_entropy(logits, weights, reduction="none")
    golden.made("cross_entropy.probs/losses", by_row)
    golden.gradients("cross_entropy.probs", by_row.sum() / 6, logits=logits)


def elements(golden):
    x = golden.draw("elements/x", 96, scale=9.0)
    g = golden.draw("elements/g", 96)
    for name, function in ACTIVATIONS.items():
        y = function(x)
        golden.made(f"{name}/y", y)
        golden.gradients(name, (g * y).sum(), x=x)
    positive = golden.draw("elements/positive", 96, scale=4.0, shift=4.0625)
    maps = {
        "neg": -x,
        "abs": x.abs(),
        "exp": x.exp(),
        "log": positive.log(),
        "sqrt": positive.sqrt(),
        "rsqrt": positive.rsqrt(),
        "recip": positive.reciprocal(),
        "clamp": x.clamp(-1.5, 2.25),
        "huber": F.huber_loss(x, torch.zeros_like(x), reduction="none", delta=1.25),
    }
    for name, y in maps.items():
        golden.made(f"map.{name}/y", y)
    a, b = golden.draw("binary/a", 3, 1, 4, scale=3.0), golden.draw("binary/b", 5, 1, scale=3.0)
    pairs = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Div": a / b}
    pairs |= {"Max": torch.maximum(a, b), "Min": torch.minimum(a, b)}
    for name, y in pairs.items():
        golden.made(f"binary.{name}/y", y)
    narrow = x.detach().to(torch.float32) * torch.tensor([1.0, 1e-3, 1e-7, 1e4], dtype=torch.float32).repeat(24)
    golden.given("cast/x", narrow)
    golden.made("cast.f16/y", narrow.to(torch.float16))
    golden.made("cast.bf16/y", narrow.to(torch.bfloat16))


def products(golden):
    a, b = golden.draw("matmul/a", 2, 1, 4, 5), golden.draw("matmul/b", 3, 5, 6)
    c = a @ b
    golden.made("matmul/c", c)
    golden.gradients("matmul", weighted(golden, "matmul", c), a=a, b=b)
    x, w, bias = golden.draw("linear/x", 9, 13), golden.draw("linear/w", 13, 6), golden.draw("linear/bias", 6)
    for name, function in (("identity", lambda p: p), ("gelu-erf", F.gelu), ("tanh", torch.tanh)):
        prefix = f"linear.{name}"
        p = F.linear(x, w.T, bias)
        y = function(p)
        golden.made(f"{prefix}/p", p)
        golden.made(f"{prefix}/y", y)
        golden.gradients(prefix, weighted(golden, prefix, y), x=x, w=w, bias=bias)


def reductions(golden):
    x = golden.draw("reduce/x", 3, 4, 5, scale=2.0)
    for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        name = "".join(map(str, axes))
        for kind, y in (
            ("sum", x.sum(axes)),
            ("mean", x.mean(axes)),
            ("max", x.amax(axes)),
            ("min", x.amin(axes)),
        ):
            golden.made(f"reduce.{kind}.{name}/y", y)
    for axis in range(3):
        golden.made(f"arg_max.{axis}/y", x.argmax(axis))


def tables(golden):
    table = golden.draw("embedding/table", 9, 5)
    chosen = golden.given("embedding/indices", torch.tensor([8, 0, 3, 3, 7, 0, 3, 1, 8, 8, 0, 3]))
    y = F.embedding(chosen.detach().to(torch.int64), table)
    golden.made("embedding/y", y)
    golden.gradients("embedding", weighted(golden, "embedding", y), table=table)


def spectra(golden):
    """Matrices whose singular values fall, and all of these."""
    for name, m, n in (("short", 40, 24), ("long", 80, 65)):
        a = golden.uniform(m, 4) @ golden.uniform(4, n)
        a = golden.given(f"svd.{name}/a", a + 1e-2 * torch.eye(m, n, dtype=F64))
        golden.made(f"svd.{name}/s", torch.linalg.svdvals(a))


def optimizers(golden):
    """Twenty steps along gradients that are given."""
    start = golden.draw("steps/start", 7).detach()
    gradients = golden.draw("steps/gradients", 20, 7).detach()
    kinds = {
        "sgd": lambda w: torch.optim.SGD(w, lr=0.1),
        "sgd.momentum": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
        "adam_w": lambda w: torch.optim.AdamW(w, lr=0.01, weight_decay=0.0625),
        "adam_w.other": lambda w: torch.optim.AdamW(w, lr=0.02, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.0),
    }
    for name, kind in kinds.items():
        weights = start.clone().requires_grad_()
        optimizer, after = kind([weights]), []
        for gradient in gradients:
            weights.grad = gradient.clone()
            optimizer.step()
            after.append(weights.detach().clone())
        golden.made(f"{name}/weights", torch.stack(after))


def perceptron(golden):
    """Six steps of a network of two layers on one batch, by momentum."""
    x = golden.draw("mlp/x", 8, 5)
    targets = golden.given("mlp/targets", torch.tensor([0, 1, 2, 0, 1, 2, 2, 1])).detach().to(torch.int64)
    shapes = {"a.weight": (5, 7), "a.bias": (7,), "b.weight": (7, 3), "b.bias": (3,)}
    weights = {name: golden.draw(f"mlp/{name}", *shape, scale=0.5) for name, shape in shapes.items()}
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    optimizer, by_step = torch.optim.SGD(weights.values(), lr=0.2, momentum=0.75), []
    for _ in range(6):
        optimizer.zero_grad()
        hidden = F.relu(x.detach() @ weights["a.weight"] + weights["a.bias"])
        loss = F.cross_entropy(hidden @ weights["b.weight"] + weights["b.bias"], targets)
        loss.backward()
        optimizer.step()
        by_step.append(loss.detach())
    golden.made("mlp/losses", torch.stack(by_step))
    for name, weight in weights.items():
        golden.made(f"mlp.trained/{name}", weight)


# Steps, rows, inputs, states.
UNITS = {"small": (10, 3, 4, 5), "wide": (3, 2, 6, 17)}


def recurrent(golden):
    """Two units of each kind on one sequence."""
    for size, (steps, batch, inputs, n) in UNITS.items():
        x = golden.draw(f"gru.{size}/x", steps, batch, inputs)
        first = golden.draw(f"gru.{size}/first", 2, batch, n)
        of_states = golden.draw(f"gru.{size}/of_states", 2, steps, batch, n)
        of_last = golden.draw(f"gru.{size}/of_last", 2, batch, n)
        for variant in ("before", "after"):
            of_x = torch.zeros_like(x)
            for member in range(2):
                prefix = f"gru.{size}.{variant}.{member}"
                h0 = first[member]
                if variant == "after":
                    unit = torch.nn.GRU(inputs, n, dtype=F64)
                    shapes = {name: weight.shape for name, weight in unit.named_parameters()}
                    weights = {name: golden.draw(f"{prefix}/{name}", *shape) for name, shape in shapes.items()}
                    states, _ = torch.func.functional_call(unit, weights, (x, h0[None]))
                else:
                    shapes = {"w": (inputs, 3 * n), "u": (n, 3 * n), "b": (3 * n,)}
                    weights = {name: golden.draw(f"{prefix}/{name}", *shape) for name, shape in shapes.items()}
                    state, by_step = h0, []
                    for step in range(steps):
                        state = reset_before(x[step], state, **weights)
                        by_step.append(state)
                    states = torch.stack(by_step)
                golden.made(f"{prefix}/states", states)
                loss = (of_states[member].detach() * states).sum() + (of_last[member].detach() * states[-1]).sum()
                of_x += torch.autograd.grad(loss, x, retain_graph=True)[0]
                golden.gradients(prefix, loss, first=h0, **weights)
            golden.made(f"gru.{size}.{variant}/d_x", of_x)


PARTS = [
    softmaxes,
    norms,
    losses,
    elements,
    products,
    reductions,
    tables,
    spectra,
    optimizers,
    perceptron,
    recurrent,
    attention,
    layers,
    language_model,
]


def golden():
    made = Golden()
    for part in PARTS:
        part(made)
    return made.tensors


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    file = Path(arguments[-1])
    content = to_bytes(golden())
    if not check:
        file.write_bytes(content)
        return
    made, committed = from_bytes(content), from_bytes(file.read_bytes())
    wrong = sorted(made.keys() ^ committed.keys())
    wrong += [name for name in made.keys() & committed.keys() if differs(made[name], committed[name])]
    if wrong:
        sys.exit(f"different: {', '.join(wrong)}")


if __name__ == "__main__":
    main(sys.argv[1:])
