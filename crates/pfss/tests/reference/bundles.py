"""Writes golden key bundles: python3 bundles.py FOLDER, or python3 bundles.py --check FOLDER to compare.

Needs Python 3.8 and nothing else. It shares no code with the crate: it follows docs/key-bundles.md, docs/pfss.md and
the papers they name. Before a bundle is written, both parties are played on it, and their shares have to add up to the
plain function. FOLDER gets each party's keys, NAME.0.pfk and NAME.1.pfk (.pfm for matrices), and `shares.txt`: for each
NAME the public masked inputs, what each party opens and the shares it ends with, as words in hexadecimal. They are of
version 1, as release 0.1.0 dealt them. FOLDER/seeded gets the same as it is dealt now, with uniform shares from seeds.
"""

import struct
import sys
from pathlib import Path

import gates
import primitives
import suf
import trees

LANES = 32
MASK64 = 2**64 - 1
# Numbers of the sections that a seed replaces, and of the seed.
ROOT, WORDS, BITS, SEED = 1, 6, 7, 9
MOST_EXPANSION = 16


class Draw:
    """The dealer's secret stream, for batches of `count` elements."""

    def __init__(self, seed, count):
        self.stream, self.count = primitives.Stream(seed), count

    def bits(self):
        return [self.stream.u32() & 1 for _ in range(self.count)]

    def words(self, n):
        return self.row(n, self.count)

    def row(self, n, length):
        return [self.stream.u64() % 2**n for _ in range(length)]

    def label(self):
        high = self.stream.u64()
        return high << 64 | self.stream.u64()


