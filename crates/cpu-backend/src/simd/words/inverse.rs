//! Inverses: of the lanes of a vector, and of elements of the secure field by their norms.

use core_types::field::{Field, M31};

use super::{WordVectors, complex_product};
use crate::simd::WIDEST;

/// The inverses of all words of a vector, with one inversion; `None` if one of them is zero.
#[inline(always)]
pub(crate) fn invert_lanes<L: WordVectors>(l: L, words: L::V) -> Option<L::V> {
    let mut lanes = [M31::ONE; WIDEST];
    // SAFETY: no vector has more than WIDEST words, an element is a word, and words are canonical.
    unsafe { l.store(lanes.as_mut_ptr().cast(), words) };
    let mut inverses = [M31::ONE; WIDEST];
    if !invert_serially(&lanes[..L::WIDTH], &mut inverses) {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { l.load(inverses.as_ptr().cast()) })
}

/// Inverts `elements` with one running product.
///
/// Returns whether every element has an inverse.
#[inline(always)]
pub(crate) fn invert_serially<F: Field>(elements: &[F], inverses: &mut [F]) -> bool {
    let mut product = F::ONE;
    for (&x, prefix) in elements.iter().zip(&mut *inverses) {
        *prefix = product;
        product = product * x;
    }
    let Some(mut inverse) = product.inverse() else { return false };
    for (&x, prefix) in elements.iter().zip(inverses).rev() {
        *prefix = *prefix * inverse;
        inverse = inverse * x;
    }
    true
}

/// Norms of elements of the secure field: over CM31, and the norm of that norm over M31.
///
/// The norm over M31 is zero for the element zero alone.
#[derive(Clone, Copy)]
pub(crate) struct Norms<V> {
    pub(crate) complex: [V; 2],
    pub(crate) word: V,
}

impl<V: Copy> Norms<V> {
    /// The norms of `a + b u`.
    ///
    /// Over CM31, the norm is `a^2 - u^2 b^2`, where `u^2 = 2 + i`. Over M31, it is the sum of the
    /// squares of the coordinates of the first norm.
    #[inline(always)]
    pub(crate) fn of<L: WordVectors<V = V>>(l: L, [a0, a1, b0, b1]: [V; 4]) -> Self {
        let ([x, y], [z, w]) = (complex_square(l, [a0, a1]), complex_square(l, [b0, b1]));
        // (2 + i) (z + w i) = 2 z - w + (z + 2 w) i
        let real = l.sub(x, l.sub(l.add(z, z), w));
        let imaginary = l.sub(y, l.add(z, l.add(w, w)));
        let word = l.add(l.mul(real, l.doubled(real)), l.mul(imaginary, l.doubled(imaginary)));
        Self { complex: [real, imaginary], word }
    }

    /// Inverts the elements that have these norms, given the inverses of the norms over M31.
    #[inline(always)]
    pub(crate) fn inverses<L: WordVectors<V = V>>(&self, l: L, [a0, a1, b0, b1]: [V; 4], inverse: V) -> [V; 4] {
        let [real, imaginary] = self.complex;
        let factor = l.doubled(inverse);
        // The inverse of a norm over CM31 is its conjugate divided by its own norm; the inverse of a + b u is a - b u
        // divided by its norm.
        let conjugate = [l.mul(real, factor), l.sub(l.splat(0), l.mul(imaginary, factor))];
        let [x0, x1] = complex_product(l, [a0, a1], conjugate);
        let [y0, y1] = complex_product(l, [b0, b1], conjugate);
        [x0, x1, l.sub(l.splat(0), y0), l.sub(l.splat(0), y1)]
    }
}

/// Squares in CM31: two products of words.
#[inline(always)]
fn complex_square<L: WordVectors>(l: L, [a, b]: [L::V; 2]) -> [L::V; 2] {
    let product = l.mul(a, l.doubled(b));
    [l.mul(l.add(a, b), l.doubled(l.sub(a, b))), l.add(product, product)]
}
