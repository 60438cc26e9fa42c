//! Masked inputs as callers give them.

use core_types::Ring;

/// Words reduced to elements of `ring`: only their low bits count.
pub(in crate::gates) fn reduced(ring: Ring, mut words: Vec<u64>) -> Vec<u64> {
    words.iter_mut().for_each(|word| *word = ring.reduce(*word));
    words
}
