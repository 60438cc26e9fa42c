//! Every call of a party with arrays: if it is refused, its keys serve the same call later.

use core::{
    ffi::c_int,
    ptr::{null, null_mut},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use pfss::{Ring, suf::BoolMode};
use trefoil_pfss::{
    Keys, RunHandle, SigmaContext, Status, SufKeys, trefoil_pfss_batch_absorb, trefoil_pfss_batch_flush,
    trefoil_pfss_batch_free, trefoil_pfss_batch_open, trefoil_pfss_batch_submit, trefoil_pfss_batch_y_share,
    trefoil_pfss_bool_share, trefoil_pfss_evaluate, trefoil_pfss_evaluation_free, trefoil_pfss_evaluation_resume,
    trefoil_pfss_gate_free, trefoil_pfss_gate_named, trefoil_pfss_gate_read, trefoil_pfss_keys_free,
    trefoil_pfss_keys_mask_inputs, trefoil_pfss_plan_free, trefoil_pfss_plan_matmul, trefoil_pfss_run_absorb,
    trefoil_pfss_run_free, trefoil_pfss_run_start, trefoil_pfss_run_weights, trefoil_pfss_run_y_share,
    trefoil_pfss_sigma_eval_nexp, trefoil_pfss_sigma_free, trefoil_pfss_sigma_keygen_nexp, trefoil_pfss_sigma_open,
    trefoil_pfss_sigma_reset_keygen, trefoil_pfss_sigma_set_keybuf_ptr, trefoil_pfss_sigma_set_stream,
    trefoil_pfss_suf_eval_dcf_many, trefoil_pfss_suf_eval_interval_lut_many, trefoil_pfss_suf_eval_packed_lt_many,
    trefoil_pfss_suf_keys_free, trefoil_pfss_suf_keys_mask_inputs, trefoil_pfss_weights_deal,
    trefoil_pfss_weights_deal_product, trefoil_pfss_weights_free, trefoil_pfss_weights_open,
    trefoil_pfss_weights_product, trefoil_pfss_y_share,
};

use crate::{
    example::program,
    machine::{
        CallerProgram, GLOBAL, MachineCall, Obstacle, THREAD_LOCAL, bytes_of, on_machine, refused_copies, words_of,
    },
    plans::{message, plan, share},
    setup::{OK, Setup, batch_message, keys_of, masked_bits, owned, parameters},
    sigma::{Pipe, links, peer},
};

const COUNT: usize = 40;
const BITS: u32 = 20;
const RING: u64 = (1 << BITS) - 1;

/// The secret inputs of gates.
fn secrets() -> Vec<u64> {
    (0..COUNT as u64).map(|e| (e * 30_000).wrapping_sub(600_000) & RING).collect()
}

/// The sums of both parties' words under a mask.
fn sums(shares: [Vec<u8>; 2], mask: u64) -> Vec<u64> {
    let [a, b] = shares.map(|bytes| words_of(&bytes));
    a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b) & mask).collect()
}

/// The result of a call that reads `len` words of shares.
fn shares(on: &CallerProgram, len: usize, read: impl Fn(*mut u64) -> Status) -> Vec<u8> {
    on.result_of(&MachineCall { inputs: &[], bytes: 8 * len, computes: false, make: &|_, to| read(to) })
}

/// The opened masked inputs of both parties' keys.
fn masked<K>(
    on: &CallerProgram,
    keys: [*mut K; 2],
    mask: unsafe extern "C" fn(*mut K, *const u64, usize, *mut u64) -> Status,
    ring: u64,
) -> Vec<u64> {
    let masked = [0, 1].map(|party| {
        let x = share(&secrets(), party);
        // SAFETY: a live handle, and arrays of the given length.
        let make = |inputs: &[*const u64], to| unsafe { mask(keys[party], inputs[0], COUNT, to) };
        on.result_of(&MachineCall { inputs: &[&x], bytes: 8 * COUNT, computes: false, make: &make })
    });
    sums(masked, ring)
}

