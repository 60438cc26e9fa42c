//! Softmax and log-softmax of contiguous rows, and their gradients.
//!
//! A warp takes aligned rows that fit its registers; a warp or a block takes others in two passes.
//! One-dimensional grids: a block for each row that a block takes; else at most one for each
//! [`ROWS`](super::super::group::ROWS) rows, which its warps take at a time, striding by the grid.
//!
//! # Safety
//! Tensors hold `outer x len` elements with `inner = 1`, masks `mask_period x len`; `mask_period`
//! and `len` are not zero. The output of a softmax may be its input: a thread writes the elements
//! that it alone has read.

use core::cell::Cell;

use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{
    super::{
        group::{
            self, BLOCK_THREADS, Block, Chunk, Group, Held, PartSum, REDUCE_BYTES, Row, Span, Streamed, WARP_THREADS,
            Warp, all_aligned4, fold4, zip4,
        },
        index::divide_long,
        real::{Bf16, F16, Real},
    },
    state::{Kind, PartState, State},
};
use crate::dev::numeric::functions::exp_nonpositive;

/// The elements that are left out.
///
/// These are elements with a false `keep` and elements with an `addend` of -inf. Null pointers name
/// no mask.
#[derive(Clone, Copy)]
pub struct Mask {
    /// Flags.
    pub keep: *const u8,
    /// Added to the logits.
    pub addend: *const f32,
}

impl Mask {
    /// Whether there is none.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.keep.is_null() && self.addend.is_null()
    }

    /// The mask from element `at` on.
    #[inline(always)]
    unsafe fn offset(self, at: usize) -> Self {
        if self.keep.is_null() {
            Self { addend: self.addend.add(at), ..self }
        } else {
            Self { keep: self.keep.add(at), ..self }
        }
    }

    /// The masked logit of the mask's element `at`, and whether it is kept.
    #[inline(always)]
    pub unsafe fn apply(self, at: usize, x: f32) -> (f32, bool) {
        if self.keep.is_null() {
            let addend = *self.addend.add(at);
            return (x + addend, addend != f32::NEG_INFINITY);
        }
        let keep = *self.keep.add(at) != 0;
        (if keep { x } else { f32::NEG_INFINITY }, keep)
    }
}

/// The logits of one row; `end` is the number of elements that a causal mask keeps.
///
/// It is 0 for a row that is not live, which another group may be writing: nothing is read.
struct Logits<T> {
    x: *const T,
    mask: Mask,
    end: u32,
    any: Cell<bool>,
}

impl<T: Real> Logits<T> {
    #[inline(always)]
    unsafe fn new(p: &SoftmaxParams, causal: u32, (row, live): (u64, bool), x: *const T, mask: Mask) -> Self {
        let end = if causal == 0 { p.axis.len } else { p.causal_len(row) } as u32;
        let end = if live { end } else { 0 };
        let mask = if mask.is_none() {
            mask
        } else {
            let (of_row, _) = divide_long(row, p.mask_period);
            mask.offset((of_row * p.axis.len) as usize)
        };
        let any = Cell::new(mask.is_none() && end > 0);
        Self { x: x.add((row * p.axis.len) as usize), mask, end, any }
    }

    /// The logits without a mask but the end.
    #[inline(always)]
    unsafe fn plain(&self, chunk: Chunk) -> [f32; 4] {
        chunk.load_until(self.x, self.end, f32::NEG_INFINITY)
    }

    #[inline(always)]
    unsafe fn masked(&self, chunk: Chunk) -> [f32; 4] {
        let values = self.plain(chunk);
        if self.mask.is_none() {
            return values;
        }
        zip4(chunk.columns(), values).map(|(column, value)| {
            if column >= self.end {
                return f32::NEG_INFINITY;
            }
            let (value, keep) = self.mask.apply(column as usize, value);
            self.any.set(self.any.get() | keep);
            value
        })
    }
}

/// Aligned rows without a mask (but a causal one) that a warp keeps in registers.
#[inline(always)]
unsafe fn held<T: Real>(p: &SoftmaxParams, kind: Kind, causal: u32, x: *const T, mask: Mask, y: *mut T) {
    let span = Span::aligned::<Warp>(p.axis.len as u32);
    for (row, live) in group::rows::<Warp>(p.axis.outer) {
        // A warp without a row reads nothing: the output may be the input.
        if !live {
            break;
        }
        let logits = Logits::new(p, causal, (row, true), x, mask);
        let held = Held::new(span, [f32::NEG_INFINITY; 4], |chunk| logits.plain(chunk));
        let any = logits.end > 0;
        let mut greatest = f32::NEG_INFINITY;
        held.each(|_, values| greatest = fold4(values, greatest, f32::max));
        let greatest = Warp::max::<0>(greatest);
        let y = y.add((row * p.axis.len) as usize);
        let (mut rest, mut ties) = (0.0, 0.0);
        if kind == Kind::Softmax {
            let e = held.map(|values| values.map(|x| exp_nonpositive(x - greatest)));
            e.each(|_, values| rest = fold4(values, rest, |sum, e| sum + e));
            let finish = State { greatest, rest: Warp::sum::<1>(rest), ties }.finish(kind, any);
            e.each(|chunk, values| {
                chunk.store(y, values.map(|e| finish.scaled(e)));
            });
        } else {
            held.each(|_, values| {
                let (e, tie) = (values.map(|x| exp_nonpositive(x - greatest)), values.map(|x| tie(greatest, x)));
                rest = fold4(zip4(e, tie).map(|(e, tie)| e * (1.0 - tie)), rest, |sum, e| sum + e);
                ties = fold4(tie, ties, |sum, tie| sum + tie);
            });
            let finish = State { greatest, rest: Warp::sum::<1>(rest), ties: Warp::sum::<2>(ties) }.finish(kind, any);
            held.each(|chunk, values| {
                chunk.store(y, values.map(|x| finish.value::<T>(x)));
            });
        }
    }
}

