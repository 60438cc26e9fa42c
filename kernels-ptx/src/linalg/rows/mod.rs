//! Softmax, normalisations and losses along one axis.

pub mod columns;
pub mod loss;
pub mod norm;
pub mod norm_backward;
pub mod softmax;
pub mod state;
