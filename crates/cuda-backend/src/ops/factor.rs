//! The factor op set.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue as _,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram,
        TallProduct,
    },
};
use core_types::params::factor::SHARED_SIDE;

use crate::{CudaQueue, checked::FactorOps};

/// Rows and columns of a tile.
const TILE: u64 = 32;
/// Doubles that `chol_inverse` keeps before its matrix.
const INVERSE_BYTES: u64 = 8 * SHARED_SIDE;
/// Doubles and words that `jacobi_eigen` keeps before its matrix.
const JACOBI_BYTES: u64 = 12 * SHARED_SIDE;
/// Most partial sums of a Gram matrix in shared memory.
///
/// With up to six tiles each, they keep a card busy, and one thread can add them. Larger matrices
/// have more tiles, and fewer parts with at most the same elements in all.
const MOST_PARTS: u64 = 64;
/// Least rows of a part, and its granularity: the depth of a tile.
const LEAST_ROWS: u64 = 64;
const DEPTH: u64 = 32;

/// Shared bytes of a small matrix of `side` rows after `before` bytes.
fn shared(before: u64, side: u64) -> u32 {
    (before + 8 * side * side) as u32 // at most 96 rows
}

/// The number of parts of a matrix whose products are summed apart, and the rows of each.
fn parts_of_gram(rows: u64, cols: u64) -> [u64; 2] {
    let most = (MOST_PARTS * SHARED_SIDE * SHARED_SIDE / (cols * cols)).clamp(1, MOST_PARTS);
    let part_rows = rows.div_ceil(most).max(LEAST_ROWS).next_multiple_of(DEPTH);
    [rows.div_ceil(part_rows), part_rows]
}

impl FactorOps for CudaQueue {
    fn chol_inverse(&self, op: CholInverse<'_, Self>) -> Result<(), BackendError> {
        if op.side == 0 {
            return Ok(());
        }
        let side = op.side as u32; // at most 1024
        let launch = if u64::from(side) <= SHARED_SIDE {
            self.kernel("factor_inverse")?.dynamic_shared(shared(INVERSE_BYTES, side.into()))
        } else {
            self.kernel("factor_inverse_wide")?
        };
        let launch = launch.value("side", &side).input("gram", op.gram).input_if("peak", op.peak);
        let launch = launch.output("inverse", &op.inverse);
        // SAFETY: `CholInverse::check` verified that both matrices have `side` rows and columns, at most 1024, and that
        // the peak is one word; for at most 96 the block has the shared memory that the kernel needs.
        unsafe { launch.launch() }
    }

    fn complete_columns(&self, op: CompleteColumns<'_, Self>) -> Result<(), BackendError> {
        if op.x.is_empty() {
            return Ok(());
        }
        let mut products = self.alloc::<f64>(op.params.cols as usize)?;
        let launch = self.kernel("factor_complete")?.value("p", op.params).input("rank", op.rank);
        let launch = launch.output("products", &products.view_mut()).output("x", &op.x);
        // SAFETY: `CompleteColumns::check` verified the shape of X, with no more columns than rows and fewer than 2^31
        // rows, and that the rank is one word; `products` has a double for each column.
        unsafe { launch.launch() }
    }

    fn jacobi_eigen(&self, op: JacobiEigen<'_, Self>) -> Result<(), BackendError> {
        let side = op.params.side;
        let mut matrix = if side <= SHARED_SIDE { None } else { Some(self.alloc::<f64>(op.gram.len())?) };
        let launch = match matrix {
            None => self.kernel("factor_jacobi")?.dynamic_shared(shared(JACOBI_BYTES, side)),
            Some(_) => self.kernel("factor_jacobi_wide")?,
        };
        let launch = launch.value("p", op.params).input("gram", op.gram).input_if("peak", op.peak);
        let launch = match &mut matrix {
            None => launch,
            Some(matrix) => launch.output("matrix", &matrix.view_mut()),
        };
        let launch = launch.output("vectors", &op.vectors).output("inverse", &op.inverse);
        let launch = launch.output("sigma", &op.sigma).output("rank", &op.rank);
        // SAFETY: `JacobiEigen::check` verified all shapes, at most 1024 rows, and that the scalars are single words;
        // the block has the shared memory that the kernel needs for at most 96 rows, and for more `matrix` is as long
        // as G.
        unsafe { launch.launch() }
    }

