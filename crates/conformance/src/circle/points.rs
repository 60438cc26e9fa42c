//! Evaluation of columns of several sizes at several points.
//!
//! It is checked against the sum over the basis.

use backend_api::{
    Buffer as _, Queue,
    ops::circle::{CircleEvalAtPoints, CircleOps},
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::{columns::ColumnAt, deep::SampleAt},
};

use super::model::{ElementStream, value_at};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// The operands of one case.
struct PointsInput {
    columns: Vec<ColumnAt>,
    samples: Vec<SampleAt>,
    coefficients: Vec<M31>,
    points: Vec<CirclePoint<QM31>>,
}

impl PointsInput {
    /// Random columns of `2^log_len` with gaps of a word between them, and random points.
    fn random(log_lens: &[u32], points: usize, samples: Vec<SampleAt>) -> Self {
        let (mut columns, mut end) = (Vec::new(), 1);
        for &log_len in log_lens {
            columns.push(ColumnAt::new(end, log_len));
            end += (1 << log_len) + 1;
        }
        let mut stream = ElementStream::new(end << 8 | points as u64);
        let mut coefficients = stream.column(end as usize);
        // The last column ends at the end of the buffer.
        coefficients.pop();
        Self { columns, samples, coefficients, points: (0..points).map(|_| stream.point()).list() }
    }

    fn value(&self, sample: &SampleAt) -> QM31 {
        let at = self.columns[sample.column as usize];
        value_at(&self.coefficients[at.first as usize..][..1 << at.log_len], self.points[sample.point as usize])
    }

    fn flat_points(&self) -> Vec<QM31> {
        self.points.iter().flat_map(|point| [point.x, point.y]).list()
    }

    /// Runs the op, and compares the values.
    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let (coefficients, points) = (q.upload(&self.coefficients)?, q.upload(&self.flat_points())?);
        let mut sampled = q.zeros(self.samples.len())?;
        q.circle_eval_at_points(CircleEvalAtPoints {
            columns: &self.columns,
            samples: &self.samples,
            coefficients: coefficients.view(),
            points: points.view(),
            sampled: sampled.view_mut(),
        })?;
        let expected: Vec<QM31> = self.samples.iter().map(|sample| self.value(sample)).list();
        Failure::unless_equal(&expected, &q.download(&sampled)?)
    }
}

/// Samples by column and point.
fn samples(pairs: impl IntoIterator<Item = (u32, u32)>) -> Vec<SampleAt> {
    pairs.into_iter().map(|(column, point)| SampleAt { column, point }).list()
}

/// Every one of `columns` columns at every one of `points` points.
fn all(columns: u32, points: u32) -> Vec<SampleAt> {
    samples((0..columns).flat_map(|column| (0..points).map(move |point| (column, point))))
}

pub(super) fn eval_at_points() -> OpSpec {
    let mut cases = Vec::new();
    for log_len in 0..=13 {
        let name = format!("two columns of 2^{log_len} at three points");
        cases.push(Case::new(name, move |q| PointsInput::random(&[log_len; 2], 3, all(2, 3)).hold(q)));
    }
    for log_len in [16, 17, 20] {
        let case = Case::new(format!("2^{log_len} coefficients at two points"), move |q| {
            PointsInput::random(&[log_len], 2, all(1, 2)).hold(q)
        });
        cases.push(case.on_elements(2 << log_len));
    }
    cases.push(Case::new("all sizes at once", |q| {
        let sizes: Vec<u32> = (0..=14).chain((0..=14).rev()).list();
        PointsInput::random(&sizes, 3, all(30, 3)).hold(q)
    }));
    cases.push(Case::new("columns and points in any order, some never and some twice", |q| {
        let pairs = [(4, 1), (0, 2), (4, 1), (2, 0), (5, 2), (0, 0), (2, 2), (4, 0), (1, 1)];
        PointsInput::random(&[5, 13, 0, 9, 14, 3], 4, samples(pairs)).hold(q)
    }));
    cases.push(Case::new("overlapping columns", |q| {
        let mut input = PointsInput::random(&[11], 1, samples([(0, 0), (1, 0), (2, 0)]));
        input.columns.extend([ColumnAt::new(1, 10), ColumnAt::new(700, 9)]);
        input.hold(q)
    }));
    cases.push(Case::new("points of the base field", |q| {
        let mut input = PointsInput::random(&[6, 13], 0, all(2, 2));
        let quarter = CirclePoint { x: QM31::ZERO, y: QM31::ONE };
        input.points = vec![CirclePoint::NEUTRAL, quarter];
        input.hold(q)
    }));
    for count in BATCHES {
        cases.push(Case::new(format!("{count} samples"), move |q| {
            PointsInput::random(&[4, 7, 2], 3, samples((0..count).map(|i| (i * 7 / 5 % 3, i % 3)))).hold(q)
        }));
    }
    cases.push(Case::new("greatest words", |q| {
        let mut input = PointsInput::random(&[10, 13], 1, all(2, 1));
        input.coefficients.fill(-M31::ONE);
        input.hold(q)
    }));
    OpSpec { op: "circle.eval_at_points", cases }
}
