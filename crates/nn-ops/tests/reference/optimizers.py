"""Writes optimizers.npy: weights of PyTorch's optimizers in float64, [configurations, steps, weights].

The gradients are given, so that nothing but the optimizers is compared; the test that reads the file has the same formulas.

    python3 optimizers.py [--check] FILE
"""

import sys

import numpy as np
import torch

STEPS, COUNT = 20, 6


def start():
    return torch.tensor([(i * 29 % 37) / 9 - 2 for i in range(COUNT)], dtype=torch.float64)


def gradient(step):
    return torch.tensor([((i * 11 + step * 7) % 23) / 20 - 0.5 for i in range(COUNT)], dtype=torch.float64)


def run(make, clip=None, schedule=None):
    w = torch.nn.Parameter(start())
    optimizer = make([w])
    scheduler = schedule(optimizer) if schedule else None
    rows = []
    for step in range(STEPS):
        w.grad = gradient(step)
        if clip:
            torch.nn.utils.clip_grad_norm_([w], clip)
        optimizer.step()
        if scheduler:
            scheduler.step()
        rows.append(w.detach().numpy().copy())
    return np.stack(rows)


optim, lr = torch.optim, torch.optim.lr_scheduler
ALL = [
    run(lambda p: optim.SGD(p, lr=0.1)),
    run(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)),
    run(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    run(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.05)),
    run(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.05), clip=0.7),
    run(lambda p: optim.Adam(p, lr=0.02)),
    run(lambda p: optim.Adam(p, lr=0.02, weight_decay=0.05)),
    run(lambda p: optim.AdamW(p, lr=0.02, weight_decay=0.05)),
    run(lambda p: optim.AdamW(p, lr=0.02, betas=(0.8, 0.95), eps=1e-3), clip=0.7),
    run(lambda p: optim.SGD(p, lr=0.1), schedule=lambda o: lr.StepLR(o, 6, 0.5)),
    run(
        lambda p: optim.AdamW(p, lr=0.02),
        schedule=lambda o: lr.SequentialLR(
            o,
            [lr.LinearLR(o, 0.2, 1.0, 4), lr.CosineAnnealingLR(o, 15, eta_min=0.001)],
            [4],
        ),
    ),
]

def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    made = np.stack(ALL)
    if not check:
        np.save(arguments[-1], made)
    elif not np.allclose(np.load(arguments[-1]), made, rtol=1e-9, atol=1e-12):
        sys.exit("different")


if __name__ == "__main__":
    main(sys.argv[1:])
