//! A proof as two submissions, with interaction columns of the host between them.

use core::fmt;

use backend_api::Record;
use core_types::field::QM31;

use crate::{Interaction, Prover, ProverError, Session, StarkOps, Submitted, part::Part, session::INTERACTION};

/// The work of a proof whose interaction columns the host makes, as two submissions: up to the challenges that it makes them from, and
/// from the columns on. Both are recorded at the second proof and replayed from then on, as that of a
/// [`ProofGraph`](crate::ProofGraph) is, and belong to one prover as it does. The host waits twice: for the challenges, and for the proof.
/// Where coefficients are on the host, and where ranks make a proof together, it is made op by op.
///
/// Of a column and, beside it, the same times a challenge:
///
/// ```
/// use core_types::{
///     air::{Air, Relation, Row, Tree},
///     field::{M31, QM31},
/// };
/// use stark_prover::{Component, Interaction, PcsConfig, ProofGraphPair, Protocol, Prover, ProverError};
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
///             // What the rows add up to is said before the columns are committed to.
///             let sum = rows.iter().fold(QM31::ZERO, |sum, &x| sum + challenges[0] * QM31::from(x));
///             let columns = (0..4).map(column).collect();
///             Ok::<_, ProverError>(Interaction { said: vec![sum], columns, ..Interaction::default() })
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
    begun: Part<Q>,
    finished: Part<Q>,
}

impl<Q: Record> Default for ProofGraphPair<Q> {
    fn default() -> Self {
        Self { begun: Part::default(), finished: Part::default() }
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

    /// Submits a proof of the trace that was [loaded](Prover::load). `begin` commits to it by
    /// [`commit_loaded`](Session::commit_loaded) and draws challenges; `interact` makes interaction columns of them, as
    /// [`Session::challenges`] gives them; and `finish` commits to those, by `commit_loaded` again, and [submits](Session::submit) the rest.
    ///
    /// `begin` and `finish` do the same each time: words and elements that they say are recorded with them. What differs from proof to proof
    /// belongs into [`Interaction::said`], which `commit_loaded` says; where `begin` and `finish` may do something else, `key` has to tell
    /// what, for only a proof with the same `key` is replayed.
    ///
    /// # Errors
    /// [`ProverError::NotLoaded`] without a trace, [`ProverError::NoTree`] if the statement has no interaction columns,
    /// [`ProverError::Tree`] if `begin` commits to more or less than the trace, [`ProverError::ClaimedSums`], [`ProverError::Columns`] or
    /// [`ProverError::Rows`] if `interact` makes other columns than those of the statement, [`ProverError::InGraph`] if `begin` or `finish`
    /// brings columns of the host, and what the three fail with or the device reports. The next proof is right whatever fails, but for
    /// a device that is lost and a group of ranks that has ended.
    pub fn submit<'p, E: From<ProverError>>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        key: &[u32],
        begin: impl for<'s> Fn(Session<'s, Q>) -> Result<Session<'s, Q>, ProverError>,
        interact: impl FnOnce(&[QM31]) -> Result<Interaction, E>,
        finish: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, E> {
        prover.expect_trace()?;
        prover.expect_interaction()?;
        if !prover.can_be_recorded() {
            let mut session = begin(Session::new(prover, q, true)?)?;
            session.expect_tree(INTERACTION)?;
            let interaction = interact(&session.challenges()?)?;
            session.load_between_graphs(&interaction)?;
            finish(session)?;
            return Ok(Submitted { prover, q });
        }
        self.begun.submit(prover, q, key.to_vec(), None, |prover, q| {
            begin(Session::new(prover, q, true)?)?.expect_tree(INTERACTION)
        })?;
        let mut session = Session::resumed(prover, q);
        let interaction = interact(&session.challenges()?)?;
        session.load_between_graphs(&interaction)?;
        // How much is said is fixed in what is recorded.
        let key = [key, &[interaction.said.len() as u32]].concat();
        self.finished.submit(prover, q, key, None, |prover, q| finish(Session::resumed(prover, q)).map(drop))?;
        // More than was ever said takes memory, after the first part was submitted.
        self.begun.follow(prover);
        Ok(Submitted { prover, q })
    }
}

impl<Q: Record> fmt::Debug for ProofGraphPair<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofGraphPair").field("begun", &self.begun).field("finished", &self.finished).finish()
    }
}
