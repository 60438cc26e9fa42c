//! A crate that depends on every library.
//!
//! It has nothing of the repository but their packages.

pub use {
    backend_api, collective, collective_mpi, conformance, core_types, cpu_backend, hybrid_accel, inference,
    nn_dispatch, nn_ops, pfss, ptx, runtime, stark, stark_air, stark_airs, stark_fft, stark_verifier, stwo_air,
    trefoil, trefoil_pfss, yardstick,
};
#[cfg(feature = "cuda")]
pub use {cuda_backend, cuda_loader, cuda_sim};
