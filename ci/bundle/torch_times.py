"""Times of torch for the ops that `trefoil bench --backend gpu` measures: torch_times.py [--quick] FILE.

FILE holds JSON of the lines so far after each of them, so one that fails or hangs costs no other."""

import json
import os
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


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def copy(elements):
    x = random(elements)
    y = torch.empty_like(x)
    return lambda: y.copy_(x)


def upload(elements, pinned):
    """As a user moves a tensor of the host: pageable, or pinned before."""
    host = torch.randint(2**63 - 1, (elements,))
    host = host.pin_memory() if pinned else host
    y = torch.empty(elements, device="cuda", dtype=torch.int64)
    return lambda: y.copy_(host, non_blocking=pinned)


def download(elements, pinned):
    x = torch.randint(2**63 - 1, (elements,), device="cuda")
    host = torch.empty(elements, dtype=torch.int64, pin_memory=True)
    return (lambda: host.copy_(x, non_blocking=True)) if pinned else (lambda: x.cpu())


def gelu(elements):
    x = random(elements)
    return lambda: F.gelu(x, approximate="tanh")


def softmax(rows, columns):
    x = random(rows, columns)
    return lambda: torch.softmax(x, dim=1)


def layer_norm(rows, columns):
    x, gamma, beta = random(rows, columns), random(columns), random(columns)
    return lambda: F.layer_norm(x, (columns,), gamma, beta, 1e-5)


def rms_norm(rows, columns):
    x, gamma = random(rows, columns), random(columns)
    return lambda: F.rms_norm(x, (columns,), gamma, 1e-5)


def matmul(n, dtype):
    a, b = random(n, n, dtype=dtype), random(n, n, dtype=dtype)
    c = torch.empty_like(a)
    return lambda: torch.matmul(a, b, out=c)


def fft(log_size):
    """A transform of as many bytes as a circle transform of twice as many elements: no peer for the values, one for the memory."""
    x = random(1 << log_size, dtype=torch.complex64)
    return lambda: torch.fft.fft(x)


def lines():
    elements, rows, columns = (1 << 12, 8, 64) if QUICK else (1 << 28, 65536, 1024)
    yield "copy", lambda: copy(elements)
    words = 1 << 12 if QUICK else 1 << 25
    for name, pinned in [("", False), (".registered", True)]:
        yield f"copy.upload{name}/{words}", lambda pinned=pinned: upload(words, pinned)
        yield f"copy.download{name}/{words}", lambda pinned=pinned: download(words, pinned)
    yield f"nn.gelu/{elements}", lambda: gelu(elements)
    yield f"nn.softmax/{rows}x{columns}", lambda: softmax(rows, columns)
    yield f"nn.layer_norm/{rows}x{columns}", lambda: layer_norm(rows, columns)
    yield f"nn.rms_norm/{rows}x{columns}", lambda: rms_norm(rows, columns)
    for n in [64] if QUICK else [1024, 2048, 4096, 8192]:
        for name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
            yield f"nn.matmul.{name}/{n}", lambda n=n, dtype=dtype: matmul(n, dtype)
    for log_size in [10] if QUICK else [20, 24, 26]:
        yield f"fft.complex64/2^{log_size}", lambda log_size=log_size: fft(log_size)


def write(path, times):
    part = f"{path}.part"
    with open(part, "w") as file:
        json.dump({"name": f"torch {torch.__version__}", "lines": times}, file)
    os.replace(part, path)


def main():
    (path,) = [argument for argument in sys.argv[1:] if argument != "--quick"]
    torch.backends.cuda.matmul.allow_tf32 = False
    times, failed = {}, 0
    for name, prepare in lines():
        print(name, flush=True)
        try:
            times[name] = seconds(prepare())
        except Exception as error:  # memory that is short, an op that this torch lacks
            failed += 1
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        write(path, times)
        torch.cuda.empty_cache()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
