//! Kernels of the air op set.

mod columns;
mod interpreter;
mod logup;
mod programs;
