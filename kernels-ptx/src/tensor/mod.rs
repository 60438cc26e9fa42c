//! Kernels of the tensor op set, for f32, binary16 and bfloat16.
//!
//! They cover maps, copies between layouts, conversions, extremes and rows by index.
//! Results have the same bits on every device.

mod cast;
mod copy;
mod extreme;
mod index;
mod map;
