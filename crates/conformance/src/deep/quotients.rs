//! Quotients, checked position by position and by their degrees for true and false claims.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::deep::{DeepOps, DeepQuotients},
};
use core_types::{
    circle::{CirclePoint, double_x},
    field::{CM31, M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepQuotientsParams, DeepTerm},
    },
};

use super::{lines::Claims, numerators::DeepColumns};
use crate::{
    Case, Conditioned, Failure, OpSpec,
    circle::model::{ElementStream, stored_point, value_at},
    list::ListIterator as _,
    secure,
    spec::BATCHES,
};

/// Batches with their points, lines and numerators.
struct QuotientsInput {
    params: DeepQuotientsParams,
    batches: Vec<DeepBatch>,
    points: Vec<QM31>,
    lines: Vec<QM31>,
    numerators: Vec<M31>,
}

impl QuotientsInput {
    /// Batches of the given points and heights, all else at random.
    fn random(params: DeepQuotientsParams, batches: &[(u32, u32)]) -> Self {
        let mut stream = ElementStream::new(u64::from(params.log_size) << 32 | batches.len() as u64);
        let points = batches.iter().map(|&(point, _)| point + 1).max().unwrap_or(0);
        let words = batches.iter().map(|&(_, log_size)| 4 << log_size).sum();
        let batches: Vec<DeepBatch> =
            batches.iter().map(|&(point, log_size)| DeepBatch { first: 0, count: 1, point, log_size }).list();
        let mut secure = |count: usize| -> Vec<QM31> { (0..count).map(|_| stream.qm31()).list() };
        let (points, lines) = (secure(2 * points as usize), secure(2 * batches.len()));
        Self { params, batches, points, lines, numerators: stream.column(words) }
    }

    fn quotients(&self, q: &Conditioned) -> Result<Vec<M31>, BackendError> {
        let [points, lines] = [q.upload(&self.points)?, q.upload(&self.lines)?];
        let (numerators, mut quotients) = (q.upload(&self.numerators)?, q.zeros(4 << self.params.log_size)?);
        q.deep_quotients(DeepQuotients {
            params: &self.params,
            batches: &self.batches,
            points: points.view(),
            lines: lines.view(),
            numerators: numerators.view(),
            quotients: quotients.view_mut(),
        })?;
        q.download(&quotients)
    }

    /// The quotient at a position.
    fn at(&self, position: usize) -> QM31 {
        let DeepQuotientsParams { log_size, log_domain } = self.params;
        let at = stored_point(log_domain, position);
        let (mut sum, mut first) = (QM31::ZERO, 0);
        for (batch, line) in self.batches.iter().zip(self.lines.chunks(2)) {
            // What doubling leads to: drop the bits above the lowest one.
            let shift = log_size - batch.log_size;
            let place = if shift == 0 { position } else { (position >> (shift + 1)) * 2 + position % 2 };
            let numerator = secure::elements(&self.numerators[first..first + (4 << batch.log_size)])[place];
            let [x, y] = [0, 1].map(|k| self.points[2 * batch.point as usize + k]);
            let real = |z: QM31, base: M31| QM31::new(z.a - CM31::new(base, M31::ZERO), CM31::ZERO);
            let imaginary = |z: QM31| QM31::new(z.b, CM31::ZERO);
            let denominator = real(x, at.x) * imaginary(y) - real(y, at.y) * imaginary(x);
            let numerator = numerator - line[0] * QM31::from(at.y) - line[1];
            sum += numerator * denominator.inverse().unwrap_or(QM31::ZERO);
            first += 4 << batch.log_size;
        }
        sum
    }

    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let expected: Vec<QM31> = (0..1usize << self.params.log_size).map(|position| self.at(position)).list();
        Failure::unless_equal(&expected, &secure::elements(&self.quotients(q)?))
    }

    /// Compares some positions, for sizes where all take the oracle long.
    fn hold_samples(&self, q: &Conditioned) -> Result<(), Failure> {
        let got = secure::elements(&self.quotients(q)?);
        let mut stream = ElementStream::new(7);
        let positions: Vec<usize> =
            (0..40).map(|_| stream.word() as usize % got.len()).chain([0, got.len() - 1]).list();
        let expected: Vec<QM31> = positions.iter().map(|&position| self.at(position)).list();
        Failure::unless_equal(&expected, &positions.iter().map(|&position| got[position]).list())
    }
}

/// Coefficients of a quotient, times the size of its domain.
///
/// The polynomial has `2^log_size` coefficients, its domain twice the points. The claimed value is
/// wrong by `error`.
fn quotient_polynomial(q: &Conditioned, log_size: u32, error: QM31) -> Result<Vec<QM31>, BackendError> {
    let log_domain = log_size + 1;
    let mut stream = ElementStream::new(u64::from(log_size));
    let (coefficients, point, power) = (stream.column(1 << log_size), stream.point(), stream.qm31());
    let values: Vec<M31> = (0..1 << log_domain).map(|p| value_at(&coefficients, stored_point(log_domain, p))).list();
    let CirclePoint { x, y } = point;
    let claim = value_at(&coefficients, point) + error;

    let columns = vec![ColumnAt::new(0, log_domain)];
    let terms = vec![DeepTerm { column: 0, value: 0, power: 0, reserved: 0 }];
    let batches = vec![DeepBatch { first: 0, count: 1, point: 0, log_size: log_domain }];
    let points = vec![x, y];
    let claims = Claims {
        terms: terms.clone(),
        batches: batches.clone(),
        points: points.clone(),
        sampled: vec![claim],
        powers: vec![power],
    };
    let [factors, lines] = claims.lines(q)?;
    let columns = DeepColumns { log_size: log_domain, columns, terms, batches: batches.clone(), values, factors };
    let numerators = columns.numerators(q)?;
    let params = DeepQuotientsParams { log_size: log_domain, log_domain };
    let quotients = QuotientsInput { params, batches, points, lines, numerators }.quotients(q)?;
    Ok(interpolated(secure::elements(&quotients), log_domain))
}

