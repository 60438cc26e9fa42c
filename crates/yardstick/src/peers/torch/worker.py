"""Times PyTorch on one thread. Answers `prepare LINE` with `ready` or `none`, and each `run` with the seconds of one run.

Where PyTorch has more than one way to write a line, such as with and without `out=`, the fastest is taken.
"""

import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit()

torch.set_num_threads(1)
torch.manual_seed(1)

ROWS, COLUMNS = 4096, 1024
LINES = {}


def line(name, trains=False):
    """Registers a function that makes the inputs and returns the ways to run the line; `trains` if PyTorch differentiates."""

    def register(function):
        LINES[name] = (function, torch.enable_grad if trains else torch.inference_mode)
        return function

    return register


def noise(*shape, size=4.0, dtype=torch.float32):
    return ((torch.rand(*shape) * 2 - 1) * size).to(dtype)


def product(name, m, k, n, dtype=torch.float32, left=False, right=False):
    @line(name)
    def _():
        a = noise(k, m, size=1, dtype=dtype).T if left else noise(m, k, size=1, dtype=dtype)
        b = noise(n, k, size=1, dtype=dtype).T if right else noise(k, n, size=1, dtype=dtype)
        c = torch.empty(m, n, dtype=dtype)
        return [lambda: torch.mm(a, b, out=c), lambda: torch.mm(a, b)]


for side in (128, 256, 512, 1024):
    product(f"nn.matmul/{side}", side, side, side)
    product(f"nn.matmul_bf16/{side}", side, side, side, torch.bfloat16)
product("nn.matmul/1x512x256", 1, 512, 256)
product("nn.matmul/32x256x512", 32, 256, 512)
product("nn.matmul_nt/512", 512, 512, 512, right=True)
product("nn.matmul_tn/512", 512, 512, 512, left=True)
product("nn.matmul_nt_bf16/256", 256, 256, 256, torch.bfloat16, right=True)
product("nn.matmul_f16/512", 512, 512, 512, torch.float16)


def encode(name, rows):
    @line(name)
    def _():
        x, w, b = noise(rows, 64), noise(128, 64, size=1), noise(128, size=1)
        wt, y = w.T.contiguous(), torch.empty(rows, 128)
        return [
            lambda: F.relu_(F.linear(x, w, b)),
            lambda: torch.relu_(torch.addmm(b, x, wt)),
            lambda: torch.relu_(torch.addmm(b, x, wt, out=y)),
        ]


encode("nn.encode_state", 32)
encode("nn.encode_state/4096", 4096)


def element(name, *ways, dtype=torch.float32, operands=1):
    @line(name)
    def _():
        tensors = [noise(ROWS, COLUMNS, dtype=dtype) for _ in range(operands)]
        result = torch.empty(ROWS, COLUMNS, dtype=dtype)
        return [lambda way=way: way(*tensors, result) for way in ways]


element("nn.relu", lambda x, y: torch.clamp_min(x, 0, out=y), lambda x, _: F.relu(x))
element("nn.sigmoid", lambda x, y: torch.sigmoid(x, out=y), lambda x, _: torch.sigmoid(x))
element("nn.tanh", lambda x, y: torch.tanh(x, out=y), lambda x, _: torch.tanh(x))
element("nn.silu", lambda x, y: torch.ops.aten.silu.out(x, out=y), lambda x, _: F.silu(x))
gelu = torch.ops.aten.gelu.out
element("nn.gelu", lambda x, y: gelu(x, approximate="tanh", out=y), lambda x, _: F.gelu(x, approximate="tanh"))
element("nn.gelu_erf", lambda x, y: gelu(x, out=y), lambda x, _: F.gelu(x))
element("nn.gelu_bf16", lambda x, y: gelu(x, approximate="tanh", out=y), dtype=torch.bfloat16)
gelu_backward = torch.ops.aten.gelu_backward.grad_input
element("nn.gelu_backward", lambda x, g, y: gelu_backward(g, x, approximate="tanh", grad_input=y), operands=2)
element("nn.add", lambda a, b, y: torch.add(a, b, out=y), lambda a, b, _: a + b, operands=2)
element("nn.add_number", lambda x, y: torch.add(x, 0.5, out=y), lambda x, _: x + 0.5)
element("nn.dropout", lambda x, _: F.dropout(x, 0.1, True))


@line("nn.add_row")
def _():
    x, row, y = noise(ROWS, COLUMNS), noise(COLUMNS), torch.empty(ROWS, COLUMNS)
    return [lambda: torch.add(x, row, out=y), lambda: x + row]


@line("nn.sum_columns")
def _():
    x, y = noise(ROWS, COLUMNS), torch.empty(COLUMNS)
    return [lambda: torch.sum(x, 0, out=y), lambda: x.sum(0)]


@line("nn.sum_rows")
def _():
    x, y = noise(ROWS, COLUMNS), torch.empty(ROWS)
    return [lambda: torch.sum(x, 1, out=y), lambda: x.sum(1)]


