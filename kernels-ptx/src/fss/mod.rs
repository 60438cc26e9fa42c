//! Kernels of the fss op set.

kernel_table! {}
