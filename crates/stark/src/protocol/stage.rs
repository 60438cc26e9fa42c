//! Stages of a proof, for those who show progress or time it.

use core::fmt;

/// A stage of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The trace is interpolated, extended and hashed.
    Trace,
    /// Interaction columns are made, interpolated, extended and hashed.
    LookUps,
    /// Constraints are evaluated; their sum is interpolated, extended and hashed.
    Composition,
    /// Columns are sampled outside the domain.
    Sampling,
    /// The quotients of the samples are computed and extended.
    Quotients,
    /// The layers of FRI are hashed and folded.
    Fri,
    /// Work is proven, queries are drawn and answered.
    Opening,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 7] =
        [Self::Trace, Self::LookUps, Self::Composition, Self::Sampling, Self::Quotients, Self::Fri, Self::Opening];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "commit to the trace",
            Self::LookUps => "commit to look-ups",
            Self::Composition => "commit to constraints",
            Self::Sampling => "sample outside the domain",
            Self::Quotients => "quotients",
            Self::Fri => "FRI",
            Self::Opening => "work and openings",
        })
    }
}
