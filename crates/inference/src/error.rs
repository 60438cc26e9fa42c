//! Why an inference did not succeed, and whose failure that is.

use std::path::PathBuf;

use pfss::{BundleError, ChannelError, PfssError, RangeError, softmax::LayoutError};
use thiserror::Error;

use crate::tls::TlsError;

/// Why an inference, or its preparation, did not succeed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// The weights do not match the architecture.
    #[error("weights: {reason}")]
    Parameters {
        /// The mismatch.
        reason: String,
    },
    /// The images have another number of pixels than the batch.
    #[error("expected {expected} pixels for the batch, got {got}")]
    Images {
        /// Pixels of the batch.
        expected: usize,
        /// Pixels supplied.
        got: usize,
    },
    /// A pixel is out of range.
    #[error("expected pixels of at most {max} in fixed point, got {got} at {at}")]
    Pixel {
        /// The index of the first such pixel in the batch.
        at: usize,
        /// The greatest value, 1 in fixed point.
        max: u64,
        /// Its value.
        got: u64,
    },
    /// No architecture has this name.
    #[error("unknown model `{name}`; expected one of: {}", crate::Architecture::names())]
    Architecture {
        /// The name.
        name: String,
    },
    /// No model whose cost can be planned has this name.
    #[error("unknown model `{name}`; expected one of: {expected}")]
    PlannedModel {
        /// The name.
        name: String,
        /// The known names.
        expected: String,
    },
    /// No preference has this name.
    #[error("unknown preference `{name}`; expected one of: {expected}")]
    Preference {
        /// The name.
        name: String,
        /// The known names.
        expected: String,
    },
    /// The lengths of a transformer do not go together.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// The length.
        what: &'static str,
        /// The allowed values.
        expected: String,
        /// Its value.
        got: u32,
    },
    /// The batch is empty or too large.
    #[error("expected 1 to {max} inputs, got {got}")]
    Count {
        /// The greatest batch.
        max: usize,
        /// The requested number.
        got: usize,
    },
    /// Keys do not fit the plan.
    #[error("keys: {reason}")]
    Keys {
        /// The mismatch.
        reason: String,
    },
    /// A folder of keys is not one, or is damaged.
    #[error("key folder {}: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The defect.
        reason: String,
    },
    /// The folder for new keys exists already.
    #[error("{} exists; keys go to a new folder", path.display())]
    Exists {
        /// The existing path.
        path: PathBuf,
    },
    /// The folder's keys are already used, or in use.
    ///
    /// A second use would reveal differences of secrets.
    #[error("key folder {} was used before; its masks are spent, deal again", path.display())]
    Used {
        /// The folder.
        path: PathBuf,
    },
    /// All runs of a folder were used, or skipped because the peer had used them.
    #[error("key folder {}: all {runs} runs were used; deal again", path.display())]
    RunsUsed {
        /// The folder.
        path: PathBuf,
        /// Runs of the deal.
        runs: u32,
    },
    /// The keys of the weights were used, and no opened weights were kept.
    #[error("key folder {}: the keys of the weights are spent and no opened weights were kept; unless another process is opening them, deal again", path.display())]
    WeightsSpent {
        /// The folder.
        path: PathBuf,
    },
    /// The opening of the weights failed after their keys were spent.
    #[error("key folder {}: opening the weights: {reason}; their keys are spent, deal again", path.display())]
    Opening {
        /// The folder.
        path: PathBuf,
        /// The failure.
        reason: Box<InferenceError>,
    },
    /// The server's weights are not those that were opened.
    #[error("key folder {}: expected the weights that were opened, with digest {expected}, got {got}", path.display())]
    OtherWeights {
        /// The folder.
        path: PathBuf,
        /// SHA-256 of the opened weights in fixed point, in hexadecimal.
        expected: String,
        /// SHA-256 of the weights supplied.
        got: String,
    },
    /// The parties have not opened the same weights: a folder is a copy of an earlier state.
    #[error(
        "expected the peer to have opened weights with digest {expected}, it has {got}; unless another process has used this folder since, deal again"
    )]
    OpenedDiffer {
        /// The digest of this party's opened weights, or `none`.
        expected: String,
        /// The digest of the peer's.
        got: String,
    },
    /// The peer's next run is none of the deal.
    #[error("next run of the peer: expected 1 to {runs}, got {got}")]
    PeerRun {
        /// Runs of the deal.
        runs: u32,
        /// The number received.
        got: u32,
    },
    /// The number of runs of a deal is out of range.
    #[error("expected 1 to {max} runs, got {got}")]
    Runs {
        /// The most runs.
        max: u32,
        /// The requested number.
        got: u32,
    },
    /// The folder holds the keys of the other party.
    #[error("key folder {}: expected keys of {expected}, got keys of {got}", path.display())]
    OtherParty {
        /// The folder.
        path: PathBuf,
        /// The party that was to run.
        expected: pfss::Party,
        /// The party of the folder.
        got: pfss::Party,
    },
    /// The file system refused.
    #[error("{doing} {}: {reason}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's reason.
        reason: std::io::Error,
    },
    /// The connection could not be made, or the peer is not the one expected.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A gate or the session failed.
    #[error(transparent)]
    Pfss(#[from] PfssError),
    /// A range proof failed.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A layout of rows is refused.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Whose failure an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The keys are refused: used before, of the other party, for another model, damaged.
    KeysRefused,
    /// The other party is absent, silent, gone, not the one expected, or out of step.
    PeerFailed,
    /// Anything else on this side.
    Failed,
}

impl InferenceError {
    /// Whose failure it is.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Keys { .. }
            | Self::Folder { .. }
            | Self::Used { .. }
            | Self::RunsUsed { .. }
            | Self::WeightsSpent { .. }
            | Self::OtherWeights { .. }
            | Self::OpenedDiffer { .. }
            | Self::OtherParty { .. } => Outcome::KeysRefused,
            Self::Opening { reason, .. } => reason.outcome(),
            Self::PeerRun { .. } => Outcome::PeerFailed,
            Self::Pfss(
                PfssError::ReusedBundle { .. }
                | PfssError::WrongParty { .. }
                | PfssError::OtherWeights { .. }
                | PfssError::Kind { .. }
                | PfssError::Program
                | PfssError::Bundle(_),
            ) => Outcome::KeysRefused,
            Self::Tls(error) if error.is_of_peer() => Outcome::PeerFailed,
            Self::Pfss(PfssError::Channel(_)) => Outcome::PeerFailed,
            _ => Outcome::Failed,
        }
    }
}

impl From<ChannelError> for InferenceError {
    fn from(error: ChannelError) -> Self {
        Self::Pfss(error.into())
    }
}

impl From<BundleError> for InferenceError {
    fn from(error: BundleError) -> Self {
        Self::Pfss(error.into())
    }
}
