//! What parties compute from a key bundle and the public masked input `x_hat = x + r`.
//!
//! A gate with an additive result has two steps: [`MaskedKeys::eval`](crate::MaskedKeys::eval)
//! walks the key trees and masks each secret bit with a dealer bit, and [`Pending::finish`] turns
//! the opened bits into shares. One round lies between them.
//!
//! `plan.rs` lists the evaluation of each [`Task`](crate::Task); each family of gates has a file
//! with its own. Its keys and its result in the clear are in `gate/kinds`, the dealer's secrets in
//! `dealer/dealing`.

pub(crate) mod intervals;
mod join;
mod lut;
pub(crate) mod plan;
pub(crate) mod plans;
mod predicates;
mod product;
mod relu;
pub(crate) mod shares;
mod shift;
pub(crate) mod suf;
pub(crate) mod tasks;
mod truncate;
pub(crate) mod walk;

pub use shares::{
    bits::BitShares,
    pending::{Pending, Step},
    results::{BoolShares, Shares},
};
pub use walk::evaluator::Evaluator;
