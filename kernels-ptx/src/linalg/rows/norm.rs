//! Layer norm and RMS norm: a warp takes aligned rows that fit its registers; a warp or a block takes others in
//! three passes. Grids as in
//! [`softmax`](super::softmax).
//!
//! # Safety
//! Tensors hold `rows x len` elements, `gamma` and `beta` `len`, `mean` and `rstd` `rows`; `len` is not zero. RMS norm
//! has null pointers for `beta` and `mean`. `status` is null or a word.

use core_types::params::rows::NormParams;

use super::super::{
    group::{self, Block, Chunk, Group, Held, Row, Span, Streamed, Warp, all_aligned4, fold4, zip4},
    real::{Bf16, F16, Real},
};
use crate::dev::{
    atomic,
    math::{fma, sqrt},
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

/// Normalises the row of index `row`. With a null `mean` it is not centred.
#[inline(always)]
unsafe fn normalise<G: Group, T: Real>(
    p: &NormParams,
    values: &impl Row<[f32; 4]>,
    row: u64,
    live: bool,
    out: &Target<T>,
) {
    let (centred, n) = (!out.mean.is_null(), p.len as f32);
    let mut shift = 0.0;
    if centred {
        let mut sum = 0.0;
        values.each(|_, x| sum = fold4(x, sum, |sum, x| sum + x));
        shift = G::sum::<0>(sum) / n;
    }
    let (mut residual, mut square) = (0.0, 0.0);
    values.each(|chunk, x| {
        let d = chunk.map_live(x, |x| x - shift);
        residual = fold4(d, residual, |sum, d| sum + d);
        square = fold4(d, square, |sum, d| fma(d, d, sum));
    });
    // The rounding of the mean shows as the mean of the residuals; what it adds to the square is taken off again.
    let residual = if centred { G::sum::<1>(residual) / n } else { 0.0 };
    let spread = fma(-residual, residual, G::sum::<2>(square) / n);
    let spread = if spread < 0.0 { 0.0 } else { spread }; // NaN stays
    let root = sqrt(spread + p.eps);
    let rstd = 1.0 / root;
    if live && G::rank() == 0 {
        if centred {
            *out.mean.add(row as usize) = shift + residual;
        }
        *out.rstd.add(row as usize) = rstd;
        if root == 0.0 && !out.status.is_null() {
            atomic::min_u64(out.status, row);
        }
    }
    let offset = -residual * rstd;
    let y = out.y.add((row * p.len) as usize);
    values.each(|chunk, x| {
        let h = x.map(|x| fma(x - shift, rstd, offset));
        let beta = if centred { chunk.load(out.beta) } else { [0.0; 4] };
        let values = zip4(zip4(h, chunk.load(out.gamma)), beta).map(|((h, gamma), beta)| fma(h, gamma, beta));
        if live {
            chunk.store(y, values);
        }
    });
}

#[inline(always)]
unsafe fn aligned<T>(x: *const T, out: &Target<T>) -> bool {
    all_aligned4([x, out.gamma, out.y]) && (out.beta.is_null() || all_aligned4([out.beta]))
}

#[inline(always)]
unsafe fn held<T: Real>(p: &NormParams, x: *const T, out: &Target<T>) {
    let span = Span::aligned::<Warp>(p.len as u32);
    for (row, live) in group::rows::<Warp>(p.rows) {
        let x = x.add((row * p.len) as usize);
        normalise::<Warp, T>(p, &Held::new(span, [0.0; 4], |chunk| chunk.load(x)), row, live, out);
    }
}

#[inline(always)]
unsafe fn streamed<G: Group, T: Real>(p: &NormParams, x: *const T, out: &Target<T>) {
    let span = Span::not_held::<G>(p.len as u32, aligned(x, out));
    for (row, live) in group::rows::<G>(p.rows) {
        let x = x.add((row * p.len) as usize);
        let fetch = |chunk: Chunk| chunk.load(x);
        normalise::<G, T>(p, &Streamed { span, fetch }, row, live, out);
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
