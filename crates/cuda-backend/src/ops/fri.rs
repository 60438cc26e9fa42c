//! The fri op set. Places of columns go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::fri::{FriFold, FriLastLayer, OpenColumns, OpenGroups},
};
use core_types::{
    field::M31,
    params::fri::{FriFoldLayers, FriFoldParams},
};

use crate::{CudaBuf, CudaQueue, checked::FriOps};

/// Most folds of a launch.
const MOST_FOLDS: u32 = 3;

impl FriOps for CudaQueue {
    fn fri_fold(&self, op: FriFold<'_, Self>) -> Result<(), BackendError> {
        let FriFold { params, inverse_twiddles, challenge, values, folded } = op;
        let FriFoldParams { log_size, folds, on_circle } = *params;
        let (mut done, mut source) = (0, None::<CudaBuf<M31>>);
        while done < folds {
            let now = (folds - done).min(MOST_FOLDS);
            let layers = FriFoldLayers {
                log_size: log_size - done,
                log_domain: params.log_domain(),
                layer: done + 1 - on_circle,
                squarings: done,
            };
            done += now;
            let mut between = if done == folds { None } else { Some(self.alloc::<M31>(4 << (log_size - done))?) };
            let scratch = between.as_mut().map(|between| between.view_mut());
            let kernel = ["deep_fold_once", "deep_fold_twice", "deep_fold_thrice"][now as usize - 1];
            let launch = self.kernel(kernel)?.cover_striding(1 << (log_size - done));
            let launch = launch.input("twiddles", inverse_twiddles).input("challenge", challenge);
            let launch = launch.input("values", source.as_ref().map_or(values, |source| source.view()));
            let launch = launch.output("folded", scratch.as_ref().unwrap_or(&folded)).value("params", &layers);
            // SAFETY: `FriFold::check` verified all lengths; the scratch in between has four planes of the folded size.
            unsafe { launch.launch() }?;
            source = between;
        }
        Ok(())
    }

    fn fri_last_layer(&self, op: FriLastLayer<'_, Self>) -> Result<(), BackendError> {
        let mut scratch = self.alloc::<M31>(4 << op.params.log_size)?;
        let launch = self.kernel("deep_last_layer")?.input("twiddles", op.inverse_twiddles).input("values", op.values);
        let launch = launch.output("scratch", &scratch.view_mut()).output("coefficients", &op.coefficients);
        let launch = launch.output("excess", &op.excess).value("params", op.params);
        // SAFETY: `FriLastLayer::check` verified all lengths; `scratch` is as long as the values.
        unsafe { launch.launch() }
    }

    fn open_columns(&self, op: OpenColumns<'_, Self>) -> Result<(), BackendError> {
        let columns = self.upload(op.columns)?;
        let launch = self.kernel("open_columns")?.cover_striding(op.opened.len() as u64);
        let launch = launch.input("columns", columns.view()).input("values", op.values);
        let launch = launch.input("positions", op.positions).output("opened", &op.opened);
        let launch = launch.value("params", op.params);
        let launch = launch.value("count", &(columns.len() as u32)); // the op has checked that `u32` counts them
        // SAFETY: `OpenColumns::check` verified all lengths, and that columns lie within the words.
        unsafe { launch.launch() }
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("open_groups")?.cover_striding(4 * op.opened.len() as u64);
        let launch = launch.input("values", op.values).input("positions", op.positions);
        let launch = launch.output("opened", &op.opened).value("params", op.params);
        // SAFETY: `OpenGroups::check` verified all lengths.
        unsafe { launch.launch() }
    }
}
