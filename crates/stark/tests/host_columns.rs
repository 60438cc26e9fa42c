//! AIRs whose interaction columns the host computes, and the steps of their sessions.

use core_types::{
    air::{Air, LogUp, Relation, Row, Tree, stored_position},
    field::{M31, QM31},
};
use runtime::AnyQueue;
use stark::{ProofSession, ProverError, Submitted};

/// The relation of [`Used`].
pub(crate) const VALUES: Relation = Relation::new(0, 1);

/// The challenge of [`Scaled`].
pub(crate) const CHALLENGE: Relation = Relation::new(0, 0);

/// Uses its value on each row.
pub(crate) struct Used {
    pub(crate) log_rows: u32,
}

impl Air for Used {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let one = R::E::from(R::F::from(M31::ONE));
        let mut entries = LogUp::new(1);
        entries.entry(row, VALUES, one, &[x]);
        entries.finish(row);
    }
}

/// A column, and an interaction column that holds its rows times a challenge.
pub(crate) struct Scaled {
    pub(crate) log_rows: u32,
}

impl Air for Scaled {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [scaled] = row.mask_ext(Tree::INTERACTION, [0]);
        let challenge = row.challenge(0);
        row.constraint_ext(scaled - challenge * R::E::from(x));
    }
}

/// The four columns of coordinates.
pub(crate) fn coordinates(values: &[QM31]) -> Vec<Vec<M31>> {
    (0..4).map(|k| values.iter().map(|value| value.coordinates()[k]).collect()).collect()
}

/// The four columns of `rows` times a challenge.
pub(crate) fn scaled(rows: &[M31], challenge: QM31) -> Vec<Vec<M31>> {
    coordinates(&rows.iter().map(|&x| challenge * QM31::from(x)).collect::<Vec<_>>())
}

/// Returns the sum of 1 / (x - z) over all rows, and its mean-shifted running sum.
///
/// Row `k` of the running sum is the sum up to it, minus the mean for each row summed.
pub(crate) fn running_sum(rows: &[M31], z: QM31) -> (QM31, Vec<QM31>) {
    let log_rows = rows.len().ilog2();
    let place = |row: u32| stored_position(row, log_rows) as usize;
    let fraction = |row: u32| (QM31::from(rows[place(row)]) - z).inverse().unwrap();
    let fractions: Vec<_> = (0..1 << log_rows).map(fraction).collect();
    let sum = fractions.iter().fold(QM31::ZERO, |sum, &fraction| sum + fraction);
    let mean = sum * QM31::from(M31::from_u32(1 << log_rows).inverse().unwrap());
    let (mut running, mut values) = (QM31::ZERO, vec![QM31::ZERO; rows.len()]);
    for (row, fraction) in (0..).zip(fractions) {
        running = running + fraction - mean;
        values[place(row)] = running;
    }
    (sum, values)
}

/// Commits to the loaded trace and draws a relation.
pub(crate) fn begin<'p>(
    mut session: ProofSession<'p, AnyQueue>,
    relation: Relation,
) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
    session.commit_preprocessed()?;
    session.commit_loaded()?;
    session.draw_relation(relation)?;
    Ok(session)
}

/// Commits to the loaded interaction columns and submits the rest.
pub(crate) fn finish<'p>(mut session: ProofSession<'p, AnyQueue>) -> Result<Submitted<'p, AnyQueue>, ProverError> {
    session.commit_loaded()?;
    session.submit()
}
