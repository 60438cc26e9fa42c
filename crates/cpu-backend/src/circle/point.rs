//! Evaluation of polynomials at a point over the secure field.

use core_types::{
    circle::{CirclePoint, double_x},
    field::{M31, QM31},
};

/// Log of the coefficients that share one table of basis values.
const LOG_TABLE: u32 = 8;

/// The basis at one point: factors `y, x, pi(x), pi(pi(x)), ...` and all products of the lowest eight.
pub(super) struct Basis {
    factors: Vec<QM31>,
    /// Coordinates of the products, one plane each.
    table: [Vec<M31>; 4],
}

impl Basis {
    /// The basis of `2^log_size` coefficients at `point`.
    pub(super) fn new(point: CirclePoint<QM31>, log_size: u32) -> Self {
        let mut factors = Vec::with_capacity(log_size as usize);
        let mut x = point.x;
        for i in 0..log_size {
            factors.push(if i == 0 { point.y } else { x });
            if i > 0 {
                x = double_x(x);
            }
        }
        let mut products = vec![QM31::ONE];
        for &factor in factors.iter().take(LOG_TABLE as usize) {
            for i in 0..products.len() {
                products.push(products[i] * factor);
            }
        }
        let plane = |k: usize| products.iter().map(|product| product.coordinates()[k]).collect();
        Self { factors, table: [plane(0), plane(1), plane(2), plane(3)] }
    }

    /// The sum of `coefficients[k]` times basis value `k`.
    pub(super) fn evaluate(&self, coefficients: &[M31]) -> QM31 {
        let mut sums: Vec<QM31> = coefficients.chunks(1 << LOG_TABLE).map(|block| self.evaluate_block(block)).collect();
        for &factor in self.factors.iter().skip(LOG_TABLE as usize) {
            let half = sums.len() / 2;
            for i in 0..half {
                sums[i] = sums[2 * i] + sums[2 * i + 1] * factor;
            }
            sums.truncate(half);
        }
        sums.first().copied().unwrap_or(QM31::ZERO)
    }

    fn evaluate_block(&self, block: &[M31]) -> QM31 {
        QM31::from_coordinates([0, 1, 2, 3].map(|k| {
            // 2^8 products below 2^62 fit as high and low words: each sum stays below 2^40.
            let (mut low, mut high) = (0u64, 0u64);
            for (c, t) in block.iter().zip(&self.table[k]) {
                let wide = u64::from(c.word()) * u64::from(t.word());
                low += wide & 0xffff_ffff;
                high += wide >> 32;
            }
            // 2^32 = 2 modulo 2^31 - 1
            M31::from_u64(low + 2 * high)
        }))
    }
}
