//! The threads that share a row: a warp or a block.
//!
//! Reductions follow a fixed tree, so results do not depend on timing.

use super::real::{Real, aligned4};
use crate::dev::{
    idx,
    memory::smem::{Layout, Region},
    opaque::opaque_word,
    sync::{block_any, block_sync},
    unroll::unroll,
    warp::{FULL, any, reduce},
};

/// Warps, and so rows, of a block whose warps work on a row each.
pub const ROWS: u32 = 4;
/// Threads of such a block.
pub const WARP_THREADS: u32 = 32 * ROWS;
/// Threads of a block that works on one row.
pub const BLOCK_THREADS: u32 = 256;
/// Elements of a chunk that one thread holds.
pub const CHUNK: u32 = 4;
/// Chunks of a row that a thread of a warp keeps in registers.
pub const HELD_CHUNKS: u32 = 8;
/// Chunks of a row that a thread sums before it adds the result to its running sum.
///
/// Rounding errors then do not grow with the length. Only rows of a block have that many.
const PART_CHUNKS: u32 = 16;
/// Longest row that a warp takes.
pub const HELD_LEN: u32 = 32 * CHUNK * HELD_CHUNKS;

/// Threads that share a row. All of them call each reduction, in uniform control flow.
///
/// Each reduction of a kernel has a distinct `SLOT`, below [`SLOTS`]: if a block takes one row, one
/// barrier in each of them is then enough.
pub trait Group {
    /// Number of threads.
    const SIZE: u32;

    /// Index of this thread in the group.
    fn rank() -> u32;

    /// The greatest of all threads' values that is not NaN; -inf if there is none.
    fn max<const SLOT: u32>(value: f32) -> f32;

    /// Whether the predicate of any thread holds.
    fn any(predicate: bool) -> bool;

    /// The sum over the threads.
    fn sum<const SLOT: u32>(value: f32) -> f32;

    /// The sum over the threads.
    fn sum_f64<const SLOT: u32>(value: f64) -> f64;

    /// The greatest of all threads' values.
    fn max_u64<const SLOT: u32>(value: u64) -> u64;

    /// The first row of the block.
    fn first_row() -> u64;

    /// The distance to the block's next row, alike for all its groups.
    ///
    /// `None` if a block takes the rows of one turn.
    fn next_row() -> Option<u64>;

    /// Index of the group's row in the rows of its block.
    fn row_in_block() -> u32;
}

/// The 32 threads of a warp; a block has [`ROWS`] of them.
pub struct Warp;

/// The [`BLOCK_THREADS`] threads of a block.
pub struct Block;

