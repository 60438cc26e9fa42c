//! Matrix products: crate `gemm` in blocks of rows, each followed by its bias and activation.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};
use gemm::Parallelism;

use super::{
    activation::BiasMap,
    convert::{as_f32, as_f32_mut, narrow, widen},
    small::{SmallLayer, is_small},
};
use crate::{CpuQueue, simd::dispatch};

/// Below this many multiply-adds, a second thread costs more than it gains.
const SERIAL_MULTIPLY_ADDS: usize = 1 << 20;
/// A block of C that its epilogue still finds in the L1 or L2 cache.
const EPILOGUE_BYTES: usize = 64 << 10;
/// Least rows of such a block: enough to pay for packing B again.
const EPILOGUE_ROWS: usize = 96;

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
struct Product {
    m: usize,
    n: usize,
    k: usize,
    a: Strides,
    b: Strides,
    c: Strides,
    accumulate: bool,
}

impl GemmOps for CpuQueue {
    fn gemm<T: Real>(&self, op: Gemm<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let Gemm { params: p, a, b, bias, c } = op;
        if p.batch.contains(&0) || p.m == 0 || p.n == 0 {
            return Ok(());
        }
        // The innermost leading axis is the batch; the others are a loop.
        let [outer @ .., _] = p.batch;
        for i in 0..outer.iter().product() {
            let at = |s: &MatrixStrides| {
                let (mut at, mut i) = (0, i);
                for (len, stride) in outer.iter().zip(&s.batch).rev() {
                    at += i % len * stride;
                    i /= len;
                }
                at as usize // below the span
            };
            let (a, b) = (&a[at(&p.a).min(a.len())..], &b[at(&p.b).min(b.len())..]);
            let c = &mut c[at(&p.c)..];
            if let (Some(a), Some(b), Some(c)) = (as_f32(a), as_f32(b), as_f32_mut(c)) {
                self.gemm_f32(p, a, b, bias.and_then(as_f32), c)?;
            } else {
                self.gemm_widened(p, a, b, bias, c)?;
            }
        }
        Ok(())
    }
}

impl CpuQueue {
    fn gemm_f32(
        &self,
        p: &GemmParams,
        a: &[f32],
        b: &[f32],
        bias: Option<&[f32]>,
        c: &mut [f32],
    ) -> Result<(), BackendError> {
        let (batch, product) = (inner(p.batch), product(p));
        let (a_batch, b_batch, c_batch) = (inner(p.a.batch), inner(p.b.batch), inner(p.c.batch));
        let (m, n) = (product.m, product.n);
        let size = m.saturating_mul(n).saturating_mul(product.k);
        let span = (m - 1) * product.c.row + (n - 1) * product.c.col + 1;
        let zeros;
        let bias = match (bias, p.activation) {
            (None, Activation::Identity) => None,
            (None, _) => {
                zeros = self.zeros::<f32>(n)?;
                Some(zeros.view())
            }
            (bias, _) => bias,
        };
        let gathers = bias.is_some() && product.c.col != 1;
        let _scratch = gathers.then(|| self.reserve_scratch::<f32>(batch, n)).transpose()?;
        let one = |i: usize, c: &mut [f32], parallel: bool| {
            let (a, b) = (&a[(i * a_batch).min(a.len())..], &b[(i * b_batch).min(b.len())..]);
            match bias {
                Some(bias) => self.product_with_epilogue(product, a, b, bias, p.activation, c),
                None => self.product(product, a, b, c, parallel),
            }
        };
        if batch > 1 && c_batch >= span && size < SERIAL_MULTIPLY_ADDS * 8 {
            let group = (SERIAL_MULTIPLY_ADDS / size.max(1)).clamp(1, batch);
            let used = (batch - 1) * c_batch + span;
            self.for_chunks(&mut c[..used], group * c_batch, |task, c| {
                for (i, c) in c.chunks_mut(c_batch).enumerate() {
                    one(task * group + i, c, false);
                }
            });
        } else {
            for i in 0..batch {
                one(i, &mut c[i * c_batch..], true);
            }
        }
        Ok(())
    }

