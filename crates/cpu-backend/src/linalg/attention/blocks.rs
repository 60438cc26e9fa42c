//! Blocks of the rows of heads as f32, and scratch for them.

use core::mem;

use core_types::params::attention::HeadStrides;

use crate::{
    Simd,
    linalg::{convert::widen, reals::Reals},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Queries of a block: three vectors with AVX-512, six with AVX2.
pub(super) const QUERIES: usize = 48;
/// Keys of a block, whose scores are 24 KiB.
pub(super) const KEYS: usize = 128;
/// Rows and columns that are transposed at once.
pub(super) const SIDE: usize = 16;
/// Elements of a cache line.
pub(super) const LINE: usize = 16;

/// Elements of memory that [`cut`] takes for arrays of these lengths.
pub(super) fn elements<const C: usize>(lens: [usize; C]) -> usize {
    lens.iter().fold(LINE, |sum, len| sum.saturating_add(len.saturating_add(LINE)))
}

/// Cuts memory into arrays that start at cache lines.
pub(super) fn cut<const C: usize>(memory: &mut [f32], lens: [usize; C]) -> [&mut [f32]; C] {
    let to_line = memory.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
    let mut rest = &mut memory[to_line..];
    lens.map(|len| {
        let (part, left) = mem::take(&mut rest).split_at_mut(len.next_multiple_of(LINE));
        rest = left;
        &mut part[..len]
    })
}

/// Rows of f32, which start every `stride` elements.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) x: &'a [f32],
    pub(super) stride: usize,
}

impl<'a> Rows<'a> {
    /// The first `dim` elements of row `i`.
    #[inline(always)]
    pub(super) fn row(self, i: usize, dim: usize) -> &'a [f32] {
        &self.x[i * self.stride..][..dim]
    }
}

/// The rows of a head, of any element type.
#[derive(Clone, Copy)]
pub(super) struct HeadRows<'a> {
    x: Reals<'a>,
    stride: usize,
    dim: usize,
}

impl<'a> HeadRows<'a> {
    /// The rows of a batch and head; rows without elements take no memory.
    pub(super) fn of(x: Reals<'a>, strides: &HeadStrides, [batch, head]: [usize; 2], dim: usize) -> Self {
        let start = strides.start(batch as u64, head as u64, 0) as usize;
        let stride = if dim == 0 { 0 } else { strides.row as usize };
        Self { x: x.after(start.min(x.len())), stride, dim }
    }

    /// Row `i`.
    #[inline(always)]
    pub(super) fn row(self, i: usize) -> Reals<'a> {
        self.x.range(i * self.stride..i * self.stride + self.dim)
    }

    /// `count` rows from row `first`; rows that are not f32 are widened into `wide`.
    pub(super) fn block<'w>(self, simd: Simd, first: usize, count: usize, wide: &'w mut [f32]) -> Rows<'w>
    where
        'a: 'w,
    {
        let rows = Self { x: self.x.after(first * self.stride), ..self };
        match rows.x.as_f32() {
            // The stride of a single row may be any number.
            Some(x) => Rows { x, stride: if count == 1 { self.dim } else { self.stride } },
            None => {
                let wide = &mut wide[..count * self.dim];
                dispatch(simd, WidenRows { rows, to: &mut *wide });
                Rows { x: wide, stride: self.dim }
            }
        }
    }
}

struct WidenRows<'a> {
    rows: HeadRows<'a>,
    to: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for WidenRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { rows, to } = self;
        for (i, to) in to.chunks_exact_mut(rows.dim.max(1)).enumerate() {
            widen(l, rows.row(i), to);
        }
    }
}

/// Writes rows times `factor` as columns: element d of row t at `d QUERIES + t`.
///
/// Columns after the last row, up to a multiple of [`SIDE`], become zeros.
pub(super) struct TransposeRows<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) count: usize,
    pub(super) dim: usize,
    pub(super) factor: f32,
    pub(super) to: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for TransposeRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { rows, count, dim, factor, to } = self;
        let factor = l.splat(factor);
        for t in (0..count).step_by(SIDE) {
            for d in (0..dim).step_by(SIDE) {
                let (mut square, mut turned) = ([[0.0; SIDE]; SIDE], [[0.0; SIDE]; SIDE]);
                for (i, square) in square.iter_mut().enumerate().take(count - t) {
                    let row = &rows.row(t + i, dim)[d..];
                    match row.first_chunk::<SIDE>() {
                        Some(row) => *square = *row,
                        None => square[..row.len()].copy_from_slice(row),
                    }
                }
                l.transpose(&square, &mut turned);
                for (i, turned) in turned.iter().enumerate().take(dim - d) {
                    let to = &mut to[(d + i) * QUERIES + t..][..SIDE];
                    for lane in (0..SIDE).step_by(L::N) {
                        l.store(&mut to[lane..], l.mul(factor, l.load(&turned[lane..])));
                    }
                }
            }
        }
    }
}

/// Multiplies each row of `dim` elements by its factor.
pub(super) struct ScaleRows<'a> {
    pub(super) dim: usize,
    pub(super) factors: &'a [f32],
    pub(super) x: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for ScaleRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        for (row, &factor) in self.x.chunks_exact_mut(self.dim.max(1)).zip(self.factors) {
            let factor = l.splat(factor);
            let mut vectors = row.chunks_exact_mut(L::N);
            for x in &mut vectors {
                let scaled = l.mul(l.load(x), factor);
                l.store(x, scaled);
            }
            let rest = vectors.into_remainder();
            let scaled = l.mul(l.load_partial(rest, 0.0), factor);
            l.store_partial(rest, scaled);
        }
    }
}
