//! Recurrent networks. A task takes some rows of a member through all steps, so that its state and gates stay in the cache, and
//! the member's weights with them.

mod backward;
mod blocks;
mod cell;
mod forward;
mod gates;
mod head;
mod rollout;
#[cfg(test)]
mod tests;

use backend_api::{
    BackendError,
    ops::recurrent::{GruBackward, GruForward, RecurrentOps, RssmRollout},
};

use crate::CpuQueue;

impl RecurrentOps for CpuQueue {
    fn gru_backward(&self, op: GruBackward<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        backward::run(self, op)
    }

    fn gru_forward(&self, op: GruForward<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        forward::run(self, op)
    }

    fn rssm_rollout(&self, op: RssmRollout<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        rollout::run(self, op)
    }
}
