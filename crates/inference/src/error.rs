//! Why an inference did not succeed, and whose failure that is.

use core::fmt::Display;
use std::path::PathBuf;

use pfss::{BundleError, ChannelError, Party, PfssError, RangeError, softmax::LayoutError};
use thiserror::Error;

use crate::{
    Limit,
    model_file::ModelFileError,
    tls::{Connection, Fingerprint, TlsError},
};

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
    /// The inputs have another number of values than the batch: pixels, if they are images.
    #[error("expected {expected} input values for the batch, got {got}")]
    Images {
        /// Values of the batch.
        expected: usize,
        /// Values supplied.
        got: usize,
    },
    /// The file of a model is refused.
    #[error(transparent)]
    ModelFile(#[from] ModelFileError),
    /// The ranges of a layer of a file or a function cannot be proven from the declared limits.
    #[error(
        "{layer}: {reason}; ranges are in units of 2^-12, of products in units of 2^-24: declare smaller limits before this layer"
    )]
    Layer {
        /// Its place in the file, and its name; for a function the name alone.
        layer: String,
        /// The failed proof.
        reason: Box<InferenceError>,
    },
    /// A layer of a function, or the head of its model, has a value that is not allowed.
    #[error("{place}: expected {expected}, got {got}")]
    LayerValue {
        /// The layer and the value.
        place: String,
        /// The allowed values.
        expected: String,
        /// The value.
        got: String,
    },
    /// A value of a run in the clear is beyond the limit that a file or a function declares.
    #[error("`{step}`: expected magnitudes of at most {limit} (the declared limit), got {got}")]
    Declared {
        /// The layer, or a part of it.
        step: String,
        /// The declared limit.
        limit: u32,
        /// The greatest magnitude.
        got: f64,
    },
    /// The inputs have another shape than the model takes.
    #[error("expected inputs of shape {expected}, got {got:?}")]
    InputShape {
        /// The shapes that are accepted.
        expected: String,
        /// The shape supplied.
        got: Vec<usize>,
    },
    /// An input of the model of a file or a function is beyond its declared limits.
    #[error("expected inputs of {min} to {max}, got {got} at {at}")]
    Input {
        /// The index of the first such value in the batch.
        at: usize,
        /// The least value.
        min: i32,
        /// The greatest value.
        max: i32,
        /// The value.
        got: f64,
    },
    /// A row of inputs of an embedding is not one-hot.
    #[error("expected rows with a single 1 and zeros, row {row} is another")]
    OneHot {
        /// The index of the first such row in the batch.
        row: usize,
    },
    /// A token is not in the vocabulary.
    #[error("expected tokens of 0 to {max}, got {got} at {at}")]
    Token {
        /// The index of the first such token in the batch.
        at: usize,
        /// The last token.
        max: u32,
        /// The value.
        got: f32,
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
    /// A step of the batch sends more than a connection carries in a message.
    #[error("`{step}`: expected messages of at most {max} bytes, got {got}; run fewer inputs at once")]
    MessageLength {
        /// The step.
        step: String,
        /// The most bytes.
        max: u64,
        /// Bytes that the step sends.
        got: u64,
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
    /// A folder of many runs is open already, in another process or in this one.
    #[error("key folder {}: in use by another process, or opened twice by this one; wait until it ends", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A run of many failed after its keys were spent.
    #[error("key folder {}: run {run} of {runs}: {reason}; this run is spent", path.display())]
    FailedRun {
        /// The folder.
        path: PathBuf,
        /// The number of the run, from 1.
        run: u32,
        /// Runs of the deal.
        runs: u32,
        /// The failure.
        reason: Box<InferenceError>,
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
        expected: Party,
        /// The party of the folder.
        got: Party,
    },
    /// The folder holds keys for another model than the one it was opened for.
    ///
    /// A folder of a Rust function has to be opened for the function.
    #[error("key folder {}: expected {expected}, got {got}; open it for the dealer's model, in a program that has it, or deal again", path.display())]
    OtherModel {
        /// The folder.
        path: PathBuf,
        /// The model of the keys.
        expected: String,
        /// The model that was given.
        got: String,
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
    /// The peer sent nothing, or read nothing, for as long as a limit allows.
    #[error(
        "{peer}{}: timed out while {doing} in step `{step}`{}",
        after(" with certificate ", *certificate),
        after(": ", *limit)
    )]
    Stalled {
        /// The peer.
        peer: Party,
        /// The peer's certificate; `None` for a channel without TLS.
        certificate: Option<Fingerprint>,
        /// What this party was doing.
        doing: &'static str,
        /// The step of the model, or before it.
        step: String,
        /// The limit; `None` for a channel without TLS.
        limit: Option<Limit>,
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
            | Self::InUse { .. }
            | Self::WeightsSpent { .. }
            | Self::OtherWeights { .. }
            | Self::OpenedDiffer { .. }
            | Self::OtherParty { .. }
            | Self::OtherModel { .. } => Outcome::KeysRefused,
            Self::Opening { reason, .. } | Self::FailedRun { reason, .. } => reason.outcome(),
            Self::PeerRun { .. } | Self::Stalled { .. } => Outcome::PeerFailed,
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

impl InferenceError {
    /// A timeout of the channel as a stall of `peer` in a step; any other error as it is.
    #[must_use]
    pub fn in_step(self, peer: Party, step: &str) -> Self {
        match self {
            Self::Pfss(PfssError::Channel(ChannelError::Timeout { doing }))
            | Self::Tls(TlsError::Channel(ChannelError::Timeout { doing })) => {
                Self::Stalled { peer, certificate: None, doing, step: step.to_owned(), limit: None }
            }
            other => other,
        }
    }

    /// The stall of a peer with its certificate and the limit; any other error as it is.
    ///
    /// Call it when the error occurs: the age of the connection tells both limits apart.
    #[must_use]
    pub fn over(self, connection: &Connection) -> Self {
        match self {
            Self::Stalled { peer, doing, step, .. } => {
                let (certificate, limit) = (Some(connection.peer()), Some(connection.limit()));
                Self::Stalled { peer, certificate, doing, step, limit }
            }
            Self::FailedRun { path, run, runs, reason } => {
                Self::FailedRun { path, run, runs, reason: Box::new(reason.over(connection)) }
            }
            Self::Opening { path, reason } => Self::Opening { path, reason: Box::new(reason.over(connection)) },
            other => other,
        }
    }
}

/// A value after some words, or nothing.
fn after(words: &str, value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| format!("{words}{value}"))
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

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;
    use crate::{
        Limits,
        tls::{Endpoint, Identity},
    };

    #[test]
    fn stalls_name_the_peer_the_step_and_the_limit() {
        let identity = Identity::generate().unwrap();
        let connection = |session| {
            let limits = Limits { idle: Duration::from_secs(5), session };
            let peer = identity.fingerprint();
            Endpoint { party: Party::One, identity: &identity, peer, protocol: [0; 32], limits }.connection()
        };
        let (long, over) = (connection(Duration::from_secs(3600)), connection(Duration::from_millis(1)));
        thread::sleep(Duration::from_millis(2));
        let stall = "timed out while receiving in step `relu`";
        let timeout = || ChannelError::Timeout { doing: "receiving" };
        let errors: [fn(ChannelError) -> InferenceError; 2] =
            [InferenceError::from, |error| TlsError::Channel(error).into()];
        for error in errors {
            let stalled = || error(timeout()).in_step(Party::Zero, "relu");
            assert_eq!(stalled().to_string(), format!("party 0: {stall}"));
            assert_eq!(stalled().outcome(), Outcome::PeerFailed);
            for (connection, limit) in [(&long, "nothing moved for 5 s"), (&over, "the session took 0.001 s")] {
                let named = format!("party 0 with certificate {}: {stall}: {limit}", identity.fingerprint());
                assert_eq!(stalled().over(connection).to_string(), named);
                let (path, reason) = (PathBuf::from("keys"), Box::new(stalled()));
                let failed = InferenceError::FailedRun { path: path.clone(), run: 2, runs: 3, reason };
                assert!(failed.over(connection).to_string().contains(&named));
                let opening = InferenceError::Opening { path, reason: Box::new(stalled()) };
                assert!(opening.over(connection).to_string().contains(&named));
            }
        }
        let lost = InferenceError::from(ChannelError::Lost { doing: "sending" }).in_step(Party::One, "relu");
        assert_eq!(lost.over(&long).to_string(), "peer lost while sending");
    }
}
