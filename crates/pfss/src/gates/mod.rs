//! What parties compute from a key bundle and the public masked input `x_hat = x + r`.
//!
//! A gate with an additive result has two steps: `eval_*` walks the key trees and masks each secret
//! bit with a dealer bit, and [`Pending::finish`] turns the opened bits into shares. One round lies
//! between them.
//!
//! Each gate has a file with its complete definition, from its keys to its result in the clear, in
//! its [`GateRule`](crate::gate::GateRule); `gate/kind.rs` lists them.

mod bits;
mod comparison;
mod evaluator;
mod inputs;
pub(crate) mod intervals;
mod join;
pub(crate) mod lut;
mod opened;
mod pending;
mod plan;
mod plans;
pub(crate) mod predicates;
pub(crate) mod product;
pub(crate) mod relu;
mod second_step;
pub(crate) mod shift;
pub(crate) mod suf;
mod sums;
mod table;
mod task;
mod tree;
pub(crate) mod truncate;

pub use bits::BitShares;
pub(crate) use comparison::{BitSums, Comparison};
pub use evaluator::Evaluator;
pub(crate) use evaluator::{Activity, DeviceTree, TreeRef};
pub(crate) use intervals::PowersPlan;
pub(crate) use join::{Join, join_pending};
pub use pending::Pending;
pub(crate) use plan::TaskPlan;
pub(crate) use plans::AllPlans;
pub use suf::{SufBools, SufShares, SufStep};
pub(crate) use suf::{SufPlan, most_word_terms};
pub(crate) use sums::summed_at_once;
pub(crate) use table::elements_at_once;
