//! The recurrent op set, with one launch for each op.
//!
//! Two ops differ. Rollouts whose blocks do not all run at once and that feed the mean of an
//! ensemble back take one launch for each step. Backward passes take one more launch to transpose
//! the weights.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::recurrent::{GruBackward, GruForward, RssmLoss, RssmRollout},
};

use crate::checked::RecurrentOps;
use core_types::params::recurrent::{Feedback, GruParams};

use crate::{
    CudaBuf, CudaQueue,
    launch::nn::recurrent::{self, MOST_STATES, Resident},
};

impl RecurrentOps for CudaQueue {
    fn gru_backward(&self, op: GruBackward<'_, Self>) -> Result<(), BackendError> {
        if op.d_h0.is_empty() {
            return Ok(());
        }
        admit("gru_backward", op.params)?;
        if op.params.members >= 1 << 16 {
            return Err(BackendError::Unsupported { op: "gru_backward", why: "expected fewer than 2^16 members" });
        }
        let mut turned = self.alloc(op.u.len())?;
        recurrent::gru_backward(self, &op, &turned.view_mut())
    }

    fn gru_forward<T: Real>(&self, op: GruForward<'_, Self, T>) -> Result<(), BackendError> {
        if op.h_t.is_empty() {
            return Ok(());
        }
        admit("gru_forward", op.params)?;
        let mut projected = projected(self, op.params)?;
        let projected = projected.as_mut().map(|projected| projected.view_mut());
        recurrent::gru_forward(self, &op, projected.as_ref())
    }

    fn rssm_loss(&self, op: RssmLoss<'_, Self>) -> Result<(), BackendError> {
        if op.predicted.is_empty() {
            return Ok(());
        }
        let p = op.params;
        // One more state than there are is counted.
        let products = p.stochastic.saturating_add(1).saturating_mul(p.hidden.saturating_add(1));
        if products >= 1 << 31 || p.members.saturating_mul(p.rows) >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "rssm_loss",
                why: "expected fewer than 2^31 elements along an axis",
            });
        }
        recurrent::rssm_loss(self, &op)
    }

    fn rssm_rollout<T: Real>(&self, op: RssmRollout<'_, Self, T>) -> Result<(), BackendError> {
        let p = &op.params.gru;
        if op.entropy.is_empty() {
            return Ok(());
        }
        admit("rssm_rollout", p)?;
        if op.params.stochastic.saturating_mul(p.hidden) >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "rssm_rollout",
                why: "`stochastic` times `hidden` must be below 2^31",
            });
        }
        if let Some(resident) = Resident::of(self, op.params) {
            let mut exchanged = self.alloc(resident.exchanged)?;
            let mut arrived = self.zeros(resident.arrived)?;
            return recurrent::rssm_resident(self, &op, resident, &exchanged.view_mut(), &arrived.view_mut());
        }
        let mut projected = self.alloc((3 * p.members * p.batch * p.hidden) as usize)?;
        let projected = projected.view_mut();
        let mut features = op.back.map(|_| self.alloc((p.members * p.batch * p.input) as usize)).transpose()?;
        let features = features.as_mut().map(|features| features.view_mut());
        let together = if op.params.feedback == Feedback::EnsembleMean { 1 } else { p.steps };
        let mut from = 0;
        loop {
            let to = p.steps.min(from + together);
            recurrent::rssm_rollout(self, &op, [from, to], &projected, features.as_ref())?;
            if to == p.steps {
                return Ok(());
            }
            from = to;
        }
    }
}

/// Refuses sizes that the kernels do not index or hold.
fn admit(op: &'static str, p: &GruParams) -> Result<(), BackendError> {
    let blocks = p.members.saturating_mul(p.batch);
    let why = if p.hidden > MOST_STATES {
        "`hidden` exceeds the most states per row that the kernels support"
    } else if p.input.saturating_mul(p.hidden) >= 1 << 30 || blocks >= 1 << 31 {
        "expected fewer than 2^31 elements along an axis"
    } else {
        return Ok(());
    };
    Err(BackendError::Unsupported { op, why })
}

/// Room for what constant inputs add to the gates of every row.
fn projected(q: &CudaQueue, p: &GruParams) -> Result<Option<CudaBuf<f32>>, BackendError> {
    let gates = 3 * p.members * p.batch * p.hidden; // three times the length of the last state
    p.inputs.is_constant().then(|| q.alloc(gates as usize)).transpose()
}
