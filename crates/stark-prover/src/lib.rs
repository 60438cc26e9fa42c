//! Circle-STARK proofs over Mersenne-31 on any backend, byte-identical to stwo 2.3.
//!
//! A [`Prover`] is made for a statement: AIRs of certain heights, parameters and preprocessed
//! columns. It holds the device memory of a proof and makes any number of them. A statement that
//! draws challenges between its trees, for example for look-ups, drives a [`ProofSession`] in the
//! same way as the verifier's session.
#![forbid(unsafe_code)]

mod assembly;
mod error;
mod placement;
mod plan;
mod protocol;
mod prover;
mod recording;
mod storage;
mod trace;
mod transcript;

pub use assembly::submitted::{Found, Submitted};
pub use backend_api::{Collective, CollectiveError, Record, ops::StarkOps};
pub use error::ProverError;
pub use plan::component::Component;
pub use plan::generated::Generated;
pub use plan::interaction::Interaction;
pub use plan::residency::Residency;
pub use protocol::preprocessed::preprocessed_root;
pub use protocol::session::ProofSession;
pub use protocol::stage::Stage;
pub use prover::Prover;
pub use recording::graph::ProofGraph;
pub use recording::graph_pair::ProofGraphPair;
pub use stark_verifier::{FriConfig, PcsConfig, Proof, Protocol};
pub use storage::memory_plan::{MemoryParts, MemoryPlan};
