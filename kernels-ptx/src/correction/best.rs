//! The 32 greatest words that a warp has seen, a lane to each.

use crate::dev::{
    idx,
    warp::{FULL, ballot, shfl_idx, shfl_up},
};

/// Falling from lane 0 on; zeros stand for none.
#[derive(Clone, Copy)]
pub struct Best(pub u64);

impl Best {
    /// Nothing seen.
    pub const NONE: Self = Self(0);

    /// Takes in a word of each lane.
    ///
    /// Words that are not zero differ; those that come after the first `count`, which is not zero,
    /// need not be kept.
    #[inline(always)]
    pub fn take(&mut self, word: u64, count: u32) {
        let least = shfl_idx(FULL, self.0, count - 1);
        let mut waiting = ballot(FULL, word > least);
        while waiting != 0 {
            let next = shfl_idx(FULL, word, waiting.trailing_zeros());
            let place = ballot(FULL, self.0 > next).count_ones();
            let shifted = shfl_up(FULL, self.0, 1);
            if idx::lane() == place {
                self.0 = next;
            } else if idx::lane() > place {
                self.0 = shifted;
            }
            waiting &= waiting - 1;
        }
    }
}
