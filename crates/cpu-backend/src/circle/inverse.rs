//! Batch inversion by running products: three products per element and one inversion per chunk.

use core_types::field::{Field, M31, QM31};

/// Independent running products, so that one does not wait for the other's multiplier.
const CHAINS: usize = 16;

/// Elements of one chunk, inverted at once.
pub(super) const CHUNK: usize = 1 << 12;

/// Writes the inverses of `elements`; zeros give zeros.
pub(super) fn invert_m31_in_chains(elements: &[M31], inverses: &mut [M31]) {
    for (elements, inverses) in elements.chunks(CHUNK).zip(inverses.chunks_mut(CHUNK)) {
        invert_chunk(elements, inverses);
    }
}

/// Writes the inverses of `elements`; a zero spoils its chain and must have been ruled out.
pub(super) fn invert_chunk(elements: &[M31], inverses: &mut [M31]) {
    let whole = elements.len() / CHAINS * CHAINS;
    let (rows, tail) = elements.split_at(whole);
    let (inverse_rows, inverse_tail) = inverses.split_at_mut(whole);
    // First each element's place takes the product of all before it in its chain.
    let mut product = [M31::ONE; CHAINS];
    for (row, prefix) in rows.chunks_exact(CHAINS).zip(inverse_rows.chunks_exact_mut(CHAINS)) {
        prefix.copy_from_slice(&product);
        for (p, &x) in product.iter_mut().zip(row) {
            *p = p.times(x);
        }
    }
    let mut inverse = [M31::ZERO; CHAINS];
    invert_serially(&product, &mut inverse);
    for (row, prefix) in rows.chunks_exact(CHAINS).zip(inverse_rows.chunks_exact_mut(CHAINS)).rev() {
        for ((i, &x), p) in inverse.iter_mut().zip(row).zip(prefix) {
            *p = p.times(*i);
            *i = i.times(x);
        }
    }
    invert_serially(tail, inverse_tail);
}

/// Writes the inverses of `elements`, none of which is zero, with one running product.
pub(super) fn invert_serially<F: Field>(elements: &[F], inverses: &mut [F]) {
    let mut product = F::ONE;
    for (&x, prefix) in elements.iter().zip(&mut *inverses) {
        *prefix = product;
        product = product * x;
    }
    let mut inverse = product.inverse().unwrap_or(F::ZERO);
    for (&x, prefix) in elements.iter().zip(inverses).rev() {
        *prefix = *prefix * inverse;
        inverse = inverse * x;
    }
}

/// The index of the first zero.
pub(super) fn first_zero<F: Field>(elements: &[F]) -> Option<usize> {
    elements.iter().position(|&x| x == F::ZERO)
}

/// Inverts one chunk of either field.
pub(super) trait InvertChunk: Field + Send + Sync {
    /// Writes the inverses of `elements`, none of which is zero.
    fn invert_chunk(elements: &[Self], inverses: &mut [Self]);
}

impl InvertChunk for M31 {
    fn invert_chunk(elements: &[Self], inverses: &mut [Self]) {
        invert_chunk(elements, inverses);
    }
}

impl InvertChunk for QM31 {
    fn invert_chunk(elements: &[Self], inverses: &mut [Self]) {
        invert_serially(elements, inverses);
    }
}
