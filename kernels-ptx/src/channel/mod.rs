//! Kernels of the channel op set.

mod grind;
mod transcript;
