//! Kernels of the circle op set.
//!
//! A transform is one launch over contiguous tiles, which run the lowest layers, and none to two
//! launches over strips of rows, which run the others; in between nothing is transposed. A thread
//! holds sixteen words and runs four layers on them (`round`); between such rounds the words of a
//! block change places in shared memory.

mod inverse;
mod point;
mod round;
mod small;
mod strip;
mod tile;
mod twiddles;
mod weights;
