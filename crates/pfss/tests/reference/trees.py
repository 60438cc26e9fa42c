"""Comparison keys, with and without payload, one key at a time.

CMP: XOR shares of 1[alpha <= y]. A point-function tree (Boyle, Gilboa, Ishai, CCS 2016) read by prefix parity (Grotto,
CCS 2023); its last nodes are blocks of 128 leaves. DCF: additive shares of beta 1[y < alpha] (Boyle et al., EUROCRYPT
2021). A label is a 128-bit integer; bits 0 and 1 of a seed are zero, bit 0 of a child is its control bit.
"""

from primitives import MASK64, MASK128, Aes

SEED = MASK128 ^ 3


class Prg:
    """The fixed-key generator of the bundle with this nonce: H(u) = AES(u) ^ u."""

    def __init__(self, nonce):
        cipher = Aes(nonce)
        keys = [Aes(cipher.encrypt(i).to_bytes(16, "little")) for i in range(5)]
        self.child_key, self.value_keys = keys[0], keys[1:]

    def child(self, seed, c):
        return self._hash(self.child_key, seed | c)

    def values(self, seed, low, count):
        """`count` words of 64 bits, two of each block. `low` is a direction, or 2 for the last node."""
        words = []
        for j in range((count + 1) // 2):
            block = self._hash(self.value_keys[j], seed | low)
            words += [block & MASK64, block >> 64]
        return words[:count]

    @staticmethod
    def _hash(aes, u):
        return aes.encrypt(u) ^ u


def bit(x, n, i):
    """Bit `i` of `x` from the most significant of `n`."""
    return x >> (n - 1 - i) & 1


def parity(x):
    return bin(x).count("1") & 1


def level(prg, seeds, a):
    """The correction word of a level at which alpha goes to side `a`."""
    (left0, right0), (left1, right1) = [[prg.child(s, c) for c in (0, 1)] for s in seeds]
    left, right = left0 ^ left1, right0 ^ right1
    lost = left if a else right
    return lost & SEED | (left & 1) ^ a ^ 1 | ((right & 1) ^ a) << 1


def step(prg, seed, t, c, cw):
    """The child of a node on side `c`: seed and control bit."""
    h = prg.child(seed, c)
    return h & SEED ^ (cw & SEED if t else 0), (h & 1) ^ (t & cw >> c & 1)


class Cmp:
    """Both parties' keys of 1[alpha <= y] on `n` bits; `roots` are labels of party 0 and of party 1."""

    def __init__(self, prg, n, alpha, roots):
        self.prg, self.n, alpha = prg, n, alpha % 2**n
        self.cw = []
        if n <= 7:  # a shared truth table
            table = sum(1 << y for y in range(alpha, 2**n))
            first = roots[0] % 2 ** 2**n
            self.roots, self.leaves = None, [[first], [first ^ table]]
            return
        self.roots = [root & SEED for root in roots]
        seeds, ts = list(self.roots), [0, 1]
        for i in range(n - 8):
            a = bit(alpha, n, i)
            cw = level(prg, seeds, a)
            for p in (0, 1):
                seeds[p], ts[p] = step(prg, seeds[p], ts[p], a, cw)
            self.cw.append(cw)
        leaf = [prg.child(seeds[0], c) ^ prg.child(seeds[1], c) for c in (0, 1)]
        leaf[alpha >> 7 & 1] ^= 1 << (alpha & 127)
        self.leaves = [leaf, leaf]

    def eval(self, party, y):
        n, y = self.n, y % 2**self.n
        if n <= 7:
            return self.leaves[party][0] >> y & 1
        seed, t, total, before = self.roots[party], party, 0, 0
        for i, cw in enumerate(self.cw):
            c = bit(y, n, i)
            total ^= t & (c ^ before)
            before = c
            seed, t = step(self.prg, seed, t, c, cw)
        c, at = y >> 7 & 1, y & 127
        total ^= t & (c ^ before)
        block = self.prg.child(seed, c) ^ (self.leaves[party][c] if t else 0)
        # of a right block, which was counted as a whole, the leaves past y are taken off again
        return total ^ parity(block >> at + 1 if c else block & 2 ** (at + 1) - 1)

    def leaf(self, party, y):
        """A share of 1[alpha = y]."""
        if self.n <= 7:
            table = self.leaves[party][0]
            return (table ^ table << 1) >> y & 1
        seed, t = self.roots[party], party
        for i, cw in enumerate(self.cw):
            seed, t = step(self.prg, seed, t, bit(y, self.n, i), cw)
        c = y >> 7 & 1
        block = self.prg.child(seed, c) ^ (self.leaves[party][c] if t else 0)
        return block >> (y & 127) & 1


class Dcf:
    """Both parties' keys of beta 1[y < alpha] on `n` bits, words modulo 2^width."""

    def __init__(self, prg, n, width, alpha, beta, roots):
        self.prg, self.n, self.width, alpha = prg, n, width, alpha % 2**n
        self.roots, self.words = [root & SEED for root in roots], len(beta)
        self.cw, self.vcw = [], []
        seeds, ts, held = list(self.roots), [0, 1], [0] * len(beta)
        for i in range(n):
            a = bit(alpha, n, i)
            lost = [prg.values(s, 1 - a, len(beta)) for s in seeds]
            kept = [prg.values(s, a, len(beta)) for s in seeds]
            sign = -1 if ts[1] else 1
            corrections = []
            for j, b in enumerate(beta):
                correction = sign * (lost[1][j] - lost[0][j] - held[j] + (b if a else 0))
                held[j] += kept[0][j] - kept[1][j] + sign * correction
                corrections.append(correction % 2**width)
            cw = level(prg, seeds, a)
            for p in (0, 1):
                seeds[p], ts[p] = step(prg, seeds[p], ts[p], a, cw)
            self.cw.append(cw)
            self.vcw.append(corrections)
        last = [prg.values(s, 2, len(beta)) for s in seeds]
        sign = -1 if ts[1] else 1
        self.last = [sign * (last[1][j] - last[0][j] - held[j]) % 2**width for j in range(len(beta))]

    def eval(self, party, y):
        seed, t, sums = self.roots[party], party, [0] * self.words
        for i in range(self.n):
            c = bit(y % 2**self.n, self.n, i)
            values = self.prg.values(seed, c, self.words)
            sums = [s + v + t * k for s, v, k in zip(sums, values, self.vcw[i])]
            seed, t = step(self.prg, seed, t, c, self.cw[i])
        values = self.prg.values(seed, 2, self.words)
        sums = [s + v + t * k for s, v, k in zip(sums, values, self.last)]
        return [(-s if party else s) % 2**self.width for s in sums]


class _KnownKeys(Prg):
    """The generator of the published key: child key 00 01 .. 0f."""

    def __init__(self):
        self.child_key, self.value_keys = Aes(bytes(range(16))), []


def self_test():
    """The hash vectors and the known key of the construction, and every pair of a small ring."""
    prg = _KnownKeys()
    vectors = {0: "c6a13b37878f5b826f4f8162a1c8d879", 2: "f98ae31ba5db9cad97364d8722d47326"}
    for u, expected in vectors.items():
        assert prg._hash(prg.child_key, u).to_bytes(16, "little").hex() == expected
    roots = [int.from_bytes(bytes(range(first, first + 16)), "little") for first in (0x10, 0x20)]
    key = Cmp(prg, 10, 0x155, roots)
    words = [word.to_bytes(16, "little").hex() for word in key.cw + key.leaves[0]]
    assert words == [
        "e936ddf09746eea4c13c647f0024315b",
        "4eedfde2bd772fe917a9832361f63781",
        "7b11bf99f8ffb1cc0db66d8c987aece5",
        "cb65f8941f1acc8800862f78777aa90c",
    ]
    first = sum(key.eval(0, y) << y for y in range(64))
    assert first.to_bytes(8, "little").hex() == "a5f4f3ffd957c6f8"
    assert [y for y in range(1024) if key.leaf(0, y) ^ key.leaf(1, y)] == [0x155]
    prg = Prg(bytes(16))
    for alpha in range(16):
        cmp, dcf = Cmp(prg, 4, alpha, roots), Dcf(prg, 4, 9, alpha, [300, alpha], roots)
        for y in range(16):
            assert cmp.eval(0, y) ^ cmp.eval(1, y) == (alpha <= y)
            assert cmp.leaf(0, y) ^ cmp.leaf(1, y) == (alpha == y)
            shares = zip(dcf.eval(0, y), dcf.eval(1, y))
            assert [(a + b) % 512 for a, b in shares] == ([300, alpha] if y < alpha else [0, 0])
