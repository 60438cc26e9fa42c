//! AIRs written for stwo's constraint framework, as they are, on stable Rust.
//!
//! An AIR of stwo implements [`FrameworkEval`](stwo_constraint_framework::FrameworkEval).
//! [`FrameworkAir`] records it, and is an [`Air`](core_types::air::Air): so it is proven on every
//! backend, verified, and checked against traces as any other. The proofs are those that stwo's
//! prover makes of it.
//!
//! ```
//! use core_types::{air::stored_position, field::M31};
//! use stark::{PcsConfig, Protocol, Statement, StatementProver, Visitor, verify};
//! use stwo_air::FrameworkAir;
//! use stwo_constraint_framework::{EvalAtRow, FrameworkEval};
//!
//! /// The second column holds the squares of the first.
//! struct Squares;
//!
//! impl FrameworkEval for Squares {
//!     fn log_size(&self) -> u32 { 4 }
//!     fn max_constraint_log_degree_bound(&self) -> u32 { 5 }
//!
//!     fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
//!         let (a, b) = (eval.next_trace_mask(), eval.next_trace_mask());
//!         eval.add_constraint(b - a.clone() * a);
//!         eval
//!     }
//! }
//!
//! struct AreSquares(FrameworkAir);
//!
//! impl Statement for AreSquares {
//!     fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
//!         visitor.component(&self.0, &[]);
//!     }
//! }
//!
//! let statement = AreSquares(FrameworkAir::new(&Squares)?);
//! let (q, config) = (runtime::cpu()?, PcsConfig::default());
//! let mut columns = vec![vec![M31::ZERO; 16]; 2];
//! for row in 0..16 {
//!     columns[0][stored_position(row, 4) as usize] = M31::from_u32(row);
//!     columns[1][stored_position(row, 4) as usize] = M31::from_u32(row * row);
//! }
//! let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &statement)?;
//! let proof = prover.prove(&q, &[columns])?;
//! verify(Protocol::V2_3, config, &statement, prover.preprocessed_root(&q)?, &proof)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod air;
mod challenges;
mod error;
mod free;
mod recorder;
mod step;
mod tape;
mod value;

pub use air::FrameworkAir;
pub use challenges::Challenges;
pub use error::FrameworkError;