    /// The product in blocks of rows, each followed by its epilogue while it is in the cache.
    fn product_with_epilogue(&self, p: Product, a: &[f32], b: &[f32], bias: &[f32], f: Activation, c: &mut [f32]) {
        let Product { m, n, c: strides, .. } = p;
        if strides.col != 1 {
            self.product(p, a, b, c, true);
            let mut row = vec![0.0; n];
            for r in 0..m {
                let at = |j: usize| r * strides.row + j * strides.col;
                row.iter_mut().enumerate().for_each(|(j, x)| *x = c[at(j)]);
                dispatch(self.simd(), BiasMap { f, bias, rows: &mut row, stride: n });
                row.iter().enumerate().for_each(|(j, &x)| c[at(j)] = x);
            }
            return;
        }
        let stride = if m > 1 { strides.row } else { n };
        if p.a.col == 1 && p.b.col == 1 && p.k > 0 && is_small(m, n, p.k) {
            let Product { k, a: Strides { row: a_row, .. }, b: Strides { row: b_row, .. }, .. } = p;
            dispatch(self.simd(), SmallLayer { f, m, n, k, a, a_row, b, b_row, bias, c, c_row: stride });
            return;
        }
        let used = (m - 1) * stride + n;
        let block = (EPILOGUE_BYTES / (4 * n)).max(EPILOGUE_ROWS);
        let tasks_pay = m.saturating_mul(n).saturating_mul(p.k) > SERIAL_MULTIPLY_ADDS;
        let body = |i: usize, c: &mut [f32]| {
            let first = i * block;
            let rows = block.min(m - first);
            let a = &a[(first * p.a.row).min(a.len())..];
            self.product(Product { m: rows, ..p }, a, b, c, false);
            dispatch(self.simd(), BiasMap { f, bias, rows: c, stride });
        };
        if tasks_pay {
            self.for_chunks(&mut c[..used], block * stride, body);
        } else {
            c[..used].chunks_mut(block * stride).enumerate().for_each(|(i, c)| body(i, c));
        }
    }

    /// `C = A B` or `C += A B`; `m` and `n` are at least 1, and every element lies in its slice.
    fn product(&self, p: Product, a: &[f32], b: &[f32], c: &mut [f32], parallel: bool) {
        let Product { m, n, k, .. } = p;
        if k == 0 {
            if !p.accumulate {
                for r in 0..m {
                    (0..n).for_each(|j| c[r * p.c.row + j * p.c.col] = 0.0);
                }
            }
            return;
        }
        let reach = |rows: usize, cols: usize, s: Strides| (rows - 1) * s.row + (cols - 1) * s.col + 1;
        assert!(a.len() >= reach(m, k, p.a) && b.len() >= reach(k, n, p.b) && c.len() >= reach(m, n, p.c));
        // SAFETY: the assertion above keeps every address that the strides form inside its slice; C is borrowed
        // exclusively, and its elements do not overlap (the op has checked that), so threads write disjoint ones.
        let mut run = |parallelism| unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                p.c.col as isize,
                p.c.row as isize,
                p.accumulate,
                a.as_ptr(),
                p.a.col as isize,
                p.a.row as isize,
                b.as_ptr(),
                p.b.col as isize,
                p.b.row as isize,
                1.0f32,
                1.0f32,
                false,
                false,
                false,
                parallelism,
            );
        };
        match self.pool() {
            Some(pool) if parallel && m.saturating_mul(n).saturating_mul(k) > SERIAL_MULTIPLY_ADDS => {
                pool.install(|| run(Parallelism::Rayon(self.caps().threads)));
            }
            _ => run(Parallelism::None),
        }
    }

    /// 16-bit elements: both factors are widened once, the result is rounded once.
    fn gemm_widened<T: Real>(
        &self,
        p: &GemmParams,
        a: &[T],
        b: &[T],
        bias: Option<&[T]>,
        c: &mut [T],
    ) -> Result<(), BackendError> {
        let (batch, m, n, k) = (inner(p.batch), p.m as usize, p.n as usize, p.k as usize);
        let mut wide_a = self.zeros::<f32>(m * k)?;
        let mut wide_b = self.zeros::<f32>(k * n)?;
        let mut wide_c = self.zeros::<f32>(m * n)?;
        let mut wide_bias = self.zeros::<f32>(if bias.is_some() { n } else { 0 })?;
        if let Some(bias) = bias {
            widen(bias, wide_bias.view_mut());
        }
        let sums_batch = inner(p.c.batch) == 0 && p.accumulate == 1;
        let mut packed = GemmParams { batch: [1; BATCH_AXES], ..*p };
        for i in 0..batch {
            let at = |s: MatrixStrides| i * inner(s.batch);
            if i == 0 || inner(p.a.batch) != 0 {
                packed.a = pack(&a[at(p.a).min(a.len())..], p.a, m, k, wide_a.view_mut());
            }
            if i == 0 || inner(p.b.batch) != 0 {
                packed.b = pack(&b[at(p.b).min(b.len())..], p.b, k, n, wide_b.view_mut());
            }
            let c = &mut c[at(p.c)..];
            if p.accumulate == 1 && (i == 0 || !sums_batch) {
                pack(c, p.c, m, n, wide_c.view_mut());
            }
            packed.c = packed_strides(p.c, m, n);
            let bias = bias.map(|_| wide_bias.view());
            self.gemm_f32(&packed, wide_a.view(), wide_b.view(), bias, wide_c.view_mut())?;
            if !sums_batch || i + 1 == batch {
                unpack(wide_c.view(), c, p.c, m, n);
            }
        }
        Ok(())
    }
}

