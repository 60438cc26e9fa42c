//! The gradients, from scores that are computed again.
//!
//! [`delta`] computes `g . y` for each query: one read of both. [`keys`] takes a tile of keys of a
//! head of keys and values, and adds the contributions of its queries, head by head and [`LINES`]
//! queries at a time. [`queries`] takes a tile of queries, and adds the contributions of the keys,
//! [`LINES`] at a time. Blocks are numbered by tile, head and batch along x. There are no atomics.
//!
//! Queries and gradients are read once for each tile of keys, keys and values once for each tile of
//! queries; four products of tiles in [`keys`] and three in [`queries`].
//!
//! # Safety
//! As in [`attention`](super). `lse` and `delta` hold a float for each query of each head.

use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    optim::StepState,
};

use super::{
    super::{
        group::{self, Group, WARP_THREADS, Warp},
        index::{divide, divide_long},
        real::{Bf16, F16, Real},
        rows::softmax::Mask,
    },
    mma::Mma,
    rows::{Factors, Operands, Reads, Rows, keys_of},
    simt::Simt,
    tile::{Engine, LEFT_OUT, LINES, OWN, THREADS, Vectors, WEIGHT_PITCH, is_wide},
};
use crate::dev::{
    idx,
    memory::smem::SharedAddr,
    numeric::{functions::exp_nonpositive, math::fma},
    sync::{block_any, warp_sync},
    unroll::unroll,
    warp::FULL,
};

/// Shared memory of a block: two tiles of its rows, two of lines, and weights.
const fn shared<T: Real, E: Engine<T>>() -> u32 {
    2 * (E::ROWS + LINES) * E::PITCH + E::ROWS * WEIGHT_PITCH
}

/// The tiles of a block: two of its rows, two of the lines that it reads, and weights.
#[derive(Clone, Copy)]
struct Tiles {
    rows: [SharedAddr; 2],
    lines: [SharedAddr; 2],
    weights: SharedAddr,
}

impl Tiles {
    #[inline(always)]
    fn new<T: Real, E: Engine<T>>() -> Self {
        let first = SharedAddr::dynamic();
        let second = first.offset(E::bytes(E::ROWS));
        let lines = second.offset(E::bytes(E::ROWS));
        let others = lines.offset(E::bytes(LINES));
        Self { rows: [first, second], lines: [lines, others], weights: others.offset(E::bytes(LINES)) }
    }
}

/// The keys that one query reads, and its saved sums.
#[derive(Clone, Copy)]
struct Query {
    reads: Reads,
    lse: f32,
    delta: f32,
}

impl Query {
    /// A query that reads no key.
    const NONE: Self = Self { reads: Reads::NONE, lse: 0.0, delta: 0.0 };

    /// The query with these sums. One whose scores are all -inf reads no key.
    #[inline(always)]
    unsafe fn new(reads: Reads, lse: *const f32, delta: *const f32) -> Self {
        let (lse, delta) = (*lse, *delta);
        if lse == f32::NEG_INFINITY { Self::NONE } else { Self { reads, lse, delta } }
    }

    /// The weight of a key after dropout, and the gradient with respect to its product.
    ///
    /// `x` is the product of query and key, `e` the product of value and gradient, and `factor` the
    /// factor of dropout.
    #[inline(always)]
    unsafe fn weight(&self, scale: f32, mask: Mask, key: u32, [x, e]: [f32; 2], factor: f32) -> [f32; 2] {
        let (score, is_read) = self.reads.score(mask, key, scale * x);
        let weight = exp_nonpositive(score - self.lse);
        if is_read { [weight * factor, scale * weight * (factor * e - self.delta)] } else { [LEFT_OUT; 2] }
    }
}

/// `delta = g . y` for each query of each head. A warp takes a query at a time.
#[inline(always)]
unsafe fn delta<T: Real>(p: &AttentionParams, y: *const T, g: *const T, delta: *mut f32) {
    for (number, live) in group::rows::<Warp>(p.batch * p.heads * p.queries) {
        let (query, rest) = divide_long(number, p.queries);
        let (head, batch) = divide_long(rest, p.heads);
        let start = p.y.start(batch, head, query);
        let (mut sum, mut column) = (0.0, Warp::rank());
        while column < p.dim as u32 {
            let at = (start + u64::from(column)) as usize;
            sum = fma((*g.add(at)).widen(), (*y.add(at)).widen(), sum);
            column += Warp::SIZE;
        }
        let sum = Warp::sum::<0>(sum);
        if live && Warp::rank() == 0 {
            *delta.add(number as usize) = sum;
        }
    }
}

