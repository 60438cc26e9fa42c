//! Random programs, written by `cargo xtask build-ptx`: change its generator, not these files.
//!
//! The same text is compiled for the device and for the host; both must compute the same.

pub(crate) mod arrays;
pub(crate) mod calls;
pub(crate) mod casts;
pub(crate) mod control;
pub(crate) mod double;
pub(crate) mod narrow;
pub(crate) mod single;
pub(crate) mod wide;
pub(crate) mod words;

/// Takes one more word into a result.
fn fold(end: u64, word: u64) -> u64 {
    (end ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
