//! The optim op set.

use backend_api::{
    BackendError, BufferRef as _, Real,
    ops::optim::{AdamStep, AdvanceStep, ScaleLoss, SgdStep, SquareSums},
};

use crate::checked::OptimOps;
use crate::{CudaQueue, launch::nn::optim};

impl OptimOps for CudaQueue {
    fn adam_step<T: Real>(&self, op: AdamStep<'_, Self, T>) -> Result<(), BackendError> {
        optim::adam(self, &op)
    }

    fn advance_step(&self, op: AdvanceStep<'_, Self>) -> Result<(), BackendError> {
        let count = u32::try_from(op.sums.map_or(0, |sums| sums.len()));
        let too_many = |_| BackendError::Unsupported { op: "advance_step", why: "expected fewer than 2^32 sums" };
        optim::advance(self, &op, count.map_err(too_many)?)
    }

    fn scale_loss<T: Real>(&self, op: ScaleLoss<'_, Self, T>) -> Result<(), BackendError> {
        optim::scale(self, &op)
    }

    fn sgd_step<T: Real>(&self, op: SgdStep<'_, Self, T>) -> Result<(), BackendError> {
        optim::sgd(self, &op)
    }

    fn square_sums<T: Real>(&self, op: SquareSums<'_, Self, T>) -> Result<(), BackendError> {
        optim::squares(self, &op)
    }
}
