//! The linalg op set on the simulated device, through the kernels that ship: against f64 models, under several orders
//! of turns, with every checker on.

mod elementwise;
mod gemm;
mod gemm_large;
mod loss;
mod model;
mod norm;
mod rig;
mod softmax;
