//! The deep op set. Lists are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::deep::{DeepLines, DeepNumerators, DeepPoints, DeepQuotients},
};

use crate::checked::DeepOps;
use crate::{CudaQueue, launch::stark::deep};

/// Refuses more of something than a kernel counts.
fn check_count(op: &'static str, count: usize) -> Result<(), BackendError> {
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(BackendError::Unsupported { op, why: "expected fewer than 2^32 points and batches" }),
    }
}

impl DeepOps for CudaQueue {
    fn deep_points(&self, op: DeepPoints<'_, Self>) -> Result<(), BackendError> {
        check_count("deep_points", op.points_at.len())?;
        let points_at = self.upload(op.points_at)?;
        deep::points(self, points_at.view(), op.parameter, &op.points)
    }

    fn deep_lines(&self, op: DeepLines<'_, Self>) -> Result<(), BackendError> {
        let (terms, batches) = (self.upload(op.terms)?, self.upload(op.batches)?);
        deep::lines(self, &op, terms.view(), batches.view())
    }

    fn deep_numerators(&self, op: DeepNumerators<'_, Self>) -> Result<(), BackendError> {
        let DeepNumerators { params, columns, terms, batches, values, factors, numerators } = op;
        // Terms that no batch has may name columns that there are not.
        let first = |column: u32| columns.get(column as usize).map_or(0, |column| column.first);
        let firsts: Vec<u64> = terms.iter().map(|term| first(term.column)).collect();
        let most = batches.iter().map(|batch| batch.count).max().unwrap_or(0);
        let (firsts, batches) = (self.upload(&firsts)?, self.upload(batches)?);
        deep::numerators(self, params, firsts.view(), (batches.view(), most), values, factors, &numerators)
    }

    fn deep_quotients(&self, op: DeepQuotients<'_, Self>) -> Result<(), BackendError> {
        check_count("deep_quotients", op.batches.len())?;
        let batches = self.upload(op.batches)?;
        deep::quotients(self, &op, batches.view())
    }
}
