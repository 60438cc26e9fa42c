//! DEEP quotients of values at the queries and outside the domain.
//!
//! `sum over j of gamma^j (c_j f_j(p) - a_j p.y - b_j) / D_j(p)`, where term `j` claims the value
//! `v` of column `f` at `z`: `a = conj(v) - v`, `c = conj(z.y) - z.y`, `b = v c - a z.y` and
//! `D(p) = (Re z.x - p.x) Im z.y - (Re z.y - p.y) Im z.x`. It is of low degree only if the columns
//! are and all claims hold. A column with two samples has one more term, for its period (DEEP-FRI,
//! <https://eprint.iacr.org/2019/336>; stwo 2.3, `core/pcs/quotients.rs`).

use alloc::{vec, vec::Vec};

use core_types::{
    circle::{CirclePoint, CirclePointIndex},
    field::{CM31, M31, QM31},
};

use crate::{commitment::domain::circle_point, error::VerificationError, statement::shape::StatementShape};

/// Everything that is sampled at one point.
struct SampleBatch {
    point: CirclePoint<QM31>,
    /// Sums of the lines' coefficients: the lines' value at `y` is `slope * y + constant`.
    slope: QM31,
    constant: QM31,
    /// Columns, by index over all trees, each with the factor of its value.
    columns: Vec<(usize, QM31)>,
}

/// Combines the values at each query.
pub(crate) struct Quotients {
    log_size: u32,
    batches: Vec<SampleBatch>,
}

impl Quotients {
    /// Quotients for columns sampled around `point`, combined with the powers of `gamma`.
    pub(crate) fn new(
        shape: &StatementShape,
        sampled_values: &[Vec<Vec<QM31>>],
        point: CirclePoint<QM31>,
        gamma: QM31,
    ) -> Result<Self, VerificationError> {
        // Each term takes the next power of `gamma`.
        let row_step = CirclePointIndex::subgroup_generator(shape.log_degree);
        let shapes = shape.trees.iter().flat_map(|tree| &tree.columns);
        let mut quotients = Self { log_size: shape.log_size, batches: Vec::new() };
        let mut power = QM31::ONE;
        let mut add = |column, index: CirclePointIndex, value| {
            quotients.add(column, point + index.to_point().into(), value, power)?;
            power *= gamma;
            Ok::<(), VerificationError>(())
        };
        for (column, (shape_of, values)) in shapes.zip(sampled_values.iter().flatten()).enumerate() {
            let indices = shape_of.offsets.iter().map(|&offset| row_step * offset as u32);
            let samples: Vec<_> = indices.zip(values.iter().copied()).collect();
            // A column that is read at two rows has to be periodic with the period of its height: both rows
            // alone could belong to a larger column.
            if let [_, (index, value)] = samples[..] {
                let period = CirclePointIndex::subgroup_generator(shape.log_size - shape_of.log_size);
                add(column, index + period, value)?;
            }
            for (index, value) in samples {
                add(column, index, value)?;
            }
        }
        Ok(quotients)
    }

    /// Adds that `column` has `value` at `point`, times `power`.
    fn add(
        &mut self,
        column: usize,
        point: CirclePoint<QM31>,
        value: QM31,
        power: QM31,
    ) -> Result<(), VerificationError> {
        // The line through the value at the point and its conjugate at the conjugate point, over y.
        let slope = value.conjugate() - value;
        let factor = point.y.conjugate() - point.y;
        if factor == QM31::ZERO {
            return Err(VerificationError::Point);
        }
        let constant = value * factor - slope * point.y;
        // Terms at the same point share a denominator, so they are added up first.
        let place = match self.batches.iter().position(|batch| batch.point == point) {
            Some(place) => place,
            None => {
                let (slope, constant) = (QM31::ZERO, QM31::ZERO);
                self.batches.push(SampleBatch { point, slope, constant, columns: vec![] });
                self.batches.len() - 1
            }
        };
        let batch = &mut self.batches[place];
        batch.slope += slope * power;
        batch.constant += constant * power;
        batch.columns.push((column, factor * power));
        Ok(())
    }

    /// The combination at stored position `position`.
    ///
    /// `value` returns the value of each column of all trees.
    pub(crate) fn at(&self, position: u32, value: impl Fn(usize) -> M31) -> Result<QM31, VerificationError> {
        let at = circle_point(position, self.log_size);
        let mut sum = QM31::ZERO;
        for batch in &self.batches {
            let columns = batch.columns.iter().map(|&(column, factor)| factor.scale(value(column)));
            let values = columns.fold(QM31::ZERO, |sum, term| sum + term);
            let numerator = values - (batch.slope.scale(at.y) + batch.constant);
            let CirclePoint { x, y } = batch.point;
            // The line through the point and its conjugate, at this position: an element of the smaller field.
            let line = (x.a - CM31::from(at.x)) * y.b - (y.a - CM31::from(at.y)) * x.b;
            let inverse = line.inverse().ok_or(VerificationError::Point)?;
            sum += QM31::new(numerator.a * inverse, numerator.b * inverse);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_point_that_is_its_own_conjugate() {
        let mut quotients = Quotients { log_size: 4, batches: Vec::new() };
        let real = CirclePoint::from(CirclePointIndex::subgroup_generator(3).to_point());
        assert_eq!(quotients.add(0, real, QM31::ONE, QM31::ONE), Err(VerificationError::Point));
        assert!(quotients.batches.is_empty());
        let other = CirclePoint { y: real.y + QM31::from_coordinates([0, 0, 1, 0].map(M31::from_u32)), ..real };
        assert_eq!(quotients.add(0, other, QM31::ONE, QM31::ONE), Ok(()));
        assert_eq!(quotients.batches.len(), 1);
    }
}