/// Both parties' keys of a gate, and their opened masked inputs.
///
/// # Safety
/// A live handle.
unsafe fn dealt(on: &CallerProgram, setup: &Setup, gate: *mut trefoil_pfss::GateHandle) -> ([*mut Keys; 2], Vec<u64>) {
    // SAFETY: a live handle by the caller's promise.
    let keys = unsafe { setup.deal(gate, COUNT) }.map(|bytes| keys_of(&bytes));
    (keys, masked(on, keys, trefoil_pfss_keys_mask_inputs, RING))
}

/// ReLU in a batch.
fn batch(on: &CallerProgram, setup: &Setup) {
    let mut gate = null_mut();
    // SAFETY: live handles until they are freed, arrays of the given lengths, and places for results.
    unsafe {
        assert_eq!(trefoil_pfss_gate_named(c"relu".as_ptr(), &parameters(BITS, 0), &mut gate), OK);
        let (keys, hatx) = dealt(on, setup, gate);
        let batches = keys.map(|keys| {
            let mut batch = null_mut();
            assert_eq!(trefoil_pfss_batch_open(setup.backend, null(), &mut batch), OK);
            let submit = |inputs: &[*const u64], _: *mut u64| {
                trefoil_pfss_batch_submit(batch, gate, keys, inputs[0], COUNT, &mut 0)
            };
            on.result_of(&MachineCall { inputs: &[&hatx], bytes: 0, computes: false, make: &submit });
            let flush = |_: &[*const u64], _: *mut u64| trefoil_pfss_batch_flush(batch);
            on.result_of(&MachineCall { inputs: &[], bytes: 0, computes: true, make: &flush });
            trefoil_pfss_keys_free(keys);
            batch
        });
        let messages = batches.map(|batch| batch_message(batch));
        let y = [0, 1].map(|party: usize| {
            let (batch, theirs) = (batches[party], &messages[1 - party]);
            let absorb =
                |_: &[*const u64], _: *mut u64| trefoil_pfss_batch_absorb(batch, theirs.as_ptr(), theirs.len());
            on.result_of(&MachineCall { inputs: &[], bytes: 0, computes: true, make: &absorb });
            assert!(batch_message(batch).is_empty());
            let y = shares(on, COUNT, |to| trefoil_pfss_batch_y_share(batch, 0, to, COUNT));
            trefoil_pfss_batch_free(batch);
            y
        });
        let expected: Vec<u64> = secrets().into_iter().map(|x| if x <= RING >> 1 { x } else { 0 }).collect();
        assert_eq!(sums(y, RING), expected);
        trefoil_pfss_gate_free(gate);
    }
}

/// A descriptor evaluated by itself.
fn evaluation(on: &CallerProgram, setup: &Setup) {
    let (descriptor, mut gate) = (program(BoolMode::Additive), null_mut());
    let bytes = descriptor.to_bytes();
    // SAFETY: live handles until they are freed, arrays of the given lengths, and places for results.
    unsafe {
        assert_eq!(trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len(), &mut gate), OK);
        let (keys, hatx) = dealt(on, setup, gate);
        let parties = keys.map(|keys| {
            let mut evaluation = null_mut();
            let place = &raw mut evaluation;
            let evaluate = |inputs: &[*const u64], _: *mut u64| {
                trefoil_pfss_evaluate(setup.backend, keys, inputs[0], COUNT, place)
            };
            on.result_of(&MachineCall { inputs: &[&hatx], bytes: 0, computes: true, make: &evaluate });
            trefoil_pfss_keys_free(keys);
            evaluation
        });
        loop {
            let messages = parties.map(|party| masked_bits(party));
            if messages[0].is_empty() {
                break;
            }
            for (party, theirs) in parties.into_iter().zip(messages.iter().rev()) {
                let resume = |_: &[*const u64], _: *mut u64| {
                    trefoil_pfss_evaluation_resume(party, theirs.as_ptr(), theirs.len())
                };
                on.result_of(&MachineCall { inputs: &[], bytes: 0, computes: true, make: &resume });
            }
        }
        let y = parties.map(|party| shares(on, COUNT, |to| trefoil_pfss_y_share(party, to, COUNT)));
        let bools = parties.map(|party| shares(on, 2 * COUNT, |to| trefoil_pfss_bool_share(party, to, 2 * COUNT)));
        let plain: Vec<_> = secrets().into_iter().map(|x| descriptor.desc().eval(x)).collect();
        assert_eq!(sums(y, RING), plain.iter().map(|outputs| outputs.words[0]).collect::<Vec<_>>());
        let bits = plain.iter().flat_map(|outputs| outputs.bools.iter().map(|&bit| u64::from(bit)));
        assert_eq!(sums(bools, RING), bits.collect::<Vec<_>>());
        parties.into_iter().for_each(|party| trefoil_pfss_evaluation_free(party));
        trefoil_pfss_gate_free(gate);
    }
}

