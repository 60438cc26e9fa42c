//! Kernels of the circle op set.

kernel_table! {}
