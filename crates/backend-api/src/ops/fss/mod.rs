//! Batches of function-secret-sharing keys.
//!
//! They are comparison keys (CMP) and comparison keys with payload (DCF). Other ops expand the seed
//! of a party's uniform sections, and pack elements for transport.
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

mod shape;

use core_types::{
    Label,
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams, SeedParams},
};

pub use super::sets::FssOps;
use crate::ops::{op, views};
pub use shape::{CmpAllShape, CmpGenShape, CmpShape, DcfGenShape, DcfShape, GROUP, PackShape};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! fss_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of function secret sharing; what follows them is arithmetic on shares.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for an invalid width, window,
            /// party, number of payload words or range of keys, or if the device may not run AES.
            /// Nothing is written then.
            fss::FssOps: ShareOps {
                cmp_eval_window(CmpEvalWindow) -> CmpShape,
                cmp_eval_all(CmpEvalAll) -> CmpAllShape,
                cmp_gen(CmpGen) -> CmpGenShape,
                dcf_eval_window(DcfEvalWindow) -> DcfShape,
                dcf_gen(DcfGen) -> DcfGenShape,
                expand_seed(ExpandSeed),
                pack_bits(PackBits) -> PackShape,
                unpack_bits(UnpackBits) -> PackShape,
            }
        }
    };
}

op! {
    /// One party's XOR shares of 1\[α <= y_j\] for the secret α of each key.
    ///
    /// The points are y_j = `x_hat` - `offsets[j]` modulo 2^bits.
    ///
    /// The caller promises that all offsets lie in one window: `offsets[j] - offsets[0]`, modulo
    /// 2^bits, is at most 2^window. Then the points of a key lie in two neighbouring blocks
    /// ([`Window`](core_types::Window)), to which its tree is walked once: 2 (bits - window) + m
    /// (window - 7) AES blocks in all. A window of all bits promises nothing, and points are walked
    /// to from the root. A device that the keys do not fill may also walk from the root, or divide
    /// the points among its threads. Shares at offsets that break the promise may be any words.
    pub struct CmpEvalWindow<'a, Q> as "cmp_eval_window" {
        /// Party, widths and number of keys and points.
        params: plain &'a CmpWindowParams,
        /// The keys of one party.
        keys: views CmpKeys<'a, Q> [row, levels, leaves],
        /// The masked input of each key, public.
        x_hat: read u64 [count],
        /// The m offsets, public.
        offsets: read u64 [points],
        /// The shares, a row of bits for each offset.
        shares: write u32 [points, row / GROUP],
    }
    sizes(self) -> shape: CmpShape {
        let shape = CmpShape::new(OP, self.params)?;
        let CmpShape { row, count, points, levels, leaves } = shape;
    }
}

op! {
    /// One party's XOR shares of the unit vector of the secret α of each key.
    ///
    /// The vector is 1 at α and 0 at every other of the 2^bits points.
    ///
    /// It evaluates the keys `first .. first + keys` of a batch with at most
    /// [`CMP_ALL_BITS`](core_types::cmp::CMP_ALL_BITS) bits. Bit `j` of word `b * keys + e` of the
    /// result belongs to the point `128 b + j` of key `first + e`, and is zero past the last point.
    /// A sum over the points of one key reads a column, 128 points at a time; neighbouring keys
    /// write neighbouring words. `first` is a multiple of [`GROUP`]: a caller with little room
    /// evaluates a few keys at a time.
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

op! {
    /// Makes the common sections of CMP keys for the secrets `alphas`, read modulo 2^bits.
    ///
    /// Trees ignore the two low bits of a root; a truth table takes its randomness from all bits of
    /// the root of party 0. Padding keys `count .. P` have the sections of α = 0.
    pub struct CmpGen<'a, Q> as "cmp_gen" {
        /// Width and number of keys.
        params: plain &'a CmpGenParams,
        /// The secret of each key.
        alphas: read u64 [count],
        /// The roots, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label [2, row],
        /// Correction words; [`cmp_levels`](core_types::cmp::cmp_levels) rows.
        corrections: write u128 [levels, row],
        /// Leaf corrections or truth tables, two rows for every width.
        ///
        /// The corrections of the two leaf blocks are common to both parties. For at most 7 bits,
        /// these are the truth tables of party 0 and then of party 1. Each table is secret to its
        /// party.
        leaves: write u128 [2, row],
    }
    sizes(self) -> shape: CmpGenShape {
        let shape = CmpGenShape::new(OP, self.params)?;
        let CmpGenShape { row, count, levels } = shape;
    }
}

