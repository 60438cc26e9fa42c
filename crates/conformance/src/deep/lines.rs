//! Lines through claimed values, checked at the two points that they go through.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::deep::{DeepLines, DeepOps},
};
use core_types::{
    field::QM31,
    params::deep::{DeepBatch, DeepTerm},
};

use super::NamedChange;
use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _, spec::BATCHES};

/// Terms in batches of given sizes.
///
/// Their points, values and powers are at random places.
pub(super) struct Claims {
    pub(super) terms: Vec<DeepTerm>,
    pub(super) batches: Vec<DeepBatch>,
    pub(super) points: Vec<QM31>,
    pub(super) sampled: Vec<QM31>,
    pub(super) powers: Vec<QM31>,
}

impl Claims {
    fn random(counts: &[u32]) -> Self {
        const PLACES: u32 = 7;
        let mut stream = ElementStream::new(counts.len() as u64);
        let mut batches = Vec::new();
        let mut first = 0;
        for &count in counts {
            batches.push(DeepBatch { first, count, point: stream.word() as u32 % PLACES, log_size: 3 });
            first += count;
        }
        let mut place = || stream.word() as u32 % PLACES;
        let terms = (0..first).map(|_| DeepTerm { column: place(), value: place(), power: place(), reserved: 0 });
        let terms = terms.list();
        let mut elements = |count: u32| (0..count).map(|_| stream.qm31()).list();
        let (points, sampled, powers) = (elements(2 * PLACES), elements(PLACES), elements(PLACES));
        Self { terms, batches, points, sampled, powers }
    }

    /// Factors and lines.
    pub(super) fn lines(&self, q: &Conditioned) -> Result<[Vec<QM31>; 2], BackendError> {
        let [points, sampled, powers] = [q.upload(&self.points)?, q.upload(&self.sampled)?, q.upload(&self.powers)?];
        let (mut factors, mut lines) = (q.zeros(self.terms.len())?, q.zeros(2 * self.batches.len())?);
        q.deep_lines(DeepLines {
            terms: &self.terms,
            batches: &self.batches,
            points: points.view(),
            sampled: sampled.view(),
            powers: powers.view(),
            factors: factors.view_mut(),
            lines: lines.view_mut(),
        })?;
        Ok([q.download(&factors)?, q.download(&lines)?])
    }

    /// Checks factors, and each line at the point's y and at its conjugate.
    ///
    /// There it has the claimed value and its conjugate, times factor and power.
    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let [factors, lines] = self.lines(q)?;
        let (mut expected_factors, mut expected, mut got) = (Vec::new(), Vec::new(), Vec::new());
        for (batch, line) in self.batches.iter().zip(lines.chunks(2)) {
            let y = self.points[2 * batch.point as usize + 1];
            let distance = conjugate(y) - y;
            let (mut at_point, mut at_conjugate) = (QM31::ZERO, QM31::ZERO);
            for term in &self.terms[batch.first as usize..(batch.first + batch.count) as usize] {
                let (value, power) = (self.sampled[term.value as usize], self.powers[term.power as usize]);
                expected_factors.push(distance * power);
                at_point += value * distance * power;
                at_conjugate += conjugate(value) * distance * power;
            }
            expected.extend([at_point, at_conjugate]);
            got.extend([line[0] * y + line[1], line[0] * conjugate(y) + line[1]]);
        }
        Failure::unless_equal(&expected_factors, &factors)?;
        Failure::unless_equal(&expected, &got)
    }
}

/// The conjugate over CM31, by coordinates.
fn conjugate(x: QM31) -> QM31 {
    let [a, b, c, d] = x.coordinates();
    QM31::from_coordinates([a, b, -c, -d])
}

pub(super) fn lines() -> OpSpec {
    let mut cases = vec![
        Case::new("no terms", |q| Claims::random(&[]).hold(q)),
        Case::new("batches of one to six terms", |q| Claims::random(&[1, 2, 3, 4, 5, 6]).hold(q)),
        Case::new("batches of very different lengths", |q| Claims::random(&[300, 1, 1, 70, 33]).hold(q)),
        Case::new("places that there are not", |q| {
            let changes: [NamedChange<Claims>; 5] = [
                ("a gap between batches", |claims| claims.batches[1].first = 1),
                ("a term without a batch", |claims| claims.batches[1].count = 2),
                ("a point beyond the last", |claims| claims.batches[0].point = 7),
                ("a value beyond the last", |claims| claims.terms[4].value = 7),
                ("a power beyond the last", |claims| claims.terms[4].power = 7),
            ];
            changes.into_iter().try_for_each(|(what, change)| {
                let mut claims = Claims::random(&[2, 3]);
                change(&mut claims);
                Failure::unless_refused(what, claims.lines(q).map(drop))
            })
        }),
    ];
    for count in BATCHES {
        cases.push(Case::new(format!("{count} batches"), move |q| {
            let counts: Vec<u32> = (0..count).map(|i| 1 + i % 3).list();
            Claims::random(&counts).hold(q)
        }));
    }
    OpSpec { op: "deep.lines", cases }
}
