"""Times of torch for the ops that `trefoil bench --backend gpu` measures, as JSON on standard output."""

import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

QUICK = "--quick" in sys.argv[1:]
ROUNDS, BATCH_SECONDS = (5, 0.008) if QUICK else (15, 0.04)


def seconds(run):
    """Median seconds of one run, over rounds that wait once at their end."""

    def batch(repeats):
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    batch(3)
    repeats = 1
    while batch(repeats) < BATCH_SECONDS and repeats < 4096:
        repeats *= 2
    return statistics.median(batch(repeats) / repeats for _ in range(ROUNDS))


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda"
    elements, rows, columns, squares = (1 << 12, 8, 64, [64]) if QUICK else (1 << 28, 65536, 1024, [1024, 2048, 4096])
    lines = {}

    x = torch.randn(elements, device=device)
    y = torch.empty_like(x)
    lines["copy"] = seconds(lambda: y.copy_(x))
    lines[f"nn.gelu/{elements}"] = seconds(lambda: F.gelu(x, approximate="tanh"))
    del x, y

    x = torch.randn(rows, columns, device=device)
    gamma, beta = torch.randn(columns, device=device), torch.randn(columns, device=device)
    lines[f"nn.softmax/{rows}x{columns}"] = seconds(lambda: torch.softmax(x, dim=1))
    lines[f"nn.layer_norm/{rows}x{columns}"] = seconds(lambda: F.layer_norm(x, (columns,), gamma, beta, 1e-5))

    for n in squares:
        for name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
            a = torch.randn(n, n, device=device, dtype=dtype)
            b = torch.randn(n, n, device=device, dtype=dtype)
            c = torch.empty(n, n, device=device, dtype=dtype)
            lines[f"nn.matmul.{name}/{n}"] = seconds(lambda: torch.matmul(a, b, out=c))

    json.dump({"name": f"torch {torch.__version__}", "lines": lines}, sys.stdout)


if __name__ == "__main__":
    main()
