//! Vectors of field elements: words of M31 as they are, elements of the secure field as four vectors of coordinates.

use core::array;

use core_types::field::{Field, M31, QM31};

#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Portable, secure, words::Words};

/// Elements of a field in vectors of `L::WIDTH`.
pub(super) trait Vectors<L: Words>: Field {
    /// A vector.
    type V: Copy;

    /// `L::WIDTH` elements from `source`, in an order of its own.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load(l: L, source: *const Self) -> Self::V;
    /// The elements of `v` to `target`, in the order in which they were loaded.
    ///
    /// # Safety
    /// `L::WIDTH` elements are writable; no alignment is needed.
    unsafe fn store(l: L, target: *mut Self, v: Self::V);
    /// `element` everywhere.
    fn splat(l: L, element: Self) -> Self::V;
    /// Products.
    fn product(l: L, a: Self::V, b: Self::V) -> Self::V;
}

impl<L: Words> Vectors<L> for M31 {
    type V = L::V;

    #[inline(always)]
    unsafe fn load(l: L, source: *const Self) -> L::V {
        // SAFETY: an element is a word; the caller vouches for as many as a vector has.
        unsafe { l.load(source.cast()) }
    }

    #[inline(always)]
    unsafe fn store(l: L, target: *mut Self, v: L::V) {
        // SAFETY: as above; results are canonical.
        unsafe { l.store(target.cast(), v) }
    }

    #[inline(always)]
    fn splat(l: L, element: Self) -> L::V {
        l.splat(element.word())
    }

    #[inline(always)]
    fn product(l: L, a: L::V, b: L::V) -> L::V {
        l.mul(a, l.doubled(b))
    }
}

/// Words whose splits and merges are single instructions, so that coordinates are worth taking apart.
trait Shuffled: Words {}

#[cfg(target_arch = "x86_64")]
impl Shuffled for Avx2 {}
#[cfg(target_arch = "x86_64")]
impl Shuffled for Avx512 {}

/// Elements side by side.
impl Vectors<Portable> for QM31 {
    type V = [Self; <Portable as Words>::WIDTH];

    #[inline(always)]
    unsafe fn load(_: Portable, source: *const Self) -> Self::V {
        // SAFETY: the caller vouches for as many elements as a vector has.
        unsafe { source.cast::<Self::V>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(_: Portable, target: *mut Self, v: Self::V) {
        // SAFETY: as above.
        unsafe { target.cast::<Self::V>().write_unaligned(v) }
    }

    #[inline(always)]
    fn splat(_: Portable, element: Self) -> Self::V {
        [element; <Portable as Words>::WIDTH]
    }

    #[inline(always)]
    fn product(_: Portable, a: Self::V, b: Self::V) -> Self::V {
        array::from_fn(|i| a[i] * b[i])
    }
}

/// Vectors of the coordinates over `1, i, u, iu`.
impl<L: Shuffled> Vectors<L> for QM31 {
    type V = [L::V; 4];

    /// The lowest bits of a word's place name its coordinate. Split step 0 brings the lowest to the vector bit, step 1 the next.
    #[inline(always)]
    unsafe fn load(l: L, source: *const Self) -> [L::V; 4] {
        let words = source.cast::<u32>();
        // SAFETY: an element is four words; the caller vouches for as many as four vectors have.
        let [v0, v1, v2, v3] = unsafe {
            [
                l.load(words),
                l.load(words.add(L::WIDTH)),
                l.load(words.add(2 * L::WIDTH)),
                l.load(words.add(3 * L::WIDTH)),
            ]
        };
        let ((even0, odd0), (even1, odd1)) = (l.split::<0>(v0, v1), l.split::<0>(v2, v3));
        let ((x0, x2), (x1, x3)) = (l.split::<1>(even0, even1), l.split::<1>(odd0, odd1));
        [x0, x1, x2, x3]
    }

    #[inline(always)]
    unsafe fn store(l: L, target: *mut Self, [x0, x1, x2, x3]: [L::V; 4]) {
        let ((even0, even1), (odd0, odd1)) = (l.merge::<1>(x0, x2), l.merge::<1>(x1, x3));
        let ((v0, v1), (v2, v3)) = (l.merge::<0>(even0, odd0), l.merge::<0>(even1, odd1));
        let words = target.cast::<u32>();
        // SAFETY: an element is four words; the caller vouches for as many as four vectors have. Results are canonical.
        unsafe {
            l.store(words, v0);
            l.store(words.add(L::WIDTH), v1);
            l.store(words.add(2 * L::WIDTH), v2);
            l.store(words.add(3 * L::WIDTH), v3);
        }
    }

    #[inline(always)]
    fn splat(l: L, element: Self) -> [L::V; 4] {
        let [x0, x1, x2, x3] = element.coordinates();
        [l.splat(x0.word()), l.splat(x1.word()), l.splat(x2.word()), l.splat(x3.word())]
    }

    #[inline(always)]
    fn product(l: L, a: [L::V; 4], b: [L::V; 4]) -> [L::V; 4] {
        secure::product(l, a, b)
    }
}
