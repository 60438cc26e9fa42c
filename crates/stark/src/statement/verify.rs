//! The verifier of a statement.

use core_types::{air::Air, field::QM31};
use stark_airs::{Statement, Visitor};
use stark_verifier::{
    Component, Digest, Inputs, PcsConfig, Preprocessed, Protocol, StatementError, VerificationError, Verifier,
};
use thiserror::Error;

use super::{proof::StatementProof, relations::misplaced};

/// Why a proof of a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There are no proofs of the statement.
    #[error("the statement cannot be proved")]
    Statement(#[from] StatementError),
    /// The slots of a relation of the statement are misplaced.
    ///
    /// They do not follow the slots of the relation before it.
    #[error("expected a relation whose slots begin at {expected}, got {got}")]
    Relations {
        /// The slot after the slots of the relations before it.
        expected: u32,
        /// Its first slot.
        got: u32,
    },
    /// The number of claimed sums is wrong.
    ///
    /// A statement with look-ups has one for each component, another statement none.
    #[error("expected {expected} claimed sums, got {got}")]
    Claimed {
        /// All components of a statement with look-ups, 0 of another one.
        expected: usize,
        /// Sums of the proof.
        got: usize,
    },
    /// The claimed sums do not add up to the statement's public sum.
    #[error("LogUp sums do not balance: the tuples used differ from those yielded")]
    Sums,
    /// A check of the proof fails.
    #[error("the proof is refused")]
    Proof(#[from] VerificationError),
}

/// The components of a statement.
struct ComponentList<'s>(Vec<Component<'s>>);

impl<'s> Visitor<'s> for ComponentList<'s> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.0.push(Component::new(air, preprocessed));
    }
}

/// Checks that there are proofs of `statement` with these parameters.
///
/// [`verify`] checks it too, and a prover as it is created.
///
/// # Errors
/// [`VerifyError::Relations`] or [`VerifyError::Statement`] if there are none.
pub fn check_parameters<S: Statement>(protocol: Protocol, config: PcsConfig, statement: &S) -> Result<(), VerifyError> {
    verifier(protocol, config, statement, Digest::default()).map(drop)
}

/// Checks that `proof` proves `statement`, with these parameters and this preprocessed root.
///
/// The verifier has to obtain the root independently, for example from
/// [`preprocessed_root`](crate::preprocessed_root).
///
/// # Errors
/// The first check that fails.
pub fn verify<S: Statement>(
    protocol: Protocol,
    config: PcsConfig,
    statement: &S,
    preprocessed_root: Digest,
    proof: &StatementProof,
) -> Result<(), VerifyError> {
    let (verifier, count) = verifier(protocol, config, statement, preprocessed_root)?;
    let mut session = verifier.begin(&proof.proof)?;
    session.commit();
    session.channel().mix_u32s(&statement.words());
    session.commit();
    let relations = statement.relations();
    let (expected, got) = (if relations.is_empty() { 0 } else { count }, proof.claimed_sums.len());
    if expected != got {
        return Err(VerifyError::Claimed { expected, got });
    }
    if relations.is_empty() {
        return Ok(session.finish(&vec![Inputs::default(); count])?);
    }
    let challenges: Vec<QM31> =
        relations.iter().flat_map(|&relation| session.channel().draw_relation(relation)).collect();
    if !statement.sums_add_up(&challenges, &proof.claimed_sums) {
        return Err(VerifyError::Sums);
    }
    session.channel().mix_felts(&proof.claimed_sums);
    session.commit();
    let inputs = |&claimed_sum: &QM31| Inputs { challenges: challenges.clone(), claimed_sum };
    Ok(session.finish(&proof.claimed_sums.iter().map(inputs).collect::<Vec<_>>())?)
}

/// The verifier of a statement, and the number of its components.
fn verifier<S: Statement>(
    protocol: Protocol,
    config: PcsConfig,
    statement: &S,
    root: Digest,
) -> Result<(Verifier<'_>, usize), VerifyError> {
    if let Some((expected, got)) = misplaced(statement.relations()) {
        return Err(VerifyError::Relations { expected, got });
    }
    let mut components = ComponentList(Vec::new());
    statement.visit(&mut components);
    let count = components.0.len();
    let log_rows = statement.preprocessed().into_iter().map(|column| column.log_rows).collect();
    Ok((Verifier::new(protocol, config, Preprocessed { root, log_rows }, components.0)?, count))
}
