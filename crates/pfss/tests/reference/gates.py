"""What the dealer hides for each gate, and what a party computes from its keys, as docs/pfss.md says.

A gate has `trees`, `secrets` (rows of words to share additively, the mask first, and rows of bits to share by XOR),
`run`, a generator that yields (rows of bits, words) to open and gets back what both parties' parts add up to, and
`plain`, what the shares have to add up to.
"""

from copy import copy


def msb(x, n):
    return x >> (n - 1) & 1


def signed(x, n):
    return x - (msb(x, n) << n)


def cmp(bits):
    return ("cmp", bits, 0)


def dcf(bits, words):
    return ("dcf", bits, words)


def powers(r, n, count):
    """(-r)^j for j below `count`."""
    return [pow(-r, j) % 2**n for j in range(count)]


def share_of_bit(s, w, c):
    """Of b, from the opened w = b ^ c."""
    return s.public(w) + (1 - 2 * w) * c


def share_of_product(w, v, cv):
    """Of b v for a word v that the dealer knows."""
    return w * v + (1 - 2 * w) * cv


class Gate:
    f = degree = masks = flags = out = 0
    program = b""

    def word_bits(self, row):
        """The ring of a row of words."""
        return self.n

    def out_bits(self):
        return self.n

    def tree_secrets(self, r):
        """For each tree and element alpha and beta: the mask, and no payload."""
        return [[(x, []) for x in r] for _ in self.trees]


class MaskedOutputs(Gate):
    """A gate of one output word y, as y + r_out: the last row of words is r_out, which the dealer draws last."""

    flags = 1

    def __init__(self, gate):
        self.gate, self.kind, self.n, self.f = gate, gate.kind, gate.n, gate.f
        self.degree, self.masks, self.out = gate.degree, gate.masks, gate.out
        self.program, self.trees = gate.program, gate.trees
        self.out_bits, self.tree_secrets = gate.out_bits, gate.tree_secrets

    def word_bits(self, row):
        return self.gate.word_bits(row) if row < self.own_rows else self.out_bits()

    def secrets(self, r, draw):
        words, bits = self.gate.secrets(r, draw)
        self.own_rows, self.r_out = len(words), draw.words(self.out_bits())
        return words + [self.r_out], bits

    def add(self, out, masks):
        """Masks the words; bits follow them."""
        return [(y + r) % 2 ** self.out_bits() for y, r in zip(out, masks)] + out[len(masks) :]

    def run(self, s, x_hat):
        own = copy(s)
        own.words = s.words[:-1]
        out = yield from self.gate.run(own, x_hat)
        return self.add(out, s.words[-1][: s.count])  # lanes past the last element hold no output

    def plain(self, x, r):
        return self.add(self.gate.plain(x, r), self.r_out)


class Predicates(Gate):
    """Predicates of one kind as additive shares, predicate after predicate."""

    def __init__(self, kind, n, f, predicates):
        self.kind, self.n, self.f, self.predicates, self.masks = kind, n, f, predicates, len(predicates)
        self.k = {1: n, 2: n - 1, 3: f}[kind]  # all bits, those below the sign, the low ones
        self.trees = [cmp(self.k)]

    def secrets(self, r, draw):
        c = [draw.bits() for _ in self.predicates]
        sign = [[msb(x, self.n) for x in r]] if self.kind == 2 else []
        return [r] + c, sign + c

    def run(self, s, x_hat):
        first = 1 if self.kind == 2 else 0
        rows = [[self.bit(s, p, e, x) for e, x in enumerate(x_hat)] for p in self.predicates]
        opened, _ = yield s.masked(rows, first), []
        return [
            share_of_bit(s, w, s.words[1 + row][e]) % 2**self.n
            for row, bits in enumerate(opened)
            for e, w in enumerate(bits)
        ]

    def bit(self, s, predicate, e, x):
        name, *constants = predicate
        n, size = self.n, 2**self.k
        if name == "lt":  # of all bits or of the low ones
            (beta,) = constants
            return s.cmp(0, e, x) ^ s.cmp(0, e, x - beta) ^ s.public(x % size < beta)
        if name == "interval":
            start, end = constants
            wraps = (x - end) % size > (x - start) % size
            return s.cmp(0, e, x - start) ^ s.cmp(0, e, x - end) ^ s.public(wraps)
        if name == "carry":
            return s.cmp(0, e, x) ^ s.public(1)
        if name == "msb":
            (c,) = constants
            return s.cmp(0, e, x + c) ^ s.bits[0][e] ^ s.public(1 ^ msb((x + c) % 2**n, n))
        assert name == "non_negative"
        return s.cmp(0, e, x) ^ s.bits[0][e] ^ s.public(msb(x, n))

    def plain(self, x, r):
        n, size = self.n, 2**self.k
        meanings = {
            "lt": lambda v, m, beta: v % size < beta,
            "interval": lambda v, m, start, end: start <= v < end,
            "carry": lambda v, m: v % size + m % size >= size,
            "msb": lambda v, m, c: msb((v + c) % 2**n, n),
            "non_negative": lambda v, m: signed(v, n) >= 0,
        }
        return [int(meanings[p](v, m, *constants)) for p, *constants in self.predicates for v, m in zip(x, r)]


