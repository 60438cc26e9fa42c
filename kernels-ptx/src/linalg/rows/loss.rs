//! Softmax cross-entropy with its gradient, in two passes over a row.
//!
//! A warp takes rows of up to [`HELD_LEN`](super::super::group::HELD_LEN) classes, a block longer
//! ones. Grids as in [`softmax`](super::softmax).
//!
//! # Safety
//! Logits, probabilities and gradients hold `rows x classes` elements, targets and losses `rows`;
//! `classes` is not zero.

use super::{
    super::{
        group::{self, Block, Chunk, Group, PartSum, Row, Span, Streamed, Warp, all_aligned4, fold4, zip4},
        real::{Bf16, F16, Real},
    },
    state::PartState,
};
use crate::dev::numeric::functions::{exp_nonpositive, log_of_parts};

/// The sum of a row of logits, and what both passes share.
struct Totals {
    greatest: f32,
    log_sum: f32,
    sum: f32,
}

impl Totals {
    /// The totals of the elements that all threads pushed. NaN and +inf make them NaN.
    #[inline(always)]
    fn across<G: Group>(state: PartState) -> Self {
        let state = state.across::<G>();
        let greatest = if state.greatest == f32::INFINITY { f32::NAN } else { state.greatest };
        Self { greatest, log_sum: log_of_parts(state.rest, state.ties), sum: state.ties + state.rest }
    }
}

/// Against class numbers.
#[inline(always)]
unsafe fn by_class<G: Group, T: Real>(
    rows: u64,
    classes: u32,
    scale: f32,
    logits: *const T,
    targets: *const u32,
    losses: *mut f32,
    dlogits: *mut T,
) {
    let span = Span::new::<G>(classes, all_aligned4([logits, dlogits]));
    for (row, live) in group::rows::<G>(rows) {
        let at = (row * u64::from(classes)) as usize;
        let (logits, dlogits, target) = (logits.add(at), dlogits.add(at), *targets.add(row as usize));
        let x = Streamed { span, fetch: |chunk: Chunk| chunk.load(logits) };
        let mut state = PartState::EMPTY;
        x.each(|chunk, x| state.take::<G>(chunk, x));
        let Totals { greatest, log_sum, sum } = Totals::across::<G>(state);
        let (counts, factor) = (target < classes, scale / sum);
        if live && G::rank() == 0 {
            let loss = if counts { log_sum - ((*logits.add(target as usize)).widen() - greatest) } else { 0.0 };
            *losses.add(row as usize) = loss;
        }
        x.each(|chunk, x| {
            let gradient = zip4(chunk.columns(), x).map(|(column, x)| {
                let e = exp_nonpositive(x - greatest) * factor;
                let gradient = if column == target { e - scale } else { e };
                if counts { gradient } else { 0.0 }
            });
            if live {
                chunk.store(dlogits, gradient);
            }
        });
    }
}

/// Against probabilities.
#[inline(always)]
unsafe fn by_probs<G: Group, T: Real>(
    rows: u64,
    classes: u32,
    scale: f32,
    logits: *const T,
    probs: *const T,
    losses: *mut f32,
    dlogits: *mut T,
) {
    let span = Span::new::<G>(classes, all_aligned4([logits, probs, dlogits]));
    for (row, live) in group::rows::<G>(rows) {
        let at = (row * u64::from(classes)) as usize;
        let (logits, probs, dlogits) = (logits.add(at), probs.add(at), dlogits.add(at));
        let both = Streamed { span, fetch: |chunk: Chunk| [chunk.load(logits), chunk.load(probs)] };
        let (mut state, mut total) = (PartState::EMPTY, PartSum::default());
        both.each(|chunk, [x, t]| {
            state.take::<G>(chunk, x);
            total.take::<G>(chunk, |total| fold4(t, total, |total, t| total + t));
        });
        let Totals { greatest, log_sum, sum } = Totals::across::<G>(state);
        let factor = total.total::<G, 0>() / sum;
        let mut loss = PartSum::default();
        both.each(|chunk, [x, t]| {
            let shifted = x.map(|x| x - greatest);
            // 0 ln 0 is 0.
            let parts = zip4(shifted, t).map(|(x, t)| if t == 0.0 { 0.0 } else { t * (x - log_sum) });
            loss.take::<G>(chunk, |loss| fold4(parts, loss, |loss, part| loss - part));
            let gradient = zip4(shifted, t).map(|(x, t)| scale * (exp_nonpositive(x) * factor - t));
            if live {
                chunk.store(dlogits, gradient);
            }
        });
        let loss = loss.total::<G, 4>();
        if live && G::rank() == 0 {
            *losses.add(row as usize) = loss;
        }
    }
}

macro_rules! entries {
    ($type:ty: $($name:ident = $body:ident<$group:ty>($targets:ty)),*) => {$(
        #[doc = concat!("[`", stringify!($body), "`] of one element type.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            rows: u64,
            classes: u32,
            scale: f32,
            logits: *const $type,
            targets: *const $targets,
            losses: *mut f32,
            dlogits: *mut $type,
        ) {
            $body::<$group, $type>(rows, classes, scale, logits, targets, losses, dlogits);
        }
    )*};
}

entries!(f32: linalg_entropy_warp_f32 = by_class<Warp>(u32), linalg_entropy_block_f32 = by_class<Block>(u32),
    linalg_entropy_probs_warp_f32 = by_probs<Warp>(f32), linalg_entropy_probs_block_f32 = by_probs<Block>(f32));
entries!(F16: linalg_entropy_warp_f16 = by_class<Warp>(u32), linalg_entropy_block_f16 = by_class<Block>(u32),
    linalg_entropy_probs_warp_f16 = by_probs<Warp>(F16), linalg_entropy_probs_block_f16 = by_probs<Block>(F16));
entries!(Bf16: linalg_entropy_warp_bf16 = by_class<Warp>(u32), linalg_entropy_block_bf16 = by_class<Block>(u32),
    linalg_entropy_probs_warp_bf16 = by_probs<Warp>(Bf16), linalg_entropy_probs_block_bf16 = by_probs<Block>(Bf16));

kernel_table! {
    linalg_entropy_block_f32, linalg_entropy_block_f16, linalg_entropy_block_bf16:
        block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 3;
    linalg_entropy_probs_block_f32, linalg_entropy_probs_block_f16, linalg_entropy_probs_block_bf16:
        block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 5;
    linalg_entropy_probs_warp_f32, linalg_entropy_probs_warp_f16, linalg_entropy_probs_warp_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
    linalg_entropy_warp_f32, linalg_entropy_warp_f16, linalg_entropy_warp_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
}