class Seed:
    """Uniform shares from 32 bytes of the dealer's stream, by AES-128 in counter mode.

    The first half is the key, the second the first counter block, big-endian; section s begins 2^64 s blocks later.
    """

    def __init__(self, stream):
        self.content = stream.bytes16() + stream.bytes16()
        self.cipher, self.start = primitives.Aes(self.content[:16]), int.from_bytes(self.content[16:], "big")

    def numbers(self, section, size, length):
        """`length` numbers of `size` bytes each, little-endian."""
        first = self.start + (section << 64)
        counters = [(first + i) % 2**128 for i in range(-(-size * length // 16))]
        blocks = [self.cipher.encrypt(int.from_bytes(i.to_bytes(16, "big"), "little")) for i in counters]
        key_stream = b"".join(block.to_bytes(16, "little") for block in blocks)
        return [int.from_bytes(key_stream[size * i : size * i + size], "little") for i in range(length)]

    def words(self, section, n, length):
        return [word % 2**n for word in self.numbers(section, 8, length)]


class Share:
    """One party's keys."""

    def __init__(self, party, gate, count, keys, words, bits):
        self.party, self.gate, self.count, self.keys, self.words, self.bits = party, gate, count, keys, words, bits

    def public(self, value):
        """Party 0 adds what both know."""
        return 0 if self.party else int(value)

    def cmp(self, tree, e, y):
        return self.keys[tree][e].eval(self.party, y)

    dcf = cmp

    def leaf(self, tree, e, y):
        return self.keys[tree][e].leaf(self.party, y)

    def mask_power(self, j, e):
        """Of (-r)^j."""
        return self.public(1) if j == 0 else -self.words[0][e] if j == 1 else self.words[j - 1][e]

    def masked(self, rows, first):
        """Rows of bits under the dealer's bits from row `first` on."""
        return [[b ^ m for b, m in zip(row, self.bits[first + i])] for i, row in enumerate(rows)]

    def pack(self, rows):
        """Rows of bits, 32 elements a word."""
        return [
            sum(b << i for i, b in enumerate(row[at : at + LANES])) for row in rows for at in range(0, len(row), LANES)
        ]


class Bundle:
    """Both parties' keys for one batch. Party 0's uniform shares come from a seed if `seeded`."""

    def __init__(self, gate, count, seed, seeded):
        self.gate, self.count = gate, count
        draw, self.padded = Draw(seed, count), -(-count // LANES) * LANES
        self.masks = draw.words(gate.n)
        self.nonce = primitives.Stream(~seed & MASK64).bytes16()
        prg = trees.Prg(self.nonce)
        words, bits = gate.secrets(self.masks, draw)
        self.seed = Seed(draw.stream) if seeded else None
        self.keys, roots = [], 0
        for (kind, n, length), secrets in zip(gate.trees, gate.tree_secrets(self.masks)):
            labels = []
            if seeded and (kind == "dcf" or n > 7):  # a truth table has no root
                labels, roots = self.seed.numbers(ROOT << 32 | roots, 16, self.padded), roots + 1
            labels += [draw.label() for _ in range(2 * self.padded - len(labels))]
            secrets = secrets + [(0, [0] * length)] * (self.padded - count)
            row = []
            for e, (alpha, beta) in enumerate(secrets):
                pair = (labels[e], labels[self.padded + e])
                if kind == "cmp":
                    row.append(trees.Cmp(prg, n, alpha, pair))
                else:
                    row.append(trees.Dcf(prg, n, gate.out_bits(), alpha, beta, pair))
            self.keys.append(row)
        self.words = ([], [])
        for index, row in enumerate(words):
            n = gate.word_bits(index)
            first = self.seed.words(WORDS << 32 | index, n, self.padded) if seeded else draw.row(n, self.padded)
            row = row + [0] * (self.padded - count)
            self.words[0].append(first)
            self.words[1].append([(value - share) % 2**n for value, share in zip(row, first)])
        self.bits = ([], [])  # rows of packed words
        for index, row in enumerate(bits):
            packed = [sum(b << i for i, b in enumerate(row[at : at + LANES])) for at in range(0, count, LANES)]
            if seeded:
                first = self.seed.numbers(BITS << 32 | index, 4, len(packed))
            else:
                first = [draw.stream.u32() for _ in packed]
            self.bits[0].append(first)
            self.bits[1].append([a ^ b for a, b in zip(first, packed)])

    def share(self, party):
        def unpack(row):
            return [row[e // LANES] >> e % LANES & 1 for e in range(self.count)]

        bits = [unpack(row) for row in self.bits[party]]
        return Share(party, self.gate, self.count, self.keys, self.words[party], bits)

    def sections(self, party):
        """The version, and of each section number, bytes of an element, dimensions, content; empty ones left out."""
        rows = {name: [] for name in ("root", "cw", "leaf", "vcw", "last")}
        for (kind, _, length), keys in zip(self.gate.trees, self.keys):
            columns = {"cw": [key.cw for key in keys]}
            if keys[0].roots is not None:
                rows["root"].append([key.roots[party] for key in keys])
            if kind == "cmp":
                columns["leaf"] = [key.leaves[party] for key in keys]
            else:
                columns["vcw"] = [sum(key.vcw, []) for key in keys]
                columns["last"] = [key.last for key in keys]
            for name, of_keys in columns.items():
                rows[name] += [list(row) for row in zip(*of_keys)]
        length = max([length for _, _, length in self.gate.trees], default=0)
        program = self.gate.program
        found = [(8, 1, (len(program), 1, 1), program)] if program else []
        for number, name in enumerate(("root", "cw", "leaf"), ROOT):
            found.append(self.section(number, 16, 1, rows[name]))
        found.append(self.section(4, 8, length, rows["vcw"]))
        found.append(self.section(5, 8, length, rows["last"]))
        found.append(self.section(WORDS, 8, 1, self.words[party]))
        found.append(self.section(BITS, 4, 1, self.bits[party], self.padded // LANES))
        found = [section for section in found if section and section[2][0]]
        if self.seed is None or party == 1:
            return 1, found
        uniform = sum(len(content) for number, _, _, content in found if number in (ROOT, WORDS, BITS))
        if uniform > MOST_EXPANSION * (sum(len(content) for _, _, _, content in found) - len(program) - uniform):
            return 1, found
        found = [section for section in found if section[0] not in (ROOT, WORDS, BITS)]
        found.insert(1 if program else 0, (SEED, 1, (32, 1, 1), self.seed.content))
        return 2, found

    def section(self, number, size, inner, rows, columns=None):
        if not rows:
            return None
        content = b"".join(value.to_bytes(size, "little") for row in rows for value in row)
        return number, size, (len(rows) // inner, inner, columns or self.padded), content

    def to_bytes(self, party):
        gate, (version, sections) = self.gate, self.sections(party)
        end, table, body = 128 + 48 * len(sections), b"", b""
        for number, size, dims, content in sections:
            offset = -(-end // 256) * 256
            table += struct.pack("<2I5Q", number, size, *dims, offset, len(content))
            body += bytes(offset - end) + content
            end = offset + len(content)
        length = max([length for _, _, length in gate.trees], default=0)
        parameters = struct.pack("<B4I", gate.kind, gate.n, gate.f, gate.degree, gate.masks)
        parameters += struct.pack("<I", gate.out) if gate.out else b""
        header = b"PFK1" + struct.pack("<H2B", version, gate.kind, party) + struct.pack("<4B", gate.n, gate.f, 1, 7)
        header += struct.pack("<3H2BI", length, gate.masks, gate.degree, gate.flags, gate.out, len(sections))
        header += struct.pack("<3Q", self.count, self.padded, end) + self.nonce
        name = b"pfss gate v1" + (b" masked outputs" if gate.flags else b"")
        header += primitives.blake3(name + parameters + gate.program)
        return header + primitives.blake3(header + table + body) + table + body


def play(bundle, x_hat):
    """What each party opens, round by round, and the shares it ends with."""
    parties = [bundle.share(party) for party in (0, 1)]
    runs = [bundle.gate.run(share, x_hat) for share in parties]
    opened, seen = None, ([], [])
    while True:
        messages, ends = [], []
        for run in runs:
            try:
                messages.append(run.send(opened))
            except StopIteration as end:
                ends.append(end.value)
        if ends:
            return seen, ends
        for share, (rows, words), transcript in zip(parties, messages, seen):
            transcript += share.pack(rows) + words
        (rows0, words0), (rows1, words1) = messages
        bits = [[a ^ b for a, b in zip(*pair)] for pair in zip(rows0, rows1)]
        size = 2 ** bundle.gate.out_bits()
        opened = bits, [(a + b) % size for a, b in zip(words0, words1)]


def matrix(shape, n, seed, seeded):
    """Both parties' triples of uniform matrices A, B and A B in a ring of n bits, from seeds if `seeded`."""
    (batch, rows, inner, cols), draw = shape, Draw(seed, 0)
    nonce, left, right = primitives.Stream(~seed & MASK64).bytes16(), batch * rows * inner, batch * inner * cols
    if seeded:
        seeds = [Seed(draw.stream) for _ in "01"]
        a, b = ([seed.words(section, n, length) for seed in seeds] for section, length in ((0, left), (1, right)))
        first = seeds[0].words(2, n, batch * rows * cols)
    else:
        a, b = [draw.row(n, left) for _ in "01"], [draw.row(n, right) for _ in "01"]
        first = draw.row(n, batch * rows * cols)
    whole_a, whole_b = [[x + y for x, y in zip(*shares)] for shares in (a, b)]

    def element(k, i, j):
        return sum(whole_a[(k * rows + i) * inner + t] * whole_b[(k * inner + t) * cols + j] for t in range(inner))

    product = [element(k, i, j) for k in range(batch) for i in range(rows) for j in range(cols)]
    c = [first, [(x - y) % 2**n for x, y in zip(product, first)]]
    out = []
    for party in (0, 1):
        version, body, stored = 1, b"", (a[party], b[party], c[party])
        if seeded:
            version, body, stored = 2, seeds[party].content, c[1:] if party else []
        header = b"PFM1" + struct.pack("<H2B4Q", version, party, n % 64, *shape) + nonce
        body += b"".join(word.to_bytes(8, "little") for row in stored for word in row)
        out.append(header + primitives.blake3(b"pfss matrix triple v%d" % version + header + body) + body)
    return out


SUF_LINES = [[1, 2], [3]]
SUF_PARABOLAS = [[1, 2, 3], [4, 5]]

# Name, gate and number of elements; the seed of each is its position and 1000.
CASES = [
    ("full_predicates", gates.Predicates(1, 9, 0, [("lt", 300), ("interval", 5, 400)]), 3),
    ("sign_predicates", gates.Predicates(2, 10, 0, [("non_negative",), ("msb", 5)]), 3),
    ("low_predicates", gates.Predicates(3, 64, 3, [("lt", 5), ("carry",)]), 33),
    ("relu", gates.Relu(10), 3),
    ("relu_within", gates.Relu(64, 6), 3),
    ("truncate_reduce", gates.TruncateReduce(16, 9), 3),
    ("gap_ars", gates.GapArs(64, 9), 3),
    ("interval_powers", gates.IntervalPowers(5, 2, [(3, 20), (20, None)]), 3),
    ("lrs", gates.Lrs(10, 8), 3),
    ("ars", gates.Ars(10, 8), 3),
    ("relu_ars", gates.ReluArs(10, 3), 3),
    ("suf_select", suf.Suf(9, 2, SUF_PARABOLAS, (suf.SHARED_ALPHA, suf.MASKED_SELECT, suf.ADDITIVE)), 3),
    ("suf_payload", suf.Suf(6, 2, SUF_PARABOLAS, (suf.SHARED_ALPHA, suf.INTERVAL_LUT, suf.XOR_PACKED)), 3),
    ("suf_hidden", suf.Suf(6, 1, SUF_LINES, (suf.STEP_PREDS, suf.STEP_DCF, suf.ADDITIVE)), 3),
    ("lut", gates.Lut(8, 40, [i * i * 99 for i in range(256)]), 3),
    ("product", gates.Product(64), 3),
    ("relu_masked", gates.MaskedOutputs(gates.Relu(10)), 3),
    ("truncate_masked", gates.MaskedOutputs(gates.TruncateReduce(16, 9)), 3),
    (
        "suf_masked",
        gates.MaskedOutputs(suf.Suf(9, 2, SUF_PARABOLAS, (suf.SHARED_ALPHA, suf.MASKED_SELECT, suf.ADDITIVE))),
        3,
    ),
    ("gap_ars_widened", gates.GapArs(43, 9, 64), 3),
    ("gap_ars_one_round", gates.GapArs(43, 9, 64, one_round=True), 3),
    ("gap_ars_one_round_masked", gates.MaskedOutputs(gates.GapArs(64, 9, one_round=True)), 3),
]

# Name, ring and seed of each triple of matrices.
MATRICES = [("matrix", 64, 1019), ("matrix_43", 43, 1020)]

# Of the ring, or of the range that a gate admits.
INPUTS = {
    "relu_within": [-32, -1, 31],
    "gap_ars": [-(2**62), -1, 2**62 - 1],
    "gap_ars_widened": [-(2**41), -1, 2**41 - 1],
    "gap_ars_one_round": [-(2**41), -1, 2**41 - 1],
    "gap_ars_one_round_masked": [-(2**62), -1, 2**62 - 1],
}


def inputs(name, n, count):
    """Corners of the ring, then others."""
    corners = INPUTS.get(name, [2 ** (n - 1), 2**n - 1, 2 ** (n - 1) - 1])
    return [(corners[e] if e < 3 else e * 0x9E3779B97F4A7C15) % 2**n for e in range(count)]


def golden(seeded):
    """Name and content of each file."""
    lines = []
    for index, (name, gate, count) in enumerate(CASES):
        bundle = Bundle(gate, count, 1000 + index, seeded)
        x = inputs(name, gate.n, count)
        x_hat = [(v + r) % 2**gate.n for v, r in zip(x, bundle.masks)]
        if gate.kind == 13:
            x_hat += gate.factors(x)
        seen, shares = play(bundle, x_hat)
        if name == "suf_payload":  # words, then packed bits
            added = [(a + b) % 2**gate.n for a, b in zip(*(share[:count] for share in shares))]
            added += [a ^ b for a, b in zip(*(share[count:] for share in shares))]
        else:
            added = [(a + b) % 2 ** gate.out_bits() for a, b in zip(*shares)]
        assert added == gate.plain(x, bundle.masks), name
        rows = [("x_hat", x_hat)]
        for party in (0, 1):
            rows += [(f"opens{party}", seen[party]), (f"shares{party}", shares[party])]
            yield f"{name}.{party}.pfk", bundle.to_bytes(party)
        lines += [" ".join([name, what] + [f"{word:x}" for word in words]) for what, words in rows]
    for name, n, seed in MATRICES:
        for party, triple in enumerate(matrix((2, 1, 3, 2), n, seed, seeded)):
            yield f"{name}.{party}.pfm", triple
    yield "shares.txt", "".join(line + "\n" for line in lines).encode()


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    folder = Path(arguments[-1])
    primitives.self_test()
    trees.self_test()
    files = dict(golden(False))
    files.update((f"seeded/{name}", content) for name, content in golden(True))
    if check:
        different = [name for name, content in files.items() if (folder / name).read_bytes() != content]
        sys.exit(f"different: {', '.join(different)}" if different else 0)
    (folder / "seeded").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
