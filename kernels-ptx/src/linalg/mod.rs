//! Kernels of the linalg op set.

kernel_table! {}
