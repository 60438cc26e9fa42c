//! Wrong calls through the C interface, each with its message.

use core::ptr::null_mut;
use std::ffi::CStr;

use pfss::suf::BoolMode;
use trefoil_pfss::{
    Backend, Bytes, DealerHandle, GateHandle, Keys, KeysInfo, Status, trefoil_pfss_backend_free,
    trefoil_pfss_backend_open, trefoil_pfss_bool_share, trefoil_pfss_bytes_data, trefoil_pfss_bytes_free,
    trefoil_pfss_bytes_len, trefoil_pfss_deal, trefoil_pfss_dealer_free, trefoil_pfss_dealer_insecure_from_seed,
    trefoil_pfss_evaluate, trefoil_pfss_evaluation_free, trefoil_pfss_evaluation_resume, trefoil_pfss_gate_free,
    trefoil_pfss_gate_read, trefoil_pfss_haty_share, trefoil_pfss_keys_free, trefoil_pfss_keys_inspect,
    trefoil_pfss_keys_mask_inputs, trefoil_pfss_keys_read, trefoil_pfss_last_error,
};

use crate::{
    example::program,
    setup::{ARGUMENT, BUNDLE, LENGTH, OK, PROGRAM, STATE},
};

fn last_error() -> String {
    // SAFETY: the message lives until the next failing call of this thread.
    unsafe { CStr::from_ptr(trefoil_pfss_last_error()) }.to_str().unwrap().to_owned()
}

/// Demands a status, and a message that holds `text`.
pub(crate) fn refused(status: Status, expected: Status, text: &str) {
    assert_eq!(status, expected);
    assert!(last_error().contains(text), "{}", last_error());
}

#[test]
fn wrong_calls_are_refused_by_name_and_keys_serve_once() {
    let (mut backend, mut gate, mut dealer): (*mut Backend, *mut GateHandle, *mut DealerHandle) =
        (null_mut(), null_mut(), null_mut());
    let mut bundles: [*mut Bytes; 2] = [null_mut(); 2];
    let [mut keys, mut copy]: [*mut Keys; 2] = [null_mut(); 2];
    let mut evaluation = null_mut();
    let bytes = program(BoolMode::Additive).to_bytes();
    // SAFETY: every pointer is null, or points at an array of the given length; handles are live until freed below.
    unsafe {
        refused(trefoil_pfss_backend_open(c"tpu".as_ptr(), &mut backend), ARGUMENT, "tpu");
        refused(trefoil_pfss_backend_open(c"cpu".as_ptr(), null_mut()), ARGUMENT, "backend is a null");
        assert_eq!(trefoil_pfss_backend_open(c"cpu".as_ptr(), &mut backend), OK);
        let cut = trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len() - 1, &mut gate);
        refused(cut, PROGRAM, "");
        let endless = trefoil_pfss_gate_read(bytes.as_ptr(), usize::MAX, &mut gate);
        refused(endless, ARGUMENT, "more than memory holds");
        assert_eq!(trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len(), &mut gate), OK);
        assert_eq!(trefoil_pfss_dealer_insecure_from_seed(1, &mut dealer), OK);

        let [zero, one] = &mut bundles;
        refused(trefoil_pfss_deal(dealer, backend, null_mut(), 2, zero, one), ARGUMENT, "gate");
        refused(trefoil_pfss_deal(dealer, backend, gate, usize::MAX, zero, one), BUNDLE, "");
        assert_eq!(trefoil_pfss_deal(dealer, backend, gate, 2, zero, one), OK);
        let (data, len) = (trefoil_pfss_bytes_data(bundles[0]), trefoil_pfss_bytes_len(bundles[0]));
        refused(trefoil_pfss_keys_read(data, len - 1, &mut keys), BUNDLE, "");
        for keys in [&mut keys, &mut copy] {
            assert_eq!(trefoil_pfss_keys_read(data, len, keys), OK);
        }
        let mut info = core::mem::zeroed::<KeysInfo>();
        assert_eq!(trefoil_pfss_keys_inspect(keys, &mut info), OK);
        assert_eq!((info.party, info.n, info.count, info.words, info.bools, info.additive), (0, 20, 2, 1, 2, 1));

        let (x, mut masked) = ([1u64, 2, 3], [0u64; 3]);
        let long = trefoil_pfss_keys_mask_inputs(keys, x.as_ptr(), 3, masked.as_mut_ptr());
        refused(long, LENGTH, "expected 2 elements, got 3");
        let nowhere = trefoil_pfss_keys_mask_inputs(keys, x.as_ptr(), 2, null_mut());
        refused(nowhere, ARGUMENT, "masked is a null");
        let mut mask = |keys| trefoil_pfss_keys_mask_inputs(keys, x.as_ptr(), 2, masked.as_mut_ptr());
        assert_eq!(mask(keys), OK);
        refused(mask(keys), STATE, "already masked inputs");
        refused(mask(copy), STATE, "bundle reused");
        let long = trefoil_pfss_evaluate(backend, keys, x.as_ptr(), 3, &mut evaluation);
        refused(long, LENGTH, "expected 2 masked inputs, got 3");
        let odd = x.as_ptr().byte_add(1);
        refused(trefoil_pfss_evaluate(backend, keys, odd, 2, &mut evaluation), ARGUMENT, "not aligned");
        assert_eq!(trefoil_pfss_evaluate(backend, keys, x.as_ptr(), 2, &mut evaluation), OK);
        let spent = trefoil_pfss_keys_inspect(keys, &mut info);
        refused(spent, STATE, "evaluated before");
        let mut other = null_mut();
        let again = trefoil_pfss_evaluate(backend, copy, x.as_ptr(), 2, &mut other);
        refused(again, STATE, "evaluated before");

        let early = trefoil_pfss_haty_share(evaluation, masked.as_mut_ptr(), 2);
        refused(early, STATE, "the bits were not opened");
        let early = trefoil_pfss_bool_share(evaluation, masked.as_mut_ptr(), 2);
        refused(early, STATE, "the bits were not opened");
        let none = trefoil_pfss_evaluation_resume(evaluation, core::ptr::null(), 0);
        refused(none, LENGTH, "words of masked bits");

        trefoil_pfss_evaluation_free(evaluation);
        trefoil_pfss_keys_free(keys);
        trefoil_pfss_keys_free(copy);
        bundles.into_iter().for_each(|bytes| trefoil_pfss_bytes_free(bytes));
        trefoil_pfss_dealer_free(dealer);
        trefoil_pfss_gate_free(gate);
        trefoil_pfss_backend_free(backend);
        trefoil_pfss_backend_free(null_mut());
    }
}
