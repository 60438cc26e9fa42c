//! RSI-ML's tensor operators on host slices, dispatched to a CPU or an NVIDIA GPU.
//!
//! [`TensorOpsAPI`] has the operators, forward and backward, and [`BackendDispatcher`] runs them.
//! `RSI_ML_BACKEND=cpu|gpu` selects the device. If a `gpu` cannot be opened, the CPU takes its
//! place without code changes, and [`BackendDispatcher::status`] has the reason.
//!
//! - On the CPU, ops use slices in place and copy nothing. A device copies slices in each call, and
//!   a [`Handle`] once per version.
//! - Saved results carry a [`Tag`]: device, generation and precision. A backward pass on another
//!   device than its forward pass is refused unless `RSI_ML_ALLOW_MIXED=1`; it is counted then.
//! - An op that a device lacks memory or a feature for is an error, or runs on the CPU if
//!   [`Selection::per_op_fallback`] is set; [`BackendDispatcher::counters`] counts these runs.
//!
//! ```
//! use nn_dispatch::{BackendDispatcher, MatmulGradients, Product, TensorOpsAPI};
//!
//! let dispatcher = BackendDispatcher::from_env()?;
//! println!("{}", dispatcher.status());
//! let (x, mut y) = ([1.0f32, 2.0], [0.0f32; 2]);
//! let mut weights = dispatcher.upload(&[1.0, -1.0, 0.5, -0.5]);
//! let product = Product::new(1, 2, 2);
//! let saved = dispatcher.matmul((&x).into(), (&weights).into(), product, &mut y)?;
//! assert_eq!(y, [2.0, -2.0]);
//!
//! let (g, mut dw) = ([1.0f32, 1.0], [0.0f32; 4]);
//! let gradients = MatmulGradients { a: None, b: Some(&mut dw) };
//! dispatcher.matmul_backward(&saved, (&x).into(), (&weights).into(), (&g).into(), gradients)?;
//! assert_eq!(dw, [1.0, 1.0, 2.0, 2.0]);
//!
//! let mut updated = weights.values().to_vec();
//! dispatcher.sgd_step(&mut updated, (&dw).into(), 0.5)?;
//! dispatcher.update(&mut weights, &updated)?;
//! assert_eq!((weights.version(), weights.values()), (1, &[0.5, -1.5, -0.5, -1.5][..]));
//! # Ok::<(), nn_dispatch::DispatchError>(())
//! ```
//!
//! # Features
//!
//! `cuda`, off by default, adds the backends `gpu` and `sim`. It is the feature of crate `runtime`,
//! whose documentation lists its build requirements.
#![forbid(unsafe_code)]

mod adam;
mod api;
mod args;
mod counters;
mod dispatcher;
mod error;
mod handle;
mod ops;
mod plans;
mod product;
mod saved;
mod selection;
mod tag;
mod target;
mod tensor_ops;

pub use adam::{AdamOptions, AdamState};
pub use api::TensorOpsAPI;
pub use args::{Affine, LayerNormGradients, LinearGradients, MatmulGradients, SoftmaxMask};
pub use counters::Counters;
pub use dispatcher::{BackendDispatcher, Status};
pub use error::DispatchError;
pub use handle::{Handle, Operand};
pub use product::Product;
pub use saved::Saved;
pub use selection::Selection;
pub use tag::Tag;

/// The page of the documentation on the switch, whose code runs with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../pages/rsi-ml.md")]
struct Switch;
