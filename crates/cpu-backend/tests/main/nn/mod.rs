//! Ops of networks: bits at every vector level and thread count.

mod correction;
mod factor;
mod optim;
mod recurrent;

/// Reproducible values in -1..1.
fn values(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
