//! A verifier of circle-STARK proofs over Mersenne-31.
//!
//! Proofs have the form of stwo 2.3 over Blake2s. It shares no code with any prover beyond the
//! field, the circle and the AIRs themselves, needs no standard library, and treats every word of a
//! proof as hostile: lengths are compared with the statement before they are used, words that are
//! not canonical are refused when they are read, and each failed check has a separate error.
//!
//! The claim is defined by the verifier's caller, never by the proof: the components, the columns
//! that belong to them, and the parameters of the commitment.
//!
//! ```
//! use core_types::air::{Air, BaseValue, Row};
//! use stark_verifier::{Component, PcsConfig, Preprocessed, Proof, Protocol, VerificationError, Verifier};
//!
//! /// Each row holds a number and its square.
//! struct Squares { log_rows: u32 }
//!
//! impl Air for Squares {
//!     fn log_rows(&self) -> u32 { self.log_rows }
//!
//!     fn eval<R: Row>(&self, row: &mut R) {
//!         let (x, y) = (row.column(), row.column());
//!         row.constraint(y - x.square());
//!     }
//! }
//!
//! fn check(proof: &Proof) -> Result<(), VerificationError> {
//!     let air = Squares { log_rows: 10 };
//!     let components = vec![Component::new(&air, &[])];
//!     let verifier = Verifier::new(Protocol::V2_3, PcsConfig::default(), Preprocessed::default(), components)
//!         .expect("the statement is a right one");
//!     verifier.verify(proof)
//! }
//! ```
//!
//! An AIR with look-ups draws challenges between its trees; its statement drives a
//! [`VerifierSession`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod commitment;
mod error;
mod lists;
mod proof;
mod statement;
mod transcript;
mod verifier;

pub use error::{FriError, MerkleError, Part, VerificationError};
pub use proof::{Decommitment, FriLayerProof, FriProof, LinePoly, Proof};
pub use statement::{
    component::Component,
    config::{ConfigError, FriConfig, MAX_LOG_SIZE, MAX_QUERIES, PcsConfig},
    protocol::Protocol,
    shape::{Preprocessed, StatementError},
};
pub use transcript::{channel::Channel, digest::Digest};
pub use verifier::{Inputs, Verifier, VerifierSession};
