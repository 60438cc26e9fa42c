//! Circle-STARK proofs of [`Statement`]s on any backend, byte-identical to stwo 2.3.
//!
//! ```
//! use core_types::field::M31;
//! use stark::{PcsConfig, Protocol, StatementProver, verify};
//! use stark_airs::StateMachine;
//!
//! let q = runtime::cpu()?;
//! // 16 steps of one coordinate and 16 of the other lead from (5, 7) to (21, 23).
//! let machine = StateMachine::new([4, 4], [M31::from_u32(5), M31::from_u32(7)])?;
//! let config = PcsConfig::default();
//!
//! let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &machine)?;
//! let proof = prover.prove(&q, &machine.trace())?;
//! verify(Protocol::V2_3, config, &machine, prover.preprocessed_root(&q)?, &proof)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`StatementProver`] and [`verify`] run all steps of the protocol. A caller that drives the
//! transcript itself, for example to draw challenges between commitments, has a [`Prover`] and its
//! [`ProofSession`]s, which take the steps of the verifier's session. A prover holds the device
//! memory of a proof and makes any number of proofs.
#![forbid(unsafe_code)]

mod assembly;
mod error;
mod file;
mod placement;
mod plan;
mod protocol;
mod prover;
mod recording;
mod statement;
mod storage;
mod trace;
mod transcript;

pub use assembly::submitted::{Found, Submitted};
pub use backend_api::{Collective, CollectiveError, Record, ops::StarkOps};
pub use core_types::field::{M31, QM31};
pub use error::ProverError;
pub use file::{AnyStatement, FileEncoding, FileError, KnownStatement, MIN_SECURITY_BITS, ProofFile};
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
pub use stark_air::RecordedGenerator;
pub use stark_airs::{AirError, PreprocessedColumn, Statement, TraceColumns, Visitor, Witness, WitnessVisitor};
pub use stark_verifier::{Digest, FriConfig, PcsConfig, Proof, Protocol, StatementError, VerificationError};
pub use statement::error::ProveError;
pub use statement::in_turn::{InTurn, Ticket, in_turn};
pub use statement::jobs::Jobs;
pub use statement::many::ManyProofs;
pub use statement::memory::{memory_plan, memory_plan_of_rank, memory_plan_on};
pub use statement::options::ProveOptions;
pub use statement::proof::StatementProof;
pub use statement::prover::StatementProver;
pub use statement::trace_source::TraceSource;
pub use statement::verify::{VerifyError, check_parameters, verify};
pub use storage::memory_plan::{MemoryParts, MemoryPlan};
