//! Function secret sharing, circle-STARK proofs and neural-network operators.
//!
//! They run on a CPU or an NVIDIA GPU. This crate is all of Trefoil that a program needs, as one
//! dependency.
//!
//! The domains are the modules [`pfss`], [`stark`] with [`stark_fft`], and [`nn_ops`]. A queue
//! (in-order work on one device) comes from [`open`], [`open_for`] or [`open_with`] as an
//! [`AnyQueue`], or from [`cpu`] where only the processor will do. Everything here comes from
//! another crate; to use one domain alone, depend on its crate alone.
//!
//! A comparison on secret shares:
//!
//! ```
//! use trefoil::{
//!     Domain,
//!     pfss::{Dealer, Gate, Task, run_lockstep},
//! };
//!
//! let (q, _) = trefoil::open_for(Domain::Pfss, None)?;
//! let mut dealer = Dealer::from_os()?;
//! let keys = dealer.deal(&q, &Gate::relu(64)?, 1)?;
//! // -5 as two shares modulo 2^64
//! let y = run_lockstep(&q, Task::Relu, keys, [&[37], &[-42i64 as u64]])?;
//! assert_eq!(y[0].words[0].wrapping_add(y[1].words[0]), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The coefficients of a column over a circle domain, and the column again:
//!
//! ```
//! use trefoil::{
//!     Domain, M31,
//!     stark_fft::{BitReversed, CanonicDomain, CfftPlan, Columns, HostColumns, TwiddleTree},
//! };
//!
//! let (q, _) = trefoil::open_for(Domain::Stark, None)?;
//! let domain = CanonicDomain::new(4)?;
//! let (tree, plan) = (TwiddleTree::new(&q, domain)?, CfftPlan::new(domain, 1)?);
//! let values = HostColumns::<BitReversed>::new(domain, (0..16).map(M31::from_u32).collect())?;
//! let polynomial = plan.interpolate(&q, &tree, Columns::upload(&q, &values)?)?;
//! assert_eq!(plan.evaluate(&q, &tree, polynomial)?.download(&q)?.as_slice(), values.as_slice());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A network that learns which of two numbers is larger:
//!
//! ```
//! use trefoil::{
//!     Domain,
//!     nn_ops::{Mlp, OptimizerConfig, TensorRef},
//!     prelude::*,
//!     rand_chacha::{ChaCha8Rng, rand_core::SeedableRng},
//! };
//!
//! let (q, _) = trefoil::open_for(Domain::Nn, None)?;
//! let mut network = Mlp::new(&q, &[2, 8, 2], &mut ChaCha8Rng::seed_from_u64(1))?;
//! let x = q.upload(&[0.0, 1.0, 1.0, 0.0f32])?;
//! let y = q.upload(&[1, 0u32])?;
//! let (x, y) = (TensorRef::contiguous(x.view(), &[2, 2])?, TensorRef::contiguous(y.view(), &[2])?);
//! let mut training = network.training(&q, 2, OptimizerConfig::sgd(0.1, 0.9))?;
//! for _ in 0..100 {
//!     network.train_step(&q, &mut training, x, y)?;
//! }
//! assert_eq!(network.classify(&q, x)?, [1, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `cuda`, off by default, adds the backends `gpu` and `sim`. It is the feature of [`runtime`],
//! whose documentation lists its build requirements.
#![forbid(unsafe_code)]

pub mod prelude;

pub use {nn_ops, pfss, stark, stark_airs, stark_fft};

/// The crates underneath, for your own code at the boundary: ops, launch records, arithmetic.
pub use {backend_api, core_types, runtime};

/// Random numbers, for whatever draws them, such as the weights of a network.
pub use rand_chacha;

pub use backend_api::{
    BackendError, BackendKind, Budget, Buffer, BufferMut, BufferRef, Caps, Collective, CollectiveError, DType, Element,
    Fork, Mut, Queue, Ranks, Real, Record, Ref, Register, Timed,
};
pub use core_types::{
    circle::CirclePoint,
    field::{CM31, Field, M31, QM31},
};
pub use cpu_backend::{CpuError, CpuQueue, SimdLevel};
pub use half::{bf16, f16};
#[cfg(feature = "cuda")]
pub use runtime::{
    AesKernel, AirKernel, CudaFacts, Detour, Link, Route, abandoned, cuda_facts, cuda_links, exit_at_once,
    simulator_reports,
};
pub use runtime::{
    AnyBuf, AnyGraph, AnyMark, AnyMut, AnyQueue, AnyRank, AnyRef, AnyRegistered, BackendStatus, Choice, Domain,
    OpenError, ReplayCounts, Replays, Settings, SettingsError, Unavailable, UnknownChoice, availability, cpu, open,
    open_for, open_with, ranks,
};

/// The examples of the README, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// A tutorial of `docs/tutorials`, through a link that packages resolve.
///
/// The next two items are tutorials too.
#[cfg(doctest)]
#[doc = include_str!("../tutorials/private-relu.md")]
struct PrivateRelu;

#[cfg(doctest)]
#[doc = include_str!("../tutorials/own-air.md")]
struct OwnAir;

#[cfg(doctest)]
#[doc = include_str!("../tutorials/train-and-roll-out.md")]
struct TrainAndRollOut;
