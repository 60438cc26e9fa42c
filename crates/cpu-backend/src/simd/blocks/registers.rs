//! AES in registers: one instruction for a round of all blocks of a vector.

/// The part of [`AesBlocks`](super::AesBlocks) that differs in names of instructions.
macro_rules! in_registers {
    ($vector:ty: round = $round:path, last_round = $last_round:path) => {
        type V = $vector;
        type State = Step<Self>;
        type RoundKey = $vector;

        #[inline(always)]
        fn round_key(self, key: u128) -> $vector {
            self.splat(key)
        }

        #[inline(always)]
        fn begin(self, step: &Step<Self>) -> Step<Self> {
            *step
        }

        #[inline(always)]
        fn round(self, state: &mut Step<Self>, key: &$vector) {
            for v in state {
                // SAFETY: `self` proves the instructions of its vectors.
                *v = unsafe { $round(*v, *key) };
            }
        }

        #[inline(always)]
        fn end(self, mut state: Step<Self>, last: &Step<Self>) -> Step<Self> {
            for (v, key) in state.iter_mut().zip(last) {
                // SAFETY: `self` proves the instructions of its vectors.
                *v = unsafe { $last_round(*v, *key) };
            }
            state
        }

        #[inline(always)]
        fn prefetch<T>(self, s: &[T]) {
            // SAFETY: a prefetch reads nothing and cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().cast()) }
        }
    };
}
pub(super) use in_registers;
