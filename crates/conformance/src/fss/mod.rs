//! Specifications of the `fss` op set.
//!
//! Oracles: the functions themselves, exhaustively on small rings; a model written from the papers,
//! word for word; and published vectors.

mod all;
mod batch;
mod cmp;
mod dcf;
mod linear;
mod matmul;
mod model;
mod pack;
mod refuse;
mod seed;
mod share;
mod table;
mod window;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![
        pack::specs(),
        seed::specs(),
        cmp::specs(),
        all::specs(),
        window::cmp_specs(),
        dcf::specs(),
        window::dcf_specs(),
        share::bit_specs(),
        share::word_specs(),
        linear::specs(),
        matmul::specs(),
        table::specs(),
        refuse::specs(),
    ]
}