/// The gradients of keys and values.
#[inline(always)]
unsafe fn keys<T: Real, E: Engine<T>>(
    p: &AttentionParams,
    of: Operands<T>,
    g: *const T,
    saved: [*const f32; 2],
    [dk, dv]: [*mut T; 2],
) {
    let (dim, keys, queries) = (p.dim as u32, p.keys as u32, p.queries as u32);
    let (tile, rest) = divide(idx::bid_x(), keys.div_ceil(E::ROWS));
    let (kv_head, batch) = divide(rest, p.kv_heads as u32);
    let (_, group) = divide(p.heads as u32, p.kv_heads as u32);
    let (batch, first) = (u64::from(batch), E::ROWS * tile);
    let start =
        |strides: &HeadStrides, offset: u32| strides.start(batch, u64::from(kv_head), u64::from(first + offset));

    let tiles = Tiles::new::<T, E>();
    let len = of.len(p, batch);
    let live = len.saturating_sub(first);
    E::fill(&Vectors::new(of.k, &p.k, dim), E::ROWS, live, tiles.rows[0], |offset| start(&p.k, offset));
    E::fill(&Vectors::new(of.v, &p.v, dim), E::ROWS, live, tiles.rows[1], |offset| start(&p.v, offset));

    let factors = Factors::new(&p.dropout, of.state);
    let (of_q, of_g) = (Vectors::new(of.q, &p.q, dim), Vectors::new(g, &p.y, dim));
    let (mut of_keys, mut of_values) = (E::ZERO, E::ZERO);
    let mut turn = 0;
    while turn < group * queries.div_ceil(LINES) && block_any(first < len) {
        let (lines, of_group) = divide(turn, queries.div_ceil(LINES));
        let (head, from) = (u64::from(kv_head * group + of_group), LINES * lines);
        turn += 1;
        // Queries in front of the diagonal read none of these keys.
        if keys_of(p, (from + LINES).min(queries) - 1, keys) <= first {
            continue;
        }
        let place = |offset: u32| u64::from(from + offset);
        let live = queries - from;
        let of_queries = E::fill(&of_q, LINES, live, tiles.lines[0], |offset| p.q.start(batch, head, place(offset)));
        let of_gradients = E::fill(&of_g, LINES, live, tiles.lines[1], |offset| p.y.start(batch, head, place(offset)));
        let special = block_any(of_queries | of_gradients);

        // Weights, and gradients of products, by key and query.
        let products = E::dots(tiles.rows[0], tiles.lines[0], dim);
        let others = E::dots(tiles.rows[1], tiles.lines[1], dim);
        factors.write::<T, E>(tiles.weights, |key, offset| {
            p.weight_index(batch, head, place(offset)).wrapping_add(u64::from(first + key))
        });
        let (mut kept, mut gradients) = ([LEFT_OUT; OWN], [LEFT_OUT; OWN]);
        // One address for all lines of the thread: its registers are scarce.
        let number = (batch * p.heads + head) * p.queries + u64::from(from) + u64::from(E::line(0));
        let [lse, delta] = saved.map(|saved| saved.wrapping_add(number as usize));
        unroll!(J in 0..8 => {
            if J < E::OWN_LINES {
                let query = from + E::line(J);
                let of_query = if query < queries {
                    let after = (E::line(J) - E::line(0)) as usize;
                    let reads = Reads::of(p, batch, head, query, len);
                    Query::new(reads, lse.wrapping_add(after), delta.wrapping_add(after))
                } else {
                    Query::NONE
                };
                unroll!(I in 0..4 => {
                    if I < E::OWN_ROWS {
                        let (own, key) = ((I * E::OWN_LINES + J) as usize, first + E::row(I));
                        let factor = factors.read::<T, E>(tiles.weights, I, J);
                        [kept[own], gradients[own]] =
                            of_query.weight(p.scale, of.mask, key, [products[own], others[own]], factor);
                    }
                });
            }
        });
        E::add_lines(&mut of_values, &kept, tiles.weights, tiles.lines[1], dim, special);
        warp_sync(FULL);
        E::add_lines(&mut of_keys, &gradients, tiles.weights, tiles.lines[0], dim, special);
    }

    let (wide_k, wide_v) = (is_wide(dk, &p.k, dim), is_wide(dv, &p.v, dim));
    unroll!(I in 0..4 => {
        let offset = E::row(I);
        if I < E::OWN_ROWS && first + offset < keys {
            E::put(&of_keys, I, 1.0, dk.add(start(&p.k, offset) as usize), wide_k, dim);
            E::put(&of_values, I, 1.0, dv.add(start(&p.v, offset) as usize), wide_v, dim);
        }
    });
}

