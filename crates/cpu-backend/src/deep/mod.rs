//! The deep op set.

use backend_api::{
    BackendError,
    ops::deep::{DeepLines, DeepNumerators, DeepOps, DeepPoints, DeepQuotients},
};

use crate::CpuQueue;

impl DeepOps for CpuQueue {
    fn deep_points(&self, op: DeepPoints<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "deep_points", why: "stub" })
    }

    fn deep_lines(&self, op: DeepLines<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "deep_lines", why: "stub" })
    }

    fn deep_numerators(&self, op: DeepNumerators<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "deep_numerators", why: "stub" })
    }

    fn deep_quotients(&self, op: DeepQuotients<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "deep_quotients", why: "stub" })
    }
}
