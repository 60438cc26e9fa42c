//! Comparison keys at all points of a small domain, as unit vectors.

use core_types::params::fss::CmpAllParams;

use super::{CmpAllShape, CmpKeys};
use crate::ops::op;

op! {
    /// One party's XOR shares of the unit vector of the secret α of each key.
    ///
    /// The vector is 1 at α and 0 at every other of the 2^bits points.
    ///
    /// It evaluates the keys `first .. first + keys` of a batch with at most
    /// [`CMP_ALL_BITS`](core_types::cmp::CMP_ALL_BITS) bits. Bit `j` of word `b * keys + e` of the
    /// result belongs to the point `128 b + j` of key `first + e`, and is zero past the last point.
    /// A sum over the points of one key reads a column, 128 points at a time; neighbouring keys
    /// write neighbouring words. `first` is a multiple of [`GROUP`](super::GROUP): a caller with
    /// little room evaluates a few keys at a time.
    ///
    /// Each node of a tree is expanded once, 2 (2^(bits - 7) - 1) AES blocks in all, and none for a
    /// truth table, whose neighbouring bits differ only at α.
    pub struct CmpEvalAll<'a, Q> as "cmp_eval_all" {
        /// Party, width and range of keys.
        params: plain &'a CmpAllParams,
        /// The keys of one party.
        keys: views CmpKeys<'a, Q> [row, levels, leaves],
        /// The shares; [`cmp_blocks`](core_types::cmp::cmp_blocks) rows.
        units: write u128 [blocks, keys],
    }
    sizes(self) -> shape: CmpAllShape {
        let shape = CmpAllShape::new(OP, self.params)?;
        let CmpAllShape { row, keys, levels, leaves, blocks, .. } = shape;
    }
}
