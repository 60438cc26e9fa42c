//! Products by weights that are opened once: results against plain integers, and refusals.

use core::ptr::null_mut;

use pfss::{Ring, WeightShape};
use trefoil_pfss::{
    RunHandle, Status, WeightsHandle, trefoil_pfss_run_free, trefoil_pfss_run_weights, trefoil_pfss_run_y_share,
    trefoil_pfss_weights_bytes, trefoil_pfss_weights_deal, trefoil_pfss_weights_deal_product,
    trefoil_pfss_weights_free, trefoil_pfss_weights_open, trefoil_pfss_weights_product, trefoil_pfss_weights_read,
};

use crate::{
    misuse::refused,
    plans::{exchanged, result, share},
    setup::{ARGUMENT, BUNDLE, LENGTH, OK, PROGRAM, STATE, Setup, owned},
};

/// A dealer and both parties of products by weights.
struct Owners {
    setup: Setup,
    ring: Ring,
    shape: WeightShape,
}

impl Owners {
    fn new(ring: Ring, shape: WeightShape) -> Self {
        Self { setup: Setup::new(), ring, shape }
    }

    /// Both parties' keys of the weights, and the dealer's mask.
    fn deal(&self) -> ([Vec<u8>; 2], Vec<u8>) {
        let (n, WeightShape { inner, cols }) = (self.ring.bits(), self.shape);
        let [mut zero, mut one, mut mask] = [null_mut(); 3];
        // SAFETY: a live handle, and places for handles.
        let status =
            unsafe { trefoil_pfss_weights_deal(self.setup.dealer, n, inner, cols, &mut zero, &mut one, &mut mask) };
        assert_eq!(status, OK);
        ([zero, one].map(owned), owned(mask))
    }

    /// Both parties' keys of a product.
    fn deal_product(&self, mask: &[u8], rows: usize) -> [Vec<u8>; 2] {
        let [mut zero, mut one] = [null_mut(); 2];
        let (dealer, backend, data, len) = (self.setup.dealer, self.setup.backend, mask.as_ptr(), mask.len());
        // SAFETY: live handles, an array of the given length, and places for handles.
        let status =
            unsafe { trefoil_pfss_weights_deal_product(dealer, backend, data, len, rows, &mut zero, &mut one) };
        assert_eq!(status, OK);
        [zero, one].map(owned)
    }

    /// Starts the opening of weights by one party.
    fn open(&self, keys: &[u8], y: &[u64], run: &mut *mut RunHandle) -> Status {
        let (n, WeightShape { inner, cols }) = (self.ring.bits(), self.shape);
        let (data, len) = (keys.as_ptr(), keys.len());
        // SAFETY: a live handle, arrays of the given lengths, and a place for a handle.
        unsafe { trefoil_pfss_weights_open(self.setup.backend, n, inner, cols, data, len, y.as_ptr(), y.len(), run) }
    }

    /// Starts a product by one party.
    fn multiply(&self, weights: *mut WeightsHandle, keys: &[u8], x: &[u64], run: &mut *mut RunHandle) -> Status {
        let (data, len) = (keys.as_ptr(), keys.len());
        // SAFETY: live handles, arrays of the given lengths, and a place for a handle.
        unsafe { trefoil_pfss_weights_product(self.setup.backend, weights, data, len, x.as_ptr(), x.len(), run) }
    }
}

/// The weights of a run, written to bytes and read again. Frees the run.
fn weights_of(run: *mut RunHandle) -> *mut WeightsHandle {
    let (mut first, mut bytes, mut weights) = (null_mut(), null_mut(), null_mut());
    // SAFETY: live handles, freed once, and places for handles.
    unsafe {
        assert_eq!(trefoil_pfss_run_weights(run, &mut first), OK);
        trefoil_pfss_run_free(run);
        assert_eq!(trefoil_pfss_weights_bytes(first, &mut bytes), OK);
        trefoil_pfss_weights_free(first);
        let bytes = owned(bytes);
        assert_eq!(trefoil_pfss_weights_read(bytes.as_ptr(), bytes.len(), &mut weights), OK);
    }
    weights
}

