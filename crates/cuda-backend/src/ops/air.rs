//! The air op set.

use backend_api::{
    BackendError,
    ops::air::{AirEvaluate, AirFractions, AirOps, LogUpColumns, SecureAddLifted, SecurePowers},
};

use crate::CudaQueue;

impl AirOps for CudaQueue {
    fn air_evaluate(&self, op: AirEvaluate<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "air_evaluate", why: "stub" })
    }

    fn air_fractions(&self, op: AirFractions<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "air_fractions", why: "stub" })
    }

    fn logup_columns(&self, op: LogUpColumns<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "logup_columns", why: "stub" })
    }

    fn secure_add_lifted(&self, op: SecureAddLifted<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "secure_add_lifted", why: "stub" })
    }

    fn secure_powers(&self, op: SecurePowers<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "secure_powers", why: "stub" })
    }
}
