//! Batch inversion in Mersenne-31 by running products.
//!
//! `1 / x_i = (x_0 .. x_(i-1)) / (x_0 .. x_i)`, and `1 / (x_0 .. x_(i-1)) = x_i / (x_0 .. x_i)`. It
//! takes three products per element and one inversion per chunk.

use core_types::field::{Field, M31};

use crate::{
    Simd,
    simd::{
        LaneKernel, dispatch,
        words::{WordVectors, invert_lanes, invert_serially},
    },
};

/// Elements of one chunk, inverted at once.
///
/// A chunk and its inverses stay in the second-level cache.
pub(super) const CHUNK: usize = 1 << 13;

/// Running products: none waits for another's multiplication.
const CHAINS: usize = 4;

/// Inverts `elements`, at most one chunk, and returns whether every element has an inverse.
///
/// If not, the inverses written are unspecified.
pub(crate) fn invert_m31(simd: Simd, elements: &[M31], inverses: &mut [M31]) -> bool {
    dispatch(simd, Inversion { elements, inverses })
}

/// Inversion with a running product for each lane of `CHAINS` vectors.
struct Inversion<'a> {
    elements: &'a [M31],
    inverses: &'a mut [M31],
}

impl<L: WordVectors> LaneKernel<L> for Inversion<'_> {
    type Out = bool;

    #[inline(always)]
    fn run(self, l: L) -> bool {
        let row = CHAINS * L::WIDTH;
        let len = self.elements.len().min(self.inverses.len());
        let whole = len / row * row;
        let (elements, tail) = self.elements.split_at(whole);
        let (inverses, inverse_tail) = self.inverses.split_at_mut(whole);
        let (source, target) = (elements.as_ptr().cast::<u32>(), inverses.as_mut_ptr().cast::<u32>());
        // First each element's place takes the product of all before it in its chain.
        let mut products = [l.splat(1); CHAINS];
        for start in (0..whole).step_by(row) {
            for (chain, product) in products.iter_mut().enumerate() {
                let at = start + chain * L::WIDTH;
                // SAFETY: a row is CHAINS vectors, whole rows lie in both slices, and an element is a word.
                unsafe {
                    l.store(target.add(at), *product);
                    *product = l.mul(*product, l.doubled(l.load(source.add(at))));
                }
            }
        }
        // One inversion for all chains; then each inverse follows from the end of its chain.
        let Some(mut inverse) = invert_chains(l, products) else { return false };
        for start in (0..whole).step_by(row).rev() {
            for (chain, inverse) in inverse.iter_mut().enumerate() {
                let at = start + chain * L::WIDTH;
                let factor = l.doubled(*inverse);
                // The multiplications leave the memory time to hand over where the next chunk's inverses go, if one follows.
                l.prefetch_for_store(target.wrapping_add(len + at));
                // SAFETY: as above.
                unsafe {
                    let (prefix, element) = (l.load(target.add(at)), l.load(source.add(at)));
                    l.store(target.add(at), l.mul(prefix, factor));
                    *inverse = l.mul(element, factor);
                }
            }
        }
        invert_serially(tail, inverse_tail)
    }
}

/// Inverts all words of the vectors with one inversion.
///
/// `None` if a word has no inverse.
#[inline(always)]
fn invert_chains<L: WordVectors>(l: L, products: [L::V; CHAINS]) -> Option<[L::V; CHAINS]> {
    let mut prefixes = products;
    let mut product = l.splat(1);
    for (prefix, &factor) in prefixes.iter_mut().zip(&products) {
        *prefix = product;
        product = l.mul(product, l.doubled(factor));
    }
    let mut inverse = invert_lanes(l, product)?;
    let mut inverses = products;
    for (place, (&prefix, &factor)) in inverses.iter_mut().zip(prefixes.iter().zip(&products)).rev() {
        *place = l.mul(prefix, l.doubled(inverse));
        inverse = l.mul(inverse, l.doubled(factor));
    }
    Some(inverses)
}

/// The index of the first zero.
pub(super) fn first_zero<F: Field>(elements: &[F]) -> Option<usize> {
    elements.iter().position(|&x| x == F::ZERO)
}