op! {
    /// One party's additive shares modulo 2^width of β·1\[y_j < α\] for each key.
    ///
    /// α and β are the secrets of the key. The points y_j, and the promise on them, are as in
    /// [`CmpEvalWindow`].
    ///
    /// With b = ceil(L / 2), it takes (1 + b) (2 (bits - window) + m window) + b m AES blocks.
    pub struct DcfEvalWindow<'a, Q> as "dcf_eval_window" {
        /// Party, widths and number of keys and points.
        params: plain &'a DcfWindowParams,
        /// The keys of one party.
        keys: views DcfKeys<'a, Q> [row, levels, words],
        /// The masked input of each key, public.
        x_hat: read u64 [count],
        /// The m offsets, public.
        offsets: read u64 [points],
        /// The shares: L words for each offset and key.
        shares: write u64 [points, words, count],
    }
    sizes(self) -> shape: DcfShape {
        let shape = DcfShape::new(OP, self.params)?;
        let DcfShape { row, count, points, levels, words, .. } = shape;
    }
}

op! {
    /// Generates the common sections of DCF keys for the secrets `alphas` and `betas`.
    ///
    /// `alphas` are read modulo 2^bits.
    ///
    /// The two low bits of a root are ignored. Padding keys `count .. P` have the sections of α =
    /// 0, β = 0.
    pub struct DcfGen<'a, Q> as "dcf_gen" {
        /// Widths and number of keys and payload words.
        params: plain &'a DcfGenParams,
        /// The secret point of each key.
        alphas: read u64 [count],
        /// The secret payloads, a row for each of the L words.
        betas: read u64 [words, count],
        /// The roots, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label [2, row],
        /// Correction words, a row for each bit.
        corrections: write u128 [levels, row],
        /// Corrections of the payload, L rows for each bit.
        values: write u64 [levels, words, row],
        /// Corrections of the payload at the leaves.
        last: write u64 [words, row],
    }
    sizes(self) -> shape: DcfGenShape {
        let shape = DcfGenShape::new(OP, self.params)?;
        let DcfGenShape { row, count, levels, words, .. } = shape;
    }
}

op! {
    /// Fills rows with the key stream of a secret seed: AES-128 in counter mode.
    ///
    /// Block `b` of row `r` is the encryption of the counter `first` + 2^64 r + b modulo 2^128, a
    /// big-endian number (NIST SP 800-38A, section 6.5). Its 16 bytes are two little-endian words,
    /// and each word keeps its bits in `mask`. It takes one AES block for each two words.
    ///
    /// A graph that [recorded](crate::Record) the op holds the seed.
    pub struct ExpandSeed<'a, Q> as "expand_seed" {
        /// Key and first counter, which are secret, masks and sizes.
        params: plain &'a SeedParams,
        /// The words of each block, low half first.
        words: write u64 [rows, blocks, 2],
    }
    sizes(self) {
        let SeedParams { rows, blocks, .. } = *self.params;
    }
}

op! {
    /// Packs the low `bits` bits of elements into a dense little-endian bit stream.
    ///
    /// Element `i` starts at bit `i * bits`.
    pub struct PackBits<'a, Q> as "pack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// The elements.
        elements: read u64 [count],
        /// The stream: `ceil(count * bits / 64)` words, whose unused bits are zero.
        words: write u64 [words],
    }
    sizes(self) -> shape: PackShape {
        let shape = PackShape::new(OP, self.params)?;
        let PackShape { count, words, .. } = shape;
    }
}

op! {
    /// The inverse of [`PackBits`].
    pub struct UnpackBits<'a, Q> as "unpack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// The stream: `ceil(count * bits / 64)` words.
        words: read u64 [words],
        /// The elements, each below 2^bits.
        elements: write u64 [count],
    }
    sizes(self) -> shape: PackShape {
        let shape = PackShape::new(OP, self.params)?;
        let PackShape { count, words, .. } = shape;
    }
}

views! {
    /// One party's comparison keys: the sections of a batch that [`CmpGen`] makes.
    pub struct CmpKeys<'a, Q> {
        /// The root of each key.
        roots: read Label [row],
        /// Correction words; [`cmp_levels`](core_types::cmp::cmp_levels) rows.
        corrections: read u128 [levels, row],
        /// Leaf words; [`cmp_leaves`](core_types::cmp::cmp_leaves) rows.
        leaves: read u128 [leaves, row],
    }
    sizes(row: usize, levels: usize, leaves: usize) {}
}

views! {
    /// One party's comparison keys with payload.
    ///
    /// These are the sections of a batch generated by [`DcfGen`].
    pub struct DcfKeys<'a, Q> {
        /// The root of each key.
        roots: read Label [row],
        /// Correction words, a row for each bit.
        corrections: read u128 [levels, row],
        /// Corrections of the payload.
        values: read u64 [levels, words, row],
        /// Corrections of the payload at the leaves.
        last: read u64 [words, row],
    }
    sizes(row: usize, levels: usize, words: usize) {}
}
