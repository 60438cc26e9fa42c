//! Comparison keys at points.

use core::ops::Range;

use core_types::{
    Label, Window,
    bitsliced::{PLACES, prefix},
    cmp::cmp_levels,
    params::fss::CmpWindowParams,
};

use super::{
    ONE_CIPHER,
    cipher::{Plane, RoundKeys},
    nodes::Nodes,
    pairs::{Pair, Pairs},
    points::Points,
    seat::Seat,
};
use crate::{
    dev::{
        idx,
        sync::block_sync,
        warp::{FULL, shfl_xor},
    },
    fss::{GROUP, part, row},
};

/// One party's batch, and where its shares go.
#[derive(Clone, Copy)]
struct Batch {
    roots: *const u128,
    corrections: *const u128,
    leaves: *const u128,
    /// Keys to a row.
    row: u64,
    bits: u32,
    party: u32,
    shares: *mut u32,
}

/// The walks of a group, as `core_types::cmp::CmpWalk` is one.
#[derive(Clone, Copy)]
struct Walks {
    nodes: Nodes,
    parity: Plane,
    last: Plane,
}

impl Walks {
    /// These walks, and `other` where `which` is set.
    #[inline(always)]
    fn or(self, other: Self, which: Plane) -> Self {
        Self {
            nodes: self.nodes.or(other.nodes, which),
            parity: self.parity.or(other.parity, which),
            last: self.last.or(other.last, which),
        }
    }

    /// The shares at the points whose last seven bits come next.
    ///
    /// They are in the blocks of leaves landed on.
    #[inline(always)]
    fn shares(self, seat: Seat, points: &mut Points) -> Plane {
        let [p6, p5, p4, p3, p2, p1, p0] = [0; 7].map(|_| points.next(seat));
        // a left block adds its leaves up to y; a right block was counted whole and removes those after y
        let [b0, b1, b2, b3, b4, b5, b6, b7] = self.nodes.landed();
        let [n0, n1, n2, n3, n4, n5, n6, n7] = prefix([p0, p1, p2, p3, p4, p5, p6], seat.number());
        let counted = |leaf: Plane, reached: Plane| leaf & (reached ^ self.last);
        let low = counted(b0, n0) ^ counted(b1, n1) ^ counted(b2, n2) ^ counted(b3, n3);
        let high = counted(b4, n4) ^ counted(b5, n5) ^ counted(b6, n6) ^ counted(b7, n7);
        self.parity ^ Plane(over_places((low ^ high).0))
    }
}

