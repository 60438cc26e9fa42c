//! Function secret sharing and sums of shares.

mod fss;
mod share;

fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| rng.u64(..)).take(len).collect()
}
