//! The deep op set. Lists are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::deep::{DeepLines, DeepNumerators, DeepPoints, DeepQuotients},
};

use crate::{CudaQueue, checked::DeepOps};

/// Positions of a block that makes numerators or quotients.
const POSITIONS: u64 = 1024;

/// The number of points or batches as a kernel counts them.
fn count(op: &'static str, count: usize) -> Result<u32, BackendError> {
    u32::try_from(count)
        .map_err(|_| BackendError::Unsupported { op, why: "expected fewer than 2^32 points and batches" })
}

impl DeepOps for CudaQueue {
    fn deep_points(&self, op: DeepPoints<'_, Self>) -> Result<(), BackendError> {
        let count = count("deep_points", op.points_at.len())?;
        let points_at = self.upload(op.points_at)?;
        let launch = self.kernel("deep_points")?.cover_striding(count.into()).input("points_at", points_at.view());
        let launch = launch.input("parameter", op.parameter).output("points", &op.points).value("count", &count);
        // SAFETY: `DeepPoints::check` verified that `parameter` is one element and that `points` are two for each entry
        // of the list.
        unsafe { launch.launch() }
    }

    fn deep_lines(&self, op: DeepLines<'_, Self>) -> Result<(), BackendError> {
        let (terms, batches) = (self.upload(op.terms)?, self.upload(op.batches)?);
        let launch = self.kernel("deep_lines")?.blocks(batches.len() as u64);
        let launch = launch.input("terms", terms.view()).input("batches", batches.view());
        let launch = launch.input("points", op.points).input("sampled", op.sampled).input("powers", op.powers);
        let launch = launch.output("factors", &op.factors).output("lines", &op.lines);
        // SAFETY: `DeepLines::check` verified all lengths, and that the indices of terms and batches are in range.
        unsafe { launch.launch() }
    }

    fn deep_numerators(&self, op: DeepNumerators<'_, Self>) -> Result<(), BackendError> {
        let DeepNumerators { params, columns, terms, batches, values, factors, numerators } = op;
        // Terms outside all batches may name missing columns.
        let first = |column: u32| columns.get(column as usize).map_or(0, |column| column.first);
        let firsts: Vec<u64> = terms.iter().map(|term| first(term.column)).collect();
        let most = batches.iter().map(|batch| batch.count).max().unwrap_or(0);
        let (firsts, batches) = (self.upload(&firsts)?, self.upload(batches)?);
        let blocks = (1u64 << params.log_size).div_ceil(POSITIONS) * batches.len() as u64;
        let launch = self.kernel("deep_numerators")?.blocks(blocks);
        let launch = launch.input("firsts", firsts.view()).input("batches", batches.view());
        let launch = launch.input("values", values).input("factors", factors).output("numerators", &numerators);
        let launch = launch.value("params", params).value("most", &most);
        // SAFETY: `DeepNumerators::check` verified all lengths, that the batches' terms are in range, and that the
        // columns of these terms lie in `values`.
        unsafe { launch.launch() }
    }

    fn deep_quotients(&self, op: DeepQuotients<'_, Self>) -> Result<(), BackendError> {
        let count = count("deep_quotients", op.batches.len())?;
        let batches = self.upload(op.batches)?;
        let blocks = (1u64 << op.params.log_size).div_ceil(POSITIONS);
        let launch = self.kernel("deep_quotients")?.blocks(blocks).input("batches", batches.view());
        let launch = launch.input("points", op.points).input("lines", op.lines);
        let launch = launch.input("numerators", op.numerators).output("quotients", &op.quotients);
        let launch = launch.value("params", op.params).value("count", &count);
        // SAFETY: `DeepQuotients::check` verified all lengths, and that the batches' points are in range.
        unsafe { launch.launch() }
    }
}
