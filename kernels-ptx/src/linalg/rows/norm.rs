//! Layer norm and RMS norm.
//!
//! A warp takes aligned rows that fit its registers; a warp or a block takes others in three
//! passes, and in five if squares of its elements leave the range of f32. Grids as in
//! [`softmax`](super::softmax). The input may be a sum of two tensors, which is written on the way;
//! limited by memory, it saves one read of each element of a row that is held.
//!
//! # Safety
//! Tensors hold `rows x len` elements, and `sum` overlaps no other, `gamma` and `beta` `len` or
//! they are null, which stands for ones and zeros, `mean` and `rstd` `rows`; `len` is not zero. RMS
//! norm has null pointers for `beta` and `mean`. `status` is null or a word. Without a sum, the
//! output may be the input: a thread writes the elements that it alone reads, in the last pass, and
//! a warp without a row reads nothing.

use core_types::params::rows::NormParams;

use super::super::{
    group::{self, Block, Chunk, Group, Held, PartSum, Row, Span, Streamed, Warp, all_aligned4, fold4, zip4},
    real::{Bf16, F16, Real},
};
use crate::dev::{
    atomic,
    numeric::math::{abs, fma, sqrt},
};

/// One row, with its place in the outputs.
struct Target<T> {
    gamma: *const T,
    beta: *const T,
    y: *mut T,
    mean: *mut f32,
    rstd: *mut f32,
    status: *mut u64,
}

/// Statistics of a row's elements times a power of two.
struct Statistics {
    shift: f32,
    residual: f32,
    spread: f32,
}

impl Statistics {
    /// Of the elements times `scale`.
    #[inline(always)]
    fn of<G: Group>(values: &impl Row<[f32; 4]>, scale: f32, centred: bool, n: f32) -> Self {
        let mut shift = 0.0;
        if centred {
            let mut sum = PartSum::default();
            values.each(|chunk, x| sum.take::<G>(chunk, |sum| fold4(x, sum, |sum, x| fma(x, scale, sum))));
            shift = sum.total::<G, 0>() / n;
        }
        let (mut residual, mut square) = (PartSum::default(), PartSum::default());
        values.each(|chunk, x| {
            let d = chunk.map_live(x, |x| fma(x, scale, -shift));
            residual.take::<G>(chunk, |sum| fold4(d, sum, |sum, d| sum + d));
            square.take::<G>(chunk, |sum| fold4(d, sum, |sum, d| fma(d, d, sum)));
        });
        // The rounding of the mean shows as the mean of the residuals; its contribution to the square is subtracted.
        let residual = if centred { residual.total::<G, 1>() / n } else { 0.0 };
        let spread = fma(-residual, residual, square.total::<G, 2>() / n);
        Self { shift, residual, spread: if spread < 0.0 { 0.0 } else { spread } } // NaN stays
    }

    /// Whether the sums may have lost the row.
    ///
    /// Squares overflow far above 1, and far below they lose small terms, which shows unless eps is
    /// greater.
    #[inline(always)]
    fn are_lost(&self, eps: f32) -> bool {
        const LEAST: f32 = 1.0 / (1u64 << 60) as f32;
        let finite = self.spread < f32::INFINITY; // nor NaN
        !finite || self.spread + eps < LEAST
    }
}

/// The power of two that scales a row's greatest element, or the root of eps, close to 1.
///
/// It is given as (power, inverse).
#[inline(always)]
fn scale_to_one<G: Group>(values: &impl Row<[f32; 4]>, eps: f32) -> (f32, f32) {
    let mut greatest = 0.0;
    values.each(|_, x| greatest = fold4(x, greatest, |greatest, x| abs(x).max(greatest)));
    let exponent = |x: f32| (x.to_bits() >> 23) as i32 - 127;
    let least = if eps > 0.0 { exponent(eps) >> 1 } else { -126 };
    let k = exponent(G::max::<3>(greatest)).max(least).max(-126).min(126);
    (f32::from_bits(((127 - k) as u32) << 23), f32::from_bits(((127 + k) as u32) << 23))
}

