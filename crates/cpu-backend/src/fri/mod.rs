//! The fri op set.

mod open;

use backend_api::{
    BackendError,
    ops::fri::{FriFold, FriLastLayer, FriOps, OpenColumns, OpenGroups},
};

use crate::CpuQueue;

impl FriOps for CpuQueue {
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
        open::columns(op);
        Ok(())
    }

    fn open_groups(&self, op: OpenGroups<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        open::groups(op);
        Ok(())
    }
}
