//! What super-batches refuse through the C interface.

use core::ptr::{null, null_mut};

use pfss::suf::BoolMode;
use trefoil_pfss::{
    BatchCounters, BatchOptions, GateHandle, GateParameters, Keys, KeysInfo, Status, trefoil_pfss_batch_absorb,
    trefoil_pfss_batch_bool_share, trefoil_pfss_batch_clear, trefoil_pfss_batch_counters, trefoil_pfss_batch_flush,
    trefoil_pfss_batch_free, trefoil_pfss_batch_haty_share, trefoil_pfss_batch_masked, trefoil_pfss_batch_open,
    trefoil_pfss_batch_options_default, trefoil_pfss_batch_pending, trefoil_pfss_batch_submit,
    trefoil_pfss_batch_y_share, trefoil_pfss_evaluate, trefoil_pfss_gate_free, trefoil_pfss_gate_named,
    trefoil_pfss_gate_read, trefoil_pfss_keys_free, trefoil_pfss_keys_inspect,
};

use crate::{
    example::program,
    misuse::refused,
    setup::{ARGUMENT, LENGTH, OK, PROGRAM, STATE, Setup, keys_of, parameters},
};

/// Keys of party 0 for two elements, and their bytes.
///
/// # Safety
/// The gate is a live handle.
unsafe fn keys(setup: &Setup, gate: *mut GateHandle) -> (*mut Keys, Vec<u8>) {
    // SAFETY: a live handle by the caller's promise.
    let [zero, _] = unsafe { setup.deal(gate, 2) };
    (keys_of(&zero), zero)
}

