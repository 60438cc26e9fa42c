//! The fri op set on the processor.

mod fold;
mod last_layer;

use backend_api::{
    BackendError,
    ops::fri::{FriFold, FriLastLayer, OpenColumns, OpenGroups},
};
use core_types::field::{M31, QM31};

use self::fold::Folds;
use crate::checked::FriOps;
use crate::{CpuQueue, columns::cut_columns};

impl FriOps for CpuQueue {
    fn fri_fold(&self, op: FriFold<'_, Self>) -> Result<(), BackendError> {
        let FriFold { params, inverse_twiddles, challenge, values, folded } = op;
        let folds = Folds::new(*params, inverse_twiddles, challenge[0], values);
        let tiles = cut_columns(folded, 1 << (params.log_size - params.folds), folds.folded_len());
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
        if op.positions.is_empty() {
            return Ok(());
        }
        // A few thousand words, on the calling thread.
        for (column, opened) in op.columns.iter().zip(op.opened.chunks_exact_mut(op.positions.len())) {
            for (opened, &position) in opened.iter_mut().zip(op.positions) {
                *opened = op.values[column.first as usize + op.params.row(position, column.log_len) as usize];
            }
        }
        Ok(())
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        let plane = 1 << op.params.log_size;
        for (opened, &position) in op.opened.chunks_exact_mut(1 << op.params.log_group).zip(op.positions) {
            let first = op.params.first(position) as usize;
            for (place, opened) in (first..).zip(opened) {
                *opened = QM31::from_coordinates([0, 1, 2, 3].map(|k| op.values[k * plane + place]));
            }
        }
        Ok(())
    }
}