class Relu(Gate):
    kind = 4

    def __init__(self, n, f=0):
        """`f` is the number of bits that hold the input, or 0 for all."""
        self.n, self.f, self.k = n, f, f or n
        self.trees = [cmp(self.k - 1)]

    def secrets(self, r, draw):
        c = draw.bits()
        return [r, c, [b * x for b, x in zip(c, r)]], [[msb(x, self.k) ^ b for x, b in zip(r, c)]]

    def run(self, s, x_hat):
        bits = [s.cmp(0, e, x) ^ s.public(msb(x, self.k)) for e, x in enumerate(x_hat)]
        (opened,), _ = yield s.masked([bits], 0), []
        out = []
        for e, w in enumerate(opened):
            r, c, c_r = (row[e] for row in s.words)
            out.append(share_of_product(w, s.public(x_hat[e]) - r, x_hat[e] * c - c_r) % 2**self.n)
        return out

    def plain(self, x, _):
        return [max(signed(v, self.n), 0) for v in x]


class Shift(Gate):
    """What the shifts share: the trees, the mask [r] and [-(r >> f)], and the share of (x_hat >> f) - (r >> f)."""

    def __init__(self, n, f):
        self.n, self.f = n, f
        self.trees = [cmp(f)] + [cmp(bits) for bits in self.high]

    high = ()

    def shifted(self, r):
        return [-(x >> self.f) % 2 ** self.word_bits(1) for x in r]

    def base(self, s, e, x):
        return s.public(x >> self.f) + s.words[1][e]

    def carries(self, s, x_hat):
        """Of the low bits and, if there is a second tree, out of its bits."""
        return [[s.cmp(t, e, x) ^ s.public(1) for e, x in enumerate(x_hat)] for t in range(len(self.trees))]


class TruncateReduce(Shift):
    kind = 5

    def out_bits(self):
        return self.n - self.f

    def secrets(self, r, draw):
        c = draw.bits()
        return [r, self.shifted(r), c], [c]

    def run(self, s, x_hat):
        (opened,), _ = yield s.masked(self.carries(s, x_hat), 0), []
        size = 2 ** (self.n - self.f)
        return [
            (self.base(s, e, x) - share_of_bit(s, opened[e], s.words[2][e])) % size for e, x in enumerate(x_hat)
        ]

    def plain(self, x, _):
        return [v >> self.f for v in x]


