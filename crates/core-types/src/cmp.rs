//! Secret shares of the comparison 1\[α <= y\] of a secret α with public points y, as XOR shares of one bit.
//!
//! The control bits of a point-function tree for α are shares of "α lies below this node". Their XOR over a cover of
//! \[0, y\] is therefore a share of 1\[α <= y\], and along the path of y it telescopes to the nodes where the direction
//! changes (Storrier, Vadapalli, Lyons, Henry, "Grotto: Screaming fast (2+1)-PC for Z_2^n via (2,2)-DPFs", 2023).
//! Trees end at blocks of 2^7 leaves: a label's 128 bits are the shares of 128 leaves.

use crate::{
    Encrypt, Label,
    prg::hash,
    tree::{Children, Node, Pair, spread},
};

/// Widths up to this are a shared truth table of 2^n bits, without a tree.
pub const CMP_TABLE_BITS: u32 = 7;

/// Correction words of a comparison key on `bits`-bit points: bits - 8, and 0 for truth tables.
#[inline]
#[must_use]
pub const fn cmp_levels(bits: u32) -> u32 {
    bits.saturating_sub(CMP_TABLE_BITS + 1)
}

/// Leaf words of one party's comparison key on `bits`-bit points: 2, and 1 for truth tables.
#[inline]
#[must_use]
pub const fn cmp_leaves(bits: u32) -> u32 {
    if bits > CMP_TABLE_BITS { 2 } else { 1 }
}

/// Bits 0 ..= `pos` of 128 set, for `pos` < 128.
#[inline]
const fn prefix(pos: u32) -> u128 {
    u128::MAX >> (127 - (pos & 127))
}

/// The truth table of 1\[α <= y\], bit y, for `alpha` below 2^`bits` and `bits` <= 7.
#[inline]
#[must_use]
pub const fn cmp_table(alpha: u64, bits: u32) -> u128 {
    let last = (1 << (bits & 7)) - 1;
    let below = prefix(alpha as u32 & last) >> 1;
    prefix(last) & !below
}

/// The share of 1\[α <= y\] that one party's truth table holds.
#[inline]
#[must_use]
pub const fn cmp_table_share(table: u128, bits: u32, y: u64) -> u32 {
    let pos = y as u32 & ((1 << (bits & 7)) - 1);
    (table >> (pos & 127)) as u32 & 1
}

/// The walk of one party along one point, for widths above 7.
///
/// Call [`step`](Self::step) with the bits of y from the most significant down to bit 8, then
/// [`finish`](Self::finish).
#[derive(Clone, Copy, Debug)]
pub struct CmpWalk {
    node: Node,
    parity: u32,
    last: u32,
}

impl CmpWalk {
    /// Starts at the root of `party`.
    #[inline]
    #[must_use]
    pub const fn start(root: Label, party: u32) -> Self {
        Self { node: Node::root(root, party), parity: 0, last: 0 }
    }

    /// Counts the cover where the path turns to direction `c`, and returns the input whose hash
    /// [`descend`](Self::descend) or [`leaf_share`](Self::leaf_share) takes.
    #[inline]
    #[must_use]
    pub const fn turn(&mut self, c: u32) -> u128 {
        let c = c & 1;
        self.parity ^= self.node.control() & (c ^ self.last);
        self.last = c;
        self.node.input(c)
    }

    /// Goes down in the direction last turned to, under the level's correction word.
    #[inline]
    pub const fn descend(&mut self, hashed: u128, correction: u128) {
        self.node = self.node.corrected(hashed, self.last, correction);
    }

    /// The share, given the leaf correction of the side last turned to, which bit 7 of `y` names.
    #[inline]
    #[must_use]
    pub const fn leaf_share(&self, hashed: u128, leaf: u128, y: u64) -> u32 {
        let block = hashed ^ (leaf & spread(self.node.control()));
        // a left block adds its leaves up to y; a right block was counted whole by its parent and removes those after y
        let counted = block & (prefix(y as u32 & 127) ^ spread(self.last));
        self.parity ^ (counted.count_ones() & 1)
    }

