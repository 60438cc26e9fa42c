//! What the speed lines are measured against.

use core::hint::black_box;

use crate::{
    Simd,
    simd::{Kernel, dispatch, floats::Floats},
};

/// Independent chains: enough to cover the latency of two multiply-add units, few enough to stay in registers.
const CHAINS: usize = 12;

/// Does at least `flops` floating-point operations in independent chains of multiply-adds on registers, the most that one
/// core can do per second at the level of `simd`, and returns how many it did. The clock for "time at peak".
#[must_use]
pub fn fma_peak(simd: Simd, flops: u64) -> u64 {
    dispatch(simd, Chains { flops })
}

/// `C = A B` for row-major `n x n` matrices by one direct call of crate `gemm` on one thread.
///
/// # Panics
/// If a slice does not hold `n^2` elements.
pub fn plain_gemm(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    for len in [a.len(), b.len(), c.len()] {
        assert_eq!(Some(len), n.checked_mul(n), "a matrix of another size");
    }
    let (row, col) = (n as isize, 1);
    // SAFETY: each matrix holds n^2 elements, which is where row stride n and column stride 1 end; C is exclusive.
    unsafe {
        gemm::gemm(
            n,
            n,
            n,
            c.as_mut_ptr(),
            col,
            row,
            false,
            a.as_ptr(),
            col,
            row,
            b.as_ptr(),
            col,
            row,
            0.0f32,
            1.0f32,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

struct Chains {
    flops: u64,
}

impl<L: Floats> Kernel<L> for Chains {
    type Out = u64;

    #[inline(always)]
    fn run(self, l: L) -> u64 {
        let per_step = (2 * CHAINS * L::N) as u64;
        let steps = self.flops.div_ceil(per_step);
        let factor = l.splat(black_box(0.999_999_9));
        let term = l.splat(black_box(1e-7));
        let mut sums = [l.splat(black_box(1.0)); CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = l.mul_add(*sum, factor, term);
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += l.sum(sum);
        }
        black_box(total);
        steps * per_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimdLevel;

    #[test]
    fn the_work_done_covers_the_work_asked_for() {
        for level in SimdLevel::ALL {
            for flops in [0, 1, 1000, 1 << 19] {
                let done = fma_peak(Simd::detect_up_to(level), flops);
                assert!((flops..flops + 1024).contains(&done));
            }
        }
    }
}