class GapArs(Shift):
    kind = 6

    def __init__(self, n, f, out=0, one_round=False):
        """`out` is the width of the result if it is wider than the input, or 0.

        In one round the carry is not opened: its tree has the payload 1.
        """
        super().__init__(n, f)
        self.out, self.degree = out, int(one_round)
        if one_round:
            self.trees = [dcf(f, 1)]

    def word_bits(self, row):
        return self.out_bits() if row else self.n

    def out_bits(self):
        return self.out or self.n

    def tree_secrets(self, r):
        return [[(x, [1] * self.degree) for x in r]]

    def secrets(self, r, draw):
        wrap = [msb(x, self.n) << (self.n - self.f) for x in r]
        if self.degree:
            return [r, self.shifted(r), wrap], []
        c = draw.bits()
        return [r, self.shifted(r), c, wrap], [c]

    def run(self, s, x_hat):
        n, f = self.n, self.f
        moved = [(x + 2 ** (n - 2)) % 2**n for x in x_hat]
        if self.degree:
            carries = [s.dcf(0, e, x)[0] for e, x in enumerate(moved)]  # 1[x mod 2^f < r mod 2^f]
        else:
            (opened,), _ = yield s.masked(self.carries(s, moved), 0), []
            carries = [share_of_bit(s, w, s.words[2][e]) for e, w in enumerate(opened)]
        out = []
        for e, (x, carry) in enumerate(zip(moved, carries)):
            wrap = (1 - msb(x, n)) * s.words[3 - self.degree][e]
            out.append((self.base(s, e, x) - carry + wrap - s.public(2 ** (n - f - 2))) % 2 ** self.out_bits())
        return out

    def plain(self, x, _):
        return [(signed(v, self.n) >> self.f) % 2 ** self.out_bits() for v in x]


class Lrs(Shift):
    kind = 8

    def __init__(self, n, f):
        self.high = (n,)
        super().__init__(n, f)

    def secrets(self, r, draw):
        c, c_wrap = draw.bits(), draw.bits()
        return [r, self.shifted(r), c, c_wrap], [c, c_wrap]

    def run(self, s, x_hat):
        opened, _ = yield s.masked(self.carries(s, x_hat), 0), []
        out = []
        for e, x in enumerate(x_hat):
            carry, wrap = (share_of_bit(s, opened[i][e], s.words[2 + i][e]) for i in (0, 1))
            out.append((self.base(s, e, x) - carry + (wrap << (self.n - self.f))) % 2**self.n)
        return out

    def plain(self, x, _):
        return [v >> self.f for v in x]


class Ars(Shift):
    kind = 9

    def __init__(self, n, f):
        self.high = (n - 1,)
        super().__init__(n, f)

    def secrets(self, r, draw):
        c, c_borrow = draw.bits(), draw.bits()
        g = [msb(x, self.n) for x in r]
        return [r, self.shifted(r), c, c_borrow, g, [a * b for a, b in zip(g, c_borrow)]], [c, c_borrow]

    def run(self, s, x_hat):
        n = self.n
        opened, _ = yield s.masked(self.carries(s, x_hat), 0), []
        out = []
        for e, x in enumerate(x_hat):
            carry, borrow = (share_of_bit(s, opened[i][e], s.words[2 + i][e]) for i in (0, 1))
            g = s.words[4][e]
            g_borrow = share_of_product(opened[1][e], g, s.words[5][e])
            # wrap - msb(x): g b, or -(1 - g)(1 - b)
            delta = g_borrow if msb(x, n) == 0 else -(s.public(1) - g - borrow + g_borrow)
            out.append((self.base(s, e, x) - carry + (delta << (n - self.f))) % 2**n)
        return out

    def plain(self, x, _):
        return [(signed(v, self.n) >> self.f) % 2**self.n for v in x]


class ReluArs(Shift):
    kind = 10

    def __init__(self, n, f):
        self.high = (n - 1,)
        super().__init__(n, f)

    def secrets(self, r, draw):
        c, c_sign = draw.bits(), draw.bits()
        shifted, g = [x >> self.f for x in r], [msb(x, self.n) for x in r]
        products = [[a * b for a, b in zip(row, c_sign)] for row in (c, shifted, g)]
        return [r, c, c_sign, shifted, g] + products, [c, [a ^ b for a, b in zip(g, c_sign)]]

    def run(self, s, x_hat):
        n, f = self.n, self.f
        carry, below = self.carries(s, x_hat)
        sign = [bit ^ s.public(1 ^ msb(x, n)) for bit, x in zip(below, x_hat)]
        opened, _ = yield s.masked([carry, sign], 0), []
        out = []
        for e, x in enumerate(x_hat):
            _, c, c_sign, shifted, g, c_c, shifted_c, g_c = (row[e] for row in s.words)
            w, d = opened[0][e], opened[1][e]
            positive = share_of_bit(s, d, c_sign)
            with_c = share_of_product(d, c, c_c)
            with_carry = w * positive + (1 - 2 * w) * with_c
            wrap = (1 - msb(x, n)) * share_of_product(d, g, g_c)
            value = positive * (x >> f) - share_of_product(d, shifted, shifted_c) - with_carry
            out.append((value + (wrap << (n - f))) % 2**n)
        return out

    def plain(self, x, _):
        return [max(signed(v, self.n), 0) >> self.f for v in x]


