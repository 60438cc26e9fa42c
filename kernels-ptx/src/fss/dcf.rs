//! Comparison keys with payload.
//!
//! A node expands to one child and up to four value blocks, each under its own AES key. The loop
//! over these ciphers is a loop in the text too, so their round keys lie in shared memory after the
//! table.

use core::ops::Range;

use core_types::{
    AesKey, Label, MAX_VALUE_BLOCKS, PrgKeys, Ring, block_words,
    dcf::{LAST, dcf_eval_window, value_correction},
    hash,
    params::fss::{DcfGenParams, DcfWindowParams},
    tree::{Node, correction_word},
};

use super::{
    aes::{SharedAes, SharedKeys, Table},
    part,
    quad::{Exchange, KEYS, Lane, QUAD},
    row,
};
use crate::dev::{idx, memory::smem::Region};

/// Round keys of the children's cipher, then of the value blocks' ciphers.
const CIPHERS: Region<AesKey> = SharedKeys::region(1 + MAX_VALUE_BLOCKS as u32);

/// Shared memory of a block.
pub(super) const DCF_BYTES: u32 = CIPHERS.end().bytes();

/// The ciphers of a bundle.
#[derive(Clone, Copy)]
struct Ciphers {
    table: Table,
    keys: SharedKeys,
}

impl Ciphers {
    /// Fills shared memory and waits for all threads of the block.
    ///
    /// # Safety
    /// All threads of a one-dimensional block call, with [`DCF_BYTES`] of dynamic shared memory.
    #[inline(always)]
    unsafe fn fill(bundle: &PrgKeys) -> Self {
        let keys = SharedKeys::at(CIPHERS);
        if idx::tid_x() == 0 {
            let [first, second, third, fourth] = &bundle.value;
            keys.write(0, &bundle.child);
            keys.write(1, first);
            keys.write(2, second);
            keys.write(3, third);
            keys.write(4, fourth);
        }
        Self { table: Table::fill(), keys }
    }

    /// The cipher of the children (0) or of value block `index - 1`.
    #[inline(always)]
    fn cipher(self, index: u32) -> SharedAes {
        SharedAes { table: self.table, keys: self.keys, index }
    }
}

/// Sections of one party's batch, at one key.
struct Key {
    root: *const Label,
    corrections: *const u128,
    values: *const u64,
    last: *const u64,
    /// Keys to a row.
    row: u64,
}

impl Key {
    /// Calls `share(point, word, share)` for each point and word, as [`dcf_eval_window`] does.
    ///
    /// # Safety
    /// The pointers lead to a key of a batch of these parameters.
    #[inline(always)]
    unsafe fn shares(
        &self,
        ciphers: Ciphers,
        of: (u32, u32, u32),
        (words, width): (u32, Ring),
        points: Range<u32>,
        point: impl Fn(u32) -> u64,
        share: impl FnMut(u32, u32, u64),
    ) {
        let (bits, ..) = of;
        dcf_eval_window(
            |cipher, input| hash(&ciphers.cipher(cipher), input),
            of,
            (words, width),
            *self.root,
            |level| *self.corrections.add((u64::from(level) * self.row) as usize),
            |level, block| {
                let (section, rows) = if level == bits { (self.last, 0) } else { (self.values, level * words) };
                let at = section.add((u64::from(rows + 2 * block) * self.row) as usize);
                [*at, if 2 * block + 1 < words { *at.add(self.row as usize) } else { 0 }]
            },
            points,
            point,
            share,
        );
    }
}

/// Evaluates keys at clustered points.
///
/// A thread takes one key and its points one after the other.
///
/// The grid's first dimension runs over tiles of 256 keys and may be smaller than the range; the
/// second cuts the points into equal parts.
///
/// # Safety
/// As the crate; sections, masked inputs, offsets and shares have the lengths of
/// `FssOps::dcf_eval_window`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_dcf_eval_window(
    params: DcfWindowParams,
    roots: *const Label,
    corrections: *const u128,
    values: *const u64,
    last: *const u64,
    x_hat: *const u64,
    offsets: *const u64,
    shares: *mut u64,
) {
    let Some(width) = Ring::new(params.width) else { return };
    let ciphers = Ciphers::fill(&params.keys);
    let count = u64::from(params.count);
    for e in idx::grid_stride(count) {
        let at = e as usize;
        let key = Key {
            root: roots.add(at),
            corrections: corrections.add(at),
            values: values.add(at),
            last: last.add(at),
            row: row(params.count),
        };
        let x = *x_hat.add(at);
        key.shares(
            ciphers,
            (params.bits, params.party, params.window),
            (params.words, width),
            part(params.points),
            |point| x.wrapping_sub(*offsets.add(point as usize)),
            |point, word, share| {
                let row = u64::from(point) * u64::from(params.words) + u64::from(word);
                *shares.add((row * count + e) as usize) = share;
            },
        );
    }
}

