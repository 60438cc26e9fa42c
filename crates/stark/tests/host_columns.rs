//! AIRs whose interaction columns the host computes, with their sessions and verifier.

use core_types::{
    air::{Air, LogUp, Relation, Row, Tree, stored_position},
    field::{M31, QM31},
};
use runtime::AnyQueue;
use stark::{
    Component, Interaction, PcsConfig, Proof, ProofGraphPair, ProofSession, Protocol, Prover, ProverError, Residency,
    StarkOps, Submitted,
};
use stark_verifier::{Component as Checked, Inputs, Preprocessed, Verifier};

/// The relation of [`Used`], whose challenge [`Scaled`] reads too.
pub(crate) const VALUES: Relation = Relation::new(0, 1);

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

/// A column with copies, and an interaction column that holds its rows times a challenge.
pub(crate) struct Scaled {
    pub(crate) log_rows: u32,
    pub(crate) copies: u32,
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
        for _ in 0..self.copies {
            let copy = row.column();
            row.constraint(copy - x);
        }
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

/// The prover of an AIR alone.
pub(crate) fn prover<A: Air>(q: &AnyQueue, air: &A, residency: Residency) -> Prover<AnyQueue> {
    let component = Component::new(air, &[]).unwrap();
    Prover::with_residency(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component], residency).unwrap()
}

/// Commits to the preprocessed columns alone.
pub(crate) fn only_preprocessed<Q: StarkOps>(
    mut session: ProofSession<'_, Q>,
) -> Result<ProofSession<'_, Q>, ProverError> {
    session.commit_preprocessed()?;
    Ok(session)
}

/// Commits to the loaded trace and draws the challenge.
pub(crate) fn begin<'p>(mut session: ProofSession<'p, AnyQueue>) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
    session.commit_preprocessed()?;
    session.commit_loaded()?;
    session.draw_relation(VALUES)?;
    Ok(session)
}

/// Commits to the loaded interaction columns and submits the rest.
pub(crate) fn finish<'p>(mut session: ProofSession<'p, AnyQueue>) -> Result<Submitted<'p, AnyQueue>, ProverError> {
    session.commit_loaded()?;
    session.submit()
}

/// A proof of `trace` with a pair of graphs, and its claimed sums.
pub(crate) fn paired(
    q: &AnyQueue,
    prover: &mut Prover<AnyQueue>,
    pair: &mut ProofGraphPair<AnyQueue>,
    trace: &[&[M31]],
    interact: impl FnOnce(&[QM31]) -> Result<Interaction, ProverError>,
) -> Result<(Proof, Vec<QM31>), ProverError> {
    prover.load(q, trace)?;
    let found = pair.submit(prover, q, &[], begin, interact, finish)?.wait()?;
    let sums = found.claimed_sums().to_vec();
    Ok((found.proof()?, sums))
}

/// Verifies a proof with these elements and claimed sums, and returns the challenges.
pub(crate) fn verify(
    checked: Vec<Checked<'_>>,
    proof: &Proof,
    relations: &[Relation],
    absorbed: &[QM31],
    sums: &[QM31],
) -> Vec<QM31> {
    let verifier = Verifier::new(Protocol::V2_3, PcsConfig::default(), Preprocessed::default(), checked).unwrap();
    let mut session = verifier.begin(proof).unwrap();
    session.commit();
    session.commit();
    let challenges: Vec<_> = relations.iter().flat_map(|&relation| session.channel().draw_relation(relation)).collect();
    if !absorbed.is_empty() {
        session.channel().mix_felts(absorbed);
    }
    session.commit();
    let inputs = |&claimed_sum: &QM31| Inputs { challenges: challenges.clone(), claimed_sum };
    session.finish(&sums.iter().map(inputs).collect::<Vec<_>>()).unwrap();
    challenges
}
