//! Batched function secret sharing for two-party secure inference.
//!
//! Two parties hold additive shares of secret integers modulo `2^n`. A trusted [`Dealer`] gives
//! each party a [`KeyBundle`] per batch and gate, and leaves. Then each party runs the gates in a
//! [`Session`]: it opens its inputs under fresh one-time masks, walks key trees of fixed-key AES on
//! the public masked values, opens one masked bit per comparison, and holds shares of the result.
//! Comparisons are exact for every input; truncation is faithful, not probabilistic.
//!
//! ```
//! use pfss::{Dealer, Gate, SignedRange, Task, run_lockstep};
//!
//! let q = runtime::cpu()?;
//! let mut dealer = Dealer::from_os()?;
//!
//! // x = [-2.5, 1.5] with 12 fractional bits, split into two additive shares.
//! let share0 = [0x1234_5678_9abc_def0, 42];
//! let share1 = [(-10240i64 as u64).wrapping_sub(share0[0]), 6144u64.wrapping_sub(share0[1])];
//!
//! // ReLU, then a shift by 12 bits, which needs a proof that |x| stays below 2^62.
//! let cert = SignedRange::new(0, 1 << 40)?.gap_cert(64)?;
//! let [k0, k1] = [Gate::relu(64)?, Gate::gap_ars(64, 12)?];
//! let y = run_lockstep(&q, Task::Relu, dealer.deal(&q, &k0, 2)?, [&share0, &share1])?;
//! let y = [&y[0].words[..], &y[1].words];
//! let z = run_lockstep(&q, Task::GapArs(cert), dealer.deal(&q, &k1, 2)?, y)?;
//! assert_eq!([0, 1].map(|i| z[0].words[i].wrapping_add(z[1].words[i])), [0, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Task`] describes the computation. [`run_lockstep`] runs it for both parties; a real party
//! runs it by [`Session::run`] over a [`TcpChannel`], or many at once in a
//! [`SuperBatch`](batch::SuperBatch).
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | comparisons with public constants | [`Predicate`], [`Gate::full_predicates`] and its siblings |
//! | shifts, ReLU, absolute value, maximum | [`Task`], [`AutoTrunc`], [`Session::max`] |
//! | any piecewise polynomial, with Boolean outputs | [`suf`], [`Gate::suf`] |
//! | GeLU, SiLU, `exp(-t)`, reciprocal, inverse square root | [`functions`] |
//! | small public tables, products of secrets | [`Gate::lut`], [`Gate::product`] |
//! | products of secret matrices | [`Dealer::deal_matrix`], [`Session::matmul`] |
//! | products by secret weights, opened once | [`WeightKey`], [`Session::matmul_weights`] |
//! | softmax of causal or ragged rows | [`softmax`] |
//! | shares that stay on a device between gates | [`DeviceShares`], [`Session::run_on_device`] |
//! | gates by name, with their meaning in the clear | [`Operation`] |
//! | gates in a row that open each value once | [`Gate::with_masked_outputs`], [`Dealer::deal_wired`] |
//! | functions in such a row | [`functions::WiredFn`], [`Dealer::deal_wired_function`] |
//!
//! [`Gate::cost`] states the bytes, AES blocks, opened bits and rounds of each gate.
//!
//! # Threat model
//!
//! - The model is two parties that follow the protocol and do not share their views (semi-honest,
//!   non-colluding), and a trusted dealer that goes offline afterwards and sends each bundle only
//!   to its own party. A party that deviates can make results wrong, and nothing detects that.
//!   Channels neither encrypt nor authenticate.
//! - Public are: which gates run on how many elements, all constants of predicates and intervals,
//!   descriptors and tables, lengths of rows, and every size. Sizes never depend on masks or on
//!   data.
//! - Every element has its own uniform mask, and every opened bit its own masking bit. Bundles are
//!   used once: masking takes the bundle by value, and a process refuses a nonce that it has seen.
//!   Using a copy of the bytes in a second process would reveal differences of secrets; this crate
//!   cannot detect that.
//! - Output shares add up to the result itself and must not be opened, unless a gate has
//!   [masked outputs](Gate::with_masked_outputs).
//! - Key generation and evaluation take no branch and no memory index from a secret, provided that
//!   the queue's AES is constant-time: the CPU queue uses AES instructions, or a Boolean circuit on
//!   processors without them, and so does the crate `aes`, which expands seeds. A GPU deals keys
//!   with tables in shared memory, and evaluates them the same way unless it was opened with
//!   bitsliced AES. Timing of the dealer's random generator and of memory allocation depends on
//!   public sizes only.
//! - Keys, seeds, shares of masks and serialised bundles are wiped when dropped. So are copies of
//!   masks, roots and truth tables in device memory, and [`DeviceShares`]. Host memory that a queue
//!   copies any of them through is wiped after the copy. The state of a dealer's generator and
//!   copies made by callers are not.
//!
//! # Sources
//!
//! Comparison keys are distributed point functions (Boyle, Gilboa, Ishai, CCS 2016) read by prefix
//! parity (Grotto, CCS 2023); comparison keys with payload and interval gates follow Boyle et al.
//! (EUROCRYPT 2021); ReLU and truncation follow SIGMA (PETS 2024), tables Pika (PETS 2022),
//! descriptors FuseFSS (ICML 2026). The bundle layout comes from the project SUF, which proposed
//! the batched design for accelerators. What can be said about it depends on the version:
//!
//! - The accelerator path of the repository `SUF` (as of 2025-12) does not evaluate function secret
//!   sharing: thresholds are in the clear in both parties' keys, and its end-to-end figures reuse
//!   one mask per tensor.
//! - A later repository, `SUF_new` (report of 2026-01-20), states one mask per wire and DPF lookups
//!   inside SIGMA, with end-to-end figures for whole models. Non-linear functions are tables of at
//!   most 16 input bits there.
//!
//! Timings and key sizes of the first are not comparable with this crate, which pays for the AES of
//! every tree level and a mask per element. The second reports whole models on two GPUs, at the
//! accuracy of its tables; `docs/pfss.md` quotes its figures. This crate has no GPU figures to
//! compare with them.
#![forbid(unsafe_code)]
// Plain copies, which clippy.toml disallows, are for public data only and marked as such; all others are of secrets.
#![deny(clippy::disallowed_methods)]

