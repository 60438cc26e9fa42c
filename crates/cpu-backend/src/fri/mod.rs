//! The fri op set on the processor.

mod fold;
mod last_layer;

mod open;

use backend_api::{
    BackendError,
    ops::fri::{FriFold, FriLastLayer, OpenColumns, OpenGroups},
};
use core_types::field::{M31, QM31};

use self::fold::Folds;
use crate::checked::FriOps;
use crate::{CpuQueue, planes};

impl FriOps for CpuQueue {
    fn fri_fold(&self, op: FriFold<'_, Self>) -> Result<(), BackendError> {
        let FriFold { params, inverse_twiddles, challenge, values, folded } = op;
        let folds = Folds::new(*params, inverse_twiddles, challenge[0], values);
        let tiles = planes::tiles(folded, 1 << (params.log_size - params.folds), folds.folded_len());
        let _scratch = self.reserve_scratch::<M31>(tiles.len(), folds.scratch_len())?;
        self.for_jobs(tiles, |i, mut tile| folds.write(self.simd(), i, &mut tile));
        Ok(())
    }

    fn fri_last_layer(&self, op: FriLastLayer<'_, Self>) -> Result<(), BackendError> {
        let FriLastLayer { params, inverse_twiddles, values, coefficients, excess } = op;
        let _scratch = self.reserve_scratch::<QM31>(1, 1 << params.log_size)?;
        excess[0] = last_layer::interpolate(*params, inverse_twiddles, values, coefficients).into();
        Ok(())
    }

    fn open_columns(&self, op: OpenColumns<'_, Self>) -> Result<(), BackendError> {
        open::columns(op);
        Ok(())
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        open::groups(op);
        Ok(())
    }
}
