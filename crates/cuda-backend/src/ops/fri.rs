//! The fri op set.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::fri::{FriFold, FriLastLayer, OpenColumns, OpenGroups},
};

use core_types::{
    field::M31,
    params::fri::{FriFoldLayers, FriFoldParams},
};

use crate::checked::FriOps;
use crate::{
    CudaQueue,
    launch::stark::{deep, open},
};

/// Most folds of a launch.
const MOST_FOLDS: u32 = 3;

impl FriOps for CudaQueue {
    fn fri_fold(&self, op: FriFold<'_, Self>) -> Result<(), BackendError> {
        let FriFold { params, inverse_twiddles, challenge, values, folded } = op;
        let FriFoldParams { log_size, folds, on_circle } = *params;
        let (mut done, mut source) = (0, None);
        loop {
            let now = (folds - done).min(MOST_FOLDS);
            let layers = FriFoldLayers {
                log_size: log_size - done,
                log_domain: params.log_domain(),
                layer: done + 1 - on_circle,
                squarings: done,
            };
            let from = source.as_ref().map_or(values, |source: &Self::Buf<M31>| source.view());
            done += now;
            if done == folds {
                return deep::fold(self, &layers, now, (inverse_twiddles, challenge), from, &folded);
            }
            let mut between = self.alloc(4 << (log_size - done))?;
            deep::fold(self, &layers, now, (inverse_twiddles, challenge), from, &between.view_mut())?;
            source = Some(between);
        }
    }

    fn fri_last_layer(&self, op: FriLastLayer<'_, Self>) -> Result<(), BackendError> {
        let mut scratch = self.alloc(4 << op.params.log_size)?;
        deep::last_layer(self, &op, &scratch.view_mut())
    }

    fn open_columns(&self, op: OpenColumns<'_, Self>) -> Result<(), BackendError> {
        let columns = self.upload(op.columns)?;
        open::columns(self, &op, columns.view())
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        open::groups(self, &op)
    }
}
