//! Where a lane stands in its warp, and how words in memory become planes and back.

use core::arch::asm;

use core_types::bitsliced::{PLACES, bit_of, each, transposed};

use super::{
    cipher::{Plane, Planes},
    pairs::Pair,
};
use crate::{
    dev::{
        idx,
        warp::{FULL, ballot, shfl_xor},
    },
    fss::{GROUP, aes::columns},
};

/// A lane: the place of one byte, for one of the warp's two groups of keys.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    /// 0 for the warp's first group, 1 for the second.
    half: u32,
    /// The place.
    place: u32,
    /// All ones in place 0, which holds the direction and the control bit of a label.
    pub(super) head: Plane,
}

/// Eight values by their index.
#[inline(always)]
fn eight<T>(of: impl Fn(u32) -> T) -> [T; 8] {
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
}

impl Seat {
    #[inline(always)]
    pub(super) fn this() -> Self {
        let lane = idx::lane();
        let place = lane % PLACES;
        Self { half: lane / PLACES, place, head: Plane(if place == 0 { u32::MAX } else { 0 }) }
    }

    /// The planes of the place's number.
    #[inline(always)]
    pub(super) fn number(self) -> [Plane; 4] {
        [0, 1, 2, 3].map(|bit| Plane::spread(self.place >> bit))
    }

    /// The lane's row of its column.
    ///
    /// It is also the lowest two bits of the keys whose words it reads.
    #[inline(always)]
    fn row(self) -> u32 {
        self.place & 3
    }

    /// The lane's column: the word that it reads of each key.
    #[inline(always)]
    fn column(self) -> u32 {
        self.place >> 2
    }

    /// The first key of the lane's group in `pair`.
    ///
    /// If the pair has one group only, it is the first key of the first group.
    #[inline(always)]
    fn first(self, pair: Pair) -> u64 {
        pair.key(if pair.has(self.half, 0) { self.half } else { 0 }, 0)
    }

    /// This lane's words of the group's blocks of `section`.
    ///
    /// They are word `column` of the keys 4 j + `row`.
    ///
    /// # Safety
    /// `section` leads to a row of whole groups.
    #[inline(always)]
    pub(super) unsafe fn words(self, section: *const u128, pair: Pair) -> [u32; 8] {
        let own = section.add((self.first(pair) + u64::from(self.row())) as usize).cast::<u32>();
        let own = own.add(self.column() as usize);
        eight(|j| *own.add((16 * j) as usize))
    }

    /// This lane's words of the blocks that `of` returns for the keys of its group.
    ///
    /// They are those that [`words`](Self::words) reads. `of` takes keys past the last one too.
    #[inline(always)]
    pub(super) fn words_of_each(self, pair: Pair, of: impl Fn(u64) -> u128) -> [u32; 8] {
        let column = self.column();
        eight(|j| {
            let [a, b, c, d] = columns(of(self.key(pair, 4 * j + self.row())));
            let [even, odd] = if column & 2 == 0 { [a, b] } else { [c, d] };
            if column & 1 == 0 { even } else { odd }
        })
    }

    /// As [`words`](Self::words), for one of two rows that `side` names for each key.
    ///
    /// The rows are `row` blocks apart.
    ///
    /// # Safety
    /// As [`words`](Self::words), for both rows.
    #[inline(always)]
    pub(super) unsafe fn words_of_side(self, section: *const u128, row: u64, side: Plane, pair: Pair) -> [u32; 8] {
        let own = section.add((self.first(pair) + u64::from(self.row())) as usize).cast::<u32>();
        let own = own.add(self.column() as usize);
        let sides = side.0 >> bit_of(self.row());
        eight(|j| *own.add(16 * j as usize + 4 * (u64::from(sides >> j & 1) * row) as usize))
    }

    /// The bytes of the lane's place, from words as [`words`](Self::words) reads them, or back.
    ///
    /// Lane b of a column gives byte a of its word j and gets byte b of lane a's.
    #[inline(always)]
    fn exchanged(self, words: [u32; 8]) -> [u32; 8] {
        let row = self.row();
        let near = if row & 1 == 0 { 0x6240 } else { 0x3715 };
        let far = if row & 2 == 0 { 0x5410 } else { 0x3276 };
        each(words, |word| {
            let pair = permuted(word, shfl_xor(FULL, word, 1), near);
            permuted(pair, shfl_xor(FULL, pair, 2), far)
        })
    }

