//! Domains, columns and queues.

use stark_fft::{CanonicDomain, HostColumns, M31, Representation};

pub(crate) use crate::queues::{processor, simulate, simulated};

pub(crate) fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).unwrap()
}

/// Random words; another count gives others.
pub(crate) fn columns<R: Representation>(log_size: u32, count: usize) -> HostColumns<R> {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let words = (0..count << log_size).map(|_| M31::from_u32(rng.u32(..))).collect();
    HostColumns::new(domain(log_size), words).unwrap()
}
