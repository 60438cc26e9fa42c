//! Batches of function-secret-sharing keys.
//!
//! They are comparison keys (CMP) and comparison keys with payload (DCF). Another op packs elements
//! for transport.
//!
//! A batch of `count` keys is a structure of arrays with `P = padded(count)` keys to a row (`count`
//! rounded up to a multiple of 32), level-major, all words little-endian:
//!
//! | section | elements | meaning |
//! |---|---|---|
//! | roots | `Label[P]` | one party's root labels |
//! | corrections | `u128[levels][P]` | CMP: `cmp_levels(bits)` levels, DCF: `bits` levels |
//! | leaves | `u128[2][P]` | CMP only: corrections of the left and the right leaf block |
//! | values | `u64[bits][L][P]` | DCF only: value corrections of each level |
//! | last | `u64[L][P]` | DCF only: value corrections of the last node |
//!
//! The parties' keys differ only in the roots. A CMP key of at most 7 bits has no tree: it is one
//! word per party, that party's share of the truth table, in a leaf section of shape `u128[1][P]`;
//! it has no corrections, and its roots are not read.
//!
//! Keys `count .. P` exist only to fill rows; evaluation does not look at them. Point `j` of key
//! `e` is the key's masked input less offset `j`, modulo 2^bits. Bits come out as `u32[m][P / 32]`,
//! key `e` at bit `e % 32` of word `e / 32` of its row, zero for `e >= count`.
//!
//! Backends agree on each party's share bit for bit, not only on the reconstructed value.
//! [`core_types::cmp`] and [`core_types::dcf`] hold the scalar formulas. No address and no branch
//! depends on a secret, except for lookups in an AES table: a GPU makes them in shared memory, free
//! of bank conflicts.

mod cmp_eval_all;
mod cmp_eval_window;
mod cmp_gen;
mod dcf_eval_window;
mod dcf_gen;
mod keys;
mod pack_bits;
mod shape;
mod unpack_bits;

pub use cmp_eval_all::CmpEvalAll;
pub use cmp_eval_window::CmpEvalWindow;
pub use cmp_gen::CmpGen;
pub use dcf_eval_window::DcfEvalWindow;
pub use dcf_gen::DcfGen;
pub use keys::{CmpKeys, DcfKeys};
pub use pack_bits::PackBits;
pub use shape::{CmpAllShape, CmpGenShape, CmpShape, DcfGenShape, DcfShape, GROUP, PackShape};
pub use unpack_bits::UnpackBits;

pub use super::sets::FssOps;