    /// The planes of what [`words`](Self::words) read.
    #[inline(always)]
    pub(super) fn planes(self, words: [u32; 8]) -> Planes {
        each(transposed(self.exchanged(words)), Plane)
    }

    /// The words of planes: word `column` of the keys 4 j + `row`.
    #[inline(always)]
    pub(super) fn words_of(self, planes: Planes) -> [u32; 8] {
        self.exchanged(transposed(each(planes, |plane| plane.0)))
    }

    /// Writes [`words_of`](Self::words_of) a block for each key of the pair that exists.
    ///
    /// # Safety
    /// `blocks` starts with the block of the first group's first key, and holds a block for each
    /// key of the pair.
    #[inline(always)]
    pub(super) unsafe fn write(self, blocks: *mut u128, pair: Pair, planes: Planes) {
        let words = self.words_of(planes);
        let own = blocks.add((self.half * GROUP + self.row()) as usize).cast::<u32>().add(self.column() as usize);
        let mut j = 0;
        for word in words {
            if pair.has(self.half, 4 * j + self.row()) {
                *own.add((16 * j) as usize) = word;
            }
            j += 1;
        }
    }

    /// Key of 64-bit value `i` of [`joined`](Self::joined), counted from the group's first.
    #[inline(always)]
    pub(super) fn owner(self, i: u32) -> u32 {
        8 * i + 4 * (self.column() & 1) + self.row()
    }

    /// The half of a block that the lane's 64-bit values are, 0 or 1.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.column() >> 1
    }

    /// Whether the lane's group has a key `owner`.
    #[inline(always)]
    pub(super) fn has(self, pair: Pair, owner: u32) -> bool {
        pair.has(self.half, owner)
    }

    /// Key `owner` of the lane's group, or of the first group where the pair has one only.
    #[inline(always)]
    pub(super) fn readable(self, pair: Pair, owner: u32) -> u64 {
        self.first(pair) + u64::from(owner)
    }

    /// Key `owner` of the lane's group.
    #[inline(always)]
    pub(super) fn key(self, pair: Pair, owner: u32) -> u64 {
        pair.key(self.half, owner)
    }

    /// Half [`word`](Self::word) of the blocks of the keys [`owner`](Self::owner)`(0)` to (3).
    ///
    /// Lanes of neighbouring columns exchange their words of every other key.
    #[inline(always)]
    pub(super) fn joined(self, planes: Planes) -> [u64; 4] {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = self.words_of(planes);
        let upper = self.column() & 1 == 1;
        let join = |even: u32, odd: u32| {
            let (own, given) = if upper { (odd, even) } else { (even, odd) };
            let got = shfl_xor(FULL, given, 4);
            let (low, high) = if upper { (got, own) } else { (own, got) };
            u64::from(high) << 32 | u64::from(low)
        };
        [join(w0, w1), join(w2, w3), join(w4, w5), join(w6, w7)]
    }

    /// The plane of the lane's group, from a bit for each group.
    ///
    /// The bit is for the key whose bit in planes is the lane's.
    #[inline(always)]
    pub(super) fn voted(self, [first, second]: [bool; 2]) -> Plane {
        let (first, second) = (ballot(FULL, first), ballot(FULL, second));
        Plane(if self.half == 0 { first } else { second })
    }

    /// Words of bits in the order of keys, from a plane that all lanes of a half hold.
    ///
    /// There is one word for each group, with zeros for keys that do not exist.
    #[inline(always)]
    pub(super) fn ordered(self, plane: Plane, pair: Pair) -> [u32; 2] {
        let other = shfl_xor(FULL, plane.0, PLACES);
        let planes = if self.half == 0 { [plane.0, other] } else { [other, plane.0] };
        let lane = idx::lane();
        let bit = |half: usize| planes[half] >> bit_of(lane) & 1 == 1 && pair.has(half as u32, lane);
        [ballot(FULL, bit(0)), ballot(FULL, bit(1))]
    }
}

/// The bytes of `low` (0 to 3) and `high` (4 to 7) that the nibbles of `select` name.
///
/// The lowest nibble comes first.
#[inline(always)]
fn permuted(low: u32, high: u32, select: u32) -> u32 {
    let word;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("prmt.b32 {}, {}, {}, {};", out(reg32) word, in(reg32) low, in(reg32) high, in(reg32) select,
            options(pure, nomem, nostack, preserves_flags));
    }
    word
}