def softmax(name, axis=1, dtype=torch.float32, causal=False, log=False):
    @line(name)
    def _():
        x, y = noise(ROWS, COLUMNS, dtype=dtype), torch.empty(ROWS, COLUMNS, dtype=dtype)
        if causal:
            left_out = torch.ones(ROWS, COLUMNS, dtype=torch.bool).triu(1)
            return [lambda: torch.softmax(x.masked_fill(left_out, float("-inf")), axis)]
        function = torch.log_softmax if log else torch.softmax
        into = torch.ops.aten._log_softmax.out if log else torch.ops.aten._softmax.out
        return [lambda: function(x, axis), lambda: into(x, axis, False, out=y)]


softmax("nn.softmax")
softmax("nn.softmax_bf16", dtype=torch.bfloat16)
softmax("nn.softmax_columns", axis=0)
softmax("nn.softmax_causal", causal=True)
softmax("nn.log_softmax", log=True)


@line("nn.softmax_backward")
def _():
    y, g, dx = torch.softmax(noise(ROWS, COLUMNS), 1), noise(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    backward = torch.ops.aten._softmax_backward_data
    return [lambda: backward(g, y, 1, torch.float32), lambda: backward.out(g, y, 1, torch.float32, grad_input=dx)]


def layer_norm(name, dtype=torch.float32):
    @line(name)
    def _():
        x, y = noise(ROWS, COLUMNS, dtype=dtype), torch.empty(ROWS, COLUMNS, dtype=dtype)
        gamma, beta = noise(COLUMNS, dtype=dtype), noise(COLUMNS, dtype=dtype)
        mean, rstd = torch.empty(ROWS, 1, dtype=dtype), torch.empty(ROWS, 1, dtype=dtype)
        into = torch.ops.aten.native_layer_norm.out
        return [
            lambda: F.layer_norm(x, [COLUMNS], gamma, beta),
            lambda: into(x, [COLUMNS], gamma, beta, 1e-5, out0=y, out1=mean, out2=rstd),
        ]


layer_norm("nn.layer_norm")
layer_norm("nn.layer_norm_bf16", torch.bfloat16)


@line("nn.layer_norm_backward")
def _():
    x, g, gamma, beta = noise(ROWS, COLUMNS), noise(ROWS, COLUMNS), noise(COLUMNS), noise(COLUMNS)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [COLUMNS], gamma, beta, 1e-5)
    backward = torch.ops.aten.native_layer_norm_backward
    dx, dgamma, dbeta = torch.empty_like(x), torch.empty_like(gamma), torch.empty_like(beta)
    arguments = (g, x, [COLUMNS], mean, rstd, gamma, beta, [True, True, True])
    return [lambda: backward(*arguments), lambda: backward.out(*arguments, out0=dx, out1=dgamma, out2=dbeta)]


@line("nn.rms_norm")
def _():
    x, gamma = noise(ROWS, COLUMNS), noise(COLUMNS)
    return [lambda: F.rms_norm(x, [COLUMNS], gamma, 1e-5)]


def attention(name, *shape):
    @line(name)
    def _():
        q, k, v = (noise(*shape, size=1) for _ in range(3))
        return [lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)]


attention("nn.attention/4x8x512x64", 4, 8, 512, 64)
attention("nn.attention/1x8x2048x64", 1, 8, 2048, 64)
attention("nn.attention/8x12x128x64", 8, 12, 128, 64)


@line("nn.attention_backward/4x8x512x64", trains=True)
def _():
    inputs = [noise(4, 8, 512, 64, size=1).requires_grad_() for _ in range(3)]
    y, g = F.scaled_dot_product_attention(*inputs, is_causal=True), noise(4, 8, 512, 64, size=1)
    return [lambda: torch.autograd.grad(y, inputs, g, retain_graph=True)]


@line("nn.attention_decode/2048")
def _():
    q, k, v = noise(4, 8, 1, 64, size=1), noise(4, 8, 2048, 64, size=1), noise(4, 8, 2048, 64, size=1)
    return [lambda: F.scaled_dot_product_attention(q, k, v)]


@line("nn.cross_entropy", trains=True)
def _():
    x, targets = noise(ROWS, COLUMNS).requires_grad_(), torch.arange(ROWS) * 7 % COLUMNS

    def step():
        x.grad = None
        F.cross_entropy(x, targets).backward()

    return [step]


MEMBERS, BATCH, STEPS, HIDDEN = 5, 32, 10, 256


@line("nn.gru/128x256")
def _():
    members = [torch.nn.GRU(128, HIDDEN) for _ in range(MEMBERS)]
    x = noise(STEPS, BATCH, 128, size=1)
    return [lambda: [member(x) for member in members]]


