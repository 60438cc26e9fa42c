//! Gradients of layer norm and RMS norm.
//!
//! The first kernel computes dx, a warp or a block to a row, and leaves each row's offset; the
//! second sums dgamma and dbeta over blocks of rows, a thread to a column; the axis sum of the
//! elementwise kernels adds the blocks.
//!
//! # Safety
//! As in [`norm`](super::norm). `offsets` holds `rows` floats, `sums` a row of `len`, for layer
//! norm `2 len`, floats for each [`NORM_BLOCK_ROWS`] rows. RMS norm has a null pointer for `mean`.

use core_types::params::rows::{NORM_BLOCK_ROWS, NormParams, norm_scale};

use super::super::{
    group::{self, Block, Chunk, Group, Held, PartSum, Row, Span, Streamed, Warp, all_aligned4, fold4, zip4},
    index::divide,
    real::{Bf16, F16, Real},
};
use crate::dev::{idx, numeric::math::fma, unroll::unroll};

/// Threads of a block of the second kernel.
pub const COLUMN_THREADS: u32 = 256;

/// The saved tensors of the forward pass, and the second kernel's input.
struct Saved {
    mean: *const f32,
    rstd: *const f32,
    offsets: *mut f32,
}

impl Saved {
    /// How the elements of a row are measured, and the reciprocal of its deviation.
    #[inline(always)]
    unsafe fn row(&self, row: u64) -> (Line, f32) {
        let mean = if self.mean.is_null() { 0.0 } else { *self.mean.add(row as usize) };
        let rstd = *self.rstd.add(row as usize);
        let (scale, inverse) = norm_scale(mean, rstd);
        (Line { scale, shift: mean * scale, unit: rstd * inverse }, rstd)
    }
}

/// `(x - mean) rstd` by way of `d = x scale - shift`; a power of two scales d close to 1.
#[derive(Clone, Copy)]
struct Line {
    scale: f32,
    shift: f32,
    unit: f32,
}

impl Line {
    #[inline(always)]
    fn distance(self, x: f32) -> f32 {
        fma(x, self.scale, -self.shift)
    }
}

/// dx of one row; `values` reads x, g and `g gamma`'s factor gamma.
#[inline(always)]
unsafe fn gradient<G: Group, T: Real>(
    p: &NormParams,
    values: &impl Row<[[f32; 4]; 2]>,
    gamma: *const T,
    saved: &Saved,
    row: u64,
    live: bool,
    dx: *mut T,
) {
    let (centred, n) = (!saved.mean.is_null(), p.len as f32);
    let (line, rstd) = saved.row(row);
    let [mut sum_d, mut sum_a, mut sum_ad] = [PartSum::default(); 3];
    values.each(|chunk, [x, g]| {
        let d = chunk.map_live(x, |x| line.distance(x));
        let a = zip4(g, chunk.load_or(gamma, 1.0)).map(|(g, gamma)| g * gamma);
        sum_d.take::<G>(chunk, |sum| fold4(d, sum, |sum, d| sum + d));
        sum_a.take::<G>(chunk, |sum| fold4(a, sum, |sum, a| sum + a));
        sum_ad.take::<G>(chunk, |mut sum| {
            unroll!(E in 0..4 => { sum = fma(d[E as usize], a[E as usize], sum) });
            sum
        });
    });
    // The saved mean is rounded: the mean of the residuals corrects it, as in the forward pass.
    let (residual, mean_a) = if centred { (sum_d.total::<G, 0>() / n, sum_a.total::<G, 1>() / n) } else { (0.0, 0.0) };
    let mean_ah = fma(-residual, mean_a, sum_ad.total::<G, 2>() / n) * line.unit;
    let offset = -residual * line.unit;
    if live && centred && G::rank() == 0 {
        *saved.offsets.add(row as usize) = offset;
    }
    let dx = dx.add((row * p.len) as usize);
    values.each(|chunk, [x, g]| {
        let dx4 = zip4(x, zip4(g, chunk.load_or(gamma, 1.0))).map(|(x, (g, gamma))| {
            let h = fma(line.distance(x), line.unit, offset);
            fma(-h, mean_ah, g * gamma - mean_a) * rstd
        });
        if live {
            chunk.store(dx, dx4);
        }
    });
}

#[inline(always)]
unsafe fn held<T: Real>(p: &NormParams, x: *const T, gamma: *const T, g: *const T, saved: &Saved, dx: *mut T) {
    let span = Span::aligned::<Warp>(p.len as u32);
    for (row, live) in group::rows::<Warp>(p.rows) {
        let at = (row * p.len) as usize;
        let held = Held::new(span, [[0.0; 4]; 2], |chunk| [chunk.load(x.add(at)), chunk.load(g.add(at))]);
        gradient::<Warp, T>(p, &held, gamma, saved, row, live, dx);
    }
}

