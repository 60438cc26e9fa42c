//! Handles that threads share: a backend, a gate, a plan and a dealer.

use core::{
    ptr::null_mut,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};
use std::collections::BTreeSet;

use trefoil_pfss::{
    Backend, DealerHandle, GateHandle, KeysInfo, trefoil_pfss_batch_absorb, trefoil_pfss_batch_flush,
    trefoil_pfss_batch_free, trefoil_pfss_batch_open, trefoil_pfss_batch_submit, trefoil_pfss_batch_y_share,
    trefoil_pfss_deal, trefoil_pfss_gate_free, trefoil_pfss_gate_named, trefoil_pfss_keys_free,
    trefoil_pfss_keys_inspect, trefoil_pfss_keys_mask_inputs,
};

use crate::setup::{OK, Setup, batch_message, keys_of, owned, parameters};

const COUNT: usize = 40;
const RING: u32 = 20;
const MASK: u64 = (1 << RING) - 1;

/// ReLU as both parties, on the shared handles; returns the nonce of the deal.
///
/// # Safety
/// The handles are live.
unsafe fn relu(backend: *mut Backend, dealer: *mut DealerHandle, gate: *mut GateHandle, first: u64) -> [u8; 16] {
    let x = |e: usize| first.wrapping_sub(20).wrapping_add(e as u64) & MASK;
    let mut bundles = [null_mut(); 2];
    let mut hatx = [0u64; COUNT];
    let mut nonces = [[0; 16]; 2];
    // SAFETY: live handles by the caller's promise or made here, arrays of the given lengths, places for results.
    unsafe {
        let [zero, one] = &mut bundles;
        assert_eq!(trefoil_pfss_deal(dealer, backend, gate, COUNT, zero, one), OK);
        let keys = bundles.map(|bytes| keys_of(&owned(bytes)));
        for (party, &keys) in keys.iter().enumerate() {
            let mut info = core::mem::zeroed::<KeysInfo>();
            assert_eq!(trefoil_pfss_keys_inspect(keys, &mut info), OK);
            nonces[party] = info.nonce;
            let shares: [u64; COUNT] =
                core::array::from_fn(|e| if party == 0 { e as u64 * 77 } else { x(e).wrapping_sub(e as u64 * 77) });
            let mut masked = [0u64; COUNT];
            assert_eq!(trefoil_pfss_keys_mask_inputs(keys, shares.as_ptr(), COUNT, masked.as_mut_ptr()), OK);
            hatx.iter_mut().zip(masked).for_each(|(sum, word)| *sum = sum.wrapping_add(word) & MASK);
        }
        let batches = keys.map(|keys| {
            let (mut batch, mut job) = (null_mut(), 0);
            assert_eq!(trefoil_pfss_batch_open(backend, core::ptr::null(), &mut batch), OK);
            assert_eq!(trefoil_pfss_batch_submit(batch, gate, keys, hatx.as_ptr(), COUNT, &mut job), OK);
            assert_eq!(trefoil_pfss_batch_flush(batch), OK);
            trefoil_pfss_keys_free(keys);
            batch
        });
        let messages = batches.map(|batch| batch_message(batch));
        let shares = [0, 1].map(|party: usize| {
            let (batch, theirs) = (batches[party], &messages[1 - party]);
            assert_eq!(trefoil_pfss_batch_absorb(batch, theirs.as_ptr(), theirs.len()), OK);
            assert!(batch_message(batch).is_empty());
            let mut words = [0u64; COUNT];
            assert_eq!(trefoil_pfss_batch_y_share(batch, 0, words.as_mut_ptr(), COUNT), OK);
            trefoil_pfss_batch_free(batch);
            words
        });
        for (e, (zero, one)) in shares[0].iter().zip(&shares[1]).enumerate() {
            let expected = if x(e) > MASK >> 1 { 0 } else { x(e) };
            assert_eq!(zero.wrapping_add(*one) & MASK, expected, "{first}, {e}");
        }
    }
    assert_eq!(nonces[0], nonces[1]);
    nonces[0]
}

#[test]
fn threads_share_a_backend_a_gate_and_a_dealer() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 5;
    let (setup, mut gate) = (Setup::new(), null_mut());
    // SAFETY: a string that ends with a zero byte, parameters, and a place for a handle.
    assert_eq!(unsafe { trefoil_pfss_gate_named(c"relu".as_ptr(), &parameters(RING, 0), &mut gate) }, OK);
    let (backend, dealer, gate) = (AtomicPtr::new(setup.backend), AtomicPtr::new(setup.dealer), AtomicPtr::new(gate));
    let nonces: BTreeSet<[u8; 16]> = test_process::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (backend, dealer, gate) = (&backend, &dealer, &gate);
                scope.spawn(move || {
                    let round = |round: u64| {
                        // SAFETY: live handles.
                        unsafe {
                            relu(backend.load(Relaxed), dealer.load(Relaxed), gate.load(Relaxed), 1000 * thread + round)
                        }
                    };
                    (0..ROUNDS).map(round).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Every deal drew its own randomness.
    assert_eq!(nonces.len() as u64, THREADS * ROUNDS);
    // SAFETY: a live handle, freed once.
    unsafe { trefoil_pfss_gate_free(gate.into_inner()) };
}
