//! Vectors of f32 in registers, by instructions that AVX2 and AVX-512 both have.

/// The part of [`Floats`](super::Floats) that differs in names of instructions.
macro_rules! floats_in_registers {
    (
        $vector:ty: splat = $splat:path, as_words = $as_words:path, as_floats = $as_floats:path,
        shl_23 = $shl_23:path, add_32 = $add_32:path;
        $wide:ty: load_half = $load_half:path, widen = $widen:path,
        load = $load:path, store = $store:path, add = $add:path
    ) => {
        type V = $vector;
        type W = [$wide; 2];

        #[inline(always)]
        fn splat(self, x: f32) -> $vector {
            // SAFETY: `self` proves the instructions of its vectors.
            unsafe { $splat(x) }
        }

        #[inline(always)]
        fn widened(self, s: &[f32]) -> [$wide; 2] {
            let s = &s[..Self::N];
            // SAFETY: `self` proves the instructions; `s` holds `N` elements, and no alignment is needed.
            unsafe {
                let halves = [$load_half(s.as_ptr()), $load_half(s.as_ptr().add(Self::N / 2))];
                [$widen(halves[0]), $widen(halves[1])]
            }
        }

        #[inline(always)]
        fn load_wide(self, s: &[f64]) -> [$wide; 2] {
            let s = &s[..Self::N];
            // SAFETY: `self` proves the instructions; `s` holds `N` elements, and no alignment is needed.
            unsafe { [$load(s.as_ptr()), $load(s.as_ptr().add(Self::N / 2))] }
        }

        #[inline(always)]
        fn store_wide(self, s: &mut [f64], [low, high]: [$wide; 2]) {
            let s = &mut s[..Self::N];
            // SAFETY: `self` proves the instructions; `s` holds `N` elements, and no alignment is needed.
            unsafe {
                $store(s.as_mut_ptr(), low);
                $store(s.as_mut_ptr().add(Self::N / 2), high);
            }
        }

        #[inline(always)]
        fn add_wide(self, a: [$wide; 2], b: [$wide; 2]) -> [$wide; 2] {
            // SAFETY: `self` proves the instructions of its vectors.
            unsafe { [$add(a[0], b[0]), $add(a[1], b[1])] }
        }

        #[inline(always)]
        fn prefetch(self, s: &[f32], at: usize) {
            // SAFETY: `self` proves instructions that imply SSE; a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().wrapping_add(at).cast()) }
        }

        #[inline(always)]
        fn prefetch_l2(self, s: &[f32], at: usize) {
            // SAFETY: `self` proves instructions that imply SSE; a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(s.as_ptr().wrapping_add(at).cast()) }
        }

        #[inline(always)]
        fn shift_exponent(self, v: $vector, t: $vector) -> $vector {
            // SAFETY: `self` proves the instructions of its vectors.
            unsafe { $as_floats($add_32($as_words(v), $shl_23($as_words(t)))) }
        }
    };
}
pub(super) use floats_in_registers;
