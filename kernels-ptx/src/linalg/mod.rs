//! Kernels of the linalg op set: matrix products, softmax, normalisations, losses, sums and maps over elements, for
//! f32, binary16 and bfloat16. Results have the same bits on every device but for products on the matrix units.

mod activation;
mod elementwise;
mod gemm;
mod group;
mod index;
mod real;
mod rows;
mod sum;
