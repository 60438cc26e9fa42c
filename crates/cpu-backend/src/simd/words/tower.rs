//! Products in the extensions of M31, by vectors of coordinates.

use super::WordVectors;

/// Products of CM31 by three of words.
#[inline(always)]
pub(crate) fn complex_product<L: WordVectors>(l: L, [a, b]: [L::V; 2], [c, d]: [L::V; 2]) -> [L::V; 2] {
    let (ac, bd) = (l.mul(a, l.doubled(c)), l.mul(b, l.doubled(d)));
    let both = l.mul(l.add(a, b), l.doubled(l.add(c, d)));
    [l.sub(ac, bd), l.sub(l.sub(both, ac), bd)]
}

/// Products of QM31 by Karatsuba over CM31: nine products of words.
#[inline(always)]
pub(crate) fn secure_product<L: WordVectors>(l: L, a: [L::V; 4], b: [L::V; 4]) -> [L::V; 4] {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a, b);
    let (low, high) = (complex_product(l, [a0, a1], [b0, b1]), complex_product(l, [a2, a3], [b2, b3]));
    let both = complex_product(l, [l.add(a0, a2), l.add(a1, a3)], [l.add(b0, b2), l.add(b1, b3)]);
    // u^2 = 2 + i, and (2 + i) (x + y i) = 2 x - y + (x + 2 y) i
    let [x, y] = high;
    let real = l.sub(l.add(x, x), y);
    let imaginary = l.add(x, l.add(y, y));
    [
        l.add(low[0], real),
        l.add(low[1], imaginary),
        l.sub(l.sub(both[0], low[0]), high[0]),
        l.sub(l.sub(both[1], low[1]), high[1]),
    ]
}
