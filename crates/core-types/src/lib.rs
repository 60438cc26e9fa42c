//! Data that host and kernels share: fields, rings, labels, cipher rounds and launch-parameter records.
//!
//! `no_std`, no allocation, no I/O: the crate also builds for `nvptx64`. Every scalar formula that a kernel uses lives
//! here, is inlined into host and device alike, and cannot panic.
#![no_std]

pub mod circle;
pub mod field;
pub mod params;
