//! Sums of bits, 32 elements at a time.
//!
//! A sum is the XOR of rows of shares and, for party 0, of public bits
//! `1[(x + shift) mod 2^bits < bound]`.

use backend_api::ops::{fss::GROUP, share::BitShape};
use core_types::params::share::{BitParams, BitTerm, NO_ROW};

use crate::simd::LaneKernel;

/// The sums of the columns from word `first` on that `sums`, one row per sum, have words for.
pub(super) struct BitSums<'a, 'b> {
    pub(super) params: &'a BitParams,
    pub(super) shape: BitShape,
    pub(super) terms: &'a [BitTerm],
    pub(super) x: &'a [u64],
    pub(super) rows: &'a [u32],
    pub(super) first: usize,
    pub(super) sums: &'a mut [&'b mut [u32]],
}

impl<L> LaneKernel<L> for BitSums<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let columns = self.sums.first().map_or(0, |row| row.len());
        for at in 0..columns {
            let word = self.first + at;
            let live = &self.x[word * GROUP..self.shape.count.min((word + 1) * GROUP)];
            let mut x = [0; GROUP];
            x[..live.len()].copy_from_slice(live);
            let used = u32::MAX >> (GROUP - live.len()); // a word has at least one element
            let (mut sum, mut row) = (0, 0);
            for term in self.terms {
                if term.row != NO_ROW {
                    sum ^= self.rows[term.row as usize * self.shape.words + word];
                }
                if self.params.party == 0 && term.public.bits > 0 {
                    sum ^= x.iter().enumerate().fold(0, |word, (e, &x)| word | term.public.bit(x) << e);
                }
                if term.last == 1 {
                    self.sums[row][at] = sum & used;
                    (sum, row) = (0, row + 1);
                }
            }
        }
    }
}
