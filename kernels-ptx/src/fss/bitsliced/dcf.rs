//! Comparison keys with payload at points.

use core_types::{
    Label, MAX_VALUE_BLOCKS, Ring,
    bitsliced::bit_of,
    dcf::{corrected_value, share_of},
    params::fss::DcfWindowParams,
};

use super::{
    cipher::{Plane, RoundKeys},
    nodes::Nodes,
    pairs::Pairs,
    points::Points,
    seat::Seat,
};
use crate::{
    dev::{idx, memory::smem::Region, sync::block_sync, unroll::unroll},
    fss::row,
};

/// Round keys of the children's cipher, then of the value blocks' ciphers.
const CIPHERS: Region<u128> = RoundKeys::region(1 + MAX_VALUE_BLOCKS as u32);

/// Shared memory of a block.
const DCF_BYTES: u32 = CIPHERS.end().bytes();

/// Sums of the words of value blocks that a lane holds, one for each of its four keys.
struct Sums([[u64; 4]; MAX_VALUE_BLOCKS]);

impl Sums {
    /// Adds a word of each key to the sums of value block `block`.
    ///
    /// No address depends on the block.
    #[inline(always)]
    fn add(&mut self, block: u32, words: [u64; 4]) {
        let mut at = 0;
        for sums in &mut self.0 {
            let mask = u64::from(at == block).wrapping_neg();
            unroll!(KEY in 0..4 => {
                sums[KEY as usize] = sums[KEY as usize].wrapping_add(words[KEY as usize] & mask);
            });
            at += 1;
        }
    }
}

/// Evaluates keys at points, walking to each point from the root; a warp takes 64 keys.
///
/// Value blocks become words again, four keys to a lane, to be added.
///
/// The grid's first dimension runs over tiles of 256 keys, the second over points; both may be
/// smaller than the range.
///
/// # Safety
/// As the crate; sections, masked inputs, offsets and shares have the lengths of
/// `FssOps::dcf_eval_window`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_dcf_eval_window_bitsliced(
    params: DcfWindowParams,
    roots: *const Label,
    corrections: *const u128,
    values: *const u64,
    last: *const u64,
    x_hat: *const u64,
    offsets: *const u64,
    shares: *mut u64,
) {
    const { assert!(MAX_VALUE_BLOCKS == 4) }
    let Some(width) = Ring::new(params.width) else { return };
    let ciphers = RoundKeys::at(CIPHERS);
    let [first, second, third, fourth] = &params.keys.value;
    ciphers.write(0, &params.keys.child);
    ciphers.write(1, first);
    ciphers.write(2, second);
    ciphers.write(3, third);
    ciphers.write(4, fourth);
    block_sync();
    let (seat, row, count) = (Seat::this(), row(params.count), u64::from(params.count));
    let blocks = params.words.div_ceil(2);
    let mut point = u64::from(idx::bid_y());
    while point < u64::from(params.points) {
        let offset = *offsets.add(point as usize);
        for pair in Pairs::of_warp(params.count) {
            let mut sums = Sums([[0; 4]; MAX_VALUE_BLOCKS]);
            let mut nodes = Nodes::roots(seat, seat.planes(seat.words(roots.cast(), pair)), params.party);
            let y = pair.words(x_hat).map(|x| x.wrapping_sub(offset));
            let mut points = Points::below(y, params.bits, 0);
            let mut values = values;
            let mut level = 0;
            while level <= params.bits {
                // after the levels comes the conversion of the last nodes, which have no children
                let ends = level == params.bits;
                let c = if ends { Plane::ZEROS } else { points.next(seat) };
                let here = if ends { last } else { values };
                let correction = corrections.add((u64::from(level) * row) as usize);
                values = values.add((u64::from(params.words) * row) as usize);
                level += 1;
                let input = nodes.input(seat, c, Plane::spread(u32::from(ends)));
                let control = nodes.control();
                let mut cipher = if ends { 1 } else { 0 };
                while cipher <= blocks {
                    let hashed = ciphers.hash(cipher, input);
                    if cipher == 0 {
                        nodes = nodes.corrected(seat, hashed, c, seat.planes(seat.words(correction, pair)));
                    } else {
                        let [e0, e1, e2, e3] = seat.joined(hashed);
                        let word = 2 * (cipher - 1) + seat.word();
                        let at = here.add((u64::from(word) * row) as usize);
                        let corrected = |i: u32, expanded: u64| {
                            let owner = seat.owner(i);
                            let correction =
                                if word < params.words { *at.add(seat.readable(pair, owner) as usize) } else { 0 };
                            corrected_value(control.0 >> bit_of(owner), expanded, correction)
                        };
                        let words = [corrected(0, e0), corrected(1, e1), corrected(2, e2), corrected(3, e3)];
                        sums.add(cipher - 1, words);
                    }
                    cipher += 1;
                }
            }
            let shares = shares.add((point * u64::from(params.words) * count) as usize);
            let write = |block: u32, i: u32, sum: u64| {
                let (word, owner) = (2 * block + seat.word(), seat.owner(i));
                if word < params.words && seat.has(pair, owner) {
                    let at = u64::from(word) * count + seat.key(pair, owner);
                    *shares.add(at as usize) = share_of(params.party, sum, width);
                }
            };
            unroll!(BLOCK in 0..4 => {
                let [s0, s1, s2, s3] = sums.0[BLOCK as usize];
                write(BLOCK, 0, s0);
                write(BLOCK, 1, s1);
                write(BLOCK, 2, s2);
                write(BLOCK, 3, s3);
            });
        }
        point += u64::from(idx::gdim_y());
    }
}

kernel_table! {
    fss_dcf_eval_window_bitsliced: block [super::THREADS, 1, 1], min_blocks 3, shared Bytes(DCF_BYTES), barriers 1;
}
