//! Polynomials of the secret, rewritten as polynomials of the masked input.

use core_types::Ring;

/// A polynomial `p(x) = sum c_k x^k` in terms of the masked input.
///
/// With `x = x_hat - r`, it is the sum over `j` of a public polynomial of `x_hat` times `(-r)^j`,
/// `G_j(x_hat) = sum_(k >= j) c_k C(k, j) x_hat^(k-j)`.
#[derive(Clone, Debug)]
pub(crate) struct Shifted {
    ring: Ring,
    /// Coefficients of each `G_j`, highest power first.
    rows: Vec<Vec<u64>>,
}

impl Shifted {
    /// The polynomial with coefficients `c`, taken as one of degree `degree`.
    ///
    /// Missing coefficients are zero.
    pub(crate) fn new(ring: Ring, degree: u32, c: &[u64]) -> Self {
        let coefficient = |k: u32| c.get(k as usize).copied().unwrap_or(0);
        let row = |j: u32| (j..=degree).rev().map(|k| ring.mul(coefficient(k), binomial(k, j))).collect();
        Self { ring, rows: (0..=degree).map(row).collect() }
    }

    /// The polynomial `self - other`, of the same degree.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let subtract = |(a, b): (&Vec<u64>, &Vec<u64>)| a.iter().zip(b).map(|(&a, &b)| self.ring.sub(a, b)).collect();
        Self { ring: self.ring, rows: self.rows.iter().zip(&other.rows).map(subtract).collect() }
    }

    /// The coefficient of `x_hat^t` in `G_j`, for `j + t` up to the degree.
    pub(crate) fn constant(&self, j: usize, t: usize) -> u64 {
        self.rows[j][self.rows[j].len() - 1 - t]
    }

    /// The coefficient of `x_hat^k` in `p(x_hat - r)`, given the powers `(-r)^j`.
    ///
    /// It is `sum_j c_(k+j) C(k+j, j) (-r)^j`.
    pub(crate) fn coefficient(&self, k: usize, powers: impl Fn(usize) -> u64) -> u64 {
        let term = |j: usize| self.constant(j, k).wrapping_mul(powers(j));
        self.ring.reduce((0..self.rows.len() - k).fold(0u64, |sum, j| sum.wrapping_add(term(j))))
    }
}

/// `C(k, j)` for `j <= k`, small.
fn binomial(k: u32, j: u32) -> u64 {
    (0..u64::from(j)).fold(1, |product, i| product * (u64::from(k) - i) / (i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_views_are_the_polynomial_for_every_input_and_mask() {
        let ring = Ring::new(6).unwrap();
        for c in [vec![], vec![5], vec![1, 2], vec![3, 0, 7], vec![9, 8, 7, 6], vec![1, 1, 1, 1, 1, 1, 1, 63]] {
            let degree = c.len().max(3) as u32;
            let shifted = Shifted::new(ring, degree, &c);
            for x in 0..64u64 {
                let plain = ring.reduce(c.iter().rev().fold(0u64, |sum, &c| sum.wrapping_mul(x).wrapping_add(c)));
                for r in 0..64u64 {
                    let x_hat = ring.add(x, r);
                    let power = |j: usize| (0..j).fold(1, |power, _| ring.mul(power, ring.neg(r)));
                    let d = degree as usize;
                    let at = |j: usize| {
                        (0..=d - j).rev().fold(0, |sum, t| ring.add(ring.mul(sum, x_hat), shifted.constant(j, t)))
                    };
                    let sum = (0..=d).fold(0, |sum, j| ring.add(sum, ring.mul(at(j), power(j))));
                    assert_eq!(sum, plain);
                    let by_coefficients =
                        (0..=d).rev().fold(0, |sum, k| ring.add(ring.mul(sum, x_hat), shifted.coefficient(k, power)));
                    assert_eq!(by_coefficients, plain);
                }
            }
        }
    }
}
