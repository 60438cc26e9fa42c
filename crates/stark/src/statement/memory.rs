//! The device memory of a statement's provers, planned.

use backend_api::ops::StarkOps;
use stark_airs::Statement;
use stark_verifier::PcsConfig;

use super::{error::ProveError, inputs::recorded};
use crate::{plan::residency::Residency, storage::memory_plan::MemoryPlan};

/// Plans the device memory of a [`StatementProver`](crate::StatementProver) of `statement`.
///
/// Allocates nothing.
///
/// # Errors
/// [`ProveError::Record`] for an AIR that cannot be recorded, [`ProveError::Prover`] if there are
/// no such proofs or the statement cannot be cut into this number of blocks.
pub fn memory_plan<S: Statement>(
    config: &PcsConfig,
    statement: &S,
    residency: Residency,
) -> Result<MemoryPlan, ProveError> {
    Ok(MemoryPlan::new(config, &preprocessed_heights(statement), &recorded(statement)?, residency)?)
}

/// Plans the device memory of each of `ranks` provers that make proofs together.
///
/// Allocates nothing. The plan has the fewest blocks possible for this number of ranks: see
/// [`StatementProver::sharded`](crate::StatementProver::sharded).
///
/// # Errors
/// [`ProverError::Ranks`](crate::ProverError::Ranks) if the statement cannot be shared among
/// `ranks` ranks, and as [`memory_plan`].
pub fn memory_plan_of_rank<S: Statement>(
    config: &PcsConfig,
    statement: &S,
    ranks: usize,
) -> Result<MemoryPlan, ProveError> {
    Ok(MemoryPlan::of_rank(config, &preprocessed_heights(statement), &recorded(statement)?, ranks)?)
}

/// Plans the device memory of a prover that would be made on `q` now. Allocates nothing.
///
/// The prover is the result of [`StatementProver::new`](crate::StatementProver::new), or each of
/// the `ranks` results of [`StatementProver::sharded`](crate::StatementProver::sharded) if all
/// ranks have equal room. If no plan fits the budget, returns the smallest one.
///
/// # Errors
/// As [`memory_plan_of_rank`].
pub fn memory_plan_on<Q: StarkOps, S: Statement>(
    q: &Q,
    config: &PcsConfig,
    statement: &S,
    ranks: usize,
) -> Result<MemoryPlan, ProveError> {
    Ok(MemoryPlan::on(q, config, &preprocessed_heights(statement), &recorded(statement)?, ranks)?)
}

/// Logs of the numbers of rows of the preprocessed columns.
fn preprocessed_heights<S: Statement>(statement: &S) -> Vec<u32> {
    statement.preprocessed().iter().map(|column| column.log_rows).collect()
}
