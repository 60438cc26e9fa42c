"""One descriptor in three pairs of modes, with its plan written out by hand.

Two pieces, [0, start) and [start, 2^n), each a polynomial, and two bits: the top bit of x + 5, and that and the low
three bits of x being below 5.
"""

import struct
from math import comb

from gates import Gate, cmp, dcf, msb, powers, share_of_bit, share_of_product

LOW_BITS, GAMMA, SUMMAND = 3, 5, 5

# Numbers of the modes in the encoding.
SHARED_ALPHA, STEP_PREDS = 0, 1
STEP_DCF, INTERVAL_LUT, MASKED_SELECT = 0, 1, 2
XOR_PACKED, ADDITIVE = 0, 1


def shifted(poly, degree, k, j):
    """The coefficient of x_hat^k (-r)^j in p(x_hat - r)."""
    return (poly[k + j] if k + j < len(poly) else 0) * comb(k + j, j) if k + j <= degree else 0


class Suf(Gate):
    kind = 11

    def __init__(self, n, degree, polys, modes):
        self.n, self.degree, self.polys, self.modes = n, degree, polys, modes
        self.preds, self.coeffs, self.bools = modes
        half = 2 ** (n - 1)
        self.start = 3 * 2 ** (n - 3)
        # Step functions: bits of x that they look at, value at 0, where the value changes.
        self.steps = [(n, 0, [half - SUMMAND, 2**n - SUMMAND]), (LOW_BITS, 1, [GAMMA])]
        if self.coeffs == MASKED_SELECT:
            self.steps.append((n, 0, [self.start]))
        # Thresholds of each number of bits; 0 is the mask itself, which odd numbers of changes need.
        self.classes = [(n, self.steps[0][2] + ([0, self.start] if self.coeffs == MASKED_SELECT else []))]
        self.classes.append((LOW_BITS, [0, GAMMA]))
        self.trees = []
        for bits, thresholds in self.classes:
            self.trees += [cmp(bits)] * (1 if self.preds == SHARED_ALPHA else len(thresholds))
        self.payload_tree = len(self.trees)
        if self.coeffs == STEP_DCF:
            self.trees += [dcf(n, degree + 1)] * 2
        elif self.coeffs == INTERVAL_LUT:
            self.trees += [dcf(n, degree + 1)]
        self.program = self.encode()

    def encode(self):
        def numbers(*values):
            return struct.pack(f"<{len(values)}Q", *values)

        def name(text):
            return numbers(len(text)) + text

        out = numbers(*self.modes, self.n)  # the modes, and the bits that hold every input
        out += numbers(self.n, self.degree, 1, 2, 2, 2)  # ring, degree, words, bits, predicates, pieces
        out += name(b"y") + name(b"a") + name(b"b")
        out += numbers(4, SUMMAND) + numbers(2, LOW_BITS, GAMMA)
        for start, poly in zip((0, self.start), self.polys):
            out += numbers(start, len(poly), *poly)
            out += numbers(6) + numbers(4, 6, 7)  # a is the first predicate; b is And of both
        return out

    def tree_secrets(self, r):
        trees = []
        for _, thresholds in self.classes:
            of_class = [0] if self.preds == SHARED_ALPHA else thresholds
            trees += [[(x + threshold, []) for x in r] for threshold in of_class]
        if self.coeffs == INTERVAL_LUT:
            trees.append([(x, powers(x, self.n, self.degree + 1)) for x in r])
        elif self.coeffs == STEP_DCF:
            for start, change in zip((0, self.start), (self.change(r, 0), self.change(r, 1))):
                trees.append([(x + start, change[e]) for e, x in enumerate(r)])
        return trees

    def coefficients(self, r, piece):
        """Of the polynomial of a piece in x_hat, for each element."""

        def of(x, k):
            terms = range(self.degree + 1 - k)
            return sum(shifted(self.polys[piece], self.degree, k, j) * (-x) ** j for j in terms) % 2**self.n

        return [[of(x, k) for k in range(self.degree + 1)] for x in r]

    def change(self, r, piece):
        """From the piece before, of which the last comes before the first."""
        new, old = self.coefficients(r, piece), self.coefficients(r, 1 - piece)
        return [[(a - b) % 2**self.n for a, b in zip(*pair)] for pair in zip(new, old)]

    def secrets(self, r, draw):
        n, size = self.n, 2**self.n
        words, bits = [r], []
        if self.coeffs != STEP_DCF:
            words += [[powers(x, n, self.degree + 1)[j] for x in r] for j in range(2, self.degree + 1)]
        if self.coeffs == MASKED_SELECT:
            c = draw.bits()
            for j in range(self.degree + 1):
                words.append([b * powers(x, n, self.degree + 1)[j] % size for b, x in zip(c, r)])
            bits.append(c)
        a, b = draw.bits(), draw.bits()
        bits += [a, b, [x & y for x, y in zip(a, b)]]
        if self.coeffs == STEP_DCF:
            # the coefficients active at the greatest x_hat, whose input is -1 - r
            active = [self.coefficients([x], int((-1 - x) % size >= self.start))[0] for x in r]
            words += [[row[k] for row in active] for k in range(self.degree + 1)]
        if self.bools == ADDITIVE:
            for _ in range(2):
                c = draw.bits()
                words.append(c)
                bits.append(c)
        if self.preds == STEP_PREDS:
            for k, thresholds in self.classes:
                for threshold in filter(None, thresholds):
                    bits.append([int((x + threshold) % 2**k < x % 2**k) for x in r])
        return words, bits

    def step_shares(self, s, x_hat):
        """Shares of the step functions."""
        rows = {}  # 1[threshold + r <= x_hat] as a number, for each class and threshold
        tree, wrap = 0, len(s.bits) - sum(1 for _, t in self.classes for threshold in t if threshold)
        for k, thresholds in self.classes:
            for threshold in thresholds:
                if self.preds == SHARED_ALPHA:
                    below = [s.public(x % 2**k < threshold) for x in x_hat]
                    row = [s.cmp(tree, e, x - threshold) ^ below[e] for e, x in enumerate(x_hat)]
                else:
                    wrapped = s.bits[wrap] if threshold else [0] * len(x_hat)
                    wrap += 1 if threshold else 0
                    row = [s.cmp(tree, e, x) ^ wrapped[e] for e, x in enumerate(x_hat)]
                    tree += 1
                rows[k, threshold] = row
            tree += 1 if self.preds == SHARED_ALPHA else 0
        shares = []
        for k, initial, changes in self.steps:
            odd = len(changes) % 2
            row = [s.public(initial ^ odd)] * len(x_hat)
            for threshold in changes + [0] * odd:
                row = [a ^ b for a, b in zip(row, rows[k, threshold])]
            shares.append(row)
        return shares

    def run(self, s, x_hat):
        steps = self.step_shares(s, x_hat)
        selectors = 1 if self.coeffs == MASKED_SELECT else 0
        a, b, both = s.bits[selectors : selectors + 3]
        first = [steps[2]] if selectors else []
        opened, _ = yield s.masked(first + [steps[0], steps[1]], 0), []
        left, right = opened[selectors:]
        conjunction = [
            both[e] ^ (left[e] & b[e]) ^ (right[e] & a[e]) ^ s.public(left[e] & right[e]) for e in range(s.count)
        ]
        words = self.words(s, x_hat, opened)
        if self.bools == XOR_PACKED:
            return words + s.pack([steps[0], conjunction])
        rows, _ = yield s.masked([steps[0], conjunction], selectors + 3), []
        masks = s.words[-2:]
        bits = [share_of_bit(s, rows[i][e], masks[i][e]) % 2**self.n for e in range(s.count) for i in (0, 1)]
        return words + bits

    def words(self, s, x_hat, opened):
        n, d, size, out = self.n, self.degree, 2**self.n, []
        for e, x in enumerate(x_hat):
            if self.coeffs == STEP_DCF:
                ahead = [s.dcf(self.payload_tree + piece, e, x) for piece in (0, 1)]
                active = [s.words[1 + k][e] - ahead[0][k] - ahead[1][k] for k in range(d + 1)]
                out.append(sum(c * x**k for k, c in enumerate(active)) % size)
                continue
            total = 0
            for j in range(d + 1):
                power = s.mask_power(j, e)
                if self.coeffs == MASKED_SELECT:
                    reached = share_of_product(opened[0][e], power, s.words[d + j][e])
                else:
                    ahead = [s.dcf(self.payload_tree, e, x - offset)[j] for offset in (0, self.start)]
                    reached = ahead[0] - ahead[1] + (power if x >= self.start else 0)
                for k in range(d + 1 - j):
                    old, new = (shifted(poly, d, k, j) for poly in self.polys)
                    total += (old * power + (new - old) * reached) * x**k
            out.append(total % size)
        return out

    def plain(self, x, _):
        values, bits = [], []
        for v in x:
            poly = self.polys[int(v >= self.start)]
            values.append(sum(c * v**k for k, c in enumerate(poly)) % 2**self.n)
            a = msb((v + SUMMAND) % 2**self.n, self.n)
            bits.append((a, a & int(v % 2**LOW_BITS < GAMMA)))
        if self.bools == ADDITIVE:
            return values + [bit for pair in bits for bit in pair]
        return values + [sum(pair[i] << e for e, pair in enumerate(bits)) for i in (0, 1)]