@line("nn.bptt_step", trains=True)
def _():
    members = [torch.nn.GRU(128, HIDDEN) for _ in range(MEMBERS)]
    head, second = noise(HIDDEN + 32, size=0.1).requires_grad_(), torch.arange(0, HIDDEN, HIDDEN // 32)
    x, targets = noise(STEPS, BATCH, 128, size=1), torch.ones(STEPS, BATCH)
    parameters = [weight for member in members for weight in member.parameters()] + [head]
    optimizer = torch.optim.SGD(parameters, lr=1e-3, foreach=True)

    def step():
        optimizer.zero_grad()
        total = 0
        for member in members:
            h, _ = member(x)
            both = torch.cat([h, torch.softmax(h[..., second], 2)], 2)
            errors = torch.exp(torch.clamp(both @ head, -10, 10)) - targets
            total = total + (errors * errors).mean() / 2
        total.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0, foreach=True)
        optimizer.step()

    return [step]


@line("nn.rssm_rollout/64x256")
def _():
    members = [torch.nn.GRUCell(64, HIDDEN) for _ in range(MEMBERS)]
    head, second = noise(HIDDEN + 32, size=0.1), torch.arange(0, HIDDEN, HIDDEN // 32)
    start, state = noise(BATCH, 64, size=0.1), noise(BATCH, HIDDEN, size=0.1)

    def roll_out():
        for member in members:
            x, h = start.clone(), state
            for _ in range(STEPS):
                h = member(x, h)
                both = torch.cat([h, torch.softmax(h[:, second], 1)], 1)
                x[:, 0] = torch.exp(torch.clamp(both @ head, -10, 10))

    return [roll_out]


@line("nn.adam_w/4194304", trains=True)
def _():
    def stepping(**options):
        w = torch.nn.Parameter(noise(1 << 22, size=1))
        w.grad = noise(1 << 22, size=1)
        return torch.optim.AdamW([w], lr=1e-3, **options).step

    return [stepping(fused=True), stepping(foreach=True), stepping(foreach=False)]


@line("nn.mlp_step", trains=True)
def _():
    sizes = [784, 512, 512, 10]
    layers = [torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:])]
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    x, targets = noise(256, 784, size=1), torch.arange(256) * 7 % 10

    def stepping(**options):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, **options)

        def step():
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(network(x), targets).backward()
            optimizer.step()

        return step

    return [stepping(fused=True), stepping(foreach=True)]


def text_step(name, mixed=False):
    @line(name, trains=True)
    def _():
        width, heads, layers, length, batch = 256, 4, 4, 128, 16

        def block():
            norms = [torch.nn.LayerNorm(width) for _ in range(2)]
            sizes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
            return torch.nn.ModuleList(norms + [torch.nn.Linear(*pair) for pair in sizes])

        blocks, last = torch.nn.ModuleList([block() for _ in range(layers)]), torch.nn.LayerNorm(width)
        table, places = (noise(rows, width, size=0.05).requires_grad_() for rows in (256, length))
        parameters = [table, places, *blocks.parameters(), *last.parameters()]
        inputs, targets = torch.randint(256, (batch, length)), torch.randint(256, (batch * length,))

        def scores():
            x = F.embedding(inputs, table) + places
            for first, second, qkv, out, widen, narrow in blocks:
                q, k, v = (part.view(batch, length, heads, -1).transpose(1, 2) for part in qkv(first(x)).chunk(3, 2))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + out(y.transpose(1, 2).reshape(batch, length, width))
                x = x + narrow(F.gelu(widen(second(x)), approximate="tanh"))
            return last(x).view(-1, width) @ table.T

        def stepping(**options):
            optimizer = torch.optim.AdamW(parameters, lr=1e-3, **options)

            def step():
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                    loss = F.cross_entropy(scores(), targets)
                loss.backward()
                optimizer.step()

            return step

        return [stepping(fused=True), stepping(foreach=True)]


text_step("nn.text_step")
text_step("nn.text_step_bf16", mixed=True)


def svd(name, m, n):
    @line(name)
    def _():
        a = noise(m, 1) @ noise(1, n) + noise(m, 1) @ noise(1, n) / 3 + noise(m, n, size=0.01)
        return [lambda: torch.svd_lowrank(a, q=42, niter=1)]


svd("nn.svd/1024x256", 1024, 256)
svd("nn.svd/4096x1024", 4096, 1024)


def seconds(way):
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def fastest(ways):
    for way in ways:
        seconds(way)
    return min(ways, key=lambda way: min(seconds(way) for _ in range(5)))


def main():
    print(torch.__version__.split("+")[0], flush=True)
    way, mode = None, torch.inference_mode
    for request in sys.stdin:
        verb, _, name = request.strip().partition(" ")
        if verb == "run":
            with mode():
                print(seconds(way), flush=True)
        elif name in LINES:
            prepare, mode = LINES[name]
            with mode():
                way = fastest(prepare())
            print("ready", flush=True)
        else:
            print("none", flush=True)


main()