/// Interpolates values on a canonic domain.
///
/// Returns the coefficients times the size of the domain.
fn interpolated(mut values: Vec<QM31>, log_domain: u32) -> Vec<QM31> {
    for layer in 0..log_domain {
        let distance = 1 << layer;
        for start in (0..values.len()).step_by(2 * distance) {
            let CirclePoint { x, y } = stored_point(log_domain, start);
            let factor = if layer == 0 { y } else { (1..layer).fold(x, |x, _| double_x(x)) };
            let inverse = factor.inverse().unwrap_or(M31::ZERO);
            for i in start..start + distance {
                let (a, b) = (values[i], values[i + distance]);
                (values[i], values[i + distance]) = (a + b, (a - b) * QM31::from(inverse));
            }
        }
    }
    values
}

pub(super) fn quotients() -> OpSpec {
    let mut cases = Vec::new();
    for log_size in 0..=9 {
        let case = Case::new(format!("2^{log_size} positions"), move |q| {
            for log_domain in [log_size.max(1), log_size + 1, log_size + 3] {
                QuotientsInput::random(DeepQuotientsParams { log_size, log_domain }, &[(0, log_size)]).hold(q)?;
            }
            Ok(())
        });
        cases.push(case.on_elements(1 << log_size));
    }
    for log_size in [10, 11, 12, 13] {
        let case = Case::new(format!("2^{log_size} positions of 2^30, sampled"), move |q| {
            let batches = [(0, log_size), (1, log_size - 2)];
            QuotientsInput::random(DeepQuotientsParams { log_size, log_domain: 30 }, &batches).hold_samples(q)
        });
        cases.push(case.on_elements(1 << log_size));
    }
    for log_size in 1..=7 {
        let case = Case::new(format!("all heights to 2^{log_size}, twice, at two points"), move |q| {
            let heights = (1..=log_size).map(|height| (0, height));
            let others = (1..=log_size).rev().map(|height| (1, height));
            let batches: Vec<(u32, u32)> = heights.chain(others).list();
            QuotientsInput::random(DeepQuotientsParams { log_size, log_domain: log_size + 1 }, &batches).hold(q)
        });
        cases.push(case.on_elements(1 << log_size));
    }
    for count in BATCHES {
        cases.push(Case::new(format!("{count} batches"), move |q| {
            let batches: Vec<(u32, u32)> = (0..count).map(|i| (i / 3, 1 + i % 5)).list();
            QuotientsInput::random(DeepQuotientsParams { log_size: 5, log_domain: 6 }, &batches).hold(q)
        }));
    }
    // A polynomial of two coefficients is its own line: the quotient of a true claim is zero.
    for log_size in 2..=6 {
        cases.push(Case::new(format!("2^{log_size} coefficients, true and false claims"), move |q| {
            let coefficients = quotient_polynomial(q, log_size, QM31::ZERO)?;
            let (low, high) = coefficients.split_at(1 << log_size);
            Failure::unless_equal(&vec![QM31::ZERO; high.len()], high)?;
            if low.iter().all(|&c| c == QM31::ZERO) {
                return Err(Failure::Broken("the quotient of a true claim is zero".to_owned()));
            }
            let coefficients = quotient_polynomial(q, log_size, QM31::ONE)?;
            if coefficients[1 << log_size..].iter().all(|&c| c == QM31::ZERO) {
                return Err(Failure::Broken("the quotient of a false claim is of low degree".to_owned()));
            }
            Ok(())
        }));
    }
    cases.push(Case::new("a point without denominators", |q| {
        let mut input =
            QuotientsInput::random(DeepQuotientsParams { log_size: 4, log_domain: 5 }, &[(0, 4), (1, 4), (2, 3)]);
        input.points[2..4].fill(QM31::ZERO);
        input.hold(q)
    }));
    cases.push(Case::new("heights and points that there are not", |q| {
        let random = || QuotientsInput::random(DeepQuotientsParams { log_size: 3, log_domain: 4 }, &[(0, 3), (1, 2)]);
        let mut input = random();
        input.batches[1].point = 2;
        Failure::unless_refused("a point beyond the last", input.quotients(q).map(drop))?;
        input = random();
        input.batches[1].log_size = 4;
        Failure::unless_refused("more numerators than positions", input.quotients(q).map(drop))?;
        input = random();
        input.params.log_domain = 2;
        Failure::unless_refused("a domain with fewer points", input.quotients(q).map(drop))?;
        input = QuotientsInput::random(DeepQuotientsParams { log_size: 3, log_domain: 4 }, &[(0, 0)]);
        Failure::unless_refused("one numerator for many positions", input.quotients(q).map(drop))?;
        input = QuotientsInput::random(DeepQuotientsParams { log_size: 0, log_domain: 0 }, &[(0, 0)]);
        Failure::unless_refused("a domain of one point", input.quotients(q).map(drop))
    }));
    OpSpec { op: "deep.quotients", cases }
}
