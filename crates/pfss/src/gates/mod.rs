//! What parties compute from a key bundle and the public masked input `x_hat = x + r`.
//!
//! A gate with an additive result has two steps: `eval_*` walks the key trees and masks each secret bit with a dealer
//! bit, and [`Pending::finish`] turns the opened bits into shares. One round lies between them.

mod bit_sums;
mod bits;
mod intervals;
mod join;
mod lut;
mod opened;
mod pending;
mod predicates;
mod product;
mod relu;
mod rest;
mod shift;
mod suf;
mod sums;
mod tree;
mod truncate;
mod walk;

pub use bits::BitShares;
pub(crate) use join::{Join, join_pending};
pub(crate) use lut::elements_at_once;
pub use pending::Pending;
pub(crate) use suf::most_word_terms;
pub use suf::{SufBools, SufShares, SufStep};
pub(crate) use sums::summed_at_once;
pub use walk::Walk;
pub(crate) use walk::{Activity, DeviceTree, Lent};