/// The factors of a product, 2 by 3 and 3 by 2.
const LEFT: [u64; 6] = [3, 4, 7, 12, 19, 28];
const RIGHT: [u64; 6] = [1000, 923, 846, 769, 692, 615];

/// Exchanges the messages of both parties' runs.
///
/// # Safety
/// Live handles.
unsafe fn exchange(on: &CallerProgram, runs: [*mut RunHandle; 2]) {
    loop {
        let messages = runs.map(message);
        if messages[0].is_empty() {
            return;
        }
        for (run, theirs) in runs.into_iter().zip(messages.iter().rev()) {
            // SAFETY: a live handle by the caller's promise, and an array of the given length.
            let absorb =
                |_: &[*const u64], _: *mut u64| unsafe { trefoil_pfss_run_absorb(run, theirs.as_ptr(), theirs.len()) };
            on.result_of(&MachineCall { inputs: &[], bytes: 0, computes: true, make: &absorb });
        }
    }
}

/// Exchanges the messages of both parties' runs, and asserts that the opened result is the product.
///
/// # Safety
/// Live handles, which are freed.
unsafe fn assert_product(on: &CallerProgram, runs: [*mut RunHandle; 2]) {
    // SAFETY: live handles by the caller's promise.
    unsafe { exchange(on, runs) };
    // SAFETY: live handles by the caller's promise, freed once, and arrays of the given length.
    let product = runs.map(|run| unsafe {
        let words = shares(on, 4, |to| trefoil_pfss_run_y_share(run, to, 4));
        trefoil_pfss_run_free(run);
        words
    });
    let entry = |at: usize| -> u64 { (0..3).map(|k| LEFT[at / 2 * 3 + k] * RIGHT[2 * k + at % 2]).sum() };
    assert_eq!(sums(product, u64::MAX), [0, 1, 2, 3].map(entry));
}

/// A run that starts with a call of these inputs, by one party.
fn started(
    on: &CallerProgram,
    inputs: &[&[u64]],
    start: impl Fn(&[*const u64], *mut *mut RunHandle) -> Status,
) -> *mut RunHandle {
    let mut run = null_mut();
    let place = &raw mut run;
    on.result_of(&MachineCall { inputs, bytes: 0, computes: true, make: &|inputs, _| start(inputs, place) });
    run
}

