//! Ops of networks: bits at every vector level and thread count.

mod correction;
mod factor;
mod optim;
mod recurrent;

/// Reproducible values in -1..1.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| 2.0 * rng.f32() - 1.0).take(count).collect()
}
