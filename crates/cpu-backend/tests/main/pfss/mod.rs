//! Function secret sharing, and sums and products of shares.

mod fss;
mod matmul;
mod share;
mod table;

fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| rng.u64(..)).take(len).collect()
}