/// A product of matrices, by a plan and by opened weights.
fn products(on: &CallerProgram, setup: &Setup) {
    let &Setup { dealer, backend } = setup;
    let [mut zero, mut one, mut mask] = [null_mut(); 3];
    let parts = |keys: &[u8]| (keys.as_ptr(), keys.len());
    // SAFETY: live handles until they are freed, arrays of the given lengths, and places for results.
    unsafe {
        let matmul = plan(|plan| trefoil_pfss_plan_matmul(64, 1, 2, 3, 2, plan));
        let keys = setup.deal_plan(matmul);
        let runs = [0, 1].map(|party| {
            let (data, len) = parts(&keys[party]);
            started(on, &[&share(&LEFT, party), &share(&RIGHT, party)], |xy, run| {
                trefoil_pfss_run_start(backend, matmul, data, len, xy[0], 6, xy[1], 6, run)
            })
        });
        assert_product(on, runs);
        trefoil_pfss_plan_free(matmul);

        assert_eq!(trefoil_pfss_weights_deal(dealer, 64, 3, 2, &mut zero, &mut one, &mut mask), OK);
        let (keys, mask) = ([zero, one].map(owned), owned(mask));
        let openings = [0, 1].map(|party| {
            let (data, len) = parts(&keys[party]);
            started(on, &[&share(&RIGHT, party)], |y, run| {
                trefoil_pfss_weights_open(backend, 64, 3, 2, data, len, y[0], 6, run)
            })
        });
        exchange(on, openings);
        let weights = openings.map(|run| {
            let mut weights = null_mut();
            assert_eq!(trefoil_pfss_run_weights(run, &mut weights), OK);
            trefoil_pfss_run_free(run);
            weights
        });
        let (data, len) = parts(&mask);
        assert_eq!(trefoil_pfss_weights_deal_product(dealer, backend, data, len, 2, &mut zero, &mut one), OK);
        let keys = [zero, one].map(owned);
        let runs = [0, 1].map(|party| {
            let (data, len) = parts(&keys[party]);
            started(on, &[&share(&LEFT, party)], |x, run| {
                trefoil_pfss_weights_product(backend, weights[party], data, len, x[0], 6, run)
            })
        });
        assert_product(on, runs);
        weights.into_iter().for_each(|weights| trefoil_pfss_weights_free(weights));
    }
}

/// Both parties' results of an `eval` call of SUF, of `bytes` bytes; frees the keys.
fn evaluated(
    on: &CallerProgram,
    keys: [*mut SufKeys; 2],
    (ring, bytes): (u64, usize),
    eval: impl Fn(*mut SufKeys, *const u64, *mut u64) -> Status,
) -> [Vec<u8>; 2] {
    let hatx = masked(on, keys, trefoil_pfss_suf_keys_mask_inputs, ring);
    keys.map(|keys| {
        let make = |inputs: &[*const u64], outs| eval(keys, inputs[0], outs);
        let result = on.result_of(&MachineCall { inputs: &[&hatx], bytes, computes: true, make: &make });
        // SAFETY: a live handle, freed once.
        unsafe { trefoil_pfss_suf_keys_free(keys) };
        result
    })
}

/// SUF's calls with one key for each input.
fn suf(on: &CallerProgram, setup: &Setup) {
    let backend = setup.backend;
    let xor = |[a, b]: [Vec<u8>; 2]| -> Vec<u8> { a.iter().zip(&b).map(|(a, b)| a ^ b).collect() };
    let thresholds = [5, 30_000, 600_000];
    let keys = setup.packed_lt(BITS, &thresholds, COUNT);
    // SAFETY: here and below, live handles, and arrays of the given lengths.
    let bits = evaluated(on, keys, (RING, 8 * COUNT), |keys, hatx, outs| unsafe {
        trefoil_pfss_suf_eval_packed_lt_many(backend, keys, hatx, COUNT, outs, COUNT)
    });
    let less = |x: u64| (0..3).map(|t| u64::from(x < thresholds[t]) << t).sum();
    assert_eq!(words_of(&xor(bits)), secrets().into_iter().map(less).collect::<Vec<u64>>());

    let keys = setup.dcf(BITS, 300_000, &[0x12, 0x34], COUNT);
    // SAFETY: as above.
    let payload = evaluated(on, keys, (RING, 2 * COUNT), |keys, hatx, outs| unsafe {
        trefoil_pfss_suf_eval_dcf_many(backend, keys, hatx, COUNT, outs.cast(), 2 * COUNT)
    });
    let plain = |x| if x < 300_000 { [0x12, 0x34] } else { [0; 2] };
    assert_eq!(xor(payload), secrets().into_iter().flat_map(plain).collect::<Vec<u8>>());

    let keys = setup.interval_lut(BITS, &[0, 90_000, 600_000, 1 << BITS], &[1, u64::MAX, 20, 21, 300, 7], COUNT);
    // SAFETY: as above.
    let lut = evaluated(on, keys, (u64::MAX, 16 * COUNT), |keys, hatx, outs| unsafe {
        trefoil_pfss_suf_eval_interval_lut_many(backend, keys, hatx, COUNT, outs, 2 * COUNT)
    });
    let plain = |x| match x {
        ..90_000 => [1, u64::MAX],
        90_000..600_000 => [20, 21],
        600_000.. => [300, 7],
    };
    assert_eq!(sums(lut, u64::MAX), secrets().into_iter().flat_map(plain).collect::<Vec<u64>>());
}

