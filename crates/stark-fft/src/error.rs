//! Why a transform was refused, with the numbers.

use backend_api::{BackendError, CollectiveError};
use core_types::circle::MAX_LOG_DOMAIN;
use thiserror::Error;

/// Why a transform was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FftError {
    /// No domain has this log size.
    #[error("expected a log size of 1..={MAX_LOG_DOMAIN}, got {got}")]
    LogSize {
        /// The requested log size.
        got: u32,
    },
    /// More columns than a launch record can name or memory can hold.
    #[error("{got} columns of 2^{log_size} elements exceed the address space or 2^32 columns")]
    TooManyColumns {
        /// The requested number of columns.
        got: usize,
        /// Log size of each.
        log_size: u32,
    },
    /// The elements are not a whole number of columns.
    #[error("expected a multiple of {column_len} elements, got {got}")]
    PartialColumn {
        /// Elements of one column.
        column_len: usize,
        /// Elements supplied.
        got: usize,
    },
    /// The columns are not those that the plan was made for.
    #[error("expected {expected_columns} columns of log size {expected_log}, got {got_columns} of log size {got_log}")]
    Shape {
        /// Log size of the plan.
        expected_log: u32,
        /// Columns of the plan.
        expected_columns: usize,
        /// Log size of the columns.
        got_log: u32,
        /// Number of columns.
        got_columns: usize,
    },
    /// The columns of a set are not ordered by size.
    #[error("group {group} has log size {log_size}: expected less than {before}, the log size of the previous group")]
    GroupOrder {
        /// Number of the group.
        group: usize,
        /// Log size of its columns.
        log_size: u32,
        /// Log size of the columns of the group before it.
        before: u32,
    },
    /// The number of elements does not match the set's shape.
    #[error("expected {expected} elements, got {got}")]
    SetLength {
        /// Elements of the shape.
        expected: usize,
        /// Elements supplied.
        got: usize,
    },
    /// The set is not of the shape that the plan was made for.
    #[error("expected columns of {expected}, got {got}")]
    SetShape {
        /// [Shape](crate::SetShape) of the plan.
        expected: String,
        /// Shape of the set.
        got: String,
    },
    /// The twiddle tree is for smaller domains.
    #[error("expected twiddles for log size {expected} or more, got {got}")]
    TwiddlesTooSmall {
        /// Log size of the domain.
        expected: u32,
        /// Log size of the tree.
        got: u32,
    },
    /// The target domain of an extension has fewer points than the polynomial has coefficients.
    #[error("expected a domain of log size {coefficients} or more, got {domain}")]
    DomainTooSmall {
        /// Log of the number of coefficients.
        coefficients: u32,
        /// Log size of the domain.
        domain: u32,
    },
    /// A domain cannot be cut into this number of blocks of at least two values.
    #[error("2^{log_size} points cannot be split into 2^{log_blocks} blocks: expected at least two values per block")]
    TooManyBlocks {
        /// Log of the number of blocks.
        log_blocks: u32,
        /// Log size of the domain.
        log_size: u32,
    },
    /// The plan has no block of this number.
    #[error("expected a block below {blocks}, got {got}")]
    NoSuchBlock {
        /// The requested block.
        got: usize,
        /// Number of blocks.
        blocks: usize,
    },
    /// There is not room for the values of all columns on a block, or for more.
    #[error("expected {expected} elements for a block, got {got}")]
    BlockLength {
        /// Values of all columns on a block.
        expected: usize,
        /// Elements supplied.
        got: usize,
    },
    /// Columns of this length cannot be shared among this number of ranks.
    #[error("{got} ranks cannot share a column of 2^{log_size}: expected a power of two up to {most}")]
    Ranks {
        /// Log size of the domain.
        log_size: u32,
        /// The most ranks.
        most: usize,
        /// The requested number of ranks.
        got: usize,
    },
    /// There is no such rank.
    #[error("there are {ranks} ranks, got rank {got}")]
    NoSuchRank {
        /// Ranks.
        ranks: usize,
        /// The requested rank.
        got: usize,
    },
    /// Columns or twiddles are not of the part that the plan was made for.
    #[error("expected the shard of {expected}, got the shard of {got}")]
    Shard {
        /// The [part](crate::Shard) that the plan was made for.
        expected: String,
        /// The part that the columns or twiddles are of.
        got: String,
    },
    /// The group of ranks is another one than the plan was made for.
    #[error("expected the process group of {expected}, got rank {rank} of {ranks}")]
    Group {
        /// The [part](crate::Shard) that the plan was made for.
        expected: String,
        /// The number of this rank in the group.
        rank: usize,
        /// Ranks of the group.
        ranks: usize,
    },
    /// The ranks do not go on together.
    #[error("{0}")]
    Collective(CollectiveError),
    /// The point to evaluate at does not satisfy `x^2 + y^2 = 1`.
    #[error("the point is not on the circle")]
    OffCircle,
    /// An element to invert is zero.
    #[error("element {index} is zero and has no inverse")]
    ZeroInverse {
        /// The first such element.
        index: usize,
    },
    /// The backend failed.
    #[error("backend error: {0}")]
    Backend(BackendError),
}

impl From<BackendError> for FftError {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

impl From<CollectiveError> for FftError {
    fn from(error: CollectiveError) -> Self {
        Self::Collective(error)
    }
}
