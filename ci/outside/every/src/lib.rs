//! A crate that depends on every library and has nothing of the repository but their packages.

pub use {
    backend_api, collective, collective_mpi, conformance, core_types, cpu_backend, inference, nn_ops, pfss, ptx,
    runtime, stark, stark_air, stark_airs, stark_fft, stark_prover, stark_verifier, stwo_air, trefoil, trefoil_pfss,
    yardstick,
};
#[cfg(feature = "cuda")]
pub use {cuda_backend, cuda_loader, cuda_sim};

#[cfg(test)]
mod tests {
    use collective_mpi::{JoinError, Mpi};
    use core::time::Duration;

    #[test]
    fn who_joins_without_mpi_is_told_what_to_build() {
        assert!(matches!(Mpi::join(Duration::ZERO), Err(JoinError::NotBuilt)));
    }
}
