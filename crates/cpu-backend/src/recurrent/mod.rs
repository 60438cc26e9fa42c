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

use crate::{CpuQueue, checked::RecurrentOps};

impl RecurrentOps for CpuQueue {
    fn gru_backward(&self, op: GruBackward<'_, Self>) -> Result<(), BackendError> {
        backward::run(self, op)
    }

    fn gru_forward<T: Real>(&self, op: GruForward<'_, Self, T>) -> Result<(), BackendError> {
        forward::run(self, op)
    }

    fn rssm_loss(&self, op: RssmLoss<'_, Self>) -> Result<(), BackendError> {
        loss::run(self, op)
    }

    fn rssm_rollout<T: Real>(&self, op: RssmRollout<'_, Self, T>) -> Result<(), BackendError> {
        rollout::run(self, op)
    }
}
