//! The forward pass, whole or by parts of the keys.
//!
//! A block takes a tile of rows and reads keys and values [`LINES`] at a time, with the running
//! sums of Milakov and Gimelshein (arXiv 1805.02867). Blocks are numbered by tile, group of heads
//! and batch along x; blocks of one part of `part` keys, a multiple of [`LINES`], lie along y. With
//! several parts, a block writes its greatest score, its sum and its unscaled result, and
//! [`join`] combines them in the order of the keys.
//!
//! Keys and values are read once for each tile of rows, queries and results once; the floats of a
//! part once each way.
//!
//! On the matrix units, a tile that every row of the block reads whole takes a path without masks
//! and dropout. Both paths compute the same values.
//!
//! # Safety
//! As in [`attention`](super). `group` divides the heads that share keys and values. With several
//! parts, `work` holds `dim + 2` floats for each part of each query of each head, else it is null.

use core_types::params::{attention::AttentionParams, optim::StepState};

use super::{
    super::{
        index::divide_long,
        real::{Bf16, F16, Real},
        rows::softmax::Mask,
    },
    mma::Mma,
    rows::{Factors, Operands, Reads, Rows},
    simt::Simt,
    tile::{Engine, LEFT_OUT, LINES, OWN, THREADS, Vectors, WEIGHT_PITCH, is_wide},
};
use crate::dev::{
    idx,
    memory::smem::SharedAddr,
    numeric::functions::{exp_nonpositive, log},
    sync::block_any,
    unroll::unroll,
    warp::{FULL, shfl_idx},
};

/// Threads of a block that joins parts.
const JOIN_THREADS: u32 = 256;

/// Shared memory of a block: its rows, keys, values and weights.
const fn shared<T: Real, E: Engine<T>>() -> u32 {
    (E::ROWS + 2 * LINES) * E::PITCH + E::ROWS * WEIGHT_PITCH
}

/// The number that scores are relative to, given the greatest: finite unless that is +inf.
#[inline(always)]
fn base(greatest: f32) -> f32 {
    if greatest == f32::NEG_INFINITY { 0.0 } else { greatest }
}

/// `ln sum exp(score)`, given `sum exp(score - greatest)`.
#[inline(always)]
fn log_sum(greatest: f32, sum: f32) -> f32 {
    if sum == 0.0 {
        f32::NEG_INFINITY
    } else if sum >= 1.0 {
        greatest + log(sum)
    } else {
        f32::NAN
    }
}

/// The factor of a row's result, given its sum: 0 if it reads no key.
#[inline(always)]
fn norm(sum: f32) -> f32 {
    if sum == 0.0 { 0.0 } else { 1.0 / sum }
}

/// The running sums of a thread's rows.
struct Running<S> {
    /// Greatest scores.
    greatest: [f32; 4],
    /// Sums of exponentials.
    total: [f32; 4],
    /// Sums of weighted values.
    sums: S,
}

impl<S> Running<S> {
    /// Adds the exponentials of a tile, and returns the weights of its values.
    ///
    /// `score` returns the score of a row's line with a product, and whether the row reads the
    /// line. `factor` returns the factor of a weight. All threads of a warp call together.
    #[inline(always)]
    unsafe fn weigh<T: Real, E: Engine<T, Sums = S>>(
        &mut self,
        products: &[f32; OWN],
        score: impl Fn(u32, u32, f32) -> (f32, bool),
        factor: impl Fn(u32, u32) -> f32,
    ) -> [f32; OWN] {
        let mut weights = [LEFT_OUT; OWN];
        unroll!(I in 0..4 => {
            if I < E::OWN_ROWS {
                let i = I as usize;
                let (mut scores, mut is_read) = ([f32::NEG_INFINITY; 8], [false; 8]);
                let mut most = f32::NEG_INFINITY;
                unroll!(J in 0..8 => {
                    if J < E::OWN_LINES {
                        let j = J as usize;
                        (scores[j], is_read[j]) = score(I, J, products[(I * E::OWN_LINES + J) as usize]);
                        most = most.max(scores[j]);
                    }
                });
                let before = self.greatest[i];
                self.greatest[i] = before.max(E::across_row(most, f32::max));
                let base = base(self.greatest[i]);
                let mut sum = 0.0;
                unroll!(J in 0..8 => {
                    if J < E::OWN_LINES && is_read[J as usize] {
                        let e = E::exp_nonpositive(scores[J as usize] - base);
                        sum += e;
                        weights[(I * E::OWN_LINES + J) as usize] = e * factor(I, J);
                    }
                });
                let fade = E::exp_nonpositive(before - base);
                self.total[i] = self.total[i] * fade + E::across_row(sum, |a, b| a + b);
                E::scale(&mut self.sums, I, fade);
            }
        });
        weights
    }
}