mod answers;
mod auto_trunc;
pub mod batch;
mod bundle;
mod channel;
mod cost;
mod dealer;
mod device_shares;
mod error;
pub mod functions;
mod gate;
mod gate_kind;
mod gates;
mod hex;
mod lanes;
mod matrix;
mod operation;
mod party;
mod predicate;
mod protocol;
mod range;
mod secret;
pub mod softmax;
mod spent;
pub mod suf;
mod task;
#[cfg(test)]
mod testing;
mod tree;

pub use auto_trunc::{AutoTrunc, RangeClaim};
pub use bundle::{BundleSection, KeyBundle, MaskedKeys};
pub use channel::{Channel, ChannelError, MemoryChannel, StreamChannel, TcpChannel, TcpOptions, memory_pair};
pub use cost::Cost;
pub use dealer::{Dealer, DealerSeed, Inputs, Wire};
pub use device_shares::{DeviceShares, PendingOnDevice, StepOnDevice};
pub use error::{BundleError, PfssError};
pub use gate::Gate;
pub use gate_kind::GateKind;
pub use gates::{BitShares, BoolShares, Evaluator, Pending, Shares, Step};
pub use matrix::{
    MatrixShape, MatrixTriple, OpenedWeights, SharedQueue, WeightKey, WeightMask, WeightShape, WeightTriple,
};
pub use operation::{Operation, OperationError, Parameters};
pub use party::{Party, PartyError};
pub use predicate::{Interval, Predicate};
pub use protocol::{
    lockstep::{eval_lockstep, run_lockstep, run_lockstep_watched},
    session::{Session, Traffic},
};
pub use range::{GapCert, RangeError, SignedRange};
pub use task::Task;

pub use core_types::Ring;
