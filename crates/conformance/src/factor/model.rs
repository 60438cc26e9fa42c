//! Matrices in f64 and their singular values.

use crate::{Failure, linalg::model::InputSource, list::ListIterator as _};

/// A row-major matrix.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<f64>,
}

impl Matrix {
    pub(super) fn new(rows: usize, cols: usize, element: impl FnMut(usize) -> f64) -> Self {
        Self { rows, cols, data: (0..rows * cols).map(element).list() }
    }

    pub(super) fn of_f32(rows: usize, cols: usize, data: &[f32]) -> Self {
        Self { rows, cols, data: data.iter().map(|&x| f64::from(x)).list() }
    }

    /// Numbers of about the size 1, from a seed.
    pub(super) fn random(rows: usize, cols: usize, seed: u64) -> Self {
        let mut random = NumberSource::new(seed);
        // The sum of four uniform numbers is near enough to normal.
        Self::new(rows, cols, |_| (0..4).map(|_| random.uniform()).sum::<f64>())
    }

    pub(super) fn at(&self, row: usize, col: usize) -> f64 {
        self.data[row * self.cols + col]
    }

    pub(super) fn column(&self, col: usize) -> impl Iterator<Item = f64> + '_ {
        self.data.iter().skip(col).step_by(self.cols.max(1)).copied()
    }

    pub(super) fn transposed(&self) -> Self {
        Self::new(self.cols, self.rows, |i| self.at(i % self.rows, i / self.rows))
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows, "the shapes of a product");
        let mut product = Self::new(self.rows, other.cols, |_| 0.0);
        for r in 0..self.rows {
            for k in 0..self.cols {
                let factor = self.at(r, k);
                let row = &other.data[k * other.cols..(k + 1) * other.cols];
                product.data[r * other.cols..(r + 1) * other.cols]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(p, x)| *p += factor * x);
            }
        }
        product
    }

    /// `self diag(factors)`.
    pub(super) fn scaled(&self, factors: &[f64]) -> Self {
        Self::new(self.rows, self.cols, |i| self.data[i] * factors[i % self.cols])
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self::new(self.rows, self.cols, |i| self.data[i] - other.data[i])
    }

    /// The root of the sum of squares.
    pub(super) fn norm(&self) -> f64 {
        self.data.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// The elements, rounded.
    pub(super) fn to_f32(&self) -> Vec<f32> {
        self.data.iter().map(|&x| x as f32).list()
    }

    /// An orthonormal basis of the column space. The matrix must not have more columns than rows.
    pub(super) fn orthonormal(&self) -> Self {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for c in 0..self.cols {
            let mut column: Vec<f64> = self.column(c).list();
            for _ in 0..2 {
                for other in &columns {
                    let product = dot(&column, other);
                    column.iter_mut().zip(other).for_each(|(x, y)| *x -= product * y);
                }
            }
            let length = dot(&column, &column).sqrt();
            column.iter_mut().for_each(|x| *x /= length);
            columns.push(column);
        }
        Self::new(self.rows, self.cols, |i| columns[i % self.cols][i / self.cols])
    }

    /// The singular values in descending order.
    ///
    /// They are the lengths of the columns after Jacobi rotations have made the columns orthogonal.
    pub(super) fn singular_values(&self) -> Vec<f64> {
        let tall = if self.rows < self.cols { self.transposed() } else { self.clone() };
        let mut columns: Vec<Vec<f64>> = (0..tall.cols).map(|c| tall.column(c).list()).list();
        for _ in 0..40 {
            let mut turned = false;
            for j in 1..columns.len() {
                let (before, from) = columns.split_at_mut(j);
                for p in before {
                    turned |= rotate(p, &mut from[0]);
                }
            }
            if !turned {
                break;
            }
        }
        let mut lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).list();
        lengths.sort_by(|a, b| b.total_cmp(a));
        lengths
    }
}

/// Makes two columns orthogonal; whether they were not.
fn rotate(p: &mut [f64], q: &mut [f64]) -> bool {
    let (pp, qq, pq) = (dot(p, p), dot(q, q), dot(p, q));
    if pq.abs() <= 1e-15 * (pp * qq).sqrt() {
        return false;
    }
    let angle = 0.5 * (2.0 * pq).atan2(pp - qq);
    let (sine, cosine) = angle.sin_cos();
    for (p, q) in p.iter_mut().zip(q) {
        (*p, *q) = (cosine * *p + sine * *q, cosine * *q - sine * *p);
    }
    true
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A matrix with these singular values and random vectors.
pub(super) fn with_spectrum(rows: usize, cols: usize, sigma: &[f64], seed: u64) -> Matrix {
    let u = Matrix::random(rows, sigma.len(), seed).orthonormal();
    let v = Matrix::random(cols, sigma.len(), seed + 1).orthonormal();
    u.scaled(sigma).times(&v.transposed())
}

/// Fails unless the columns are orthonormal within `tolerance`.
pub(super) fn unless_orthonormal(what: &str, x: &Matrix, tolerance: f64) -> Result<(), Failure> {
    let columns: Vec<Vec<f64>> = (0..x.cols).map(|c| x.column(c).list()).list();
    for (i, a) in columns.iter().enumerate() {
        for (j, b) in columns[..=i].iter().enumerate() {
            let (product, expected) = (dot(a, b), f64::from(u8::from(i == j)));
            let off = (product - expected).abs();
            if off.is_nan() || off > tolerance {
                let message = format!("{what}: columns {j} and {i} have the product {product}, not {expected}");
                return Err(Failure::Broken(message));
            }
        }
    }
    Ok(())
}

/// A seeded source of numbers.
pub(super) struct NumberSource(InputSource);

impl NumberSource {
    pub(super) fn new(seed: u64) -> Self {
        Self(InputSource::of_state(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d))
    }

    /// In -1..1.
    pub(super) fn uniform(&mut self) -> f64 {
        f64::from(self.0.word()) / f64::from(1u32 << 30) - 1.0
    }

    /// Draws a multiple of 2^-8 in -1..1, for which sums of products are exact in f64.
    pub(super) fn dyadic(&mut self) -> f32 {
        (self.0.word() % 512) as f32 / 256.0 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_the_singular_values_that_it_was_made_with() {
        let sigma = [5.0, 2.0, 1.0, 1e-3, 1e-6];
        for (rows, cols) in [(9, 5), (5, 9), (40, 33)] {
            let found = with_spectrum(rows, cols, &sigma, 3).singular_values();
            for (i, found) in found.into_iter().enumerate() {
                let expected = sigma.get(i).copied().unwrap_or(0.0);
                assert!((found - expected).abs() < 1e-13, "{rows} x {cols}, {i}: {found}");
            }
        }
    }
}
