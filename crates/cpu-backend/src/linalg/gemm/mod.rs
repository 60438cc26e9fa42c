//! Matrix products, with bias and activation applied while the result is in the cache.
//!
//! Every element is a sum of pieces, each one chain of sums over up to [`PIECE`] slots of terms in
//! their order, so that rows of a product have the same bits in a product of other rows, and errors
//! do not grow with k as in one chain. Each piece is multiplied by the product's alpha when it
//! leaves the registers.

mod pack;
mod slot;
mod tiles;

use backend_api::{BackendError, Buffer, DType, Queue, Real, Reservation, ops::linalg::Gemm};
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};

use self::{
    pack::{FactorLines, PIECE, Slot},
    slot::LINES,
    tiles::GemmTiles,
};
use super::{
    activation::{BiasMap, InPlace},
    convert::{as_f32, as_f32_mut, narrowed, widened},
    small::{SmallLayer, is_small},
};
use crate::checked::GemmOps;
use crate::{
    CpuQueue,
    panels::{self, Start},
    simd::{dispatch, floats::TermPair},
};

/// Below this many multiply-adds, a second thread costs more than it gains.
const SERIAL_MULTIPLY_ADDS: usize = 1 << 20;
/// Products of a batch with fewer multiply-adds run side by side.
const SIDE_BY_SIDE_MULTIPLY_ADDS: usize = 8 * SERIAL_MULTIPLY_ADDS;
/// Rows of a task, whose panels of A lie in the L2 cache.
const TASK_ROWS: usize = 128;
/// Elements of the result that a task holds in f32 before it rounds them.
///
/// A task of the fewest rows may have more.
const TASK_RESULTS: usize = 1 << 16;
/// Up to this many rows, B is read where it lies: packing it would cost more.
const ROWS_IN_PLACE: usize = 48;
/// Panels that are packed by one task.
const TASK_PANELS: usize = 8;

/// Strides of one matrix in elements.
#[derive(Clone, Copy)]
struct Strides {
    row: usize,
    col: usize,
}

impl From<MatrixStrides> for Strides {
    fn from(s: MatrixStrides) -> Self {
        Self { row: s.row as usize, col: s.col as usize }
    }
}

/// One product of the batch.
#[derive(Clone, Copy)]
struct BatchProduct {
    m: usize,
    n: usize,
    k: usize,
    a: Strides,
    b: Strides,
    c: Strides,
    accumulate: bool,
    alpha: f32,
}

impl BatchProduct {
    fn of(p: &GemmParams) -> Self {
        Self {
            m: p.m as usize,
            n: p.n as usize,
            k: p.k as usize,
            a: p.a.into(),
            b: p.b.into(),
            c: p.c.into(),
            accumulate: p.accumulate == 1,
            alpha: p.alpha,
        }
    }

    fn multiply_adds(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// Whether rows of C follow each other, one task's after the other's.
    fn has_rows(&self) -> bool {
        self.n == 1 || self.c.col == 1
    }

    /// Whether factors of f32 are read where they lie; the result may have an `epilogue`.
    fn stays_in_place(&self, epilogue: bool) -> bool {
        let neighbours = (self.k == 1 || self.a.col == 1) && (self.n == 1 || self.b.col == 1) && self.has_rows();
        let few = self.m <= ROWS_IN_PLACE || epilogue && is_small(self.m, self.n, self.k);
        self.k > 0 && neighbours && few
    }

    /// The distance between rows of C.
    fn c_row(&self) -> usize {
        if self.m > 1 { self.c.row } else { self.n }
    }

    /// Panels of columns.
    fn panels(&self) -> usize {
        self.n.div_ceil(LINES)
    }

    /// Rows of a task that holds its results apart from C if they are `held`.
    fn task_rows(&self, held: bool) -> usize {
        let most = if held { TASK_RESULTS / self.n / LINES * LINES } else { TASK_ROWS };
        most.clamp(2 * LINES, TASK_ROWS).min(self.m)
    }
}

/// What follows a product: a bias for each column, and an activation.
#[derive(Clone, Copy)]
struct Epilogue<'a> {
    bias: &'a [f32],
    f: Activation,
}

