//! The most multiply-adds that one core does in a second.

use core::hint::black_box;

use pulp::{Arch, Simd, WithSimd};

/// Independent chains of multiply-adds.
///
/// They are enough to cover the latency of two multiply-add units, and few enough to stay in
/// registers.
const CHAINS: usize = 12;

/// Does at least `flops` floating-point operations and returns their number.
///
/// They are independent chains of f32 multiply-adds on registers, with the widest vectors that the
/// processor has. The function is the clock for "time at peak" on one core.
#[must_use]
pub(crate) fn fma_peak(flops: u64) -> u64 {
    Arch::new().dispatch(Chains { flops })
}

struct Chains {
    flops: u64,
}

impl WithSimd for Chains {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> u64 {
        let per_step = (2 * CHAINS * S::F32_LANES) as u64;
        let steps = self.flops.div_ceil(per_step);
        let factor = simd.splat_f32s(black_box(0.999_999_9));
        let term = simd.splat_f32s(black_box(1e-7));
        let mut sums = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                // without such an instruction a product and a sum, not the library function that rounds once
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += simd.reduce_sum_f32s(sum);
        }
        black_box(total);
        steps * per_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_done_covers_the_work_asked_for() {
        for flops in [0, 1, 1000, 1 << 19] {
            assert!((flops..flops + 1024).contains(&fma_peak(flops)));
            assert!((flops..flops + 1024).contains(&Chains { flops }.with_simd(pulp::Scalar)));
        }
    }
}
