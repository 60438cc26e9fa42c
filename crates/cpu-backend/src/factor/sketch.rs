//! Matrices of random signs.
//!
//! Element `i` is plus or minus a power of two, with bit 31 of Philox word `i` as its sign bit
//! (Salmon et al., SC 2011).

use core_types::{
    params::factor::{power_of_two, scale_exponent},
    philox,
};

use crate::{CpuQueue, par::CHUNK};

impl CpuQueue {
    /// Fills `omega` with scaled signs of the sequence of `seed`.
    ///
    /// The scale is for a matrix whose greatest magnitude has the pattern `peak`.
    pub(super) fn sketch(&self, seed: u64, peak: u32, omega: &mut [f32]) {
        let unit = (power_of_two(-scale_exponent(peak)) as f32).to_bits();
        self.for_chunks(omega, CHUNK, |chunk, omega| {
            for (i, signs) in omega.chunks_mut(4).enumerate() {
                let words = philox::block(seed, 0, 0, (chunk * (CHUNK / 4) + i) as u64);
                for (sign, word) in signs.iter_mut().zip(words) {
                    *sign = f32::from_bits(unit | (word & 1 << 31));
                }
            }
        });
    }
}