impl GemmOps for CpuQueue {
    fn gemm<T: Real>(&self, op: Gemm<'_, Self, T>) -> Result<(), BackendError> {
        let Gemm { params: p, a, b, bias, c } = op;
        if p.batch.contains(&0) || p.m == 0 || p.n == 0 {
            return Ok(());
        }
        // An activation without a bias gets a bias of zeros; other types are widened.
        let mut made;
        let epilogue = match bias.map(as_f32) {
            None if p.activation == Activation::Identity => None,
            Some(Some(bias)) => Some(Epilogue { bias, f: p.activation }),
            _ => {
                made = self.zeros::<f32>(p.n as usize)?;
                if let Some(bias) = bias {
                    widened(self.simd(), bias, made.view_mut());
                }
                Some(Epilogue { bias: made.view(), f: p.activation })
            }
        };
        let pairs = const { matches!(T::DTYPE, DType::Bf16) } && self.simd().bf16();
        // Results of 16 bits that several products are added to.
        let is_summed = p.batch.iter().zip(p.c.batch).any(|(&len, stride)| len > 1 && stride == 0);
        if T::DTYPE != DType::F32 && is_summed {
            return match pairs {
                true => self.summed::<T, TermPair>(p, a, b, c),
                false => self.summed::<T, f32>(p, a, b, c),
            };
        }
        // The innermost leading axis is the batch; the others are a loop.
        let [outer @ .., _] = p.batch;
        for i in 0..outer.iter().product() {
            let at = |s: &MatrixStrides| offset(&outer, s, i);
            let (a, b) = (&a[at(&p.a).min(a.len())..], &b[at(&p.b).min(b.len())..]);
            let c = &mut c[at(&p.c)..];
            match pairs {
                true => self.batch::<T, TermPair>(p, a, b, epilogue, c)?,
                false => self.batch::<T, f32>(p, a, b, epilogue, c)?,
            }
        }
        Ok(())
    }
}

impl CpuQueue {
    /// Products that are added along leading axes: each result is summed in f32 and rounded once.
    fn summed<T: Real, S: Slot>(&self, p: &GemmParams, a: &[T], b: &[T], c: &mut [T]) -> Result<(), BackendError> {
        let product = BatchProduct::of(p);
        let into_sums = BatchProduct { c: Strides { row: product.n, col: 1 }, ..product };
        let mut sums = self.zeros::<f32>(product.m * product.n)?;
        let _scratch = self.reserve_products::<f32, S>(&product, 1)?;
        // The axes of the results, and the axes along which products are added.
        let axes = |added: bool| {
            let mut axes = p.batch;
            axes.iter_mut().zip(p.c.batch).filter(|&(_, stride)| (stride == 0) != added).for_each(|(len, _)| *len = 1);
            axes
        };
        let (results, added) = (axes(false), axes(true));
        for result in 0..results.iter().product() {
            let first = |s: &MatrixStrides| offset(&results, s, result);
            let c = &mut c[first(&p.c)..];
            gather(self, product, c, sums.view_mut());
            for i in 0..added.iter().product() {
                let at = |s: &MatrixStrides| first(s) + offset(&added, s, i);
                let (a, b) = (&a[at(&p.a).min(a.len())..], &b[at(&p.b).min(b.len())..]);
                self.product::<T, f32, S>(into_sums, a, b, None, sums.view_mut(), true);
            }
            scatter(self, product, sums.view(), c);
        }
        Ok(())
    }

    /// The products along the innermost leading axis.
    fn batch<T: Real, S: Slot>(
        &self,
        p: &GemmParams,
        a: &[T],
        b: &[T],
        epilogue: Option<Epilogue<'_>>,
        c: &mut [T],
    ) -> Result<(), BackendError> {
        let (batch, product) = (inner(p.batch), BatchProduct::of(p));
        let [a_batch, b_batch, c_batch] = [p.a, p.b, p.c].map(|s| inner(s.batch));
        let (m, n, size) = (product.m, product.n, product.multiply_adds());
        let factors = |i: usize| (&a[(i * a_batch).min(a.len())..], &b[(i * b_batch).min(b.len())..]);
        // Small products of separate results run side by side, others one by one.
        let span = (m - 1) * product.c.row + (n - 1) * product.c.col + 1;
        let side_by_side = batch > 1 && c_batch >= span && size < SIDE_BY_SIDE_MULTIPLY_ADDS;
        let packs = T::DTYPE != DType::F32 || !product.stays_in_place(epilogue.is_some());
        let products = if side_by_side { batch } else { 1 };
        let _scratch = packs.then(|| self.reserve_products::<T, S>(&product, products)).transpose()?;
        if side_by_side {
            let group = (SERIAL_MULTIPLY_ADDS / size.max(1)).clamp(1, batch);
            let used = (batch - 1) * c_batch + span;
            self.for_chunks(&mut c[..used], group * c_batch, |task, c| {
                for (i, c) in c.chunks_mut(c_batch).enumerate() {
                    let (a, b) = factors(task * group + i);
                    self.product::<T, T, S>(product, a, b, epilogue, c, false);
                }
            });
        } else {
            for i in 0..batch {
                let (a, b) = factors(i);
                self.product::<T, T, S>(product, a, b, epilogue, &mut c[i * c_batch..], true);
            }
        }
        Ok(())
    }