/// Normalises the row of index `row`. With a null `mean` it is not centred.
#[inline(always)]
unsafe fn normalise<G: Group, T: Real>(p: &NormParams, values: &impl Row<[f32; 4]>, row: u64, out: &Target<T>) {
    let (centred, n) = (!out.mean.is_null(), p.len as f32);
    let (mut scale, mut inverse, mut scaled) = (1.0, 1.0, false);
    let Statistics { shift, residual, spread } = loop {
        let found = Statistics::of::<G>(values, scale, centred, n);
        if !G::any(!scaled && found.are_lost(p.eps)) {
            break found;
        }
        (scale, inverse) = scale_to_one::<G>(values, p.eps);
        scaled = true;
    };
    // In a constant row, a scaled eps may be lost.
    let constant = scaled && spread == 0.0;
    let root = if constant { sqrt(p.eps) } else { sqrt(fma(p.eps * scale, scale, spread)) };
    let unit = if constant { 0.0 } else { 1.0 / root };
    let rstd = if constant { 1.0 / root } else { unit * scale };
    if G::rank() == 0 {
        if centred {
            *out.mean.add(row as usize) = (shift + residual) * inverse;
        }
        *out.rstd.add(row as usize) = rstd;
        if root == 0.0 && !out.status.is_null() {
            atomic::min_u64(out.status, row);
        }
    }
    let offset = -residual * unit;
    let y = out.y.add((row * p.len) as usize);
    values.each(|chunk, x| {
        let h = x.map(|x| fma(fma(x, scale, -shift), unit, offset));
        let (gamma, beta) = (chunk.load_or(out.gamma, 1.0), chunk.load_or(out.beta, 0.0));
        let values = zip4(zip4(h, gamma), beta).map(|((h, gamma), beta)| fma(h, gamma, beta));
        chunk.store(y, values);
    });
}

/// The rows below `count` that the group takes.
///
/// A warp that has no more ends before others of its block.
#[inline(always)]
fn live_rows<G: Group>(count: u64) -> impl Iterator<Item = u64> {
    let mut next = Some(G::first_row() + u64::from(G::row_in_block()));
    core::iter::from_fn(move || {
        let row = next?;
        let Some(step) = G::next_row() else {
            next = None;
            return Some(row); // a block has its row
        };
        next = Some(row + step);
        (row < count).then_some(row)
    })
}

#[inline(always)]
unsafe fn aligned<T>(x: *const T, out: &Target<T>) -> bool {
    all_aligned4([x, out.gamma, out.beta, out.y])
}

#[inline(always)]
unsafe fn held<T: Real>(p: &NormParams, x: *const T, out: &Target<T>) {
    let span = Span::aligned::<Warp>(p.len as u32);
    for row in live_rows::<Warp>(p.rows) {
        let x = x.add((row * p.len) as usize);
        normalise::<Warp, T>(p, &Held::new(span, [0.0; 4], |chunk| chunk.load(x)), row, out);
    }
}

#[inline(always)]
unsafe fn streamed<G: Group, T: Real>(p: &NormParams, x: *const T, out: &Target<T>) {
    let span = Span::not_held::<G>(p.len as u32, aligned(x, out));
    for row in live_rows::<G>(p.rows) {
        let x = x.add((row * p.len) as usize);
        let fetch = |chunk: Chunk| chunk.load(x);
        normalise::<G, T>(p, &Streamed { span, fetch }, row, out);
    }
}

/// The addends, and the destination of their sum.
struct Addends<T> {
    x: *const T,
    r: *const T,
    sum: *mut T,
}

impl<T: Real> Addends<T> {
    /// The same from element `at` on.
    #[inline(always)]
    unsafe fn from(&self, at: usize) -> Self {
        Self { x: self.x.add(at), r: self.r.add(at), sum: self.sum.add(at) }
    }

    /// The chunk of the sum as it is rounded, after writing it.
    #[inline(always)]
    unsafe fn add(&self, chunk: Chunk) -> [f32; 4] {
        let sum = zip4(chunk.load(self.x), chunk.load(self.r)).map(|(x, r)| T::narrow(x + r).widen());
        chunk.store(self.sum, sum);
        sum
    }
}

