//! Batch inversion in the secure field by norms.
//!
//! `1 / (a + b u) = (a - b u) / N` with `N = a^2 - (2 + i) b^2`, and
//! `1 / N = conj(N) / (N conj(N))`, whose denominator is a word. Running products of words of M31
//! take seventeen products of words per element. Running products of elements take twenty-seven.

use core_types::field::QM31;

use super::coordinates::Coordinates;
use crate::{
    Simd,
    simd::{
        LaneKernel, dispatch,
        words::{Norms, invert_lanes, invert_serially},
    },
};

/// Elements of one chunk, inverted at once.
///
/// A chunk and its inverses stay in the second-level cache.
pub(super) const CHUNK: usize = 1 << 12;

/// Inverts `elements`, at most one chunk, and returns whether every element has an inverse.
///
/// If not, the inverses written are unspecified.
pub(super) fn invert_qm31(simd: Simd, elements: &[QM31], inverses: &mut [QM31]) -> bool {
    dispatch(simd, Inversion { elements, inverses })
}

/// Inversion with a running product of norms for each lane.
struct Inversion<'a> {
    elements: &'a [QM31],
    inverses: &'a mut [QM31],
}

impl<L: Coordinates> LaneKernel<L> for Inversion<'_> {
    type Out = bool;

    #[inline(always)]
    fn run(self, l: L) -> bool {
        let len = self.elements.len().min(self.inverses.len());
        let whole = len / L::WIDTH * L::WIDTH;
        let (elements, tail) = self.elements.split_at(whole);
        let (inverses, inverse_tail) = self.inverses.split_at_mut(whole);
        let (source, target) = (elements.as_ptr(), inverses.as_mut_ptr());
        // First the places of the inverses take the norms and the products of all norms before them.
        let mut product = l.splat(1);
        for at in (0..whole).step_by(L::WIDTH) {
            // SAFETY: whole vectors lie in both slices, and an element is four words.
            unsafe {
                let Norms { complex: [real, imaginary], word } = Norms::of(l, l.load_coordinates(source.add(at)));
                let notes = target.add(at).cast::<u32>();
                l.store(notes, real);
                l.store(notes.add(L::WIDTH), imaginary);
                l.store(notes.add(2 * L::WIDTH), word);
                l.store(notes.add(3 * L::WIDTH), product);
                product = l.mul(product, l.doubled(word));
            }
        }
        // One inversion for all norms; then each inverse follows from the end of its lane.
        let Some(mut inverse) = invert_lanes(l, product) else { return false };
        for at in (0..whole).step_by(L::WIDTH).rev() {
            let factor = l.doubled(inverse);
            // SAFETY: as above.
            unsafe {
                let notes = target.add(at).cast::<u32>();
                // The multiplications leave the memory time to hand over where the next chunk's inverses go, if one follows.
                for part in 0..4 {
                    l.prefetch_for_store(notes.wrapping_add(4 * len + part * L::WIDTH));
                }
                let (complex, word) = ([l.load(notes), l.load(notes.add(L::WIDTH))], l.load(notes.add(2 * L::WIDTH)));
                let norm_inverse = l.mul(l.load(notes.add(3 * L::WIDTH)), factor);
                inverse = l.mul(word, factor);
                let element = l.load_coordinates(source.add(at));
                let inverses = Norms { complex, word }.inverses(l, element, norm_inverse);
                l.store_coordinates(target.add(at), inverses);
            }
        }
        invert_serially(tail, inverse_tail)
    }
}
