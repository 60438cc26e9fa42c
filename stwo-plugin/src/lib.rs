//! Trefoil's backends for stwo's own, unmodified prover.
//!
//! They run on the processor, on a GPU, or on the simulated one.
//!
//! [`TrefoilBackend`] stands where a program has stwo's `SimdBackend`. Proofs are the same bytes.
//!
//! ```
//! use stwo::core::channel::Blake2sChannel;
//! use stwo::core::fields::{m31::BaseField, qm31::SecureField};
//! use stwo::core::pcs::PcsConfig;
//! use stwo::core::poly::circle::CanonicCoset;
//! use stwo::core::vcs_lifted::blake2_merkle::Blake2sMerkleChannel;
//! use stwo::prover::poly::circle::{CircleEvaluation, PolyOps};
//! use stwo::prover::{CommitmentSchemeProver, prove};
//! use stwo_constraint_framework::{EvalAtRow, FrameworkComponent, FrameworkEval, TraceLocationAllocator};
//! use trefoil_stwo::TrefoilBackend as Backend;
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
//! trefoil_stwo::open()?; // as TREFOIL_BACKEND says; without it the first operation opens it, and panics if that fails
//! let (config, channel) = (PcsConfig::default(), &mut Blake2sChannel::default());
//! let twiddles = Backend::precompute_twiddles(CanonicCoset::new(6).circle_domain().half_coset);
//! let mut scheme = CommitmentSchemeProver::<Backend, Blake2sMerkleChannel>::new(config, &twiddles);
//! scheme.tree_builder().commit(channel);
//!
//! let domain = CanonicCoset::new(4).circle_domain();
//! let column = |word: fn(u32) -> u32| CircleEvaluation::new(domain, (0..16).map(|k| BaseField::from(word(k))).collect());
//! let mut tree = scheme.tree_builder();
//! tree.extend_evals(vec![column(|k| k), column(|k| k * k)]);
//! tree.commit(channel);
//! let squares = FrameworkComponent::new(&mut TraceLocationAllocator::default(), Squares, SecureField::default());
//! let proof = prove(&[&squares], channel, scheme)?;
//! # let _ = proof;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! stwo's traits have no place for errors: a device error in the middle of a proof is a panic with
//! the error's message.
#![deny(unsafe_code)]

mod backend;
mod column;
mod device;
mod layer;
mod memory;
mod ops;
mod reads;
mod simd;
mod twiddles;
mod value;

pub use backend::TrefoilBackend;
pub use column::DeviceColumn;
pub use device::{install, open};
pub use reads::counts::ReadCounts;
/// Queues, for [`install`], and the errors of [`open`].
pub use runtime;
pub use twiddles::Twiddles;
pub use value::Value;
