//! Secret shares of the comparison 1\[α <= y\] of a secret α with public points y.
//!
//! They are XOR shares of one bit.
//!
//! The control bits of a point-function tree for α are shares of "α lies below this node". Their
//! XOR over a cover of \[0, y\] is therefore a share of 1\[α <= y\], and along the path of y it
//! telescopes to the nodes where the direction changes (Storrier, Vadapalli, Lyons, Henry, "Grotto:
//! Screaming fast (2+1)-PC for Z_2^n via (2,2)-DPFs", 2023). Trees end at blocks of 2^7 leaves: a
//! label's 128 bits are the shares of 128 leaves.
//!
//! The leaves themselves are shares of the unit vector of α, 1 at α and 0 elsewhere:
//! [`cmp_eval_all`].
//!
//! The formulas are generic in the block size 2^`LEAF`, so that a test can go through deep trees in
//! small rings. Keys have `LEAF` = [`CMP_TABLE_BITS`].

#[cfg(test)]
mod tests;

use core::ops::Range;

use crate::{
    cipher::{aes::Encrypt, prg::hash},
    keys::{
        label::Label,
        tree::{Children, Node, Pair, spread},
        window::Window,
    },
};

/// Greatest width of keys that are a shared truth table of 2^n bits, without a tree.
///
/// Trees end at blocks of 2^7 leaves.
pub const CMP_TABLE_BITS: u32 = 7;

/// Widths up to this are evaluated at all points at once.
pub const CMP_ALL_BITS: u32 = 13;

#[inline]
const fn levels<const LEAF: u32>(bits: u32) -> u32 {
    bits.saturating_sub(LEAF + 1)
}

/// The place of `y` in its block of leaves.
#[inline]
const fn place<const LEAF: u32>(y: u64) -> u32 {
    y as u32 & ((1 << LEAF) - 1)
}

/// Number of correction words of a comparison key on `bits`-bit points.
///
/// It is bits - 8, and 0 for truth tables.
#[inline]
#[must_use]
pub const fn cmp_levels(bits: u32) -> u32 {
    levels::<CMP_TABLE_BITS>(bits)
}

/// Leaf words of one party's comparison key on `bits`-bit points: 2, and 1 for truth tables.
#[inline]
#[must_use]
pub const fn cmp_leaves(bits: u32) -> u32 {
    if bits > CMP_TABLE_BITS { 2 } else { 1 }
}

/// Number of blocks of 128 leaves of a comparison key on `bits`-bit points.
///
/// It is 2^(bits - 7), and 1 for truth tables; `bits` is at most 64. Evaluating all n blocks takes
/// 2n - 2 AES blocks.
#[inline]
#[must_use]
pub const fn cmp_blocks(bits: u32) -> u64 {
    1 << (bits.saturating_sub(CMP_TABLE_BITS) & 63)
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

/// One party's share of the unit vector of α, from its truth table.
///
/// Bit y is for point y: 1\[α <= y\] changes only at α. Requires `bits` <= 7.
#[inline]
#[must_use]
pub const fn cmp_table_unit(table: u128, bits: u32) -> u128 {
    (table ^ table << 1) & prefix((1 << (bits & 7)) - 1)
}

/// One party's walk to one point, for widths above 7.
///
/// Call [`turn`](Self::turn) and [`descend`](Self::descend) with the bits of y from the most
/// significant down to bit 8, then turn to bit 7, [`land`](Self::land) on the leaves and take the
/// [`share`](Self::share).
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

    /// This walk if `which` is 0, `other` if it is 1.
    #[inline]
    const fn or(self, other: Self, which: u32) -> Self {
        let mask = spread(which) as u32;
        Self {
            node: self.node.or(other.node, which),
            parity: self.parity ^ (mask & (self.parity ^ other.parity)),
            last: self.last ^ (mask & (self.last ^ other.last)),
        }
    }

    /// Counts the cover at a turn to direction `c`, and returns the input to hash.
    ///
    /// [`descend`](Self::descend) or [`land`](Self::land) takes the hash.
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

    /// Descends to the block of leaves on the side last turned to, given its leaf correction.
    ///
    /// The shares of the leaves replace the seed of the node.
    #[inline]
    pub const fn land(&mut self, hashed: u128, leaf: u128) {
        self.node.seed = self.node.leaf_block(hashed, leaf);
    }

    /// The share at `y`, which lies in the block landed on.
    #[inline]
    #[must_use]
    pub const fn share(&self, y: u64) -> u32 {
        self.share_in_block::<CMP_TABLE_BITS>(y)
    }

    #[inline]
    const fn share_in_block<const LEAF: u32>(&self, y: u64) -> u32 {
        let whole = prefix(place::<LEAF>(u64::MAX));
        // a left block adds its leaves up to y; a right block was counted whole by its parent and removes those after y
        let counted = prefix(place::<LEAF>(y)) ^ (whole & spread(self.last));
        let leaves = self.node.seed & counted;
        self.parity ^ (leaves.count_ones() & 1)
    }
}

