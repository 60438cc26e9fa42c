//! A crate that depends on every library and has nothing of the repository but their packages.

pub use {
    backend_api, conformance, core_types, cpu_backend, inference, nn_ops, pfss, ptx, runtime, stark_fft, trefoil,
    trefoil_pfss, yardstick,
};
#[cfg(feature = "cuda")]
pub use {cuda_backend, cuda_loader, cuda_sim};
