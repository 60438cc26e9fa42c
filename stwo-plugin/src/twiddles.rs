//! Factors of transforms.

use std::sync::{Arc, Mutex, PoisonError};

use runtime::AnyQueue;
use stark_fft::{CanonicDomain, TwiddleTree as Factors};
use stwo::{
    core::{circle::Coset, poly::circle::CircleDomain},
    prover::poly::{
        BitReversedOrder,
        twiddles::{TwiddleBuffer, TwiddleTree},
    },
};

use crate::{
    TrefoilBackend,
    device::{done, queue},
};

/// The largest factors that were made, which serve all smaller domains.
static LARGEST: Mutex<Option<Arc<Factors<AnyQueue>>>> = Mutex::new(None);

/// Factors of the transforms of canonic domains, and of first parts of them.
///
/// Factors of a domain serve all smaller ones, so the process has one tree of them, of the largest
/// requested domain.
#[derive(Clone, Debug)]
pub struct Twiddles {
    factors: Option<Arc<Factors<AnyQueue>>>,
    /// Logs of a domain and of the first part of it that the factors are meant for.
    part: Option<[u32; 2]>,
}

impl Twiddles {
    /// The factors.
    #[track_caller]
    pub(crate) fn factors(&self) -> &Factors<AnyQueue> {
        match &self.factors {
            Some(factors) => factors,
            None => panic!("trefoil: an empty buffer of twiddles has no factors"),
        }
    }

    /// The log of the canonic domain that contains `domain`.
    ///
    /// `domain` is the canonic domain, or its first part as recorded in these factors.
    #[track_caller]
    pub(crate) fn log_domain(&self, domain: CircleDomain) -> u32 {
        let log_size = domain.log_size();
        match self.part {
            _ if is_canonic(domain) => log_size,
            Some([log_domain, log_part]) if log_part == log_size && begins_canonic(domain, log_domain) => log_domain,
            _ => panic!("trefoil: transforms are of canonic domains and of first parts of them, not of {domain:?}"),
        }
    }
}

impl TwiddleBuffer<BitReversedOrder> for Twiddles {
    fn empty() -> Self {
        Self { factors: None, part: None }
    }

    fn extract_subdomain_twiddles(&self, domain_log_size: u32, subdomain_log_size: u32) -> Self {
        Self { factors: self.factors.clone(), part: Some([domain_log_size, subdomain_log_size]) }
    }
}

/// Whether a domain begins where the canonic one of `2^log_domain` points does.
fn begins_canonic(domain: CircleDomain, log_domain: u32) -> bool {
    domain.half_coset.initial_index == Coset::half_odds(log_domain - 1).initial_index
}

/// Returns whether a domain is canonic.
///
/// stwo's own function rejects the canonic domain of two points.
pub(crate) fn is_canonic(domain: CircleDomain) -> bool {
    domain.half_coset.initial_index == Coset::half_odds(domain.half_coset.log_size).initial_index
}

/// The factors of the domain with this half coset, which has to be canonic.
#[track_caller]
pub(crate) fn twiddles(root_coset: Coset) -> TwiddleTree<TrefoilBackend> {
    let domain = CircleDomain::new(root_coset);
    assert!(
        is_canonic(domain),
        "trefoil: transforms are of canonic domains and of first parts of them, not of {domain:?}"
    );
    let domain = done(CanonicDomain::new(domain.log_size()));
    let mut largest = LARGEST.lock().unwrap_or_else(PoisonError::into_inner);
    let factors = match &*largest {
        Some(factors) if factors.domain() >= domain => factors.clone(),
        _ => Arc::new(done(Factors::new(queue(), domain))),
    };
    *largest = Some(factors.clone());
    let twiddles = Twiddles { factors: Some(factors), part: None };
    TwiddleTree { root_coset, itwiddles: twiddles.clone(), twiddles }
}
