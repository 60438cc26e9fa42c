//! Circle domains and polynomials by their definitions.

use core_types::{
    circle::{CirclePoint, CirclePointIndex, double_x},
    field::{Field, M31, QM31},
};

use crate::list::ListIterator as _;

/// A deterministic stream of test elements (SplitMix64).
pub(crate) struct ElementStream(u64);

impl ElementStream {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random element; one in eight is zero or minus one.
    pub(crate) fn m31(&mut self) -> M31 {
        let word = self.word();
        match word >> 60 {
            0 => M31::ZERO,
            1 => -M31::ONE,
            _ => M31::from_u64(word),
        }
    }

    pub(crate) fn qm31(&mut self) -> QM31 {
        QM31::from_coordinates([self.m31(), self.m31(), self.m31(), self.m31()])
    }

    pub(crate) fn column(&mut self, len: usize) -> Vec<M31> {
        (0..len).map(|_| self.m31()).list()
    }

    /// A point of the circle over the secure field, hardly ever over M31.
    pub(crate) fn point(&mut self) -> CirclePoint<QM31> {
        CirclePoint::from_parameter(self.qm31()).unwrap_or(CirclePoint::NEUTRAL)
    }
}

/// The point at stored position `p` of the canonic domain of `2^log_size` points.
pub(crate) fn stored_point(log_size: u32, p: usize) -> CirclePoint<M31> {
    let natural = (0..log_size).fold(0, |natural, bit| natural << 1 | (p >> bit & 1));
    let half = 1usize << (log_size - 1);
    let unit = 1u32 << (30 - log_size);
    let index = CirclePointIndex::new(unit.wrapping_mul(1 + 4 * (natural % half) as u32));
    if natural < half { index.to_point() } else { (-index).to_point() }
}

/// The x-coordinates of all layers of a canonic domain in turn, and a one after them.
pub(crate) fn layer_coordinates(log_size: u32) -> Vec<M31> {
    let mut layer: Vec<M31> = (0..1usize << log_size >> 2).map(|h| stored_point(log_size, 4 * h).x).list();
    let mut all = Vec::new();
    while !layer.is_empty() {
        all.extend(&layer);
        layer = layer.chunks_exact(2).map(|pair| double_x(pair[0])).list();
    }
    all.push(M31::ONE);
    all
}

/// The first `2^log_size` basis values at `point`.
///
/// They are products of `y, x, pi(x), pi(pi(x)), ...`, selected by the bits of the index.
pub(crate) fn basis<F: Field>(point: CirclePoint<F>, log_size: u32) -> Vec<F> {
    let mut values = vec![F::ONE];
    let mut factor = point.y;
    for bit in 0..log_size {
        for k in 0..values.len() {
            values.push(values[k] * factor);
        }
        factor = if bit == 0 { point.x } else { double_x(factor) };
    }
    values
}

/// The polynomial's value at `point`: the sum of coefficients times basis.
pub(crate) fn value_at<F: Field>(coefficients: &[M31], point: CirclePoint<F>) -> F {
    let log_size = coefficients.len().ilog2();
    let terms = coefficients.iter().zip(basis(point, log_size));
    terms.fold(F::ZERO, |sum, (&c, b)| sum + b * F::from(c))
}
