//! Kernels of the linalg op set, for f32, binary16 and bfloat16.
//!
//! They cover matrix products, attention, softmax, normalisations, losses, sums and maps over
//! elements. Results have the same bits on every device but for products on the matrix units.

#[cfg(feature = "linalg")]
mod activation;
#[cfg(feature = "linalg")]
mod attention;
#[cfg(feature = "linalg")]
mod elementwise;
#[cfg(feature = "linalg")]
mod gemm;
pub mod group;
pub mod index;
pub mod real;
#[cfg(feature = "linalg")]
mod rows;
#[cfg(feature = "linalg")]
mod sum;
