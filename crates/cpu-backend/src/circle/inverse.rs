//! Batch inversion by running products: three products per element and one inversion per chunk.

use core_types::field::{Field, M31, QM31};

use super::vectors::Vectors;
use crate::{
    Simd,
    simd::{Kernel, dispatch, words::Words},
};

/// Elements of one chunk, inverted at once.
pub(super) const CHUNK: usize = 1 << 12;

/// Most elements in a vector, at any level.
const WIDEST: usize = 16;

/// Writes the inverses of `elements`, at most one chunk, and says whether every element has one; if not, what it wrote
/// means nothing.
pub(crate) fn invert_m31(simd: Simd, elements: &[M31], inverses: &mut [M31]) -> bool {
    dispatch(simd, Inversion::<_, 4> { elements, inverses })
}

/// [`invert_m31`] of elements of the secure field.
pub(super) fn invert_qm31(simd: Simd, elements: &[QM31], inverses: &mut [QM31]) -> bool {
    dispatch(simd, Inversion::<_, 1> { elements, inverses })
}

/// Inversion with as many running products as `CHAINS` vectors have elements: none waits for another's multiplication.
struct Inversion<'a, F, const CHAINS: usize> {
    elements: &'a [F],
    inverses: &'a mut [F],
}

impl<F: Vectors<L>, L: Words, const CHAINS: usize> Kernel<L> for Inversion<'_, F, CHAINS> {
    type Out = bool;

    #[inline(always)]
    fn run(self, l: L) -> bool {
        let row = CHAINS * L::WIDTH;
        let whole = self.elements.len().min(self.inverses.len()) / row * row;
        let (elements, tail) = self.elements.split_at(whole);
        let (inverses, inverse_tail) = self.inverses.split_at_mut(whole);
        let (source, target) = (elements.as_ptr(), inverses.as_mut_ptr());
        // First each element's place takes the product of all before it in its chain.
        let mut products = [F::splat(l, F::ONE); CHAINS];
        for start in (0..whole).step_by(row) {
            for (chain, product) in products.iter_mut().enumerate() {
                let at = start + chain * L::WIDTH;
                // SAFETY: a row is CHAINS vectors, and whole rows lie in both slices.
                unsafe {
                    F::store(l, target.add(at), *product);
                    *product = F::product(l, *product, F::load(l, source.add(at)));
                }
            }
        }
        let Some(mut inverse) = invert_chains::<F, L, CHAINS>(l, products) else { return false };
        for start in (0..whole).step_by(row).rev() {
            for (chain, inverse) in inverse.iter_mut().enumerate() {
                let at = start + chain * L::WIDTH;
                // SAFETY: as above.
                unsafe {
                    F::store(l, target.add(at), F::product(l, F::load(l, target.add(at)), *inverse));
                    *inverse = F::product(l, *inverse, F::load(l, source.add(at)));
                }
            }
        }
        invert_serially(tail, inverse_tail)
    }
}

/// The inverses of all elements of the vectors, with one inversion; `None` if one has no inverse.
#[inline(always)]
fn invert_chains<F: Vectors<L>, L: Words, const CHAINS: usize>(
    l: L,
    products: [F::V; CHAINS],
) -> Option<[F::V; CHAINS]> {
    let mut prefixes = products;
    let mut product = F::splat(l, F::ONE);
    for (prefix, &factor) in prefixes.iter_mut().zip(&products) {
        *prefix = product;
        product = F::product(l, product, factor);
    }
    let (mut lanes, mut inverse_lanes) = ([F::ONE; WIDEST], [F::ONE; WIDEST]);
    // SAFETY: no vector has more than WIDEST elements.
    unsafe { F::store(l, lanes.as_mut_ptr(), product) };
    if !invert_serially(&lanes[..L::WIDTH], &mut inverse_lanes) {
        return None;
    }
    // SAFETY: as above.
    let mut inverse = unsafe { F::load(l, inverse_lanes.as_ptr()) };
    let mut inverses = products;
    for (place, (&prefix, &factor)) in inverses.iter_mut().zip(prefixes.iter().zip(&products)).rev() {
        *place = F::product(l, prefix, inverse);
        inverse = F::product(l, inverse, factor);
    }
    Some(inverses)
}

/// Writes the inverses of `elements` with one running product, and says whether every element has one.
#[inline(always)]
fn invert_serially<F: Field>(elements: &[F], inverses: &mut [F]) -> bool {
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

/// The index of the first zero.
pub(super) fn first_zero<F: Field>(elements: &[F]) -> Option<usize> {
    elements.iter().position(|&x| x == F::ZERO)
}
