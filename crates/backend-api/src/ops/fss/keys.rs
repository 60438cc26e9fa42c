//! The sections of a batch of keys, as views that belong together.

use core_types::Label;

use crate::ops::op::views;

views! {
    /// One party's comparison keys: the sections of a batch that [`CmpGen`](super::CmpGen) makes.
    pub struct CmpKeys<'a, Q> {
        /// `Label[P]`.
        roots: read Label,
        /// `u128[cmp_levels(bits)][P]`.
        corrections: read u128,
        /// `u128[cmp_leaves(bits)][P]`.
        leaves: read u128,
    }
}

views! {
    /// One party's comparison keys with payload: the sections of a batch that
    /// [`DcfGen`](super::DcfGen) makes.
    pub struct DcfKeys<'a, Q> {
        /// `Label[P]`.
        roots: read Label,
        /// `u128[bits][P]`.
        corrections: read u128,
        /// `u64[bits][L][P]`.
        values: read u64,
        /// `u64[L][P]`.
        last: read u64,
    }
}
