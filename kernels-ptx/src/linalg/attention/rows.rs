//! Which rows a block takes, and what each query reads.
//!
//! # Safety
//! As in [`attention`](super).

use core_types::{
    params::{
        attention::{AttentionParams, HeadStrides},
        elementwise::DropoutParams,
        optim::StepState,
    },
    philox,
};

use super::{
    super::{index::divide, real::Real, rows::softmax::Mask},
    tile::Engine,
};
use crate::dev::{idx, memory::smem::SharedAddr};

/// The operands of the forward pass.
#[derive(Clone, Copy)]
pub struct Operands<T> {
    /// Queries.
    pub q: *const T,
    /// Keys.
    pub k: *const T,
    /// Values.
    pub v: *const T,
    /// Keys of each batch, or null.
    pub key_lens: *const u32,
    /// The mask to keep or to add.
    pub mask: Mask,
    /// The record of an optimiser, or null.
    pub state: *const StepState,
}

impl<T> Operands<T> {
    /// How many leading keys a batch has.
    #[inline(always)]
    pub unsafe fn len(&self, p: &AttentionParams, batch: u64) -> u32 {
        let keys = p.keys as u32;
        if self.key_lens.is_null() { keys } else { (*self.key_lens.add(batch as usize)).min(keys) }
    }
}

/// The rows of one block: queries of `group` neighbouring heads that share keys and values.
#[derive(Clone, Copy)]
pub struct Rows {
    /// The batch.
    pub batch: u64,
    /// The head of keys and values.
    pub kv_head: u64,
    /// The first row; row `h queries + t` is query t of the group's head h.
    pub first: u32,
    /// The end of all rows of the group.
    pub end: u32,
    head: u32,
    queries: u32,
}

impl Rows {
    /// The `count` rows of this block.
    ///
    /// The last ones, which read the most keys under a causal mask, come first.
    #[inline(always)]
    pub unsafe fn own(p: &AttentionParams, group: u32, count: u32) -> Self {
        let (heads, queries) = (p.heads as u32, p.queries as u32);
        let end = group * queries;
        let tiles = end.div_ceil(count);
        let (tile, rest) = divide(idx::bid_x(), tiles);
        let (_, groups) = divide(heads, group);
        let (of_batch, batch) = divide(rest, groups);
        let (_, sharing) = divide(heads, p.kv_heads as u32);
        let head = of_batch * group;
        let (_, kv_head) = divide(head, sharing);
        let first = (tiles - 1 - tile) * count;
        Self { batch: u64::from(batch), kv_head: u64::from(kv_head), first, end, head, queries }
    }

    /// Head and query of the row `offset` rows from the first.
    #[inline(always)]
    pub unsafe fn place(&self, offset: u32) -> (u64, u32) {
        let (query, head) = divide(self.first + offset, self.queries);
        (u64::from(self.head + head), query)
    }

    /// The most keys that one of `count` rows reads.
    #[inline(always)]
    pub fn reach(&self, p: &AttentionParams, count: u32) -> u32 {
        let last = (self.first + count).min(self.queries) - 1;
        keys_of(p, if self.end == self.queries { last } else { self.queries - 1 }, p.keys as u32)
    }

    /// The leading keys that every row of the block reads, of the `len` that its batch has.
    #[inline(always)]
    pub fn common(&self, p: &AttentionParams, len: u32) -> u32 {
        keys_of(p, if self.end == self.queries { self.first } else { 0 }, len)
    }

    /// The start of a row in a tensor.
    #[inline(always)]
    pub unsafe fn start(&self, strides: &HeadStrides, offset: u32) -> u64 {
        let (head, query) = self.place(offset);
        strides.start(self.batch, head, u64::from(query))
    }

    /// The number of a row among the rows of all heads and batches.
    #[inline(always)]
    pub unsafe fn number(&self, p: &AttentionParams, offset: u32) -> u64 {
        let (head, query) = self.place(offset);
        (self.batch * p.heads + head) * p.queries + u64::from(query)
    }