/// The results of a tile of rows, or their sums over a part of the keys.
#[inline(always)]
unsafe fn forward<T: Real, E: Engine<T>>(
    p: &AttentionParams,
    group: u32,
    part: u32,
    of: Operands<T>,
    y: *mut T,
    lse: *mut f32,
    work: *mut f32,
) {
    let dim = p.dim as u32;
    let rows = Rows::own(p, group, E::ROWS);
    let q_tile = SharedAddr::dynamic();
    let k_tile = q_tile.offset(E::bytes(E::ROWS));
    let v_tile = k_tile.offset(E::bytes(LINES));
    let weights = v_tile.offset(E::bytes(LINES));

    // The keys of the block end at `end`, and the keys of its batch at `len`.
    let len = of.len(p, rows.batch);
    let first = idx::bid_y() * part;
    let end = rows.reach(p, E::ROWS).min(first.saturating_add(part));
    let mut reads = [Reads::NONE; 4];
    unroll!(I in 0..4 => {
        if I < E::OWN_ROWS {
            reads[I as usize] = rows.reads(p, E::row(I), len.min(end));
        }
    });
    let factors = Factors::new(&p.dropout, of.state);
    // Every row of the block reads all keys before `whole`, without mask or dropout. The exchange states to the
    // build's lint that lanes branch together.
    let is_plain = E::WHOLE_TILES && of.mask.is_none() && factors.are_one();
    let whole = if is_plain { shfl_idx(FULL, rows.common(p, len.min(end)), 0) } else { 0 };
    let queries = Vectors::new(of.q, &p.q, dim);
    E::fill(&queries, E::ROWS, rows.end - rows.first, q_tile, |offset| rows.start(&p.q, offset));
    let held = E::hold(q_tile);

    let (keys, values) = (Vectors::new(of.k, &p.k, dim), Vectors::new(of.v, &p.v, dim));
    let mut running = Running { greatest: [f32::NEG_INFINITY; 4], total: [0.0; 4], sums: E::ZERO };
    let mut start = first;
    while start < end && block_any(start < len) {
        let live = len.min(end).saturating_sub(start);
        let key_start = p.k.start(rows.batch, rows.kv_head, start.into());
        let value_start = p.v.start(rows.batch, rows.kv_head, start.into());
        let after = |start: u64, key: u32, row: u64| start.wrapping_add(u64::from(key).wrapping_mul(row));
        E::fill(&keys, LINES, live, k_tile, |key| after(key_start, key, p.k.row));
        let special = E::fill(&values, LINES, live, v_tile, |key| after(value_start, key, p.v.row));
        let special = block_any(special);

        // Scores and weights, relative to the greatest score so far.
        let products = E::held_dots(&held, q_tile, k_tile, dim);
        let kept = if start + LINES <= whole {
            running.weigh::<T, E>(&products, |_, _, x| (p.scale * x, true), |_, _| 1.0)
        } else {
            factors.write::<T, E>(weights, |offset, key| {
                let (head, query) = rows.place(offset);
                p.weight_index(rows.batch, head, u64::from(query)).wrapping_add(u64::from(start + key))
            });
            running.weigh::<T, E>(
                &products,
                |i, j, x| reads[i as usize].score(of.mask, start + E::line(j), p.scale * x),
                |i, j| factors.read::<T, E>(weights, i, j),
            )
        };
        E::add_lines(&mut running.sums, &kept, weights, v_tile, dim, special);
        start += LINES;
    }

    // Results, or the sums of a part for `join`.
    let wide = is_wide(y, &p.y, dim);
    unroll!(I in 0..4 => {
        let offset = E::row(I);
        if I < E::OWN_ROWS && rows.first + offset < rows.end {
            let (greatest, total) = (running.greatest[I as usize], running.total[I as usize]);
            let number = rows.number(p, offset);
            if work.is_null() {
                if !lse.is_null() && E::line(0) == 0 {
                    *lse.add(number as usize) = log_sum(greatest, total);
                }
                let y = y.wrapping_add(rows.start(&p.y, offset) as usize);
                E::put(&running.sums, I, norm(total), y, wide, dim);
            } else {
                let at = number * u64::from(idx::gdim_y()) + u64::from(idx::bid_y());
                let work = work.add((at * (p.dim + 2)) as usize);
                if E::line(0) == 0 {
                    *work = greatest;
                    *work.add(1) = total;
                }
                E::put(&running.sums, I, 1.0, work.add(2), false, dim);
            }
        }
    });
}

