//! Kernels of the recurrent op set, in f32. A row's results have the same bits on every device and in every batch.

mod backward;
mod forward;
mod rollout;
mod rows;
mod unit;
