//! Proofs of [`Statement`]s: provers and verifiers that run all steps of the protocol.
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
#![forbid(unsafe_code)]

mod file;
mod in_turn;
mod jobs;
mod many;
mod proof;
mod prover;
mod relations;
mod verify;

pub use core_types::field::{M31, QM31};
pub use file::{FileEncoding, FileError, KnownStatement, MIN_SECURITY_BITS, ProofFile, UseStatement};
pub use in_turn::{InTurn, Ticket, in_turn};
pub use jobs::Jobs;
pub use many::ManyProofs;
pub use proof::StatementProof;
pub use prover::{ProveError, StatementProver, memory_plan, memory_plan_of_rank, memory_plan_on};
pub use stark_air::RecordedGenerator;
pub use stark_airs::{AirError, PreprocessedColumn, Statement, TraceColumns, Visitor, Witness, WitnessVisitor};
pub use stark_prover::{
    Collective, CollectiveError, Component, Found, Generated, Interaction, MemoryParts, MemoryPlan, ProofGraph,
    ProofGraphPair, ProofSession, Prover, ProverError, Residency, Stage, StarkOps, Submitted, preprocessed_root,
};
pub use stark_verifier::{Digest, FriConfig, PcsConfig, Proof, Protocol, StatementError, VerificationError};
pub use verify::{VerifyError, check_parameters, verify};