impl Batch {
    /// Evaluates the keys of `pair` at `points`, which lie in a window of 2^`width`.
    ///
    /// `y(point)` returns the points of the two keys whose bits in planes are the lane's. The
    /// schedule is the one of `core_types::cmp::cmp_eval_window`.
    ///
    /// # Safety
    /// All lanes of a warp call; the pointers lead to the sections and shares of a batch with this
    /// pair and these points.
    #[inline(always)]
    unsafe fn evaluate(
        &self,
        (cipher, seat): (RoundKeys, Seat),
        pair: Pair,
        width: u32,
        points: Range<u32>,
        y: impl Fn(u32) -> [u64; 2],
    ) {
        let (window, levels) = (Window::new(self.bits, width), cmp_levels(self.bits));
        let depth = window.depth();
        let nodes = Nodes::roots(seat, seat.planes(seat.words(self.roots, pair)), self.party);
        // separate zeros, not a copy of the parity's: otherwise public directions would look secret in the text
        let last = Plane(self.bits >> 7);
        let start = Walks { nodes, parity: Plane::ZEROS, last };
        let (mut here, mut before) = (start, start);
        // walks to the two blocks come first, then those to the points, so that the text holds the rounds of AES once
        let mut blocks = if depth == 0 { 2 } else { 0 };
        let mut at = points.start;
        while at < points.end {
            let to_block = blocks < 2;
            let ys = if to_block { y(0).map(|first| window.member(first, blocks)) } else { y(at) };
            let mut walks = start;
            if depth > 0 {
                let ([first_a, first_b], [a, b]) = (y(0), ys);
                let lies_before = seat.voted([window.block(first_a, a) == 1, window.block(first_b, b) == 1]);
                walks = here.or(before, lies_before).or(start, Plane::spread(u32::from(to_block)));
            }
            let (above, end) = if to_block { (0, depth) } else { (depth, levels + 1) };
            let mut points = Points::below(ys, self.bits, above);
            let mut corrections = self.corrections.add((u64::from(above) * self.row) as usize);
            // the step to the leaves comes after the levels
            let (mut steps, to_leaves) = (end - above, end.saturating_sub(levels));
            while steps > 0 {
                let descends = steps > to_leaves;
                let c = points.next(seat);
                // words come while the hashes are computed
                let words = if descends {
                    seat.words(corrections, pair)
                } else {
                    seat.words_of_side(self.leaves, self.row, c, pair)
                };
                walks.parity = walks.parity ^ (walks.nodes.control() & (c ^ walks.last));
                walks.last = c;
                let hashed = cipher.hash(0, walks.nodes.input(seat, c, Plane::ZEROS));
                let correction = seat.planes(words);
                walks.nodes = if descends {
                    walks.nodes.corrected(seat, hashed, c, correction)
                } else {
                    walks.nodes.land(hashed, correction)
                };
                corrections = corrections.add(self.row as usize);
                steps -= 1;
            }
            if to_block {
                here = here.or(walks, Plane::spread(blocks ^ 1));
                before = before.or(walks, Plane::spread(blocks));
                blocks += 1;
            } else {
                self.write(seat, pair, at, walks.shares(seat, &mut points));
                at += 1;
            }
        }
    }

    /// Writes the shares at a point.
    ///
    /// # Safety
    /// As [`evaluate`](Self::evaluate).
    #[inline(always)]
    unsafe fn write(&self, seat: Seat, pair: Pair, point: u32, shares: Plane) {
        let [first, second] = seat.ordered(shares, pair);
        let word = self.shares.add(((u64::from(point) * self.row + pair.first) / u64::from(GROUP)) as usize);
        if idx::lane() == 0 {
            *word = first;
        }
        if idx::lane() == PLACES && pair.has(1, 0) {
            *word.add(1) = second;
        }
    }
}

/// Evaluates keys of more than 7 bits at clustered points.
///
/// A warp takes 64 keys and their points one after the other.
///
/// The grid's first dimension runs over tiles of 256 keys and may be smaller than the range; the
/// second cuts the points into equal parts.
///
/// # Safety
/// As the crate; sections, masked inputs, offsets and shares have the lengths of
/// `FssOps::cmp_eval_window`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_eval_window_bitsliced(
    params: CmpWindowParams,
    roots: *const Label,
    corrections: *const u128,
    leaves: *const u128,
    x_hat: *const u64,
    offsets: *const u64,
    shares: *mut u32,
) {
    let cipher = RoundKeys::at(ONE_CIPHER);
    cipher.write(0, &params.key);
    block_sync();
    let (bits, party, row) = (params.bits, params.party, row(params.count));
    let batch = Batch { roots: roots.cast(), corrections, leaves, row, bits, party, shares };
    let seat = Seat::this();
    for pair in Pairs::of_warp(params.count) {
        let x = pair.words(x_hat);
        let y = |point: u32| {
            // SAFETY: there is an offset for each point.
            let offset = unsafe { *offsets.add(point as usize) };
            x.map(|x| x.wrapping_sub(offset))
        };
        batch.evaluate((cipher, seat), pair, params.window, part(params.points), y);
    }
}

/// The exclusive disjunction over the places of a group, in each of them.
#[inline(always)]
fn over_places(mut word: u32) -> u32 {
    let mut distance = PLACES / 2;
    while distance > 0 {
        word ^= shfl_xor(FULL, word, distance);
        distance /= 2;
    }
    word
}

kernel_table! {
    fss_cmp_eval_window_bitsliced:
        block [super::THREADS, 1, 1], min_blocks 4, shared Bytes(super::CMP_BYTES), barriers 1;
}
