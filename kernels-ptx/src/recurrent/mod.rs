//! Kernels of the recurrent op set, in f32, some with weights of 16 bits.
//!
//! A row's results have the same bits on every device and in every batch.

mod backward;
mod forward;
mod head;
mod loss;
mod resident;
mod rollout;
mod rows;
mod unit;
mod view;
