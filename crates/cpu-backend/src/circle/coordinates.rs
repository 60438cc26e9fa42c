//! Elements of the secure field that lie side by side, as four vectors of coordinates.

use core::array;

use core_types::field::QM31;

#[cfg(target_arch = "x86_64")]
use crate::simd::words::Registers;
use crate::simd::{
    Portable,
    words::{WordLanes, WordVectors},
};

/// Vectors of the coordinates over `1, i, u, iu` of elements that lie side by side.
pub(super) trait Coordinates: WordVectors {
    /// `WIDTH` elements from `source`, in an order of their own.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load_coordinates(self, source: *const QM31) -> [Self::V; 4];
    /// Elements to `target`, in the order in which they were loaded; the words are canonical.
    ///
    /// # Safety
    /// `WIDTH` elements are writable; no alignment is needed.
    unsafe fn store_coordinates(self, target: *mut QM31, coordinates: [Self::V; 4]);
}

/// The lowest bits of a word's place name its coordinate.
///
/// Split step 0 moves the lowest to the vector bit, step 1 the next. In registers, splits and
/// merges are single instructions.
#[cfg(target_arch = "x86_64")]
impl<L: Registers> Coordinates for L {
    #[inline(always)]
    unsafe fn load_coordinates(self, source: *const QM31) -> [L::V; 4] {
        let words = source.cast::<u32>();
        // SAFETY: an element is four words; the caller vouches for four vectors of them.
        let [v0, v1, v2, v3] = unsafe {
            [
                self.load(words),
                self.load(words.add(L::WIDTH)),
                self.load(words.add(2 * L::WIDTH)),
                self.load(words.add(3 * L::WIDTH)),
            ]
        };
        let ((even0, odd0), (even1, odd1)) = (self.split::<0>(v0, v1), self.split::<0>(v2, v3));
        let ((x0, x2), (x1, x3)) = (self.split::<1>(even0, even1), self.split::<1>(odd0, odd1));
        [x0, x1, x2, x3]
    }

    #[inline(always)]
    unsafe fn store_coordinates(self, target: *mut QM31, [x0, x1, x2, x3]: [L::V; 4]) {
        let ((even0, even1), (odd0, odd1)) = (self.merge::<1>(x0, x2), self.merge::<1>(x1, x3));
        let ((v0, v1), (v2, v3)) = (self.merge::<0>(even0, odd0), self.merge::<0>(even1, odd1));
        let words = target.cast::<u32>();
        // SAFETY: an element is four words; the caller vouches for four vectors of them.
        unsafe {
            self.store(words, v0);
            self.store(words.add(L::WIDTH), v1);
            self.store(words.add(2 * L::WIDTH), v2);
            self.store(words.add(3 * L::WIDTH), v3);
        }
    }
}

impl Coordinates for Portable {
    #[inline(always)]
    unsafe fn load_coordinates(self, source: *const QM31) -> [Self::V; 4] {
        // SAFETY: an element is four words; the caller vouches for one element per lane.
        let elements = unsafe { source.cast::<[[u32; 4]; Self::WIDTH]>().read_unaligned() };
        array::from_fn(|k| array::from_fn(|i| elements[i][k]))
    }

    #[inline(always)]
    unsafe fn store_coordinates(self, target: *mut QM31, coordinates: [Self::V; 4]) {
        let elements: [[u32; 4]; Self::WIDTH] = array::from_fn(|i| array::from_fn(|k| coordinates[k][i]));
        // SAFETY: an element is four words; the caller vouches for one element per lane.
        unsafe { target.cast::<[[u32; 4]; Self::WIDTH]>().write_unaligned(elements) };
    }
}
