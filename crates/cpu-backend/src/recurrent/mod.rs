//! Recurrent networks.
//!
//! A task takes some rows of a member through all steps, so that its state and gates stay in the
//! cache, and the member's weights with them.

mod backward;
mod blocks;
mod cell;
mod forward;
mod gates;
mod head;
mod layer;
mod loss;
mod rollout;

use backend_api::{
    BackendError, Real,
    ops::recurrent::{GruBackward, GruForward, RssmLoss, RssmRollout},
};

use crate::{CpuQueue, typed::RecurrentOps};

impl RecurrentOps for CpuQueue {
    fn gru_backward(&self, op: GruBackward<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        backward::run(self, op)
    }

    fn gru_forward<T: Real>(&self, op: GruForward<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        forward::run(self, op)
    }

    fn rssm_loss(&self, op: RssmLoss<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        loss::run(self, op)
    }

    fn rssm_rollout<T: Real>(&self, op: RssmRollout<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        rollout::run(self, op)
    }
}
