//! Kernels of the optim op set, for f32, binary16 and bfloat16.
//!
//! Weights and moments have the same bits on every device.
//!
//! | kernel | limited by |
//! | --- | --- |
//! | `squares` | one read of the gradients |
//! | `advance` | the latency of one thread's arithmetic |
//! | `scale` | one read and one write |
//! | `sgd` | with momentum 20 bytes a weight in f32, without 12 |
//! | `adam` | 28 bytes a weight in f32; 26 with gradients and a copy of 16 bits, 30 with the copy alone |

mod advance;
mod squares;
mod steps;