const BW: c_int = 40;
const SCALE: c_int = 12;

/// Evaluates `exp(-x)` as `party`, over a link.
///
/// # Safety
/// A live context with a buffer, and arrays of `COUNT` words.
unsafe fn eval_nexp(context: *mut SigmaContext, link: &Pipe, party: usize, x: *const u64, y: *mut u64) -> Status {
    // SAFETY: the caller's promise, and a link that outlives the peer.
    unsafe { trefoil_pfss_sigma_eval_nexp(context, &peer(link), party as c_int, BW, SCALE, x, COUNT, y, null_mut()) }
}

/// `exp(-x)` by SUF's bridge to SIGMA, on a context of the device.
fn sigma(on: &CallerProgram, setup: &Setup) {
    const CAPACITY: usize = 1 << 20;
    let ring = Ring::new(BW.cast_unsigned()).unwrap();
    let x: Vec<u64> = (0..COUNT as u64).map(|e| e * 1000).collect();
    let masks: Vec<u64> = x.iter().map(|x| ring.reduce((x + 1).wrapping_mul(0xd134_2543_de82_ef95))).collect();
    let (mut keys, mut cursors) = ([vec![0u8; CAPACITY], vec![0; CAPACITY]], [null_mut(); 2]);
    let starts = [0, 1].map(|party: usize| keys[party].as_mut_ptr());
    let places = [0, 1].map(|party: usize| &raw mut cursors[party]);
    let open = |seed: &[u8]| -> *mut SigmaContext {
        let (mut context, data) = (null_mut(), if seed.is_empty() { null() } else { seed.as_ptr() });
        // SAFETY: a live handle, a seed with its length, a place for a handle, and a stream that is never destroyed.
        unsafe {
            assert_eq!(trefoil_pfss_sigma_open(setup.backend, data, seed.len(), &mut context), OK);
            assert_eq!(trefoil_pfss_sigma_set_stream(context, on.stream), OK);
        }
        context
    };
    // SAFETY: live handles until they are freed, buffers that outlive them, and arrays of the given lengths.
    unsafe {
        // The dealer: refused calls write no keys, and the cursor stays.
        let dealer = open(&[7; 32]);
        let output_masks = [0, 1].map(|party: usize| {
            *places[party] = starts[party];
            assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(dealer, places[party], CAPACITY), OK);
            assert_eq!(trefoil_pfss_sigma_reset_keygen(dealer), OK);
            let keygen = |inputs: &[*const u64], to| {
                trefoil_pfss_sigma_keygen_nexp(dealer, party as c_int, BW, SCALE, inputs[0], COUNT, to)
            };
            let call = MachineCall { inputs: &[&masks], bytes: 8 * COUNT, computes: false, make: &keygen };
            on.refuse(&call);
            assert_eq!(*places[party], starts[party]);
            words_of(&on.result_of(&call))
        });
        assert_eq!(output_masks[0], output_masks[1]);
        trefoil_pfss_sigma_free(dealer);

        // The parties: refusals first, since a capture of one thread would forbid calls of the other.
        let hatx: Vec<u64> = x.iter().zip(&masks).map(|(&x, &r)| ring.add(x, r)).collect();
        let contexts = [0, 1].map(|party: usize| {
            let (context, [link, _]) = (open(&[]), links());
            *places[party] = starts[party];
            assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, places[party], CAPACITY), OK);
            let eval = |inputs: &[*const u64], to| eval_nexp(context, &link, party, inputs[0], to);
            on.refuse(&MachineCall { inputs: &[&hatx], bytes: 8 * COUNT, computes: true, make: &eval });
            assert_eq!(*places[party], starts[party]);
            AtomicPtr::new(context)
        });
        let input = AtomicPtr::new(on.array(0, &bytes_of(&hatx)));
        let results = [0, 1].map(|_| AtomicPtr::new(on.array(0, &bytes_of(&[0; COUNT]))));
        let [zero, one] = links();
        test_process::scope(|scope| {
            for (party, link) in [zero, one].into_iter().enumerate() {
                let (context, input, result) = (&contexts[party], &input, &results[party]);
                scope.spawn(move || {
                    let [input, result] = [input, result].map(|array| array.load(Relaxed));
                    assert_eq!(eval_nexp(context.load(Relaxed), &link, party, input, result), OK);
                });
            }
        });
        for (context, result) in contexts.iter().zip(&results) {
            let haty = words_of(&on.bytes(result.load(Relaxed), 8 * COUNT));
            for ((&haty, &r), &x) in haty.iter().zip(&output_masks[0]).zip(&x) {
                let exact = (-(x as f64) / 4096.0).exp() * 4096.0;
                let got = ring.signed(ring.sub(haty, r)) as f64;
                assert!((got - exact).abs() <= 1.33, "exp of -{x}: {got} for {exact}");
            }
            trefoil_pfss_sigma_free(context.load(Relaxed));
        }
    }
}