/// Combines the sums of `parts` parts of the keys.
///
/// A thread computes one element of a result at a time.
#[inline(always)]
unsafe fn join<T: Real>(p: &AttentionParams, parts: u32, work: *const f32, y: *mut T, lse: *mut f32) {
    let columns = p.dim.max(1);
    for i in idx::grid_stride(p.batch * p.heads * p.queries * columns) {
        let (column, number) = divide_long(i, columns);
        let work = work.add((number * u64::from(parts) * (p.dim + 2)) as usize);
        let of_part = |part: u32| work.add((u64::from(part) * (p.dim + 2)) as usize);
        let (mut greatest, mut part) = (f32::NEG_INFINITY, 0);
        while part < parts {
            greatest = greatest.max(*of_part(part));
            part += 1;
        }
        let base = base(greatest);
        let (mut total, mut sum) = (0.0, 0.0);
        part = 0;
        while part < parts {
            let of_part = of_part(part);
            let fade = exp_nonpositive(*of_part - base);
            total += *of_part.add(1) * fade;
            if column < p.dim {
                sum += *of_part.add(2 + column as usize) * fade;
            }
            part += 1;
        }
        if column == 0 && !lse.is_null() {
            *lse.add(number as usize) = log_sum(greatest, total);
        }
        if column < p.dim {
            let (query, rest) = divide_long(number, p.queries);
            let (head, batch) = divide_long(rest, p.heads);
            *y.add((p.y.start(batch, head, query) + column) as usize) = T::narrow(sum * norm(total));
        }
    }
}

macro_rules! forwards {
    ($($name:ident: $type:ty, $engine:ty, $min_blocks:literal, $barriers:literal;)*) => {$(
        #[doc = concat!("[`forward`] by `", stringify!($engine), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: AttentionParams,
            group: u32,
            part: u32,
            q: *const $type,
            k: *const $type,
            v: *const $type,
            key_lens: *const u32,
            keep: *const u8,
            addend: *const f32,
            state: *const StepState,
            y: *mut $type,
            lse: *mut f32,
            work: *mut f32,
        ) {
            let of = Operands { q, k, v, key_lens, mask: Mask { keep, addend }, state };
            forward::<$type, $engine>(&p, group, part, of, y, lse, work);
        }

        kernel_table! {
            $name: block [THREADS, 1, 1], min_blocks $min_blocks, shared Bytes(shared::<$type, $engine>()),
                barriers $barriers;
        }
    )*};
}

forwards! {
    linalg_attention_few64_f32: f32, Simt<64, 1>, 3, 2;
    linalg_attention_few64_f16: F16, Simt<64, 1>, 3, 2;
    linalg_attention_few64_bf16: Bf16, Simt<64, 1>, 3, 2;
    linalg_attention_few128_f32: f32, Simt<128, 1>, 2, 2;
    linalg_attention_few128_f16: F16, Simt<128, 1>, 2, 2;
    linalg_attention_few128_bf16: Bf16, Simt<128, 1>, 2, 2;
    linalg_attention_many64_f32: f32, Simt<64, 4>, 2, 2;
    linalg_attention_many64_f16: F16, Mma<64>, 3, 3;
    linalg_attention_many64_bf16: Bf16, Mma<64>, 3, 3;
    linalg_attention_many128_f32: f32, Simt<128, 4>, 1, 2;
    linalg_attention_many128_f16: F16, Mma<128>, 2, 3;
    linalg_attention_many128_bf16: Bf16, Mma<128>, 2, 3;
}

macro_rules! joins {
    ($($name:ident: $type:ty;)*) => {$(
        #[doc = "[`join`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: AttentionParams,
            parts: u32,
            work: *const f32,
            y: *mut $type,
            lse: *mut f32,
        ) {
            join(&p, parts, work, y, lse);
        }

        kernel_table! { $name: block [JOIN_THREADS, 1, 1], min_blocks 4, shared None, barriers 0; }
    )*};
}

joins! {
    linalg_attention_join_f32: f32;
    linalg_attention_join_f16: F16;
    linalg_attention_join_bf16: Bf16;
}