#[test]
fn batches_refuse_by_name_what_their_state_and_limits_do_not_allow() {
    let (setup, mut batch) = (Setup::new(), null_mut());
    let backend = setup.backend;
    let [mut gate, mut other, mut descriptor]: [*mut GateHandle; 3] = [null_mut(); 3];
    let (hatx, mut words, mut job, mut len) = ([1u64, 2], [0u64; 2], 7u64, 0usize);
    let bytes = program(BoolMode::Additive).to_bytes();
    // SAFETY: every pointer is null, or points at an array of the given length; handles are live until freed below.
    unsafe {
        let plain = parameters(16, 0);
        refused(trefoil_pfss_gate_named(c"rely".as_ptr(), &plain, &mut gate), ARGUMENT, "unknown gate `rely`");
        let shift = parameters(16, 3);
        refused(trefoil_pfss_gate_named(c"relu".as_ptr(), &shift, &mut gate), ARGUMENT, "expected no `shift`");
        let table = GateParameters { word_bits: 4, table_len: 4, ..parameters(2, 0) };
        refused(trefoil_pfss_gate_named(c"lut".as_ptr(), &table, &mut gate), ARGUMENT, "table is a null");
        let empty = GateParameters { min: 3, max: 2, ..plain };
        refused(trefoil_pfss_gate_named(c"relu".as_ptr(), &empty, &mut gate), ARGUMENT, "");
        refused(trefoil_pfss_gate_named(null(), &plain, &mut gate), ARGUMENT, "name is a null");
        assert_eq!(trefoil_pfss_gate_named(c"relu".as_ptr(), &plain, &mut gate), OK);
        assert_eq!(trefoil_pfss_gate_named(c"abs".as_ptr(), &parameters(17, 0), &mut other), OK);
        assert_eq!(trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len(), &mut descriptor), OK);

        let mut options = core::mem::zeroed::<BatchOptions>();
        refused(trefoil_pfss_batch_open(backend, &options, &mut batch), ARGUMENT, "expected 1 to 3 for slots, got 0");
        assert_eq!(trefoil_pfss_batch_options_default(&mut options), OK);
        options.jobs = 1;
        assert_eq!(trefoil_pfss_batch_open(backend, &options, &mut batch), OK);

        let (first, bundle) = keys(&setup, gate);
        let mut info = core::mem::zeroed::<KeysInfo>();
        assert_eq!(trefoil_pfss_keys_inspect(first, &mut info), OK);
        assert_eq!((info.n, info.out_n, info.words, info.bools, info.rounds), (16, 16, 1, 0, 1));
        let mut evaluation = null_mut();
        let single = trefoil_pfss_evaluate(backend, first, hatx.as_ptr(), 2, &mut evaluation);
        refused(single, PROGRAM, "expected keys of a program, got relu");
        let long = trefoil_pfss_batch_submit(batch, gate, first, hatx.as_ptr(), 1, &mut job);
        refused(long, LENGTH, "expected 2 masked inputs, got 1");
        assert_eq!(trefoil_pfss_batch_submit(batch, gate, first, hatx.as_ptr(), 2, &mut job), OK);
        assert_eq!(job, 0);
        let copy = keys_of(&bundle);
        let again = trefoil_pfss_batch_submit(batch, gate, copy, hatx.as_ptr(), 2, &mut job);
        refused(again, STATE, "bundle reused");

        let (second, _) = keys(&setup, descriptor);
        let full = trefoil_pfss_batch_submit(batch, descriptor, second, hatx.as_ptr(), 2, &mut job);
        refused(full, Status::TREFOIL_PFSS_LIMIT, "expected at most 1 jobs, got 2");
        refused(trefoil_pfss_batch_y_share(batch, 0, words.as_mut_ptr(), 2), STATE, "pending");
        refused(trefoil_pfss_batch_pending(batch, &mut len), STATE, "expected batch state flushed");
        assert_eq!(trefoil_pfss_batch_flush(batch), OK);
        refused(trefoil_pfss_batch_absorb(batch, null(), 0), STATE, "no round is open");
        assert_eq!(trefoil_pfss_batch_pending(batch, &mut len), OK);
        assert_eq!(len, 1);
        let mut message = [0u8; 2];
        let long = trefoil_pfss_batch_masked(batch, message.as_mut_ptr(), 2);
        refused(long, LENGTH, "expected 1 bytes of masked bits and words, got 2");
        assert_eq!(trefoil_pfss_batch_masked(batch, message.as_mut_ptr(), 1), OK);
        assert_eq!(trefoil_pfss_batch_absorb(batch, message.as_ptr(), 1), OK);
        assert_eq!(trefoil_pfss_batch_pending(batch, &mut len), OK);
        assert_eq!(len, 0);
        assert_eq!(trefoil_pfss_batch_y_share(batch, 0, words.as_mut_ptr(), 2), OK);
        refused(trefoil_pfss_batch_haty_share(batch, 0, words.as_mut_ptr(), 2), STATE, "unmasked and must not");
        refused(trefoil_pfss_batch_bool_share(batch, 0, words.as_mut_ptr(), 2), STATE, "no output bits");
        refused(trefoil_pfss_batch_y_share(batch, 1, words.as_mut_ptr(), 2), STATE, "got job 1");
        let mut counters = core::mem::zeroed::<BatchCounters>();
        assert_eq!(trefoil_pfss_batch_counters(batch, &mut counters), OK);
        assert_eq!((counters.jobs, counters.elements, counters.rounds, counters.opened_bytes), (1, 2, 1, 1));
        assert!(counters.walk_seconds > 0.0 && counters.exchange_seconds > 0.0);

        // After a clear numbers go on, and the keys that were refused before are taken.
        assert_eq!(trefoil_pfss_batch_clear(batch), OK);
        refused(trefoil_pfss_batch_y_share(batch, 0, words.as_mut_ptr(), 2), STATE, "got job 0");
        let foreign = trefoil_pfss_batch_submit(batch, other, second, hatx.as_ptr(), 2, &mut job);
        refused(foreign, PROGRAM, "expected keys for relu, got suf");
        assert_eq!(trefoil_pfss_batch_submit(batch, descriptor, second, hatx.as_ptr(), 2, &mut job), OK);
        assert_eq!(job, 1);
        assert_eq!(trefoil_pfss_batch_flush(batch), OK);
        assert_eq!(trefoil_pfss_batch_pending(batch, &mut len), OK);
        refused(trefoil_pfss_batch_absorb(batch, null(), 0), Status::TREFOIL_PFSS_PEER, "");
        refused(trefoil_pfss_batch_y_share(batch, 1, words.as_mut_ptr(), 2), STATE, "failed earlier");
        refused(trefoil_pfss_batch_clear(batch), STATE, "failed earlier");

        [first, copy, second].into_iter().for_each(|keys| trefoil_pfss_keys_free(keys));
        [gate, other, descriptor].into_iter().for_each(|gate| trefoil_pfss_gate_free(gate));
        drop(setup); // a batch may outlive its backend
        trefoil_pfss_batch_free(batch);
    }
}
