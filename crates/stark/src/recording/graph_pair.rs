//! A proof as two submissions, with interaction columns of the host between them.

use core::fmt;

use backend_api::Record;
use core_types::field::QM31;

use crate::{
    Interaction, ProofSession, Prover, ProverError, StarkOps, Submitted,
    plan::shape::{INTERACTION, TRACE},
    recording::submission::RecordedSubmission,
};

/// The work of a proof whose interaction columns the host computes, as two submissions.
///
/// The first runs up to the challenges that the host needs, the second starts at the interaction
/// columns. Both are recorded at the second proof and replayed from then on, and belong to one
/// prover, as in [`ProofGraph`](crate::ProofGraph). The host waits twice: for the challenges and
/// for the proof. If coefficients are on the host, or if several ranks make the proof together, the
/// work is submitted op by op.
///
/// A column, and an interaction column that holds its rows times a challenge:
///
/// ```
/// use core_types::{
///     air::{Air, Relation, Row, Tree},
///     field::{M31, QM31},
/// };
/// use stark::{Component, Interaction, PcsConfig, ProofGraphPair, Protocol, Prover, ProverError};
///
/// struct Scaled;
///
/// impl Air for Scaled {
///     fn log_rows(&self) -> u32 {
///         5
///     }
///
///     fn eval<R: Row>(&self, row: &mut R) {
///         let x = row.column();
///         let [scaled] = row.mask_ext(Tree::INTERACTION, [0]);
///         let challenge = row.challenge(0);
///         row.constraint_ext(scaled - challenge * R::E::from(x));
///     }
/// }
///
/// let q = runtime::cpu()?;
/// let components = vec![Component::new(&Scaled, &[])?];
/// let mut prover = Prover::new(&q, Protocol::V2_3, PcsConfig::default(), &[], components)?;
/// let mut pair = ProofGraphPair::new();
/// for first in 0..3 {
///     let rows: Vec<M31> = (first..first + 32).map(M31::from_u32).collect();
///     prover.load(&q, &[&rows])?;
///     let submitted = pair.submit(
///         &mut prover,
///         &q,
///         &[],
///         |mut session| {
///             session.commit_preprocessed()?;
///             session.commit_loaded()?;
///             session.draw_relation(Relation::new(0, 0))?;
///             Ok(session)
///         },
///         |challenges| {
///             let scaled: Vec<_> = rows.iter().map(|&x| (challenges[0] * QM31::from(x)).coordinates()).collect();
///             let column = |coordinate: usize| scaled.iter().map(|value| value[coordinate]).collect();
///             // The sum of the rows is absorbed before the columns are committed to.
///             let sum = rows.iter().fold(QM31::ZERO, |sum, &x| sum + challenges[0] * QM31::from(x));
///             let columns = (0..4).map(column).collect();
///             Ok::<_, ProverError>(Interaction { absorbed: vec![sum], columns, ..Interaction::default() })
///         },
///         |mut session| {
///             session.commit_loaded()?;
///             session.submit()
///         },
///     )?;
///     let proof = submitted.wait()?.proof()?;
///     assert_eq!(proof.commitments.len(), 4);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProofGraphPair<Q: Record> {
    begun: RecordedSubmission<Q>,
    finished: RecordedSubmission<Q>,
}

impl<Q: Record> Default for ProofGraphPair<Q> {
    fn default() -> Self {
        Self { begun: RecordedSubmission::default(), finished: RecordedSubmission::default() }
    }
}

impl<Q: StarkOps + Record> ProofGraphPair<Q> {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether both parts of a proof are recorded.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.begun.is_recorded() && self.finished.is_recorded()
    }

    /// Submits a proof of the trace that was [loaded](Prover::load).
    ///
    /// `begin` commits to it by [`commit_loaded`](ProofSession::commit_loaded) and draws
    /// challenges; `interact` makes interaction columns of them, as [`ProofSession::challenges`]
    /// gives them; and `finish` commits to those, by `commit_loaded` again, and
    /// [submits](ProofSession::submit) the rest.
    ///
    /// `begin` and `finish` have to do the same each time: the words and elements that they absorb
    /// are recorded. Data that differs between proofs belongs in [`Interaction::absorbed`], which
    /// `commit_loaded` absorbs. If the steps of `begin` and `finish` can vary, `key` has to
    /// identify the variant: only a proof with the same `key` is replayed.
    ///
    /// # Errors
    /// [`ProverError::NotLoaded`] without a trace, [`ProverError::NoTree`] if the statement has no
    /// interaction columns, [`ProverError::Tree`] if `begin` commits to more or less than the
    /// trace, [`ProverError::ClaimedSums`], [`ProverError::Columns`] or [`ProverError::Rows`] if
    /// `interact` returns columns that do not match the statement, [`ProverError::InGraph`] if
    /// `begin` or `finish` commits to host columns, and any error of the three callbacks or the
    /// device. After any failure the next proof is correct, except after a lost device or an ended
    /// group of ranks.
    pub fn submit<'p, E: From<ProverError>>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        key: &[u32],
        begin: impl for<'s> Fn(ProofSession<'s, Q>) -> Result<ProofSession<'s, Q>, ProverError>,
        interact: impl FnOnce(&[QM31]) -> Result<Interaction, E>,
        finish: impl for<'s> Fn(ProofSession<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, E> {
        prover.expect_loaded(TRACE)?;
        prover.expect_tree_of_trace(INTERACTION)?;
        if !prover.can_be_recorded() {
            let mut session = begin(ProofSession::new(prover, q, true)?)?;
            session.expect_tree(INTERACTION)?;
            let interaction = interact(&session.challenges()?)?;
            session.load_between_graphs(&interaction)?;
            finish(session)?;
            return Ok(Submitted { prover, q });
        }
        self.begun.submit(prover, q, key.to_vec(), None, &|prover, q| {
            begin(ProofSession::new(prover, q, true)?)?.expect_tree(INTERACTION)
        })?;
        let mut session = ProofSession::resumed(prover, q);
        let interaction = interact(&session.challenges()?)?;
        session.load_between_graphs(&interaction)?;
        // The number of absorbed elements is fixed in the recording.
        let key = [key, &[interaction.absorbed.len() as u32]].concat();
        self.finished.submit(prover, q, key, None, &|prover, q| finish(ProofSession::resumed(prover, q)).map(drop))?;
        // Absorbing more elements than ever before allocates memory, after the first part was submitted.
        self.begun.follow(prover);
        Ok(Submitted { prover, q })
    }
}

impl<Q: Record> fmt::Debug for ProofGraphPair<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofGraphPair").field("begun", &self.begun).field("finished", &self.finished).finish()
    }
}
