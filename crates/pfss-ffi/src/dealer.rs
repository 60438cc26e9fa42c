//! Handles of dealers, and keys dealt in pairs.
//!
//! # Safety
//! As said [at the top](crate#safety).

use pfss::Dealer;

use crate::{
    Backend, Bytes, GateHandle,
    memory::{BothPlaces, free, in_turn, put_handle, shared},
    status::{CallFailure, Status, guard},
};

/// The trusted third party that makes keys for both parties.
///
/// Threads may share it; its calls wait for each other.
pub struct DealerHandle {
    pub(crate) dealer: Dealer,
}

/// A dealer with randomness from the operating system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_open(dealer: *mut *mut DealerHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put_handle("dealer", DealerHandle { dealer: Dealer::from_os()? }, dealer) })
}

/// A dealer whose output anyone can reproduce.
///
/// For tests only: its keys protect nothing. A process refuses bundles that it has masked or
/// evaluated before, even if they were dealt again from the same seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_insecure_from_seed(seed: u64, dealer: *mut *mut DealerHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { put_handle("dealer", DealerHandle { dealer: Dealer::insecure_from_seed(seed) }, dealer) })
}

/// Frees a dealer and wipes its state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_dealer_free(dealer: *mut DealerHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(dealer) };
}

/// Deals keys for `count` elements: a bundle for party 0 and one for party 1.
///
/// Each bundle is for its own party only. For a gate with masked outputs, use
/// `trefoil_pfss_deal_wired`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_deal(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    gate: *mut GateHandle,
    count: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut dealer, backend, gate) =
            unsafe { (in_turn("dealer", dealer)?, shared("backend", backend)?, shared("gate", gate)?) };
        let places = BothPlaces::new(party_0, party_1)?;
        let gate = gate.operation.gate();
        if gate.masks_outputs() {
            return Err(CallFailure::argument("expected a gate without masked outputs; use `trefoil_pfss_deal_wired`"));
        }
        let bundles = dealer.dealer.deal(&*backend.queue, gate, count)?;
        // SAFETY: the caller's promise.
        unsafe { places.put(bundles.map(|bundle| Bytes::of(bundle.to_bytes()))) }
    })
}