/// 1 for an element that is the greatest, or NaN, else 0.
#[inline(always)]
fn tie(greatest: f32, x: f32) -> f32 {
    if greatest > x { 0.0 } else { 1.0 }
}

/// Rows of any length.
#[inline(always)]
unsafe fn streamed<G: Group, T: Real>(p: &SoftmaxParams, kind: Kind, causal: u32, x: *const T, mask: Mask, y: *mut T) {
    let span = Span::new::<G>(p.axis.len as u32, all_aligned4([x, y]));
    for (row, live) in group::rows::<G>(p.axis.outer) {
        let logits = Logits::new(p, causal, (row, live), x, mask);
        let streamed = Streamed { span, fetch: |chunk| logits.masked(chunk) };
        let mut state = PartState::EMPTY;
        streamed.each(|chunk, values| state.take::<G>(chunk, values));
        let any = G::max::<0>(if logits.any.get() { 1.0 } else { 0.0 }) > 0.0;
        let finish = state.across::<G>().finish(kind, any);
        let y = y.add((row * p.axis.len) as usize);
        streamed.each(|chunk, values| {
            if live {
                chunk.store(y, values.map(|x| finish.value::<T>(x)));
            }
        });
    }
}

/// The gradient of rows that `row` reads.
#[inline(always)]
unsafe fn backward<G: Group, T: Real>(kind: Kind, row: &impl Row<[[f32; 4]; 2]>, live: bool, dx: *mut T) {
    let mut sum = PartSum::default();
    row.each(|chunk, [y, g]| {
        let parts = zip4(y, g).map(|(y, g)| kind.contribution(y, g));
        sum.take::<G>(chunk, |sum| fold4(parts, sum, |sum, part| sum + part));
    });
    let sum = sum.total::<G, 0>();
    row.each(|chunk, [y, g]| {
        let dx4 = zip4(y, g).map(|(y, g)| kind.gradient(y, g, sum));
        if live {
            chunk.store(dx, dx4);
        }
    });
}

#[inline(always)]
unsafe fn backward_held<T: Real>(p: &AxisParams, kind: Kind, y: *const T, g: *const T, dx: *mut T) {
    let span = Span::aligned::<Warp>(p.len as u32);
    for (row, live) in group::rows::<Warp>(p.outer) {
        let at = (row * p.len) as usize;
        let held = Held::new(span, [[0.0; 4]; 2], |chunk| [chunk.load(y.add(at)), chunk.load(g.add(at))]);
        backward::<Warp, T>(kind, &held, live, dx.add(at));
    }
}

#[inline(always)]
unsafe fn backward_streamed<G: Group, T: Real>(p: &AxisParams, kind: Kind, y: *const T, g: *const T, dx: *mut T) {
    let span = Span::not_held::<G>(p.len as u32, all_aligned4([y, g, dx]));
    for (row, live) in group::rows::<G>(p.outer) {
        let at = (row * p.len) as usize;
        let fetch = |chunk: Chunk| [chunk.load(y.add(at)), chunk.load(g.add(at))];
        backward::<G, T>(kind, &Streamed { span, fetch }, live, dx.add(at));
    }
}

softmaxes! {
    held, block [WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0 =>
        linalg_softmax_held_f32: f32, linalg_softmax_held_f16: F16, linalg_softmax_held_bf16: Bf16;
    streamed::<Warp, _>, block [WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0 =>
        linalg_softmax_warp_f32: f32, linalg_softmax_warp_f16: F16, linalg_softmax_warp_bf16: Bf16;
    streamed::<Block, _>, block [BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(REDUCE_BYTES), barriers 4 =>
        linalg_softmax_block_f32: f32, linalg_softmax_block_f16: F16, linalg_softmax_block_bf16: Bf16;
}

softmax_gradients! {
    backward_held, block [WARP_THREADS, 1, 1], min_blocks 4, shared None, barriers 0 =>
        linalg_softmax_backward_held_f32: f32, linalg_softmax_backward_held_f16: F16,
        linalg_softmax_backward_held_bf16: Bf16;
    backward_streamed::<Warp, _>, block [WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0 =>
        linalg_softmax_backward_warp_f32: f32, linalg_softmax_backward_warp_f16: F16,
        linalg_softmax_backward_warp_bf16: Bf16;
    backward_streamed::<Block, _>, block [BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(REDUCE_BYTES), barriers 1 =>
        linalg_softmax_backward_block_f32: f32, linalg_softmax_backward_block_f16: F16,
        linalg_softmax_backward_block_bf16: Bf16;
}
