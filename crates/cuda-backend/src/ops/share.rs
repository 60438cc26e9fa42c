//! Local arithmetic on shares.
//!
//! The terms of sums are public. They are read where an earlier copy put them, or go to the device
//! with the call. A thread goes through them once for each of its elements. Sums of tables have a
//! warp for each element.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, PlainElement, Queue as _,
    ops::share::{BitShape, CombineBits, CombineWords, LinearWords, MatmulWords, TableSums, WordShape},
};
use core_types::params::share::MatmulWordsParams;

use crate::{CudaBuf, CudaQueue, CudaRef, checked::ShareOps};

/// Rows and columns of a tile of `fss_matmul_words`.
const TILE: u64 = 64;
/// Threads of a warp, which takes an element of `fss_table_sums`.
const WARP: u64 = 32;

/// The number of terms as a kernel counts them.
fn count_terms(op: &'static str, terms: usize) -> Result<u32, BackendError> {
    u32::try_from(terms).map_err(|_| BackendError::Unsupported { op, why: "expected fewer than 2^32 terms" })
}

impl CudaQueue {
    /// The list in device memory: at `place`, if that is noted to hold it, or else in `copied`.
    ///
    /// Recorded work runs later, when the place may hold something else.
    fn list<'a, T: PlainElement>(
        &self,
        list: &[T],
        place: Option<CudaRef<'a, u32>>,
        copied: &'a mut Option<CudaBuf<T>>,
    ) -> Result<CudaRef<'a, T>, BackendError> {
        let place = place.filter(|_| self.track().recording().is_none());
        let bytes: &[u8] = bytemuck::cast_slice(list);
        let noted = place.filter(|place| place.region().is_some_and(|region| region.holds(bytes)));
        match noted.map(CudaRef::elements) {
            Some(Ok(placed)) => Ok(placed),
            _ => Ok(copied.insert(self.upload(list)?).view()),
        }
    }
}

impl ShareOps for CudaQueue {
    fn combine_bits(&self, op: CombineBits<'_, Self>, _: BitShape) -> Result<(), BackendError> {
        let len = count_terms("combine_bits", op.terms.len())?;
        let mut copied = None;
        let terms = self.list(op.terms, op.placed, &mut copied)?;
        let launch = self.kernel("fss_combine_bits")?.cover_striding(op.params.count.into());
        let launch = launch.value("params", op.params).input("terms", terms).input("x", op.x);
        let launch = launch.input("rows", op.rows).output("sums", &op.sums).value("len", &len);
        // SAFETY: `CombineBits::check` verified all lengths, and that the terms' rows are in range. The device reads the
        // same terms.
        unsafe { launch.launch() }
    }

    fn combine_words(&self, op: CombineWords<'_, Self>, shape: WordShape) -> Result<(), BackendError> {
        let len = count_terms("combine_words", op.terms.len())?;
        let mut copied = None;
        let terms = self.list(op.terms, op.placed, &mut copied)?;
        let launch = self.kernel("fss_combine_words")?.cover_striding(shape.count as u64);
        let launch = launch.value("params", op.params).input("terms", terms).input("x", op.x);
        let launch = launch.input("padded", op.padded).input("rows", op.rows).input("opened", op.opened);
        let launch = launch.output("sums", &op.sums).value("len", &len);
        let launch = launch.value("sums_of_element", &(shape.sums as u32)); // no more sums than terms
        // SAFETY: `CombineWords::check` verified all lengths, and that the terms' rows are in range. The device reads the
        // same terms.
        unsafe { launch.launch() }
    }

    fn linear_words(&self, op: LinearWords<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("fss_linear_words")?.cover_striding(op.params.count.into());
        let launch = launch.value("params", op.params).input_if("x", op.x).input_if("row", op.row);
        let launch = launch.output("out", &op.out);
        // SAFETY: `LinearWords::check` verified all lengths, and that a row has a word.
        unsafe { launch.launch() }
    }

    fn matmul_words(&self, op: MatmulWords<'_, Self>) -> Result<(), BackendError> {
        if op.out.is_empty() {
            return Ok(());
        }
        let MatmulWordsParams { batch, rows, cols, .. } = *op.params;
        let tiles: u64 = [batch, rows.div_ceil(TILE), cols.div_ceil(TILE)].into_iter().product(); // at most the results
        let launch = self.kernel("fss_matmul_words")?;
        let blocks = tiles.min(launch.at_once());
        let launch = launch.blocks(blocks).value("params", op.params);
        let launch = launch.input("x", op.x).input("y", op.y).output("out", &op.out);
        // SAFETY: `MatmulWords::check` verified all lengths, and `out` is not empty.
        unsafe { launch.launch() }
    }

    fn table_sums(&self, op: TableSums<'_, Self>) -> Result<(), BackendError> {
        let threads = u64::from(op.params.count) * WARP;
        let launch = self.kernel("fss_table_sums")?.cover_striding(threads).value("params", op.params);
        let launch = launch.input("units", op.units).input("x", op.x).input("table", op.table);
        let launch = launch.output("sums", &op.sums).output("ones", &op.ones);
        // SAFETY: `TableSums::check` verified all lengths and that at least one table was given.
        unsafe { launch.launch() }
    }
}
