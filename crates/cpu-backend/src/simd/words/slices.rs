//! Vectors from and to slices of elements and of twiddles.

use core_types::field::{M31, Twiddle};

use super::WordLanes;

/// Vectors at the beginning of slices, which must not be shorter.
pub(crate) trait Slices: WordLanes {
    /// The first `WIDTH` elements.
    #[inline(always)]
    fn take(self, source: &[M31]) -> Self::V {
        let source = &source[..Self::WIDTH];
        // SAFETY: an element is a word.
        unsafe { self.load(source.as_ptr().cast()) }
    }

    /// The first `WIDTH` doubled twiddles.
    #[inline(always)]
    fn take_twiddles(self, source: &[Twiddle]) -> Self::V {
        let source = &source[..Self::WIDTH];
        // SAFETY: a twiddle is a word.
        unsafe { self.load(source.as_ptr().cast()) }
    }

    /// [`WordLanes::circle_twiddles`] from the first `WIDTH / 2` doubled twiddles of layer 1.
    #[inline(always)]
    fn take_circle_twiddles(self, layer_1: &[Twiddle]) -> Self::V {
        let layer_1 = &layer_1[..Self::WIDTH / 2];
        // SAFETY: a twiddle is a word.
        unsafe { self.circle_twiddles(layer_1.as_ptr().cast()) }
    }

    /// Canonical words as the first `WIDTH` elements.
    #[inline(always)]
    fn put(self, target: &mut [M31], v: Self::V) {
        let target = &mut target[..Self::WIDTH];
        // SAFETY: an element is a word.
        unsafe { self.store(target.as_mut_ptr().cast(), v) }
    }
}

impl<L: WordLanes> Slices for L {}
