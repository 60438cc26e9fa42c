//! The fri op set.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::fri::{FriFold, FriLastLayer, FriOps, OpenColumns, OpenGroups},
};

use crate::{CudaQueue, launch::open};

impl FriOps for CudaQueue {
    fn fri_fold(&self, op: FriFold<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "fri_fold", why: "stub" })
    }

    fn fri_last_layer(&self, op: FriLastLayer<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "fri_last_layer", why: "stub" })
    }

    fn open_columns(&self, op: OpenColumns<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        let columns = self.upload(op.columns)?;
        open::columns(self, &op, columns.view())
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        open::groups(self, &op)
    }
}