/// The entry of the innermost leading axis.
fn inner(axes: [u64; BATCH_AXES]) -> usize {
    let [.., last] = axes;
    last as usize
}

fn product(p: &GemmParams) -> Product {
    Product {
        m: p.m as usize,
        n: p.n as usize,
        k: p.k as usize,
        a: p.a.into(),
        b: p.b.into(),
        c: p.c.into(),
        accumulate: p.accumulate == 1,
    }
}

/// Strides of the matrix without gaps, in the order of its original.
fn packed_strides(s: MatrixStrides, rows: usize, cols: usize) -> MatrixStrides {
    if s.row < s.col {
        MatrixStrides { batch: [0; BATCH_AXES], row: 1, col: rows as u64 }
    } else {
        MatrixStrides { batch: [0; BATCH_AXES], row: cols as u64, col: 1 }
    }
}

/// Widens a matrix into contiguous memory and returns its new strides.
fn pack<T: Real>(src: &[T], s: MatrixStrides, rows: usize, cols: usize, dst: &mut [f32]) -> MatrixStrides {
    let packed = packed_strides(s, rows, cols);
    let (lines, len, line, step) = lines(s, rows, cols);
    if len > 0 {
        for (i, dst) in dst.chunks_exact_mut(len).enumerate().take(lines) {
            let src = &src[i * line..];
            if step == 1 {
                widen(&src[..len], dst);
            } else {
                dst.iter_mut().enumerate().for_each(|(j, dst)| *dst = src[j * step].to_f32());
            }
        }
    }
    packed
}

/// Rounds a contiguous matrix into its place.
fn unpack<T: Real>(src: &[f32], dst: &mut [T], s: MatrixStrides, rows: usize, cols: usize) {
    let (_, len, line, step) = lines(s, rows, cols);
    for (i, src) in src.chunks_exact(len).enumerate() {
        let dst = &mut dst[i * line..];
        if step == 1 {
            narrow(src, &mut dst[..len]);
        } else {
            src.iter().enumerate().for_each(|(j, &src)| dst[j * step] = T::from_f32(src));
        }
    }
}

/// Number of lines of the matrix along its finer stride, their length, the stride between lines and within one.
fn lines(s: MatrixStrides, rows: usize, cols: usize) -> (usize, usize, usize, usize) {
    if s.row < s.col {
        (cols, rows, s.col as usize, s.row as usize)
    } else {
        (rows, cols, s.row as usize, s.col as usize)
    }
}