    fn matrix_peak(&self, op: MatrixPeak<'_, Self>) -> Result<(), BackendError> {
        let MatrixPeak { a, mut peak } = op;
        self.clear(peak.reborrow())?;
        let len = a.len() as u64;
        let launch = self.kernel("factor_peak")?.cover_striding(len).input("a", a);
        let launch = launch.value("len", &len).output("peak", &peak);
        // SAFETY: `MatrixPeak::check` verified that the peak is one word; `len` is the number of elements.
        unsafe { launch.launch() }
    }

    fn orient_columns(&self, op: OrientColumns<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("factor_orient")?.blocks(op.params.cols).value("p", op.params);
        let launch = launch.output("u", &op.u).output("v", &op.v);
        // SAFETY: `OrientColumns::check` verified both shapes, of fewer than 2^31 rows.
        unsafe { launch.launch() }
    }

    fn scale_columns(&self, op: ScaleColumns<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("factor_scale")?.cover_striding(op.y.len() as u64);
        let launch = launch.value("p", &op.params.matrix).value("alpha", &op.params.alpha);
        let launch = launch.input("x", op.x).input("factors", op.factors).output("y", &op.y);
        // SAFETY: `ScaleColumns::check` verified that x and y have the shape and that there is a factor for each
        // column; without a column there is no block.
        unsafe { launch.launch() }
    }

    fn sign_sketch(&self, op: SignSketch<'_, Self>) -> Result<(), BackendError> {
        let len = op.omega.len() as u64;
        let launch = self.kernel("factor_sketch")?.cover_striding(len.div_ceil(4));
        let launch = launch.value("seed", &op.params.seed).value("len", &len);
        let launch = launch.input("peak", op.peak).output("omega", &op.omega);
        // SAFETY: `SignSketch::check` verified that the peak is one word; `len` is the number of signs.
        unsafe { launch.launch() }
    }

    fn tall_gram(&self, op: TallGram<'_, Self>) -> Result<(), BackendError> {
        let (rows, cols) = (op.params.rows, op.params.cols);
        if rows == 0 || cols == 0 {
            return self.clear(op.gram);
        }
        let [count, part_rows] = parts_of_gram(rows, cols);
        let mut parts = self.alloc::<f64>((count * cols * cols) as usize)?;

        // The sums of each part, then their sums.
        let tiles = cols.div_ceil(TILE);
        let launch = self.kernel("factor_gram")?.grid([count, tiles * (tiles + 1) / 2, 1]).value("p", op.params);
        let launch = launch.value("part_rows", &(part_rows as u32)).input("x", op.x); // fewer than 2^31 rows
        let launch = launch.output("parts", &parts.view_mut());
        // SAFETY: `TallGram::check` verified the shape of X, fewer than 2^31 rows and at most 1024 columns; `parts`
        // hold a square for each part.
        unsafe { launch.launch() }?;
        let launch = self.kernel("factor_gram_join")?.cover_striding(cols * cols);
        let launch = launch.value("cols", &(cols as u32)).value("count", &(count as u32));
        let launch = launch.input("parts", parts.view()).output("gram", &op.gram);
        // SAFETY: `parts` hold `count` squares of `cols` columns, and `TallGram::check` verified that `gram` is one.
        unsafe { launch.launch() }
    }

    fn tall_product(&self, op: TallProduct<'_, Self>) -> Result<(), BackendError> {
        let grid = [op.params.rows.div_ceil(TILE), op.params.cols.div_ceil(TILE), 1];
        let launch = self.kernel("factor_product")?.grid(grid).value("p", op.params);
        let launch = launch.input("x", op.x).input("c", op.c).output("y", &op.y);
        // SAFETY: `TallProduct::check` verified all shapes, of fewer than 2^31 rows.
        unsafe { launch.launch() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gram_matrices_have_fewer_parts_the_larger_they_are() {
        for ([rows, cols], expected) in [
            ([65, 96], [2, 64]),
            ([4096, 96], [64, 64]),
            ([4097, 96], [43, 96]),
            ([4096, 97], [43, 96]),
            ([1 << 20, 192], [16, 65_536]),
            ([1 << 20, 768], [1, 1 << 20]),
        ] {
            assert_eq!(parts_of_gram(rows, cols), expected, "{rows} {cols}");
        }
        // Doubles of the matrix, after those and the words that the kernels keep.
        assert_eq!((shared(INVERSE_BYTES, 96), shared(JACOBI_BYTES, 3)), (768 + 73_728, 1152 + 72));
    }
}
