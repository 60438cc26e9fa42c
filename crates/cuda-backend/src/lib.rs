//! Every op as launches of Rust kernels on an NVIDIA GPU.
