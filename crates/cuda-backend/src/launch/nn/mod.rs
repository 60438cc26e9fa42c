//! Launches of the kernels of neural networks, except linear algebra.

pub(crate) mod correction;
pub(crate) mod factor;
pub(crate) mod optim;
pub(crate) mod recurrent;
pub(crate) mod tensor;
