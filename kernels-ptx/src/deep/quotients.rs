//! Quotients: one read of the numerators and one write.
//!
//! A thread has four positions, whose denominators it inverts at once for each point. The point of
//! a position is the sum of the generator's multiples for the bits of its index; the terms of the
//! upper bits are equal in a block, and a warp adds them up.
//!
//! # Safety
//! `batches` has `count` elements, `lines` a pair for each; `points` has a pair for each point
//! index in `batches`. `numerators` has four planes of the batch's own size for each batch, and
//! `quotients` four of `2^log_size` words. Grid: `2^log_size / 1024`; block: 256 threads.

use core_types::{
    air::lifted,
    circle::{CirclePoint, CirclePointIndex},
    field::{CM31, M31, QM31},
    params::deep::{DeepBatch, DeepQuotientsParams},
};

use super::fold::store;
use crate::dev::{
    idx::{bid_x, tid_x},
    memory::smem::{Layout, Region, SharedSlice},
    sync::block_sync,
    unroll::unroll,
    warp::{self, Lanes},
};

const THREADS: u32 = 256;

/// Log of the positions of a block.
const LOG_BLOCK: u32 = 10;

/// The point added by each bit of a position except the lowest.
const STEPS: Region<CirclePoint<M31>> = Layout::new().array(32);
/// The point of the block's first position.
const ORIGIN: Region<CirclePoint<M31>> = STEPS.end().array(1);

/// Shared memory of a block.
const SHARED_BYTES: u32 = ORIGIN.end().bytes();

/// Writes the sum of the quotients at each position.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn deep_quotients(
    batches: *const DeepBatch,
    points: *const QM31,
    lines: *const QM31,
    numerators: *const M31,
    quotients: *mut M31,
    params: DeepQuotientsParams,
    count: u32,
) {
    let DeepQuotientsParams { log_size, log_domain } = params;
    let (steps, origin) = (STEPS.slice(), ORIGIN.slice());
    let start = bid_x() << LOG_BLOCK;
    let mut own = CirclePoint::NEUTRAL;
    if tid_x() < 32 {
        let step = step_of_bit(tid_x());
        steps.set(tid_x(), step);
        // Bit 0 tells a point from its conjugate; its lane contributes the first point of the domain.
        if tid_x() == 0 {
            own = CirclePointIndex::subgroup_generator(log_domain + 1).to_point();
        } else if start >> tid_x() & 1 == 1 {
            own = step;
        }
    }
    let sum = warp::reduce(own, |a, b| a + b);
    if tid_x() == 0 {
        origin.set(0, sum);
    }
    block_sync();

    let len = 1u32 << log_size;
    let mut at = [CirclePoint::NEUTRAL; 4];
    let mut low = origin.get(0);
    unroll!(BIT in 0..8 => {
        if BIT > 0 {
            low = low + selected(steps, tid_x(), BIT);
        }
    });
    unroll!(J in 0..4 => {
        let position = J * THREADS;
        let point = low + selected(steps, position, 8) + selected(steps, position, 9);
        at[J as usize] = if tid_x() & 1 == 1 { point.conjugate() } else { point };
    });

    let mut sums = [QM31::ZERO; 4];
    let mut inverses = [CM31::ZERO; 4];
    let (mut held, mut first) = (u32::MAX, 0usize);
    let mut batch = 0;
    while batch < count {
        let DeepBatch { point, log_size: log_len, .. } = *batches.add(batch as usize);
        if point != held {
            held = point;
            inverses = inverse_denominators(*points.add(2 * point as usize), *points.add(2 * point as usize + 1), &at);
        }
        let (slope, constant) = (*lines.add(2 * batch as usize), *lines.add(2 * batch as usize + 1));
        unroll!(J in 0..4 => {
            let position = start + J * THREADS + tid_x();
            if position < len {
                let plane = numerators.add(first + lifted(position, log_size, log_len) as usize);
                let numerator = QM31::from_coordinates([
                    *plane,
                    *plane.add(1 << log_len),
                    *plane.add(2 << log_len),
                    *plane.add(3 << log_len),
                ]);
                let rest = numerator - (slope.scale(at[J as usize].y) + constant);
                let inverse = inverses[J as usize];
                sums[J as usize] += QM31::new(rest.a * inverse, rest.b * inverse);
            }
        });
        first += 4 << log_len;
        batch += 1;
    }
    unroll!(J in 0..4 => {
        let position = start + J * THREADS + tid_x();
        if position < len {
            store(quotients, log_size, position as usize, sums[J as usize]);
        }
    });
}

/// The point that bit `bit` of a position, 1 or higher, adds to the position's point.
///
/// The bits of a pair stand in reverse for four units, of 2^(30 - log_domain) steps of the
/// generator, times 2^(log_domain - 1 - bit).
#[inline(always)]
fn step_of_bit(bit: u32) -> CirclePoint<M31> {
    let mut point = CirclePoint::GENERATOR;
    let mut doublings = 31 - bit;
    while doublings > 0 {
        point = point.double();
        doublings -= 1;
    }
    point
}

/// The step of a bit that is set, or the neutral point.
#[inline(always)]
unsafe fn selected(steps: SharedSlice<CirclePoint<M31>>, position: u32, bit: u32) -> CirclePoint<M31> {
    if position >> bit & 1 == 1 { steps.get(bit) } else { CirclePoint::NEUTRAL }
}

/// The inverses of the denominators of a point at four positions; zeros for zeros.
#[inline(always)]
fn inverse_denominators(x: QM31, y: QM31, at: &[CirclePoint<M31>; 4]) -> [CM31; 4] {
    let mut denominators = [CM31::ZERO; 4];
    let mut norms = [M31::ONE; 4];
    let mut below = [M31::ONE; 4];
    let mut product = M31::ONE;
    unroll!(J in 0..4 => {
        let CirclePoint { x: px, y: py } = at[J as usize];
        let denominator = (x.a - CM31::from(px)) * y.b - (y.a - CM31::from(py)) * x.b;
        let norm = denominator.a * denominator.a + denominator.b * denominator.b;
        denominators[J as usize] = denominator;
        // A zero counts as one, so that the product stays invertible; the conjugate of a zero is zero.
        norms[J as usize] = if norm.is_zero() { M31::ONE } else { norm };
        below[J as usize] = product;
        product *= norms[J as usize];
    });
    let mut above = product.inverse().unwrap_or(M31::ZERO);
    unroll!(UP in 0..4 => {
        const J: usize = 3 - UP as usize;
        denominators[J] = denominators[J].conjugate().scale(above * below[J]);
        above *= norms[J];
    });
    denominators
}

impl Lanes for CirclePoint<M31> {
    #[inline(always)]
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self {
        let exchanged = |x: M31| M31::from_u32(word(x.word()));
        Self { x: exchanged(self.x), y: exchanged(self.y) }
    }
}

kernel_table! {
    deep_quotients: block [256, 1, 1], min_blocks 3, shared Bytes(SHARED_BYTES), barriers 1;
}
