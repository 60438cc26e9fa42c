//! Functions of floats, and 16-bit floats.

pub mod functions;
pub mod half;
pub mod math;