    /// The keys that a row reads, of the `len` that its batch has; none without such a row.
    #[inline(always)]
    pub unsafe fn reads(&self, p: &AttentionParams, offset: u32, len: u32) -> Reads {
        if self.first + offset < self.end {
            let (head, query) = self.place(offset);
            Reads::of(p, self.batch, head, query, len)
        } else {
            Reads::NONE
        }
    }
}

/// The keys that one query reads.
#[derive(Clone, Copy)]
pub struct Reads {
    /// It reads no key from here on.
    pub end: u32,
    /// The start of its row of the mask.
    mask: u64,
}

impl Reads {
    /// No key.
    pub const NONE: Self = Self { end: 0, mask: 0 };

    /// The keys of a query, of the `len` that its batch has.
    #[inline(always)]
    pub fn of(p: &AttentionParams, batch: u64, head: u64, query: u32, len: u32) -> Self {
        Self { end: keys_of(p, query, len), mask: p.mask.start(batch, head, u64::from(query)) }
    }

    /// The score of a key with the scaled product `x`, and whether the query reads it.
    #[inline(always)]
    pub unsafe fn score(&self, mask: Mask, key: u32, x: f32) -> (f32, bool) {
        if key >= self.end {
            return (f32::NEG_INFINITY, false);
        }
        if mask.is_none() { (x, true) } else { mask.apply((self.mask + u64::from(key)) as usize, x) }
    }
}

/// [`AttentionParams::keys_of`] for sizes below 2^31.
///
/// Words of 64 bits, since the build's lint takes the carry of longer ones for one value of all
/// threads.
#[inline(always)]
pub fn keys_of(p: &AttentionParams, query: u32, len: u32) -> u32 {
    if p.causal == 0 {
        return len;
    }
    let (most, own) = (i64::from(len), i64::from(query) + 1);
    if p.causal_offset <= -own {
        0
    } else if p.causal_offset >= most - own {
        len
    } else {
        (p.causal_offset + own) as u32
    }
}

/// The dropout of a launch.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    p: &'a DropoutParams,
    step: u32,
}

impl<'a> Factors<'a> {
    /// The dropout of the step that `state` has begun.
    #[inline(always)]
    pub unsafe fn new(p: &'a DropoutParams, state: *const StepState) -> Self {
        Self { p, step: p.step.wrapping_add(if state.is_null() { 0 } else { (*state).begun() }) }
    }

    /// Whether every factor is 1.
    #[inline(always)]
    pub fn are_one(&self) -> bool {
        self.p.threshold == 0 && self.p.scale == 1.0
    }

    /// Writes the factors of this thread's weights to a tile of weights, if any are dropped.
    ///
    /// `index` is the logical index of the weight of a row and a line.
    #[inline(always)]
    pub unsafe fn write<T: Real, E: Engine<T>>(&self, weights: SharedAddr, index: impl Fn(u32, u32) -> u64) {
        if self.p.threshold == 0 {
            return;
        }
        let mut own = 0;
        while own < E::OWN_ROWS * E::OWN_LINES {
            let (i, j) = (own / E::OWN_LINES, own % E::OWN_LINES);
            let at = self.p.first.wrapping_add(index(E::row(i), E::line(j)));
            let [a, b, c, d] = philox::block(self.p.seed, self.p.site, self.step, at / 4);
            let (even, odd) = if at % 4 < 2 { (a, b) } else { (c, d) };
            let word = if at % 2 == 0 { even } else { odd };
            let factor = if u64::from(word) >= self.p.threshold { self.p.scale } else { 0.0 };
            E::weight(weights, i, j).store(factor.to_bits());
            own += 1;
        }
    }

    /// The factor of one of this thread's weights, which [`write`](Self::write) has written.
    #[inline(always)]
    pub unsafe fn read<T: Real, E: Engine<T>>(&self, weights: SharedAddr, i: u32, j: u32) -> f32 {
        if self.p.threshold == 0 { self.p.scale } else { E::read(weights, i, j) }
    }
}
