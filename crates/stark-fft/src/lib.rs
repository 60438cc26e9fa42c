//! Circle-STARK transforms over Mersenne-31.
//!
//! It interpolates, evaluates and extends (low-degree extension) batches of columns.
//!
//! Domains, orders, twiddles and coefficients are bit-identical to stwo 2.3. All work runs on a
//! queue of any backend; this crate checks shapes once and keeps them in plans. [`Columns`] are of
//! one size, or of several, as commitment trees take them. An extension that is too large for the
//! device is computed in blocks by an [`LdeBlockPlan`]. Columns that are too long for one device
//! are shared by the ranks of a [`Collective`](backend_api::Collective), each with its [`Shard`],
//! and transformed by a [`ShardedCfftPlan`].
//!
//! ```
//! use stark_fft::{BitReversed, CanonicDomain, CfftPlan, Columns, HostColumns, LdePlan, M31, RowOrder, TwiddleTree};
//!
//! let q = runtime::cpu()?;
//! let (trace_domain, domain) = (CanonicDomain::new(3)?, CanonicDomain::new(4)?);
//! let tree = TwiddleTree::new(&q, domain)?; // serves every smaller domain too
//!
//! // Two columns of eight rows, as an execution trace has them.
//! let rows: Vec<M31> = (0..16).map(M31::from_u32).collect();
//! let trace = HostColumns::<RowOrder>::new(trace_domain, rows)?.into_order::<BitReversed>();
//!
//! let values = Columns::upload(&q, &trace)?;
//! let polynomials = CfftPlan::new(trace_domain, 2)?.interpolate(&q, &tree, values)?;
//! let extended = LdePlan::new(trace_domain, domain, 2)?.extend(&q, &tree, &polynomials)?;
//! assert_eq!(extended.download(&q)?.column(0).map(<[M31]>::len), Some(16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod blocks;
mod columns;
mod domain;
mod error;
mod host;
mod inverse;
mod order;
mod plan;
mod representation;
mod shape;
mod shard;
mod sharded;
mod twiddles;
mod view;

pub use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
};

pub use blocks::LdeBlockPlan;
pub use columns::Columns;
pub use domain::{CanonicDomain, MAX_LOG_SIZE};
pub use error::FftError;
pub use host::HostColumns;
pub use inverse::{Invertible, ZeroFlag, batch_inverse, batch_inverse_into};
pub use order::{BitReversed, Natural, Order, RowOrder, bit_reversed};
pub use plan::{CfftPlan, LdePlan};
pub use representation::{Coefficients, Representation};
pub use shape::{Group, SetShape};
pub use shard::{MAX_LOG_RANKS, Shard, Sharded};
pub use sharded::{ShardTwiddles, ShardedCfftPlan, ShardedColumns, ShardedLdePlan};
pub use twiddles::TwiddleTree;
pub use view::{ColumnsMut, ColumnsRef};
