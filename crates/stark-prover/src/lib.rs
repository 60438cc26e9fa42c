//! Circle-STARK proofs over Mersenne-31 on any backend, byte-identical to stwo 2.3.
//!
//! A [`Prover`] is made for a statement: AIRs of certain heights, parameters and preprocessed
//! columns. It holds the device memory of a proof and makes any number of them. A statement that
//! draws challenges between its trees, for example for look-ups, drives a [`ProofSession`] in the
//! same way as the verifier's session.
#![forbid(unsafe_code)]

mod answers;
mod assemble;
mod blocks;
mod coefficients;
mod column_partition;
mod commit;
mod component;
mod composition;
mod deep;
mod error;
mod exchanged;
mod fri;
mod generate;
mod generated;
mod graph;
mod graph_pair;
mod held;
mod host;
mod inputs;
mod interaction;
mod layer;
mod load;
mod memory;
mod memory_plan;
mod neighbours;
mod open;
mod opened;
mod out_of_domain;
mod outline;
mod part;
mod planned;
mod preprocessed;
mod prover;
mod ranks;
mod residency;
mod rows;
mod samples;
mod session;
mod shape;
mod stage;
mod streamed;
mod submitted;
mod trim;
mod truncation;

pub use backend_api::{Collective, CollectiveError, Record, ops::StarkOps};
pub use component::Component;
pub use error::ProverError;
pub use generated::Generated;
pub use graph::ProofGraph;
pub use graph_pair::ProofGraphPair;
pub use interaction::Interaction;
pub use memory_plan::{MemoryParts, MemoryPlan};
pub use preprocessed::preprocessed_root;
pub use prover::Prover;
pub use residency::Residency;
pub use session::ProofSession;
pub use stage::Stage;
pub use stark_verifier::{FriConfig, PcsConfig, Proof, Protocol};
pub use submitted::{Found, Submitted};