/// The gradient of queries.
#[inline(always)]
unsafe fn queries<T: Real, E: Engine<T>>(
    p: &AttentionParams,
    of: Operands<T>,
    g: *const T,
    saved: [*const f32; 2],
    dq: *mut T,
) {
    let dim = p.dim as u32;
    let rows = Rows::own(p, 1, E::ROWS);
    let tiles = Tiles::new::<T, E>();
    let len = of.len(p, rows.batch);
    let live = rows.end - rows.first;
    E::fill(&Vectors::new(of.q, &p.q, dim), E::ROWS, live, tiles.rows[0], |offset| rows.start(&p.q, offset));
    E::fill(&Vectors::new(g, &p.y, dim), E::ROWS, live, tiles.rows[1], |offset| rows.start(&p.y, offset));
    let mut of_rows = [Query::NONE; 4];
    unroll!(I in 0..4 => {
        let offset = E::row(I);
        if I < E::OWN_ROWS && rows.first + offset < rows.end {
            let number = rows.number(p, offset) as usize;
            let reads = rows.reads(p, offset, len);
            of_rows[I as usize] = Query::new(reads, saved[0].add(number), saved[1].add(number));
        }
    });

    let factors = Factors::new(&p.dropout, of.state);
    let (of_k, of_v) = (Vectors::new(of.k, &p.k, dim), Vectors::new(of.v, &p.v, dim));
    let end = rows.reach(p, E::ROWS);
    let mut sums = E::ZERO;
    let mut start = 0;
    while start < end && block_any(start < len) {
        let live = len.min(end).saturating_sub(start);
        let place = |key: u32| u64::from(start + key);
        let special =
            E::fill(&of_k, LINES, live, tiles.lines[0], |key| p.k.start(rows.batch, rows.kv_head, place(key)));
        E::fill(&of_v, LINES, live, tiles.lines[1], |key| p.v.start(rows.batch, rows.kv_head, place(key)));
        let special = block_any(special);
        let products = E::dots(tiles.rows[0], tiles.lines[0], dim);
        let others = E::dots(tiles.rows[1], tiles.lines[1], dim);
        factors.write::<T, E>(tiles.weights, |offset, key| {
            let (head, query) = rows.place(offset);
            p.weight_index(rows.batch, head, u64::from(query)).wrapping_add(place(key))
        });
        let mut gradients = [LEFT_OUT; OWN];
        unroll!(I in 0..4 => {
            unroll!(J in 0..8 => {
                if I < E::OWN_ROWS && J < E::OWN_LINES {
                    let (own, key) = ((I * E::OWN_LINES + J) as usize, start + E::line(J));
                    let factor = factors.read::<T, E>(tiles.weights, I, J);
                    [_, gradients[own]] =
                        of_rows[I as usize].weight(p.scale, of.mask, key, [products[own], others[own]], factor);
                }
            });
        });
        E::add_lines(&mut sums, &gradients, tiles.weights, tiles.lines[0], dim, special);
        start += LINES;
    }

    let wide = is_wide(dq, &p.q, dim);
    unroll!(I in 0..4 => {
        let offset = E::row(I);
        if I < E::OWN_ROWS && rows.first + offset < rows.end {
            E::put(&sums, I, 1.0, dq.add(rows.start(&p.q, offset) as usize), wide, dim);
        }
    });
}

macro_rules! deltas {
    ($($name:ident: $type:ty;)*) => {$(
        #[doc = "[`delta`] of one element type."]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: AttentionParams,
            y: *const $type,
            g: *const $type,
            delta: *mut f32,
        ) {
            self::delta(&p, y, g, delta);
        }

        kernel_table! { $name: block [WARP_THREADS, 1, 1], min_blocks 8, shared None, barriers 0; }
    )*};
}

deltas! {
    linalg_attention_delta_f32: f32;
    linalg_attention_delta_f16: F16;
    linalg_attention_delta_bf16: Bf16;
}

macro_rules! gradients {
    ($($keys:ident, $queries:ident: $type:ty, $engine:ty;)*) => {$(
        #[doc = concat!("[`keys`] by `", stringify!($engine), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $keys(
            p: AttentionParams,
            q: *const $type,
            k: *const $type,
            v: *const $type,
            key_lens: *const u32,
            keep: *const u8,
            addend: *const f32,
            state: *const StepState,
            g: *const $type,
            lse: *const f32,
            delta: *const f32,
            dk: *mut $type,
            dv: *mut $type,
        ) {
            let of = Operands { q, k, v, key_lens, mask: Mask { keep, addend }, state };
            keys::<$type, $engine>(&p, of, g, [lse, delta], [dk, dv]);
        }

        #[doc = concat!("[`queries`] by `", stringify!($engine), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $queries(
            p: AttentionParams,
            q: *const $type,
            k: *const $type,
            v: *const $type,
            key_lens: *const u32,
            keep: *const u8,
            addend: *const f32,
            state: *const StepState,
            g: *const $type,
            lse: *const f32,
            delta: *const f32,
            dq: *mut $type,
        ) {
            let of = Operands { q, k, v, key_lens, mask: Mask { keep, addend }, state };
            queries::<$type, $engine>(&p, of, g, [lse, delta], dq);
        }

        kernel_table! {
            $keys, $queries: block [THREADS, 1, 1], min_blocks 1, shared Bytes(shared::<$type, $engine>()), barriers 2;
        }
    )*};
}

gradients! {
    linalg_attention_keys64_f32, linalg_attention_queries64_f32: f32, Simt<64, 4>;
    linalg_attention_keys64_f16, linalg_attention_queries64_f16: F16, Mma<64>;
    linalg_attention_keys64_bf16, linalg_attention_queries64_bf16: Bf16, Mma<64>;
    linalg_attention_keys128_f32, linalg_attention_queries128_f32: f32, Simt<128, 2>;
    linalg_attention_keys128_f16, linalg_attention_queries128_f16: F16, Mma<128>;
    linalg_attention_keys128_bf16, linalg_attention_queries128_bf16: Bf16, Mma<128>;
}