#[inline(always)]
fn add(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn add_f64(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}

impl Group for Warp {
    const SIZE: u32 = 32;

    #[inline(always)]
    fn rank() -> u32 {
        idx::lane()
    }

    #[inline(always)]
    fn max<const SLOT: u32>(value: f32) -> f32 {
        reduce(value, f32::max)
    }

    #[inline(always)]
    fn any(predicate: bool) -> bool {
        any(FULL, predicate)
    }

    #[inline(always)]
    fn sum<const SLOT: u32>(value: f32) -> f32 {
        reduce(value, add)
    }

    #[inline(always)]
    fn sum_f64<const SLOT: u32>(value: f64) -> f64 {
        f64::from_bits(reduce(value.to_bits(), add_f64))
    }

    #[inline(always)]
    fn max_u64<const SLOT: u32>(value: u64) -> u64 {
        reduce(value, u64::max)
    }

    #[inline(always)]
    fn first_row() -> u64 {
        u64::from(idx::bid_x()) * u64::from(ROWS)
    }

    #[inline(always)]
    fn next_row() -> Option<u64> {
        Some(u64::from(idx::gdim_x()) * u64::from(ROWS))
    }

    #[inline(always)]
    fn row_in_block() -> u32 {
        idx::warp()
    }
}

/// Most reductions of a kernel.
pub const SLOTS: u32 = 5;
/// Warps of a block that works on one row.
const WARPS: u32 = BLOCK_THREADS / 32;
/// Where the warps of a block leave their parts of each reduction.
const PARTS: Region<u64> = Layout::new().array(SLOTS * WARPS);
/// Shared memory of a block that reduces.
pub const REDUCE_BYTES: u32 = PARTS.end().bytes();

/// The parts of all warps, combined by every warp alike.
///
/// `bits` stands for one value of a thread's warp.
#[inline(always)]
fn across_warps<const SLOT: u32>(bits: u64, neutral: u64, combine: impl Fn(u64) -> u64) -> u64 {
    const { assert!(SLOT < SLOTS) }
    // SAFETY: the launch gives the block `REDUCE_BYTES`; a barrier stands between a reduction's writes and reads, and no
    // other reduction writes to its slot.
    unsafe {
        let parts = PARTS.slice();
        if idx::lane() == 0 {
            parts.set(SLOT * WARPS + idx::warp(), bits);
        }
        block_sync();
        combine(if idx::lane() < WARPS { parts.get(SLOT * WARPS + idx::lane()) } else { neutral })
    }
}

impl Group for Block {
    const SIZE: u32 = BLOCK_THREADS;

    #[inline(always)]
    fn rank() -> u32 {
        idx::tid_x()
    }

    #[inline(always)]
    fn max<const SLOT: u32>(value: f32) -> f32 {
        let of_warp = u64::from(reduce(value, f32::max).to_bits());
        let neutral = u64::from(f32::NEG_INFINITY.to_bits());
        f32::from_bits(across_warps::<SLOT>(of_warp, neutral, |part| {
            u64::from(reduce(f32::from_bits(part as u32), f32::max).to_bits())
        }) as u32)
    }

    #[inline(always)]
    fn any(predicate: bool) -> bool {
        block_any(predicate)
    }

    #[inline(always)]
    fn sum<const SLOT: u32>(value: f32) -> f32 {
        let of_warp = u64::from(reduce(value, add).to_bits());
        f32::from_bits(across_warps::<SLOT>(of_warp, 0, |part| {
            u64::from(reduce(f32::from_bits(part as u32), add).to_bits())
        }) as u32)
    }

    #[inline(always)]
    fn sum_f64<const SLOT: u32>(value: f64) -> f64 {
        let of_warp = reduce(value.to_bits(), add_f64);
        f64::from_bits(across_warps::<SLOT>(of_warp, 0, |part| reduce(part, add_f64)))
    }

    #[inline(always)]
    fn max_u64<const SLOT: u32>(value: u64) -> u64 {
        across_warps::<SLOT>(reduce(value, u64::max), 0, |part| reduce(part, u64::max))
    }

    #[inline(always)]
    fn first_row() -> u64 {
        u64::from(idx::bid_x())
    }

    #[inline(always)]
    fn next_row() -> Option<u64> {
        None
    }

    #[inline(always)]
    fn row_in_block() -> u32 {
        0
    }
}

/// The rows below `count` that the group takes, as `(row, live)`.
///
/// All groups of a block get the same number of rows, and the first row of a block exists. Where
/// its last rows do not, `row` repeats the last one and `live` is false, so that nothing is
/// written.
#[inline(always)]
pub fn rows<G: Group>(count: u64) -> impl Iterator<Item = (u64, bool)> {
    let mut next = Some(G::first_row());
    core::iter::from_fn(move || {
        let first = next?;
        let Some(step) = G::next_row() else {
            next = None;
            return Some((first, true));
        };
        next = Some(first + step).filter(|&first| first < count);
        let row = first + u64::from(G::row_in_block());
        Some((row.min(count - 1), row < count))
    })
}

/// The distribution of a row's elements over a group, in chunks of four a thread.
///
/// A chunk is four neighbours if all rows are aligned to that, else four elements that lie a
/// group's size apart.
#[derive(Clone, Copy)]
pub struct Span {
    len: u32,
    deal: Deal,
    size: u32,
    rank: u32,
}

/// Whether the elements of a chunk are neighbours.
#[derive(Clone, Copy)]
enum Deal {
    /// They are, guaranteed by the launch.
    Neighbours,
    /// They are not.
    Apart,
    /// The kernel decides.
    Chosen { neighbours: bool },
}

/// One thread's chunk of a row.
#[derive(Clone, Copy)]
pub struct Chunk {
    span: Span,
    first: u32,
}

impl Span {
    /// Rows of `len` elements.
    ///
    /// `aligned` if the first elements of all tensors are aligned to four.
    #[inline(always)]
    pub fn new<G: Group>(len: u32, aligned: bool) -> Self {
        let deal = Deal::Chosen { neighbours: aligned && len % CHUNK == 0 };
        Self { len, deal, size: G::SIZE, rank: G::rank() }
    }

    /// Rows of `len` elements, a multiple of four, that are all aligned to four.
    #[inline(always)]
    pub fn aligned<G: Group>(len: u32) -> Self {
        Self { len, deal: Deal::Neighbours, size: G::SIZE, rank: G::rank() }
    }

    /// As [`Self::new`], for a kernel paired with one whose warps hold aligned rows.
    ///
    /// A warp gets no aligned rows here.
    #[inline(always)]
    pub fn not_held<G: Group>(len: u32, aligned: bool) -> Self {
        if G::SIZE == Warp::SIZE {
            return Self { len, deal: Deal::Apart, size: G::SIZE, rank: G::rank() };
        }
        Self::new::<G>(len, aligned)
    }

    #[inline(always)]
    fn neighbours(self) -> bool {
        match self.deal {
            Deal::Neighbours => true,
            Deal::Apart => false,
            Deal::Chosen { neighbours } => opaque_word(u32::from(neighbours)) != 0, // one copy of what depends on it
        }
    }

    /// Number of chunks that any thread has.
    #[inline(always)]
    pub fn chunks(self) -> u32 {
        self.len.div_ceil(CHUNK * self.size)
    }

    /// Chunk `index` of this thread.
    #[inline(always)]
    pub fn chunk(self, index: u32) -> Chunk {
        let first = index * CHUNK * self.size + if self.neighbours() { CHUNK * self.rank } else { self.rank };
        Chunk { span: self, first }
    }
}

impl Chunk {
    /// Place in the row of each element; those past the row's end do not exist.
    #[inline(always)]
    pub fn columns(self) -> [u32; 4] {
        let step = if self.span.neighbours() { 1 } else { self.span.size };
        [self.first, self.first + step, self.first + 2 * step, self.first + 3 * step]
    }

    /// Whether the element at `column` of this chunk exists.
    #[inline(always)]
    fn exists(self, column: u32) -> bool {
        match self.span.deal {
            Deal::Neighbours => self.first < self.span.len,
            Deal::Apart | Deal::Chosen { .. } => column < self.span.len,
        }
    }

    /// `body(element)` of every element that exists, 0 for the others.
    #[inline(always)]
    pub fn map_live(self, values: [f32; 4], body: impl Fn(f32) -> f32) -> [f32; 4] {
        zip4(self.columns(), values).map(|(column, value)| if self.exists(column) { body(value) } else { 0.0 })
    }

    /// Calls `body` for every element that exists.
    #[inline(always)]
    pub fn each_live(self, values: [f32; 4], mut body: impl FnMut(f32)) {
        let columns = self.columns();
        unroll!(E in 0..4 => {
            if self.exists(columns[E as usize]) {
                body(values[E as usize]);
            }
        });
    }

    /// The elements of `row`, with 0 for those that do not exist.
    ///
    /// # Safety
    /// `row` holds the row.
    #[inline(always)]
    pub unsafe fn load<T: Real>(self, row: *const T) -> [f32; 4] {
        if self.span.neighbours() {
            if self.first < self.span.len { T::load4(row.add(self.first as usize)) } else { [0.0; 4] }
        } else {
            self.columns().map(|column| if column < self.span.len { (*row.add(column as usize)).widen() } else { 0.0 })
        }
    }

    /// The elements of `row`, or `default` for all of them where the pointer is null.
    ///
    /// # Safety
    /// `row` is null or holds the row.
    #[inline(always)]
    pub unsafe fn load_or<T: Real>(self, row: *const T, default: f32) -> [f32; 4] {
        if row.is_null() { [default; 4] } else { self.load(row) }
    }

    /// Whether this is the last chunk of a part: of [`PART_CHUNKS`] that a thread takes.
    #[inline(always)]
    pub fn ends_part(self) -> bool {
        let index = self.first / (CHUNK * self.span.size);
        index % PART_CHUNKS == PART_CHUNKS - 1
    }

    /// The elements of `row` below `end`, with `fill` for the others.
    ///
    /// `end` is at most the length of the row.
    ///
    /// # Safety
    /// `row` holds the row.
    #[inline(always)]
    pub unsafe fn load_until<T: Real>(self, row: *const T, end: u32, fill: f32) -> [f32; 4] {
        if self.span.neighbours() {
            let mut values = [fill; 4];
            if self.first < end {
                values = T::load4(row.add(self.first as usize));
            }
            zip4(self.columns(), values).map(|(column, value)| if column < end { value } else { fill })
        } else {
            self.columns().map(|column| if column < end { (*row.add(column as usize)).widen() } else { fill })
        }
    }

    /// Writes the elements that exist.
    ///
    /// # Safety
    /// `row` holds the row.
    #[inline(always)]
    pub unsafe fn store<T: Real>(self, row: *mut T, values: [f32; 4]) {
        if self.span.neighbours() {
            if self.first < self.span.len {
                T::store4(row.add(self.first as usize), values);
            }
        } else {
            let columns = self.columns();
            unroll!(E in 0..4 => {
                if columns[E as usize] < self.span.len {
                    *row.add(columns[E as usize] as usize) = T::narrow(values[E as usize]);
                }
            });
        }
    }
}

/// Pairs of corresponding elements.
#[inline(always)]
pub fn zip4<A, B>([a0, a1, a2, a3]: [A; 4], [b0, b1, b2, b3]: [B; 4]) -> [(A, B); 4] {
    [(a0, b0), (a1, b1), (a2, b2), (a3, b3)]
}

/// `combine` over four elements, in order, from `first` on.
#[inline(always)]
pub fn fold4([a, b, c, d]: [f32; 4], first: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    combine(combine(combine(combine(first, a), b), c), d)
}

/// Whether rows may move by four elements.
#[inline(always)]
pub fn all_aligned4<T, const N: usize>(tensors: [*const T; N]) -> bool {
    let mut aligned = true;
    for tensor in tensors {
        aligned &= aligned4(tensor);
    }
    aligned
}

/// A thread's sum over its chunks of a row, in parts.
#[derive(Clone, Copy, Default)]
pub struct PartSum {
    whole: f32,
    part: f32,
}

impl PartSum {
    /// Lets `add` add the terms of a chunk to the sum that it is given.
    #[inline(always)]
    pub fn take<G: Group>(&mut self, chunk: Chunk, add: impl FnOnce(f32) -> f32) {
        self.part = add(self.part);
        if G::SIZE > Warp::SIZE && chunk.ends_part() {
            self.whole += self.part;
            self.part = 0.0;
        }
    }

    /// The sum over all threads of the group.
    #[inline(always)]
    pub fn total<G: Group, const SLOT: u32>(self) -> f32 {
        G::sum::<SLOT>(self.whole + self.part)
    }
}

/// A row in passes. Chunks come in order, a whole group's at a time.
pub trait Row<V: Copy> {
    /// Calls `body` for each chunk.
    fn each(&self, body: impl FnMut(Chunk, V));
}

/// A row of at most `HELD_CHUNKS` chunks a thread, in registers.
pub struct Held<V> {
    span: Span,
    values: [V; HELD_CHUNKS as usize],
}

impl<V: Copy> Held<V> {
    /// Reads the row; `none` stands where there is no chunk.
    #[inline(always)]
    pub fn new(span: Span, none: V, fetch: impl Fn(Chunk) -> V) -> Self {
        let mut values = [none; HELD_CHUNKS as usize];
        unroll!(I in 0..8 => {
            if I < span.chunks() {
                values[I as usize] = fetch(span.chunk(I));
            }
        });
        Self { span, values }
    }
}

impl<V: Copy> Held<V> {
    /// The row with every chunk replaced.
    #[inline(always)]
    pub fn map(&self, body: impl Fn(V) -> V) -> Self {
        let mut values = self.values;
        unroll!(I in 0..8 => {
            if I < self.span.chunks() {
                values[I as usize] = body(values[I as usize]);
            }
        });
        Self { span: self.span, values }
    }
}

impl<V: Copy> Row<V> for Held<V> {
    #[inline(always)]
    fn each(&self, mut body: impl FnMut(Chunk, V)) {
        unroll!(I in 0..8 => {
            if I < self.span.chunks() {
                body(self.span.chunk(I), self.values[I as usize]);
            }
        });
    }
}

/// A row of any length, read again in every pass.
pub struct Streamed<F> {
    /// The row's chunks.
    pub span: Span,
    /// Reads a chunk.
    pub fetch: F,
}

impl<V: Copy, F: Fn(Chunk) -> V> Row<V> for Streamed<F> {
    #[inline(always)]
    fn each(&self, mut body: impl FnMut(Chunk, V)) {
        let mut index = 0;
        while index < self.span.chunks() {
            let chunk = self.span.chunk(index);
            body(chunk, (self.fetch)(chunk));
            index += 1;
        }
    }
}