#[inline(always)]
unsafe fn streamed<G: Group, T: Real>(
    p: &NormParams,
    x: *const T,
    gamma: *const T,
    g: *const T,
    saved: &Saved,
    dx: *mut T,
) {
    let span = Span::not_held::<G>(p.len as u32, all_aligned4([x, gamma, g, dx]));
    for (row, live) in group::rows::<G>(p.rows) {
        let at = (row * p.len) as usize;
        let fetch = |chunk: Chunk| [chunk.load(x.add(at)), chunk.load(g.add(at))];
        gradient::<G, T>(p, &Streamed { span, fetch }, gamma, saved, row, live, dx);
    }
}

/// The sums over one block of rows, for one column a thread.
///
/// The grid is one-dimensional: all columns of the first block of rows, then of the second, and so
/// on.
#[inline(always)]
unsafe fn parameters<T: Real>(p: &NormParams, x: *const T, g: *const T, saved: &Saved, sums: *mut f32) {
    let (strip, block) = divide(idx::bid_x(), (p.len as u32).div_ceil(COLUMN_THREADS));
    let column = strip * COLUMN_THREADS + idx::tid_x();
    let (block, centred) = (u64::from(block), !saved.mean.is_null());
    let (mut row, len) = (block * NORM_BLOCK_ROWS as u64, p.len);
    let end = (row + NORM_BLOCK_ROWS as u64).min(p.rows);
    let (mut dgamma, mut dbeta) = (0.0, 0.0);
    while u64::from(column) < len && row < end {
        let (line, _) = saved.row(row);
        let offset = if centred { *saved.offsets.add(row as usize) } else { 0.0 };
        let at = (row * len + u64::from(column)) as usize;
        let g = (*g.add(at)).widen();
        dgamma = fma(g, fma(line.distance((*x.add(at)).widen()), line.unit, offset), dgamma);
        dbeta += g;
        row += 1;
    }
    if u64::from(column) < len {
        let sums = sums.add((block * if centred { 2 * len } else { len }) as usize + column as usize);
        *sums = dgamma;
        if centred {
            *sums.add(len as usize) = dbeta;
        }
    }
}

macro_rules! entries {
    ($type:ty: $parameters:ident, $($name:ident = $body:expr),*) => {
        $(
            #[doc = concat!("`", stringify!($body), "` of one element type.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(
                p: NormParams,
                x: *const $type,
                gamma: *const $type,
                mean: *const f32,
                rstd: *const f32,
                g: *const $type,
                dx: *mut $type,
                offsets: *mut f32,
            ) {
                $body(&p, x, gamma, g, &Saved { mean, rstd, offsets }, dx);
            }
        )*

        #[doc = "[`parameters`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $parameters(
            p: NormParams,
            x: *const $type,
            mean: *const f32,
            rstd: *const f32,
            g: *const $type,
            offsets: *mut f32,
            sums: *mut f32,
        ) {
            parameters(&p, x, g, &Saved { mean, rstd, offsets }, sums);
        }
    };
}

entries!(f32: linalg_norm_parameters_f32, linalg_norm_backward_held_f32 = held, linalg_norm_backward_warp_f32 =
    streamed::<Warp, f32>,
    linalg_norm_backward_block_f32 = streamed::<Block, f32>);
entries!(F16: linalg_norm_parameters_f16, linalg_norm_backward_held_f16 = held, linalg_norm_backward_warp_f16 =
    streamed::<Warp, F16>,
    linalg_norm_backward_block_f16 = streamed::<Block, F16>);
entries!(Bf16: linalg_norm_parameters_bf16, linalg_norm_backward_held_bf16 = held, linalg_norm_backward_warp_bf16 =
    streamed::<Warp, Bf16>,
    linalg_norm_backward_block_bf16 = streamed::<Block, Bf16>);

kernel_table! {
    linalg_norm_backward_block_f32, linalg_norm_backward_block_f16, linalg_norm_backward_block_bf16:
        block [group::BLOCK_THREADS, 1, 1], min_blocks 4, shared Bytes(group::REDUCE_BYTES), barriers 3;
    linalg_norm_backward_held_f32, linalg_norm_backward_held_f16, linalg_norm_backward_held_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
    linalg_norm_backward_warp_f32, linalg_norm_backward_warp_f16, linalg_norm_backward_warp_bf16:
        block [group::WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
    linalg_norm_parameters_f32, linalg_norm_parameters_f16, linalg_norm_parameters_bf16:
        block [COLUMN_THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
}