    /// Goes down in direction `c` under the level's correction word.
    #[inline]
    pub fn step<E: Encrypt>(&mut self, cipher: &E, c: u32, correction: u128) {
        let hashed = hash(cipher, self.turn(c));
        self.descend(hashed, correction);
    }

    /// The share, given the leaf correction of the side that bit 7 of `y` names.
    #[inline]
    #[must_use]
    pub fn finish<E: Encrypt>(mut self, cipher: &E, leaf: u128, y: u64) -> u32 {
        let hashed = hash(cipher, self.turn((y >> CMP_TABLE_BITS) as u32));
        self.leaf_share(hashed, leaf, y)
    }
}

/// One party's share of 1\[α <= y\] for a key with sections `correction(level)` and `leaf(side)`; `y` is read modulo
/// 2^`bits`. For truth tables (`bits` <= 7), `leaf(0)` is the table and the root is not used.
#[inline]
pub fn cmp_eval<E: Encrypt>(
    cipher: &E,
    (bits, party): (u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    y: u64,
) -> u32 {
    if bits <= CMP_TABLE_BITS {
        return cmp_table_share(leaf(0), bits, y);
    }
    let mut walk = CmpWalk::start(root, party);
    for level in 0..cmp_levels(bits) {
        walk.step(cipher, (y >> (bits - 1 - level)) as u32 & 1, correction(level));
    }
    walk.finish(cipher, leaf((y >> CMP_TABLE_BITS) as u32 & 1), y)
}

impl Pair {
    /// The leaf corrections of the left and right block under the last node, whose direction is bit 7 of `alpha`.
    #[inline]
    #[must_use]
    pub fn cmp_leaves<E: Encrypt>(&self, cipher: &E, alpha: u64) -> [u128; 2] {
        let Children { left: [left_0, left_1], right: [right_0, right_1] } = self.children(cipher);
        leaf_corrections(left_0 ^ left_1, right_0 ^ right_1, alpha)
    }
}

/// The corrections of the left and right leaf block, from the XOR of the two parties' left blocks and that of their
/// right blocks: the shares of every leaf then XOR to 0, but for leaf α, which bit 7 and the seven bits below it name.
#[inline]
#[must_use]
pub const fn leaf_corrections(left_xor: u128, right_xor: u128, alpha: u64) -> [u128; 2] {
    let side = spread((alpha >> CMP_TABLE_BITS) as u32);
    let unit = 1u128 << (alpha & 127);
    [left_xor ^ (unit & !side), right_xor ^ (unit & side)]
}

/// Both parties' truth tables of 1\[α <= y\] for `bits` <= 7, the first of them from the bits of `root`.
#[inline]
#[must_use]
pub const fn table_shares(root: Label, bits: u32, alpha: u64) -> [u128; 2] {
    let used = prefix((1 << (bits & 7)) - 1);
    let first = root.bits() & used;
    [first, first ^ cmp_table(alpha, bits)]
}

/// Makes the sections that both parties of a comparison key share: calls `correction(level, word)` for each level and
/// returns the two leaf words. For truth tables (`bits` <= 7) the words returned are the parties' tables instead.
///
/// `alpha` is read modulo 2^`bits`. Roots must be uniform and independent, for each key anew. A tree ignores their two
/// lowest bits; a truth table takes its randomness from all bits of the root of party 0.
#[inline]
pub fn cmp_gen<E: Encrypt>(
    keys: &E,
    bits: u32,
    alpha: u64,
    roots: [Label; 2],
    mut correction: impl FnMut(u32, u128),
) -> [u128; 2] {
    if bits <= CMP_TABLE_BITS {
        return table_shares(roots[0], bits, alpha);
    }
    let mut pair = Pair::roots(roots);
    for level in 0..cmp_levels(bits) {
        let word = pair.descend(keys, (alpha >> (bits - 1 - level)) as u32 & 1);
        correction(level, word);
    }
    pair.cmp_leaves(keys, alpha)
}