#[inline(always)]
unsafe fn held_sum<T: Real>(p: &NormParams, addends: &Addends<T>, out: &Target<T>) {
    let span = Span::aligned::<Warp>(p.len as u32);
    for row in live_rows::<Warp>(p.rows) {
        let addends = addends.from((row * p.len) as usize);
        normalise::<Warp, T>(p, &Held::new(span, [0.0; 4], |chunk| addends.add(chunk)), row, out);
    }
}

#[inline(always)]
unsafe fn streamed_sum<G: Group, T: Real>(p: &NormParams, addends: &Addends<T>, out: &Target<T>) {
    let all_aligned = aligned(addends.x, out) && all_aligned4([addends.r, addends.sum]);
    let span = Span::not_held::<G>(p.len as u32, all_aligned);
    for row in live_rows::<G>(p.rows) {
        let addends = addends.from((row * p.len) as usize);
        Streamed { span, fetch: |chunk| addends.add(chunk) }.each(|_, _| ());
        // A thread rereads elements that it wrote itself.
        let fetch = |chunk: Chunk| chunk.load(addends.sum.cast_const());
        normalise::<G, T>(p, &Streamed { span, fetch }, row, out);
    }
}

macro_rules! entries {
    ($type:ty: $($name:ident = $body:expr),*) => {$(
        #[doc = concat!("`", stringify!($body), "` of one element type.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: NormParams,
            x: *const $type,
            gamma: *const $type,
            beta: *const $type,
            y: *mut $type,
            mean: *mut f32,
            rstd: *mut f32,
            status: *mut u64,
        ) {
            $body(&p, x, &Target { gamma, beta, y, mean, rstd, status });
        }
    )*};
}

entries!(f32: linalg_norm_held_f32 = held, linalg_norm_warp_f32 = streamed::<Warp, f32>, linalg_norm_block_f32 =
    streamed::<Block, f32>);
entries!(F16: linalg_norm_held_f16 = held, linalg_norm_warp_f16 = streamed::<Warp, F16>, linalg_norm_block_f16 =
    streamed::<Block, F16>);
entries!(Bf16: linalg_norm_held_bf16 = held, linalg_norm_warp_bf16 = streamed::<Warp, Bf16>, linalg_norm_block_bf16 =
    streamed::<Block, Bf16>);

macro_rules! sum_entries {
    ($type:ty: $($name:ident = $body:expr),*) => {$(
        #[doc = concat!("`", stringify!($body), "` of one element type.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: NormParams,
            x: *const $type,
            r: *const $type,
            sum: *mut $type,
            gamma: *const $type,
            beta: *const $type,
            y: *mut $type,
            mean: *mut f32,
            rstd: *mut f32,
            status: *mut u64,
        ) {
            $body(&p, &Addends { x, r, sum }, &Target { gamma, beta, y, mean, rstd, status });
        }
    )*};
}

sum_entries!(f32: linalg_norm_sum_held_f32 = held_sum, linalg_norm_sum_warp_f32 = streamed_sum::<Warp, f32>,
    linalg_norm_sum_block_f32 = streamed_sum::<Block, f32>);
sum_entries!(F16: linalg_norm_sum_held_f16 = held_sum, linalg_norm_sum_warp_f16 = streamed_sum::<Warp, F16>,
    linalg_norm_sum_block_f16 = streamed_sum::<Block, F16>);
sum_entries!(Bf16: linalg_norm_sum_held_bf16 = held_sum, linalg_norm_sum_warp_bf16 = streamed_sum::<Warp, Bf16>,
    linalg_norm_sum_block_bf16 = streamed_sum::<Block, Bf16>);

kernel_table! {
    linalg_norm_block_f32, linalg_norm_block_f16, linalg_norm_block_bf16:
        block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 5;
    linalg_norm_held_f32, linalg_norm_held_f16, linalg_norm_held_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
    linalg_norm_sum_block_f32, linalg_norm_sum_block_f16, linalg_norm_sum_block_bf16:
        block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 5;
    linalg_norm_sum_held_f32, linalg_norm_sum_held_f16, linalg_norm_sum_held_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
    linalg_norm_sum_warp_f32, linalg_norm_sum_warp_f16, linalg_norm_sum_warp_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
    linalg_norm_warp_f32, linalg_norm_warp_f16, linalg_norm_warp_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
}
