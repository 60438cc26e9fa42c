//! What parties compute from a key bundle and the public masked input `x_hat = x + r`.
//!
//! A gate with an additive result has two steps: `eval_*` walks the key trees and masks each secret
//! bit with a dealer bit, and [`Pending::finish`] turns the opened bits into shares. One round lies
//! between them.
//!
//! Each family of gates has a file with its evaluation, which implements `GateEvaluation`. Its keys
//! and its result in the clear are in `gate/kinds`, the dealer's secrets in `dealer/dealing`.

pub(crate) mod intervals;
pub(crate) mod join;
pub(crate) mod lut;
pub(crate) mod plans;
pub(crate) mod predicates;
pub(crate) mod product;
pub(crate) mod relu;
pub(crate) mod shares;
pub(crate) mod shift;
pub(crate) mod suf;
pub(crate) mod tasks;
pub(crate) mod truncate;
pub(crate) mod walk;

pub use shares::{bits::BitShares, pending::Pending};
pub use suf::{SufBools, SufShares, SufStep};
pub use walk::evaluator::Evaluator;