/// Makes keys: four threads take one key, a block the 32 keys to which rows are padded.
///
/// Each of the four expands one node in one direction. The sum of the values on the path is kept by
/// the lane whose index is the value block's. The grid's first dimension runs over tiles of 32 keys
/// and may be smaller than the range.
///
/// # Safety
/// As the crate; sections have the lengths of `FssOps::dcf_gen`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_dcf_gen(
    params: DcfGenParams,
    alphas: *const u64,
    betas: *const u64,
    roots: *const Label,
    corrections: *mut u128,
    values: *mut u64,
    last: *mut u64,
) {
    const { assert!(MAX_VALUE_BLOCKS as u32 <= QUAD) }
    let Some(width) = Ring::new(params.width) else { return };
    let ciphers = Ciphers::fill(&params.keys);
    let lane = Lane::this();
    let (count, row) = (u64::from(params.count), row(params.count));
    let blocks = params.words.div_ceil(2);
    let mut tile = idx::bid_x();
    while tile < params.count.div_ceil(KEYS) {
        let e = u64::from(tile) * u64::from(KEYS) + u64::from(lane.key);
        let exists = e < count;
        let alpha = if exists { *alphas.add(e as usize) } else { 0 };
        let mut node = Node::root(*roots.add((u64::from(lane.party) * row + e) as usize), lane.party);
        let mut held = [0u64; 2];
        let mut values = values;
        let mut level = 0;
        while level <= params.bits {
            // after the levels comes the conversion of the last node, which has no child
            let ends = level == params.bits;
            let low = if ends { LAST } else { lane.direction };
            let a = if ends { 0 } else { (alpha >> (params.bits - 1 - level)) as u32 & 1 };
            let here = if ends { last } else { values };
            let correction = corrections.add((u64::from(level) * row + e) as usize);
            values = values.add((u64::from(params.words) * row) as usize);
            level += 1;
            // the parties' control bits differ on the path of α
            let control = node.control() ^ lane.party ^ 1;
            let input = node.input(low);
            let mut next = if ends { 1 } else { 0 };
            while next <= blocks {
                // counted before lanes part, so that they agree on it
                let cipher = next;
                next += 1;
                let hashed = hash(&ciphers.cipher(cipher), input);
                if cipher == 0 {
                    let xors = lane.sides(hashed ^ hashed.of_other_party());
                    let word = correction_word(xors.left, xors.right, a);
                    node = node.corrected(lane.sides(hashed).at(a), a, word);
                    if lane.index == 0 {
                        *correction = word;
                    }
                } else {
                    let own = block_words(hashed);
                    let other = own.of_other_party();
                    let [first, second] = if lane.party == 0 { [own, other] } else { [other, own] };
                    let differences = lane.sides([second[0].wrapping_sub(first[0]), second[1].wrapping_sub(first[1])]);
                    let (lost, kept) = (differences.at(a ^ 1), differences.at(a));
                    let mut correct = |at: usize| {
                        let word = 2 * lane.index + at as u32;
                        if lane.index == cipher - 1 && word < params.words {
                            // β is read whatever α is, and counts where α goes right
                            let beta = if exists { *betas.add((u64::from(word) * count + e) as usize) } else { 0 };
                            let gained = beta & u64::from(a).wrapping_neg();
                            let (value, holds) = value_correction(lost[at], kept[at], gained, held[at], control);
                            held[at] = holds;
                            *here.add((u64::from(word) * row + e) as usize) = width.reduce(value);
                        }
                    };
                    correct(0);
                    correct(1);
                }
            }
        }
        tile += idx::gdim_x();
    }
}

kernel_table! {
    fss_dcf_eval_window: block [super::cmp::EVALUATED, 1, 1], min_blocks 2, shared Bytes(DCF_BYTES), barriers 1;
    fss_dcf_gen: block [super::quad::THREADS, 1, 1], min_blocks 5, shared Bytes(DCF_BYTES), barriers 1;
}
