//! Steps of optimizers.

mod squares;
mod steps;

use backend_api::{
    BackendError, Real,
    ops::optim::{AdamStep, AdvanceStep, ScaleLoss, SgdStep, SquareSums},
};

use crate::{CpuQueue, checked::OptimOps};

impl OptimOps for CpuQueue {
    fn adam_step<T: Real>(&self, op: AdamStep<'_, Self, T>) -> Result<(), BackendError> {
        let AdamStep { params, state, g, wide, m, v, w, copy } = op;
        self.update(&steps::Adam { params, state: &state[0] }, (g, wide), [m, v], w, copy);
        Ok(())
    }

    fn advance_step(&self, op: AdvanceStep<'_, Self>) -> Result<(), BackendError> {
        let squares = op.sums.map(|sums| sums.iter().sum());
        op.state[0] = op.params.advance(op.state[0], squares, f64::sqrt);
        Ok(())
    }

    fn scale_loss<T: Real>(&self, op: ScaleLoss<'_, Self, T>) -> Result<(), BackendError> {
        self.scale_gradient(op.state[0].loss_scale, op.x, op.y);
        Ok(())
    }

    fn sgd_step<T: Real>(&self, op: SgdStep<'_, Self, T>) -> Result<(), BackendError> {
        let SgdStep { params, state, g, wide, v, w, copy } = op;
        let state = &state[0];
        match v {
            Some(v) => self.update(&steps::Momentum { params, state }, (g, wide), [v], w, copy),
            None => self.update(&steps::Plain { params, state }, (g, wide), [], w, copy),
        }
        Ok(())
    }

    fn square_sums<T: Real>(&self, op: SquareSums<'_, Self, T>) -> Result<(), BackendError> {
        self.squares(op.g, op.sums);
        Ok(())
    }
}
