//! Kernels of the factor op set.
//!
//! | kernel | limited by |
//! | --- | --- |
//! | `peak` | one read of the matrix |
//! | `sketch` | the rounds of Philox |
//! | `gram`, `gram_join`, `product` | f64 multiply-adds, or on devices with many of those the launch |
//! | `inverse`, `jacobi` | the latency of shared memory and barriers: one block works on a small matrix |
//! | `inverse_wide`, `jacobi_wide` | the L2 bandwidth of one multiprocessor: one block, a matrix too large for shared memory |
//! | `complete` | one block, which has work for deficient matrices alone |
//! | `orient`, `scale` | one read and one write |

mod block;
mod complete;
mod gram;
mod inverse;
mod jacobi;
mod orient;
mod peak;
mod product;
mod scale;
mod sketch;
mod square;
mod tile;