    /// Counts what `products` at once allocate, each with results of `O`.
    fn reserve_products<O: Real, S: Slot>(
        &self,
        p: &BatchProduct,
        products: usize,
    ) -> Result<[Reservation; 2], BackendError> {
        let slots = p.k.div_ceil(S::TERMS);
        let held = holds_results::<O>(p);
        let rows = p.task_rows(held);
        let panels = (rows.div_ceil(LINES) * slots.min(PIECE) + 1) * LINES;
        let results = if held { rows * p.n } else { 0 };
        Ok([
            self.reserve_scratch::<[S; LINES]>(products, p.panels() * slots)?,
            self.reserve_scratch::<u8>(usize::MAX, panels * size_of::<S>() + results * size_of::<f32>())?,
        ])
    }

    /// `C = f(alpha A B + bias)`, `C = alpha A B` or `C += alpha A B`.
    ///
    /// `m` and `n` are at least 1, and every element lies in its slice.
    fn product<T: Real, O: Real, S: Slot>(
        &self,
        p: BatchProduct,
        a: &[T],
        b: &[T],
        epilogue: Option<Epilogue<'_>>,
        c: &mut [O],
        parallel: bool,
    ) {
        // Few rows of f32 are multiplied without packing.
        if let (Some(a), Some(b), Some(c)) = (as_f32(a), as_f32(b), as_f32_mut(c))
            && p.stays_in_place(epilogue.is_some())
        {
            return self.in_place(p, a, b, epilogue, c);
        }
        let slots = p.k.div_ceil(S::TERMS);
        let parallel = parallel && p.multiply_adds() > SERIAL_MULTIPLY_ADDS;
        // Panels of B, piece after piece.
        let columns = FactorLines { x: b, line: p.b.col, term: p.b.row, lines: p.n, terms: p.k };
        let mut packed = vec![[S::ZERO; LINES]; p.panels() * slots];
        for first in (0..slots).step_by(PIECE) {
            let (part, slots) = piece::<T, S>(columns, first);
            let panels = &mut packed[p.panels() * first..][..p.panels() * slots];
            let pack = |task: usize, panels: &mut [[S; LINES]]| {
                let lines = TASK_PANELS * LINES;
                S::pack(self.simd(), part.lines_from(task * lines, lines), panels);
            };
            if parallel {
                self.for_chunks(panels, TASK_PANELS * slots, pack);
            } else {
                panels.chunks_mut(TASK_PANELS * slots).enumerate().for_each(|(i, panels)| pack(i, panels));
            }
        }
        // Blocks of rows, each with panels of A packed by its task.
        let rows = p.task_rows(holds_results::<O>(&p));
        let body = |task: usize, c: &mut [O]| {
            let first = task * rows;
            let lines =
                FactorLines { x: a, line: p.a.row, term: p.a.col, lines: p.m, terms: p.k }.lines_from(first, rows);
            self.rows(BatchProduct { m: lines.lines, ..p }, lines, &packed, epilogue, c);
        };
        if p.has_rows() {
            let used = (p.m - 1) * p.c_row() + p.n;
            let c = &mut c[..used];
            if parallel {
                self.for_chunks(c, rows * p.c_row(), body);
            } else {
                c.chunks_mut(rows * p.c_row()).enumerate().for_each(|(i, c)| body(i, c));
            }
        } else {
            (0..p.m).step_by(rows).enumerate().for_each(|(i, first)| body(i, &mut c[first * p.c.row..]));
        }
    }

    /// A product of f32 that stays in place.
    fn in_place(&self, p: BatchProduct, a: &[f32], b: &[f32], epilogue: Option<Epilogue<'_>>, c: &mut [f32]) {
        let BatchProduct { m, n, k, alpha, .. } = p;
        let (simd, c_row, a_row, b_row) = (self.simd(), p.c_row(), p.a.row, p.b.row);
        if let Some(Epilogue { bias, f }) = epilogue
            && is_small(m, n, k)
        {
            let floor = if f == Activation::Relu { 0.0 } else { f32::NEG_INFINITY };
            dispatch(simd, SmallLayer { alpha, floor, m, n, k, a, a_row, b, b_row, bias, c, c_row });
            if !matches!(f, Activation::Identity | Activation::Relu) {
                c.chunks_mut(c_row).take(m).for_each(|row| dispatch(simd, InPlace { f, y: &mut row[..n] }));
            }
            return;
        }
        for first in (0..k).step_by(PIECE) {
            let (terms, a, b) = (PIECE.min(k - first), &a[first..], &b[first * b_row..]);
            let start = Start::Scaled { alpha, adds: first > 0 || p.accumulate };
            dispatch(simd, panels::PanelProduct { rows: m, k: terms, n, a, a_row, b, b_row, start, c: &mut *c, c_row });
        }
        self.finish(p, epilogue, c, c_row);
    }

