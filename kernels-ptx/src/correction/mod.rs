//! Kernels of the correction op set, in f32.
//!
//! Features and codes have the same bits on every device, and a state's results do not depend on
//! the others.

mod apply;
mod best;
mod encode;
mod estimate;
mod features;
mod product;
mod similar;
mod store;
