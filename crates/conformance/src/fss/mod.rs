//! Specifications of the `fss` op set.
//!
//! Oracles: the functions themselves, exhaustively on small rings; a model written from the papers, word for word; and
//! published vectors.

mod batch;
mod cmp;
mod dcf;
mod model;
mod refuse;
mod stream;

use backend_api::ops::fss::FssOps;

use crate::OpSpec;

/// Batch sizes around the 32 keys of a word and the 256 of a block of threads.
const SIZES: [u32; 8] = [0, 1, 31, 32, 33, 255, 256, 257];

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: FssOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![stream::ctr_specs(), stream::pack_specs(), cmp::specs(), dcf::specs(), refuse::specs()]
}