#[test]
fn products_by_weights_opened_once_match_plain_integers() {
    let values = |len: usize, factor: u64| -> Vec<u64> {
        (1..=len as u64).map(|at| at.wrapping_mul(at).wrapping_mul(factor)).collect()
    };
    let shape = WeightShape { inner: 4, cols: 3 };
    for n in [64, 43] {
        let ring = Ring::new(n).unwrap();
        let reduced = |words: Vec<u64>| -> Vec<u64> { words.into_iter().map(|word| ring.reduce(word)).collect() };
        let (owners, y) = (Owners::new(ring, shape), reduced(values(shape.elements(), 0x9e37_79b9_7f4a_7c15)));
        let (keys, mask) = owners.deal();
        let mut runs = [null_mut(); 2];
        for party in [0, 1] {
            let share = reduced(share(&y, party));
            assert_eq!(owners.open(&keys[party], &share, &mut runs[party]), OK);
        }
        let (bytes, rounds) = shape.traffic(ring);
        assert_eq!(exchanged(runs), (rounds, bytes));
        let weights = runs.map(weights_of);
        for rows in [1, 5] {
            let (keys, product) = (owners.deal_product(&mask, rows), shape.product(rows));
            let x = reduced(values(product.lens()[0], 12_345));
            for party in [0, 1] {
                let share = reduced(share(&x, party));
                assert_eq!(owners.multiply(weights[party], &keys[party], &share, &mut runs[party]), OK);
            }
            let (bytes, rounds) = shape.product_traffic(ring, rows);
            assert_eq!(exchanged(runs), (rounds, bytes));
            assert_eq!(result(runs, product.lens()[2], ring), reduced(product.multiply(&x, &y)), "{n} {rows}");
        }
        // SAFETY: live handles, freed once.
        unsafe { weights.into_iter().for_each(|weights| trefoil_pfss_weights_free(weights)) };
    }
}

#[test]
fn keys_of_other_weights_and_spent_ones_are_refused() {
    let (ring, shape) = (Ring::new(64).unwrap(), WeightShape { inner: 2, cols: 1 });
    let owners = Owners::new(ring, shape);
    let ((keys, mask), (_, other)) = (owners.deal(), owners.deal());
    let [mut runs, mut products] = [[null_mut(); 2]; 2];
    let mut strange = null_mut();
    let [mut zero, mut one, mut secret] = [null_mut(); 3];
    // Nothing of this spends the keys.
    refused(owners.open(&keys[0], &[1], &mut strange), LENGTH, "expected 2 elements of y, got 1");
    refused(owners.open(&mask, &[1, 2], &mut strange), BUNDLE, "");
    let turned = Owners::new(ring, WeightShape { inner: 1, cols: 2 });
    refused(turned.open(&keys[0], &[1, 2], &mut strange), PROGRAM, "");
    let narrow = Owners::new(Ring::new(43).unwrap(), shape);
    refused(narrow.open(&keys[0], &[1, 2], &mut strange), PROGRAM, "");
    // SAFETY: live handles, arrays of the given lengths, and places for handles.
    unsafe {
        let refusal = trefoil_pfss_weights_deal(owners.setup.dealer, 65, 2, 1, &mut zero, &mut one, &mut secret);
        refused(refusal, ARGUMENT, "expected a ring of 1 to 64 bits, got 65");
        let refusal = trefoil_pfss_weights_deal(owners.setup.dealer, 64, 2, 1, &mut zero, &mut one, null_mut());
        refused(refusal, ARGUMENT, "mask is a null pointer");
        let (data, len) = (mask.as_ptr(), mask.len());
        let refusal =
            trefoil_pfss_weights_deal_product(owners.setup.dealer, null_mut(), data, len, 1, &mut zero, &mut one);
        refused(refusal, ARGUMENT, "backend is a null pointer");
    }
    for party in [0, 1] {
        assert_eq!(owners.open(&keys[party], &[3, 4], &mut runs[party]), OK);
    }
    refused(owners.open(&keys[0], &[3, 4], &mut strange), STATE, "bundle reused");
    let mut handle = null_mut();
    // SAFETY: live handles, and places for results.
    unsafe {
        refused(trefoil_pfss_run_weights(runs[0], &mut handle), STATE, "a message is due");
        exchanged(runs);
        refused(trefoil_pfss_run_y_share(runs[0], [0; 2].as_mut_ptr(), 2), STATE, "the run opened weights");
    }
    let weights = runs.map(weights_of);
    let (of_other, of_mask) = (owners.deal_product(&other, 1), owners.deal_product(&mask, 1));
    refused(owners.multiply(weights[0], &of_other[0], &[1, 2], &mut strange), PROGRAM, "expected weights opened");
    refused(owners.multiply(weights[0], &of_mask[0], &[1], &mut strange), LENGTH, "expected 2 elements of x, got 1");
    refused(owners.multiply(weights[0], &of_mask[1], &[1, 2], &mut strange), ARGUMENT, "party");
    for party in [0, 1] {
        assert_eq!(owners.multiply(weights[party], &of_mask[party], &[1, 2], &mut products[party]), OK);
    }
    refused(owners.multiply(weights[0], &of_mask[0], &[1, 2], &mut strange), STATE, "bundle reused");
    exchanged(products);
    // SAFETY: live handles, freed once, and a place for a handle.
    unsafe {
        refused(trefoil_pfss_run_weights(products[0], &mut handle), STATE, "the run has shares");
        // shares [1, 2] and [1, 2] of [2, 4], times shares [3, 4] and [3, 4] of [6, 8]
        assert_eq!(result(products, 1, ring), [2 * 6 + 4 * 8]);
        weights.into_iter().chain([null_mut()]).for_each(|weights| trefoil_pfss_weights_free(weights));
    }
    assert!(strange.is_null() && handle.is_null());
    assert!([zero, one, secret].iter().all(|bytes| bytes.is_null()));
}