    /// Some rows of a product, from all columns of B in panels.
    fn rows<T: Real, O: Real, S: Slot>(
        &self,
        p: BatchProduct,
        lines: FactorLines<'_, T>,
        packed: &[[S; LINES]],
        epilogue: Option<Epilogue<'_>>,
        c: &mut [O],
    ) {
        let slots = p.k.div_ceil(S::TERMS);
        let panels = p.m.div_ceil(LINES);
        let mut a = vec![[S::ZERO; LINES]; panels * slots.min(PIECE) + 1];
        // Results that are not f32 rows are held apart.
        let mut held = Vec::new();
        if holds_results::<O>(&p) {
            held = vec![0.0; p.m * p.n];
            if p.accumulate {
                gather(self, p, c, &mut held);
            }
        }
        let (results, c_row) = match as_f32_mut(&mut *c) {
            Some(c) if held.is_empty() => (c, p.c_row()),
            _ => (&mut held[..], p.n),
        };
        // Products without terms are zero, or NaN if alpha is not finite.
        let empty = p.alpha * 0.0;
        if slots == 0 && (!p.accumulate || empty.is_nan()) {
            results.chunks_mut(c_row).for_each(|row| row[..p.n].fill(empty));
        }
        // Each piece packs its part of A and adds its products.
        for first in (0..slots).step_by(PIECE) {
            let (part, slots) = piece::<T, S>(lines, first);
            S::pack(self.simd(), part, &mut a[..panels * slots]);
            S::multiply(
                self.simd(),
                GemmTiles {
                    slots,
                    a: &a,
                    b: &packed[p.panels() * first..][..p.panels() * slots],
                    alpha: p.alpha,
                    first: first == 0 && !p.accumulate,
                    rows: p.m,
                    cols: p.n,
                    c: &mut *results,
                    c_row,
                },
            );
        }
        // The epilogue, then the places of held results.
        self.finish(p, epilogue, results, c_row);
        if !held.is_empty() {
            scatter(self, p, &held, c);
        }
    }

    /// Bias and activation of rows that lie `c_row` apart.
    fn finish(&self, p: BatchProduct, epilogue: Option<Epilogue<'_>>, c: &mut [f32], c_row: usize) {
        if let Some(Epilogue { bias, f }) = epilogue {
            let rows = &mut c[..(p.m - 1) * c_row + p.n];
            dispatch(self.simd(), BiasMap { f, bias, rows, stride: c_row });
        }
    }
}

/// Whether results of `O` are held in f32 before they go to their places.
fn holds_results<O: Real>(p: &BatchProduct) -> bool {
    O::DTYPE != DType::F32 || !p.has_rows()
}

/// The terms of the piece that starts at slot `first`, and the number of its slots.
///
/// They are multiplied together.
fn piece<T: Real, S: Slot>(factor: FactorLines<'_, T>, first: usize) -> (FactorLines<'_, T>, usize) {
    let terms = (factor.terms - first * S::TERMS).min(PIECE * S::TERMS);
    (factor.part(first * S::TERMS, terms), terms.div_ceil(S::TERMS))
}

/// C as rows of f32 one after the other.
fn gather<O: Real>(q: &CpuQueue, p: BatchProduct, c: &[O], rows: &mut [f32]) {
    for (r, row) in rows.chunks_exact_mut(p.n).enumerate() {
        let from = &c[r * p.c.row..];
        if p.c.col == 1 {
            widened(q.simd(), &from[..p.n], row);
        } else {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = from[j * p.c.col].to_f32());
        }
    }
}

/// Rows of f32, rounded, to their places in C.
fn scatter<O: Real>(q: &CpuQueue, p: BatchProduct, rows: &[f32], c: &mut [O]) {
    for (r, row) in rows.chunks_exact(p.n).enumerate() {
        let to = &mut c[r * p.c.row..];
        if p.c.col == 1 {
            narrowed(q.simd(), row, &mut to[..p.n]);
        } else {
            row.iter().enumerate().for_each(|(j, &x)| to[j * p.c.col] = O::from_f32(x));
        }
    }
}

/// The offset of the `i`-th matrix along the first leading axes, of lengths `axes`.
fn offset(axes: &[u64], s: &MatrixStrides, mut i: u64) -> usize {
    let mut at = 0;
    for (len, stride) in axes.iter().zip(&s.batch).rev() {
        at += i % len * stride;
        i /= len;
    }
    at as usize // below the span
}

/// The entry of the innermost leading axis.
fn inner(axes: [u64; BATCH_AXES]) -> usize {
    let [.., last] = axes;
    last as usize
}