class IntervalPowers(Gate):
    """1[x in I] (-r)^j: interval after interval, power after power. `None` ends an interval with the ring."""

    kind = 7

    def __init__(self, n, degree, intervals):
        self.n, self.degree, self.intervals = n, degree, intervals
        self.trees = [dcf(n, degree + 1)]

    def tree_secrets(self, r):
        return [[(x, powers(x, self.n, self.degree + 1)) for x in r]]

    def secrets(self, r, draw):
        rows = [[powers(x, self.n, self.degree + 1)[j] for x in r] for j in range(2, self.degree + 1)]
        return [r] + rows, []

    def run(self, s, x_hat):
        size, out = 2**self.n, []
        for start, end in self.intervals:
            for j in range(self.degree + 1):
                for e, x in enumerate(x_hat):
                    to, since = (x - (end or 0)) % size, (x - start) % size
                    inside = s.mask_power(j, e) if to > since else 0
                    out.append((s.dcf(0, e, to)[j] - s.dcf(0, e, since)[j] + inside) % size)
        return out
        yield  # opens nothing

    def plain(self, x, r):
        inside = [[start <= v < (end or 2**self.n) for v in x] for start, end in self.intervals]
        return [
            pow(-m, j) % 2**self.n if here else 0
            for row in inside
            for j in range(self.degree + 1)
            for here, m in zip(row, r)
        ]


class Lut(Gate):
    kind = 12

    def __init__(self, n, out, table):
        self.n, self.f, self.table, self.trees = n, out, table, [cmp(n)]

    def word_bits(self, row):
        return self.f if row else self.n

    def out_bits(self):
        return self.f

    def secrets(self, r, draw):
        c, rho = draw.bits(), draw.words(self.f)
        e = [1 - 2 * b for b in c]
        return [r, e, rho, [a * b for a, b in zip(rho, e)]], [c]

    def run(self, s, x_hat):
        size, sign = 2**self.n, -1 if s.party else 1
        bits, words = [], []
        for e, x in enumerate(x_hat):
            unit = [s.leaf(0, e, i) for i in range(size)]
            total = sum(self.table[(x - i) % size] for i in range(size) if unit[i])
            words.append((sign * total + s.words[2][e]) % 2**self.f)
            bits.append(sign * sum(unit) % 4 >> 1)
        (opened,), masked = yield s.masked([bits], 0), words
        shares = [word * s.words[1][e] - s.words[3][e] for e, word in enumerate(masked)]
        return [(1 - 2 * w) * share % 2**self.f for w, share in zip(opened, shares)]

    def plain(self, x, _):
        return [self.table[v] for v in x]


class Product(Gate):
    """The square of x: both factors are opened under masks of their own, x_hat, then y_hat = x + b."""

    kind, trees = 13, []

    def __init__(self, n):
        self.n = n

    def secrets(self, r, draw):
        b = draw.words(self.n)
        self.second_masks = b
        return [r, b, [x * y for x, y in zip(r, b)]], []

    def factors(self, x):
        """What is opened of the second factor."""
        return [(v + b) % 2**self.n for v, b in zip(x, self.second_masks)]

    def run(self, s, x_hat):
        out = []
        for e in range(s.count):
            x, y = x_hat[e], x_hat[s.count + e]
            a, b, a_b = (row[e] for row in s.words)
            out.append((s.public(x * y) - x * b - y * a + a_b) % 2**self.n)
        return out
        yield  # opens nothing

    def plain(self, x, _):
        return [v * v % 2**self.n for v in x]
