//! Why there is no proof.

use backend_api::{BackendError, CollectiveError};
use stark_fft::FftError;
use stark_verifier::{Protocol, StatementError};
use thiserror::Error;

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProverError {
    /// There are no proofs of the statement.
    #[error("the statement cannot be proved")]
    Statement(#[from] StatementError),
    /// A protocol that this prover does not know.
    #[error("the prover does not support protocol {0:?}")]
    Protocol(Protocol),
    /// More work than can be found in a time that anybody waits.
    #[error("expected at most {most} bits of work, got {got}")]
    Work {
        /// The requested bits.
        got: u32,
        /// The most that a prover does.
        most: u32,
    },
    /// The domains of a statement cannot be cut into the requested number of blocks.
    #[error("expected a power of two of blocks, {least} to {most}, got {got}")]
    Blocks {
        /// The least blocks.
        least: u32,
        /// The most blocks.
        most: u32,
        /// The requested number of blocks.
        got: u32,
    },
    /// The number of ranks is not a power of two, or exceeds the possible number of blocks.
    #[error("expected a power of two of ranks, {most} at most, got {got}")]
    Ranks {
        /// The most ranks.
        most: u32,
        /// Ranks that there are.
        got: usize,
    },
    /// Ranks of one proof have different statements or transcripts.
    ///
    /// Transcripts are compared at the end.
    #[error("the statement or transcript of rank {rank} differs from the previous rank's")]
    Disagreement {
        /// The first rank that differs from the one before it.
        rank: usize,
    },
    /// The trees were not committed to in their order.
    #[error("expected a commitment to tree {expected}, got one to tree {got}")]
    Tree {
        /// The next tree.
        expected: usize,
        /// The tree that was committed to.
        got: usize,
    },
    /// A proof was finished before all trees were committed to.
    #[error("expected {expected} trees before the proof is finished, got {got}")]
    Unfinished {
        /// Trees of the statement.
        expected: usize,
        /// Trees committed to.
        got: usize,
    },
    /// Columns were to be committed to that were not loaded, or that a proof has taken.
    #[error("expected columns that were loaded for this proof, got none")]
    NotLoaded,
    /// A commitment to host columns was requested during graph capture.
    ///
    /// The graph would commit to the same columns again in other proofs.
    #[error("host columns cannot be committed during graph capture; load them first")]
    InGraph,
    /// There is no such tree to commit to.
    #[error("expected a commitment to a tree below {trees}, got one to tree {got}")]
    NoTree {
        /// Trees of the statement.
        trees: usize,
        /// The tree that was committed to.
        got: usize,
    },
    /// A tree has another number of columns.
    #[error("expected {expected} columns in tree {tree}, got {got}")]
    Columns {
        /// The tree.
        tree: usize,
        /// Columns of the statement.
        expected: usize,
        /// Columns given.
        got: usize,
    },
    /// A column has another number of rows.
    #[error("expected {expected} rows in column {column} of tree {tree}, got {got}")]
    Rows {
        /// The tree.
        tree: usize,
        /// The column.
        column: usize,
        /// Rows of the statement.
        expected: usize,
        /// Rows given.
        got: usize,
    },
    /// There is not one generator for each component.
    #[error("expected generators of {expected} components, got {got}")]
    Generators {
        /// Components of the statement.
        expected: usize,
        /// Generators given.
        got: usize,
    },
    /// A generator does not match its component.
    ///
    /// It makes another trace than the component's, or lacks inputs, tables or keys that it reads.
    #[error("expected {expected} {what} of the generator of component {component}, got {got}")]
    Generator {
        /// The component.
        component: usize,
        /// What there is another number of.
        what: &'static str,
        /// The number of the component or of the generator.
        ///
        /// For tables and keys it is the least number that the generator reads.
        expected: usize,
        /// The number that the generator has or is given.
        got: usize,
    },
    /// A trace is gathered by preprocessed columns in a statement without look-ups.
    ///
    /// The rows of preprocessed columns are stored only for look-ups.
    #[error("component {component}: gathering a trace by preprocessed columns requires a statement with lookups")]
    Keys {
        /// The component.
        component: usize,
    },
    /// A component has interaction columns in addition to its look-up columns.
    ///
    /// The caller then has to compute all of them and [load](crate::ProofSession::load_interaction)
    /// them.
    #[error("component {component}: expected {expected} interaction columns (from its lookups), got {got}; load them")]
    Interaction {
        /// The component.
        component: usize,
        /// Columns of its look-ups.
        expected: usize,
        /// Interaction columns.
        got: usize,
    },
    /// The number of claimed sums with interaction columns of the host is wrong.
    ///
    /// A statement with look-ups has one for each component.
    #[error("expected {expected} claimed sums with host interaction columns, got {got}")]
    ClaimedSums {
        /// Components of a statement with look-ups; none of others.
        expected: usize,
        /// Claimed sums given.
        got: usize,
    },
    /// A challenge was drawn to a slot that no AIR can read.
    #[error("expected a challenge slot below {most}, got {got}")]
    Slot {
        /// Slots that there are.
        most: usize,
        /// The requested slot.
        got: usize,
    },
    /// A constraint does not hold on some row.
    ///
    /// [`stark_air::check_trace`] names constraint and row.
    #[error("the trace violates a constraint; `stark_air::check_trace` returns the constraint and the row")]
    Constraints,
    /// The out-of-domain point that was drawn is on a domain or not on the circle.
    ///
    /// The chance of this is less than 2^-90.
    #[error("the out-of-domain point drawn is degenerate")]
    Point,
    /// A transform was refused.
    #[error("a transform failed")]
    Fft(#[source] FftError),
    /// The ranks that make a proof together do not go on.
    #[error("a collective operation failed")]
    Collective(#[source] CollectiveError),
    /// The device refused or failed.
    #[error("the device failed")]
    Backend(#[from] BackendError),
}

impl From<CollectiveError> for ProverError {
    /// A device that failed in an exchange is a device that failed.
    fn from(error: CollectiveError) -> Self {
        match error {
            CollectiveError::Backend(error) => Self::Backend(error),
            error => Self::Collective(error),
        }
    }
}

impl From<FftError> for ProverError {
    /// A device that failed in a transform is a device that failed.
    fn from(error: FftError) -> Self {
        match error {
            FftError::Backend(error) => Self::Backend(error),
            error => Self::Fft(error),
        }
    }
}