#[test]
fn a_call_that_is_refused_for_an_array_leaves_its_keys_usable() {
    const OBSTACLES: &[Obstacle] = &[
        Obstacle::TooShort,
        Obstacle::OtherDevice,
        Obstacle::Captured,
        Obstacle::OtherCapture(GLOBAL),
        Obstacle::OtherCapture(THREAD_LOCAL),
    ];
    on_machine("devices=2;schedule=lazy", || {
        let (device, processor) = (Setup::on(c"sim"), Setup::new());
        let on = CallerProgram::new(device.backend, OBSTACLES);
        for calls in [batch, evaluation, products, suf] {
            calls(&on, &processor);
        }
        products(&on, &device);
        sigma(&on, &device);
    });
}

#[test]
fn a_call_that_is_refused_for_unmapped_inputs_leaves_its_keys_usable() {
    on_machine(&format!("devices=2;schedule=lazy{}", refused_copies()), || {
        let (device, processor) = (Setup::on(c"sim"), Setup::new());
        let on = CallerProgram::new(device.backend, &[Obstacle::Unmapped]);
        for calls in [batch, evaluation, products, suf] {
            calls(&on, &processor);
        }
        products(&on, &device);
        sigma(&on, &device);
    });
}

#[test]
fn a_call_on_a_device_that_a_capture_forbids_leaves_its_keys_usable() {
    on_machine("devices=2", || {
        let device = Setup::on(c"sim");
        const OBSTACLES: &[Obstacle] =
            &[Obstacle::ComputingInCapture(GLOBAL), Obstacle::ComputingInCapture(THREAD_LOCAL)];
        let on = CallerProgram::new(device.backend, OBSTACLES);
        for calls in [batch, evaluation, products, suf, sigma] {
            calls(&on, &device);
        }
    });
}