/// One party's share of 1\[α <= y\], for one point.
///
/// The key has sections `correction(level)` and `leaf(side)`; `y` is read modulo 2^`bits`. For
/// truth tables (`bits` <= 7), `leaf(0)` is the table and the root is not used.
#[inline]
pub fn cmp_eval<E: Encrypt>(
    cipher: &E,
    of: (u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    y: u64,
) -> u32 {
    let mut only = 0;
    cmp_eval_window(cipher, (of.0, of.1, of.0), root, correction, leaf, 0..1, |_| y, |_, share| only = share);
    only
}

/// One party's shares of 1\[α <= y_j\] at points of a window, for the key of [`cmp_eval`].
///
/// Calls `share(j, share)` for each j of `points`, in this order, with y_j = `point(j)`. `of` is
/// (bits, party, width).
///
/// Each y_j, modulo 2^bits, lies at most 2^width below y_0. The width is at least 7, or all bits,
/// which allows any points. Shares at other points are meaningless. With [`Window::depth`] d, m
/// points take 2 d + m (bits - 7 - d) AES blocks. The number of levels walked does not depend on
/// the keys and points.
#[inline]
#[expect(clippy::too_many_arguments, reason = "the sections of a key, and the points")]
pub fn cmp_eval_window<E: Encrypt>(
    cipher: &E,
    of: (u32, u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    points: Range<u32>,
    point: impl Fn(u32) -> u64,
    share: impl FnMut(u32, u32),
) {
    eval_window::<CMP_TABLE_BITS, E>(cipher, of, root, correction, leaf, points, point, share);
}

#[inline]
#[expect(clippy::too_many_arguments, reason = "the sections of a key, and the points")]
fn eval_window<const LEAF: u32, E: Encrypt>(
    cipher: &E,
    (bits, party, width): (u32, u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    points: Range<u32>,
    point: impl Fn(u32) -> u64,
    mut share: impl FnMut(u32, u32),
) {
    if points.is_empty() {
        return;
    }
    let (window, first) = (Window::new(bits, width), point(0));
    let (levels, depth, bottom) = (levels::<LEAF>(bits), window.depth(), bits.saturating_sub(LEAF));
    let start = CmpWalk::start(root, party);
    let (mut here, mut before) = (start, start);
    // walks to the two blocks come first, then those to the points, so that the text holds the rounds of AES once
    let mut blocks = if depth == 0 { 2 } else { 0 };
    let mut at = points.start;
    while at < points.end {
        let to_block = blocks < 2;
        let y = if to_block { window.member(first, blocks) } else { point(at) };
        let (mut level, end) = if to_block { (0, depth) } else { (depth, bottom) };
        // A walk to a block starts at the root, a walk to a point in its block.
        let mut walk = here.or(before, window.block(first, y)).or(start, u32::from(to_block));
        while level < end {
            let c = (y >> (bits - 1 - level)) as u32 & 1;
            let correction = if level < levels { correction(level) } else { leaf(c) };
            let hashed = hash(cipher, walk.turn(c));
            if level < levels {
                walk.descend(hashed, correction);
            } else {
                walk.land(hashed, correction);
            }
            level += 1;
        }
        // The first walk is the block of y_0, the second the block before.
        if to_block {
            here = here.or(walk, blocks ^ 1);
            before = before.or(walk, blocks);
            blocks += 1;
        } else {
            share(at, if bits <= LEAF { cmp_table_share(leaf(0), bits, y) } else { walk.share_in_block::<LEAF>(y) });
            at += 1;
        }
    }
}

/// The route through a whole tree, from its left end to its right.
///
/// Each node is expanded once in each direction.
///
/// From a node above the leaf blocks the route goes [`down`](Self::down), and the walker keeps the
/// node, by its [`level`](Self::level). After a block of leaves the route goes [`on`](Self::on), to
/// the level of the kept node from which the next block is reached; if that is still the level of
/// the leaf blocks, it is the same node.
#[derive(Clone, Copy, Debug)]
pub struct CmpTour {
    levels: u32,
    level: u32,
    block: u32,
}

impl CmpTour {
    /// Starts at the root of a tree with `levels` correction words, towards `block`.
    #[inline]
    #[must_use]
    pub const fn start(levels: u32, block: u32) -> Self {
        Self { levels, level: 0, block }
    }

    /// The block of leaves that it is heading for.
    #[inline]
    #[must_use]
    pub const fn block(&self) -> u32 {
        self.block
    }

    /// The level of the node that it is at, counted from the root.
    #[inline]
    #[must_use]
    pub const fn level(&self) -> u32 {
        self.level
    }

    /// Whether the children of this node are blocks of leaves.
    #[inline]
    #[must_use]
    pub const fn at_leaves(&self) -> bool {
        self.level == self.levels
    }

    /// The direction of the next child, 0 or 1: at the leaves, the side of the block.
    #[inline]
    #[must_use]
    pub const fn direction(&self) -> u32 {
        (self.block >> (self.levels.wrapping_sub(self.level) & 31)) & 1
    }

    /// Goes down to that child.
    #[inline]
    pub const fn down(&mut self) {
        self.level += 1;
    }

    /// Goes on to the next block.
    #[inline]
    pub const fn on(&mut self) {
        self.block += 1;
        self.level = self.levels.saturating_sub(self.block.trailing_zeros());
    }
}

/// Nodes that [`cmp_eval_all`] keeps: more than a tree has levels.
const KEPT: usize = 16;

/// One party's shares of the unit vector of α, for a key as in [`cmp_eval`].
///
/// Requires `bits` <= [`CMP_ALL_BITS`]. Calls `block(index, leaves)` from left to right; bit j of
/// `leaves` is for the point 128 `index` + j.
///
/// Every node is expanded once, so the number of AES blocks is [`cmp_blocks`] less one, times two.
#[inline]
pub fn cmp_eval_all<E: Encrypt>(
    cipher: &E,
    of: (u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    block: impl FnMut(u32, u128),
) {
    eval_all::<CMP_TABLE_BITS, E>(cipher, of, root, correction, leaf, block);
}

#[inline]
fn eval_all<const LEAF: u32, E: Encrypt>(
    cipher: &E,
    (bits, party): (u32, u32),
    root: Label,
    correction: impl Fn(u32) -> u128,
    leaf: impl Fn(u32) -> u128,
    mut block: impl FnMut(u32, u128),
) {
    if bits <= LEAF {
        return block(0, cmp_table_unit(leaf(0), bits));
    }
    // The tour visits the blocks from left to right and keeps a node for each level.
    let levels = levels::<LEAF>(bits);
    let whole = prefix(place::<LEAF>(u64::MAX));
    let mut node = Node::root(root, party);
    let mut kept = [node; KEPT];
    let mut tour = CmpTour::start(levels, 0);
    while tour.block() >> (levels & 31) < 2 {
        let c = tour.direction();
        let hashed = hash(cipher, node.input(c));
        // A block of leaves is done; the next starts from a kept node.
        if tour.at_leaves() {
            block(tour.block(), node.leaf_block(hashed, leaf(c)) & whole);
            tour.on();
            if !tour.at_leaves() {
                node = kept[tour.level() as usize % KEPT];
            }
        } else {
            kept[tour.level() as usize % KEPT] = node;
            node = node.corrected(hashed, c, correction(tour.level()));
            tour.down();
        }
    }
}

/// The leaf corrections of the left and right block under the last node.
///
/// The direction of the last node is bit `LEAF` of `alpha`.
#[inline]
fn last_leaves<const LEAF: u32, E: Encrypt>(pair: &Pair, cipher: &E, alpha: u64) -> [u128; 2] {
    let Children { left: [left_0, left_1], right: [right_0, right_1] } = pair.children(cipher);
    corrections_in_blocks::<LEAF>(left_0 ^ left_1, right_0 ^ right_1, alpha)
}

/// The corrections of the left and right leaf block.
///
/// Computed from the XOR of the two parties' left blocks and the XOR of their right blocks: the
/// shares of every leaf then XOR to 0, except for leaf α, given by bit 7 and the seven bits below
/// it.
#[inline]
#[must_use]
pub const fn leaf_corrections(left_xor: u128, right_xor: u128, alpha: u64) -> [u128; 2] {
    corrections_in_blocks::<CMP_TABLE_BITS>(left_xor, right_xor, alpha)
}

#[inline]
const fn corrections_in_blocks<const LEAF: u32>(left_xor: u128, right_xor: u128, alpha: u64) -> [u128; 2] {
    let side = spread((alpha >> LEAF) as u32);
    let unit = 1u128 << place::<LEAF>(alpha);
    [left_xor ^ (unit & !side), right_xor ^ (unit & side)]
}

/// Both parties' truth tables of 1\[α <= y\] for `bits` <= 7.
///
/// The first table consists of the bits of `root`.
#[inline]
#[must_use]
pub const fn table_shares(root: Label, bits: u32, alpha: u64) -> [u128; 2] {
    let used = prefix((1 << (bits & 7)) - 1);
    let first = root.bits() & used;
    [first, first ^ cmp_table(alpha, bits)]
}

/// Generates the sections shared by both parties of a comparison key.
///
/// Calls `correction(level, word)` for each level and returns the two leaf words. For truth tables
/// (`bits` <= 7) the returned words are the parties' tables instead.
///
/// `alpha` is read modulo 2^`bits`. Roots must be uniform and independent, for each key anew. A
/// tree ignores their two lowest bits; a truth table takes its randomness from all bits of the root
/// of party 0.
#[inline]
pub fn cmp_gen<E: Encrypt>(
    keys: &E,
    bits: u32,
    alpha: u64,
    roots: [Label; 2],
    correction: impl FnMut(u32, u128),
) -> [u128; 2] {
    generate::<CMP_TABLE_BITS, E>(keys, bits, alpha, roots, correction)
}

#[inline]
fn generate<const LEAF: u32, E: Encrypt>(
    keys: &E,
    bits: u32,
    alpha: u64,
    roots: [Label; 2],
    mut correction: impl FnMut(u32, u128),
) -> [u128; 2] {
    if bits <= LEAF {
        return table_shares(roots[0], bits, alpha);
    }
    let mut pair = Pair::roots(roots);
    for level in 0..levels::<LEAF>(bits) {
        let word = pair.descend(keys, (alpha >> (bits - 1 - level)) as u32 & 1);
        correction(level, word);
    }
    last_leaves::<LEAF, E>(&pair, keys, alpha)
}
