//! A step of AdamW.

use core_types::params::elementwise::AdamWParams;

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// A step of AdamW ([`AdamWParams`]), which reads and writes each weight and its moments once.
    pub struct AdamW<'a, Q> as "adam_w" {
        /// Rates, shares and corrections of this step.
        params: plain &'a AdamWParams,
        /// Gradients.
        g: read f32,
        /// First moments, as many as gradients.
        m: write f32,
        /// Second moments, as many.
        v: write f32,
        /// Weights, as many.
        w: write f32,
    }
}

impl<Q: Queue> AdamW<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.w.len(); 4])
    }
}
