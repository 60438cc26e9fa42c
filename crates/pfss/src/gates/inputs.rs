//! Masked inputs as callers give them.

use core_types::Ring;

/// Words of which the low bits count as elements of `ring`.
pub(super) fn reduced(ring: Ring, mut words: Vec<u64>) -> Vec<u64> {
    words.iter_mut().for_each(|word| *word = ring.reduce(*word));
    words
}
