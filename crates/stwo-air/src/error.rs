//! Why an AIR was refused.

use alloc::string::String;

use thiserror::Error;

/// Why an AIR of stwo's constraint framework cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameworkError {
    /// The AIR inverts a value. Constraints are polynomials; the inverse has to be a column.
    #[error("the AIR inverts a value, but constraints are polynomials; add a column for the inverse")]
    Inverse,
    /// The AIR asks whether a value is zero. A program has no branches.
    #[error("the AIR branches on a value that depends on columns; recorded programs have no branches")]
    Branch,
    /// The AIR reads a preprocessed column by its place.
    ///
    /// They have no order; they are read by name.
    #[error("preprocessed columns are read by `get_preprocessed_column`, not by a mask")]
    PreprocessedMask,
    /// There is no such tree, or no such row.
    #[error("expected a 32-bit tree and row offset, got tree {tree} and offset {offset:+}")]
    Mask {
        /// The tree, which stwo calls an interaction.
        tree: usize,
        /// Rows from the row at hand.
        offset: isize,
    },
    /// More of something than a recording can hold.
    #[error("expected at most {most} {what}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The most there can be.
        most: usize,
    },
    /// The batches do not name one column for each fraction.
    #[error("expected {fractions} batches, one for each fraction, got {got}")]
    Batches {
        /// Fractions of a row.
        fractions: usize,
        /// Batches given.
        got: usize,
    },
    /// A batch between others has no fraction.
    #[error("expected consecutive batches, got no fraction in batch {missing}")]
    Gap {
        /// The first batch that is missing.
        missing: usize,
    },
    /// Look-ups are not finalized exactly once after their fractions.
    ///
    /// They are finalized without a fraction or twice, or get a fraction after they were finalized.
    #[error("lookups must be finalized once, after at least one fraction, with no fraction added later")]
    Finalized,
    /// Look-ups are never finalized.
    #[error("{fractions} fractions are not finalized; call `finalize_logup`")]
    Unfinished {
        /// Fractions of a row.
        fractions: usize,
    },
    /// A look-up has a denominator that reads columns and no challenge.
    ///
    /// It was made with `dummy` elements, for example, or with elements that were not drawn from
    /// the [`Challenges`](crate::Challenges) passed to it.
    #[error("fraction {fraction} reads no drawn challenge; draw its lookup elements from `Challenges`")]
    NoChallenge {
        /// The fraction, counted from zero.
        fraction: usize,
    },
    /// A relation has slots of one before it, or slots that there are not.
    #[error("relation {relation}: expected slots below {most} that no earlier relation uses")]
    Slots {
        /// The relation, counted from zero.
        relation: usize,
        /// The maximum number of slots.
        most: u32,
    },
    /// The number of challenges drawn is not two for each relation.
    #[error("expected {expected} draws, two for each relation, got {got}")]
    Draws {
        /// Twice the number of relations.
        expected: usize,
        /// Challenges drawn.
        got: usize,
    },
    /// Words were drawn. Challenges are elements of the secure field.
    #[error("challenges are drawn as elements of the secure field, not as words")]
    Words,
    /// With other challenges the AIR is another one.
    ///
    /// It computes constants from challenges, or uses more powers of `alpha` than the relation has
    /// slots for, or it is not a function of its elements.
    #[error("expected an AIR independent of challenge values, got constants or steps that depend on them")]
    Baked,
    /// The AIR reads a preprocessed column that is not there.
    #[error("there is no preprocessed column `{name}`")]
    Preprocessed {
        /// Its name.
        name: String,
    },
}
