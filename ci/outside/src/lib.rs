//! A crate that has nothing of the repository but its packages. The examples of the README are its documentation.
#![doc = include_str!("../README.md")]

pub use {
    backend_api, conformance, core_types, cpu_backend, inference, nn_ops, pfss, ptx, runtime, stark_fft, trefoil_pfss,
};
#[cfg(feature = "cuda")]
pub use {cuda_backend, cuda_loader, cuda_sim};
