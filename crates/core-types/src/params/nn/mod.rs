//! Launch records of neural networks.

pub mod attention;
pub mod correction;
pub mod elementwise;
pub mod factor;
pub mod gemm;
pub mod optim;
pub mod recurrent;
pub mod rows;
pub mod tensor;
