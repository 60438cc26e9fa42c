//! Calls whose arrays are in memory of their backend's device: shares, copies and refusals.

use core::{
    ptr::{null, null_mut},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use pfss::{
    KeyBundle, Ring, Task, eval_lockstep, run_lockstep,
    suf::{BoolMode, CoeffMode, Piece, SufDesc, SufModes, SufProgram, SufSpec},
};
use trefoil_pfss::{
    Backend, Evaluation, Keys, PlanHandle, PlanInfo, RunHandle, Status, trefoil_pfss_backend_free,
    trefoil_pfss_backend_open, trefoil_pfss_bool_share, trefoil_pfss_bool_share_packed, trefoil_pfss_evaluate,
    trefoil_pfss_evaluation_free, trefoil_pfss_evaluation_resume, trefoil_pfss_gate_free, trefoil_pfss_gate_read,
    trefoil_pfss_keys_free, trefoil_pfss_keys_mask_inputs, trefoil_pfss_plan_free, trefoil_pfss_plan_inspect,
    trefoil_pfss_plan_matmul, trefoil_pfss_run_free, trefoil_pfss_run_start, trefoil_pfss_run_y_share,
    trefoil_pfss_set_stream, trefoil_pfss_y_share,
};

use crate::{
    machine::{
        CallerProgram, GLOBAL, MachineCall, Obstacle, THREAD_LOCAL, bytes_of, marked_copies, on_machine,
        refused_copies, words_of,
    },
    misuse::refused,
    plans::{
        check_descriptor, check_functions, check_gates, check_predicates, check_products, check_softmax, exchanged,
        gate, plan, share,
    },
    setup::{OK, STATE, Setup, keys_of, masked_bits, parameters},
};

const COUNT: usize = 40;
const BITS: u32 = 20;

/// A program, a backend on its device for the calls, and a processor that deals.
struct Machine {
    on: CallerProgram,
    device: Setup,
    processor: Setup,
}

impl Machine {
    fn new(obstacles: &'static [Obstacle]) -> Self {
        let (device, processor) = (Setup::on(c"sim"), Setup::new());
        Self { on: CallerProgram::new(device.backend, obstacles), device, processor }
    }

    /// Sets the program's stream as one of the device of `backend`.
    fn set_stream(&self, backend: *mut Backend) {
        // SAFETY: a live handle, and a stream that is never destroyed.
        assert_eq!(unsafe { trefoil_pfss_set_stream(backend, self.on.stream) }, OK);
    }

    /// A copy of words in device memory; null for none.
    fn array(&self, words: &[u64]) -> *mut u64 {
        if words.is_empty() { null_mut() } else { self.on.array(0, &bytes_of(words)) }
    }

    /// The words of an array in device memory.
    fn words(&self, array: *const u64, len: usize) -> Vec<u64> {
        words_of(&self.on.bytes(array, 8 * len))
    }

    /// Both parties' keys of a plan.
    fn deal(&self, plan: *mut PlanHandle) -> [Vec<u8>; 2] {
        // SAFETY: a live handle.
        unsafe { self.processor.deal_plan(plan) }
    }

    /// Both parties' shares of inputs in device memory, with their lengths.
    fn arrays(&self, inputs: [&[u64]; 2]) -> [[(*mut u64, usize); 2]; 2] {
        [0, 1].map(|party| inputs.map(|words| (self.array(&share(words, party)), words.len())))
    }

    /// Runs both parties on arrays that are in device memory, and fills `results` there.
    fn run(
        &self,
        plan: *mut PlanHandle,
        keys: &[Vec<u8>; 2],
        arrays: [[(*mut u64, usize); 2]; 2],
        results: [*mut u64; 2],
    ) {
        let (info, runs) = (info(plan), started(self.device.backend, plan, keys, arrays));
        assert_eq!(exchanged(runs), (info.rounds, info.sent_bytes));
        for (run, result) in runs.into_iter().zip(results) {
            // SAFETY: a live handle, freed once, and an array of the given length.
            unsafe {
                assert_eq!(trefoil_pfss_run_y_share(run, result, info.outputs), OK);
                trefoil_pfss_run_free(run);
            }
        }
    }

    /// Both parties' shares of a plan's result, on arrays in device memory.
    fn shares(&self, plan: *mut PlanHandle, keys: &[Vec<u8>; 2], inputs: [&[u64]; 2]) -> [Vec<u64>; 2] {
        let outputs = info(plan).outputs;
        let results = [(); 2].map(|()| self.array(&vec![7; outputs]));
        self.run(plan, keys, self.arrays(inputs), results);
        results.map(|result| self.words(result, outputs))
    }

    /// The opened result of a plan, which is freed, on arrays in device memory.
    fn opened(&self, plan: *mut PlanHandle, inputs: [&[u64]; 2]) -> Vec<u64> {
        let ring = Ring::new(info(plan).out_n).unwrap();
        let [a, b] = self.shares(plan, &self.deal(plan), inputs);
        // SAFETY: a live handle, freed once.
        unsafe { trefoil_pfss_plan_free(plan) };
        a.iter().zip(&b).map(|(&a, &b)| ring.add(a, b)).collect()
    }
}

/// Both parties' runs of a plan, on arrays that are in device memory.
fn started(
    backend: *mut Backend,
    plan: *mut PlanHandle,
    keys: &[Vec<u8>; 2],
    arrays: [[(*mut u64, usize); 2]; 2],
) -> [*mut RunHandle; 2] {
    [0, 1].map(|party: usize| {
        let (mut run, keys, [(x, x_len), (y, y_len)]) = (null_mut(), &keys[party], arrays[party]);
        // SAFETY: live handles, arrays of the given lengths, and a place for a handle.
        let status =
            unsafe { trefoil_pfss_run_start(backend, plan, keys.as_ptr(), keys.len(), x, x_len, y, y_len, &mut run) };
        assert_eq!(status, OK);
        run
    })
}

/// The sizes of a plan.
fn info(plan: *mut PlanHandle) -> PlanInfo {
    // SAFETY: a live handle, and a place for information, which zeros are.
    unsafe {
        let mut info = core::mem::zeroed();
        assert_eq!(trefoil_pfss_plan_inspect(plan, &mut info), OK);
        info
    }
}

/// The plan of a ReLU of 64 bits.
fn relu() -> *mut PlanHandle {
    gate(c"relu", parameters(64, 0), COUNT)
}

fn secrets(len: usize) -> Vec<u64> {
    (0..len as u64).map(|e| (e * 30_000).wrapping_sub(600_000)).collect()
}

#[test]
fn plans_on_device_arrays_have_the_results_of_plans_on_host_arrays() {
    on_machine("devices=2;schedule=lazy", || {
        let machine = Machine::new(&[]);
        let opened = |plan, inputs: [&[u64]; 2]| machine.opened(plan, inputs);
        check_gates(&opened);
        check_descriptor(&opened);
        check_functions(&opened);
        check_softmax(&opened);
        check_products(&opened);
        check_predicates(&opened);
    });
}

/// The copies of both parties' runs: up, down and within the device.
///
/// A backend that opened the device again stands for the way through the host: its arrays are not
/// in memory of the other backend's device.
#[test]
fn runs_copy_shares_within_the_device_and_only_messages_to_the_host() {
    on_machine(&format!("devices=2{}", marked_copies()), || {
        let (machine, other) = (Machine::new(&[]), Setup::on(c"sim"));
        // SAFETY: places for handles.
        let matmul = || plan(|plan| unsafe { trefoil_pfss_plan_matmul(64, 1, 2, 3, 2, plan) });
        type Plan<'a> = &'a dyn Fn() -> *mut PlanHandle;
        let plans: [(&str, Plan<'_>); 2] = [("relu", &relu), ("matmul", &matmul)];
        let mut counted = Vec::new();
        for (name, make) in plans {
            let plan = make();
            let PlanInfo { x_len, y_len, outputs, .. } = info(plan);
            let inputs = [secrets(x_len), secrets(y_len)];
            for backend in [other.backend, machine.device.backend] {
                machine.set_stream(backend);
                let keys = machine.deal(plan);
                let arrays = machine.arrays(inputs.each_ref().map(|words| &words[..]));
                let results = [(); 2].map(|()| machine.array(&vec![7; outputs]));
                let (copies, ()) = machine.on.copies_of(|| machine.run(plan, &keys, arrays, results));
                counted.push((name, copies));
            }
            // SAFETY: a live handle, freed once.
            unsafe { trefoil_pfss_plan_free(plan) };
        }
        // A message needs a copy to the host, of shares of inputs or of the bits of comparisons, and one back. Both factors
        // are gathered before.
        let expected = [("relu", [6, 6, 0]), ("relu", [4, 4, 4]), ("matmul", [4, 6, 0]), ("matmul", [2, 2, 12])];
        assert_eq!(counted, expected);
    });
}

#[test]
fn shares_of_runs_on_device_arrays_are_those_of_the_library_bit_for_bit() {
    on_machine("devices=2;schedule=lazy", || {
        let (machine, q, x) = (Machine::new(&[]), runtime::cpu().unwrap(), secrets(COUNT));
        let plan = relu();
        let keys = machine.deal(plan);
        // A magic, and the only bundle after its length.
        let bundles = keys.each_ref().map(|keys| KeyBundle::from_bytes(&keys[16..]).unwrap().insecure_reusable());
        let expected = run_lockstep(&q, Task::Relu, bundles, [&share(&x, 0), &share(&x, 1)]).unwrap();
        let got = machine.shares(plan, &keys, [&x, &[]]);
        assert_eq!(got, expected.map(|shares| shares.words));
        // SAFETY: a live handle, freed once.
        unsafe { trefoil_pfss_plan_free(plan) };
    });
}

/// A result that is read while its stream has work, calls on another stream, and a call that waits for that work.
#[test]
fn a_stream_with_work_is_filled_through_the_host_and_delays_no_other_stream() {
    on_machine(&format!("devices=2;schedule=lazy{}", marked_copies()), || {
        let (machine, q, x) = (Machine::new(&[]), runtime::cpu().unwrap(), secrets(COUNT));
        let plan = relu();
        let keys = machine.deal(plan);
        // A magic, and the only bundle after its length.
        let bundles = keys.each_ref().map(|keys| KeyBundle::from_bytes(&keys[16..]).unwrap().insecure_reusable());
        let expected = run_lockstep(&q, Task::Relu, bundles, [&share(&x, 0), &share(&x, 1)]).unwrap();
        let expected = expected.map(|shares| shares.words);
        let runs = started(machine.device.backend, plan, &keys, machine.arrays([&x, &[]]));
        exchanged(runs);
        let results = [(); 2].map(|()| machine.array(&[7; COUNT]));
        machine.words(results[1], COUNT); // the stream is idle then
        let held = machine.on.held_stream();
        let read = |party: usize| {
            // SAFETY: a live handle, and an array of the given length.
            let share = || unsafe { trefoil_pfss_run_y_share(runs[party], results[party], COUNT) };
            let (copies, status) = machine.on.copies_of(share);
            assert_eq!(status, OK);
            copies
        };
        // SAFETY: a live handle, and a stream that is never destroyed.
        assert_eq!(unsafe { trefoil_pfss_set_stream(machine.device.backend, held.stream) }, OK);
        assert_eq!(read(0), [1, 1, 0]);
        machine.set_stream(machine.device.backend);
        assert_eq!(read(1), [0, 0, 1]);
        assert_eq!(machine.words(results[1], COUNT), expected[1]);

        // One thread waits for the work that is held, and another masks and reads meanwhile.
        let (masking, bytes) = dealt(&machine, &pieces(CoeffMode::IntervalLut));
        let masked = bundles_masked(&bytes, &x);
        let [inputs, places] = [&x, &[7; COUNT][..]].map(|words| [(); 2].map(|()| machine.array(words)));
        machine.words(places[1], COUNT);
        let pointers = [inputs[0], places[0]].map(AtomicPtr::new);
        let (backend, stream, of_thread) =
            (AtomicPtr::new(machine.device.backend), AtomicPtr::new(held.stream), AtomicPtr::new(masking[0]));
        let program = machine.on.context();
        test_process::scope(|scope| {
            let waiting = scope.spawn(|| {
                CallerProgram::enter_context(program.load(Relaxed));
                let [input, place] = pointers.each_ref().map(|pointer| pointer.load(Relaxed));
                // SAFETY: live handles, a stream that is never destroyed, and arrays of the given length.
                unsafe {
                    assert_eq!(trefoil_pfss_set_stream(backend.load(Relaxed), stream.load(Relaxed)), OK);
                    trefoil_pfss_keys_mask_inputs(of_thread.load(Relaxed), input, COUNT, place)
                }
            });
            held.wait_until_reached();
            // SAFETY: a live handle, and arrays of the given length.
            assert_eq!(unsafe { trefoil_pfss_keys_mask_inputs(masking[1], inputs[1], COUNT, places[1]) }, OK);
            assert_eq!(machine.words(places[1], COUNT), masked[1]);
            assert_eq!(read(1), [0, 0, 1]);
            held.release();
            assert_eq!(waiting.join().unwrap(), OK);
        });
        assert_eq!(held.bytes(results[0], 8 * COUNT), bytes_of(&expected[0]));
        assert_eq!(held.bytes(places[0], 8 * COUNT), bytes_of(&masked[0]));
        // SAFETY: live handles, freed once.
        unsafe {
            masking.into_iter().for_each(|keys| trefoil_pfss_keys_free(keys));
            runs.into_iter().for_each(|run| trefoil_pfss_run_free(run));
            trefoil_pfss_plan_free(plan);
        }
    });
}

#[test]
fn freeing_a_backend_waits_for_results_within_the_device() {
    on_machine(&format!("devices=2;schedule=lazy{}", marked_copies()), || {
        let (machine, x, mut backend) = (Machine::new(&[]), secrets(COUNT), null_mut());
        // SAFETY: a string that ends with a zero byte, and a place for a handle.
        assert_eq!(unsafe { trefoil_pfss_backend_open(c"sim".as_ptr(), &mut backend) }, OK);
        machine.set_stream(backend);
        let plan = relu();
        let keys = machine.deal(plan);
        let runs = started(backend, plan, &keys, machine.arrays([&x, &[]]));
        exchanged(runs);
        let results = [(); 2].map(|()| machine.array(&[7; COUNT]));
        let mut expected = [(); 2].map(|()| vec![7; COUNT]);
        for (run, words) in runs.into_iter().zip(&mut expected) {
            // SAFETY: a live handle, and an array of the given length.
            assert_eq!(unsafe { trefoil_pfss_run_y_share(run, words.as_mut_ptr(), COUNT) }, OK);
        }
        // SAFETY: a live handle, and an array of the given length.
        let fill = |party: usize| unsafe { trefoil_pfss_run_y_share(runs[party], results[party], COUNT) };
        // Counting copies finishes the first one; nothing has waited for the second one.
        assert_eq!((machine.on.copies_of(|| fill(0)), fill(1)), (([0, 0, 1], OK), OK));
        // SAFETY: a live handle, freed once.
        unsafe { trefoil_pfss_backend_free(backend) };
        let filled = results.map(|result| machine.on.bytes_unordered(result, 8 * COUNT));
        assert_eq!(filled, expected.each_ref().map(|words| bytes_of(words)));
        // SAFETY: live handles, freed once; the backend was freed before.
        unsafe {
            runs.into_iter().for_each(|run| trefoil_pfss_run_free(run));
            trefoil_pfss_plan_free(plan);
        }
    });
}

/// Both parties' masked inputs of equal words.
fn bundles_masked(bytes: &[Vec<u8>; 2], x: &[u64]) -> [Vec<u64>; 2] {
    bundles(bytes).map(|bundle| bundle.mask(x).unwrap().0)
}

/// Words alone, by a mode of selecting their piece.
fn pieces(coeffs: CoeffMode) -> SufProgram {
    let piece = |start, poly: &[u64]| Piece { start, polys: vec![poly.to_vec()], bools: Vec::new() };
    let desc = SufDesc::new(SufSpec {
        n: BITS,
        degree: 1,
        words: vec!["y".into()],
        bools: Vec::new(),
        preds: Vec::new(),
        pieces: vec![piece(0, &[1, 2]), piece(70_000, &[5])],
    });
    SufProgram::new(desc.unwrap(), SufModes { coeffs, bools: BoolMode::Additive, ..SufModes::default() }).unwrap()
}

/// Both parties' keys of a program, and their bytes.
fn dealt(machine: &Machine, program: &SufProgram) -> ([*mut Keys; 2], [Vec<u8>; 2]) {
    let (descriptor, mut gate) = (program.to_bytes(), null_mut());
    // SAFETY: a live handle until it is freed, an array of the given length, and a place for a handle.
    let bytes = unsafe {
        assert_eq!(trefoil_pfss_gate_read(descriptor.as_ptr(), descriptor.len(), &mut gate), OK);
        let bytes = machine.processor.deal(gate, COUNT);
        trefoil_pfss_gate_free(gate);
        bytes
    };
    (bytes.each_ref().map(|bytes| keys_of(bytes)), bytes)
}

/// The keys of both parties as the library reads them.
fn bundles(bytes: &[Vec<u8>; 2]) -> [KeyBundle; 2] {
    bytes.each_ref().map(|bytes| KeyBundle::from_bytes(bytes).unwrap().insecure_reusable())
}

/// Exchanges the masked bits of both parties' evaluations, which end.
///
/// # Safety
/// Live handles.
unsafe fn exchange(parties: [*mut Evaluation; 2]) {
    loop {
        // SAFETY: a live handle by the caller's promise.
        let messages = parties.map(|party| unsafe { masked_bits(party) });
        if messages[0].is_empty() {
            return;
        }
        for (party, theirs) in parties.into_iter().zip(messages.iter().rev()) {
            // SAFETY: a live handle by the caller's promise, and an array of the given length.
            assert_eq!(unsafe { trefoil_pfss_evaluation_resume(party, theirs.as_ptr(), theirs.len()) }, OK);
        }
    }
}

/// Masks and words of every mode, with the copies of both parties: up, down and within.
///
/// Masked inputs of evaluations are public, and copied to the host, which sends them to the device
/// together with the keys.
#[test]
fn masks_and_evaluations_copy_secret_words_within_the_device() {
    on_machine(&format!("devices=2{}", marked_copies()), || {
        let (machine, other) = (Machine::new(&[]), Setup::on(c"sim"));
        let (q, ring, x) = (runtime::cpu().unwrap(), Ring::new(BITS).unwrap(), secrets(COUNT));
        let (mut masking, mut evaluating) = (Vec::new(), Vec::new());
        for coeffs in [CoeffMode::MaskedSelect, CoeffMode::IntervalLut, CoeffMode::StepDcf] {
            let program = pieces(coeffs);
            for backend in [other.backend, machine.device.backend] {
                machine.set_stream(backend);
                let (keys, bytes) = dealt(&machine, &program);
                // The masked inputs.
                let inputs = [0, 1].map(|party| machine.array(&share(&x, party)));
                let places = [(); 2].map(|()| machine.array(&[7; COUNT]));
                let mask = |party: usize| {
                    // SAFETY: a live handle, and arrays of the given length.
                    unsafe { trefoil_pfss_keys_mask_inputs(keys[party], inputs[party], COUNT, places[party]) }
                };
                let (copies, statuses) = machine.on.copies_of(|| [0, 1].map(mask));
                assert_eq!(statuses, [OK; 2]);
                let masked = places.map(|place| machine.words(place, COUNT));
                let expected = bundles(&bytes).map(|bundle| {
                    let party = usize::from(bundle.party().number());
                    bundle.mask(&share(&x, party)).unwrap()
                });
                assert_eq!(masked, expected.each_ref().map(|(masked, _)| masked.clone()), "{coeffs:?}");
                masking.push(copies);

                // The words.
                let hatx: Vec<u64> = masked[0].iter().zip(&masked[1]).map(|(&a, &b)| ring.add(a, b)).collect();
                let (input, places) = (machine.array(&hatx), [(); 2].map(|()| machine.array(&[7; COUNT])));
                let mut parties = [null_mut(); 2];
                let evaluate = || {
                    // SAFETY: live handles until they are freed, arrays of the given length, and places for handles.
                    unsafe {
                        for (keys, party) in keys.into_iter().zip(&mut parties) {
                            assert_eq!(trefoil_pfss_evaluate(machine.device.backend, keys, input, COUNT, party), OK);
                            trefoil_pfss_keys_free(keys);
                        }
                        exchange(parties);
                        for (party, place) in parties.into_iter().zip(places) {
                            assert_eq!(trefoil_pfss_y_share(party, place, COUNT), OK);
                        }
                    }
                };
                let (copies, ()) = machine.on.copies_of(evaluate);
                evaluating.push((coeffs, copies));
                let expected = eval_lockstep(&q, Task::Suf, expected.map(|(_, keys)| keys), &hatx).unwrap();
                let expected = expected.map(|shares| shares.words);
                assert_eq!(places.map(|place| machine.words(place, COUNT)), expected, "{coeffs:?}");
                for (party, expected) in parties.into_iter().zip(&expected) {
                    // SAFETY: a live handle, freed once.
                    unsafe { check_host_results(party, expected) };
                }
            }
        }
        // Inputs are masked on the device of the thread's stream, whichever backend evaluates.
        assert_eq!(masking, [[2, 0, 4]; 6]);
        let expected = [
            (CoeffMode::MaskedSelect, [6, 6, 0]),
            (CoeffMode::MaskedSelect, [4, 4, 2]),
            (CoeffMode::IntervalLut, [4, 4, 0]),
            (CoeffMode::IntervalLut, [2, 2, 2]),
            // Hidden pieces are summed on the host.
            (CoeffMode::StepDcf, [4, 6, 0]),
            (CoeffMode::StepDcf, [4, 6, 0]),
        ];
        assert_eq!(evaluating, expected);
    });
}

#[test]
fn inputs_in_device_memory_are_masked_into_host_arrays_and_host_inputs_into_device_arrays() {
    on_machine("devices=2;schedule=lazy", || {
        let (machine, x) = (Machine::new(&[]), secrets(COUNT));
        let (keys, bytes) = dealt(&machine, &pieces(CoeffMode::IntervalLut));
        let [zero, one] = bundles_masked(&bytes, &x);
        let (input, mut to_host, to_device) = (machine.array(&x), vec![7; COUNT], machine.array(&[7; COUNT]));
        // SAFETY: live handles, freed once, and arrays of the given length.
        unsafe {
            assert_eq!(trefoil_pfss_keys_mask_inputs(keys[0], input, COUNT, to_host.as_mut_ptr()), OK);
            assert_eq!(trefoil_pfss_keys_mask_inputs(keys[1], x.as_ptr(), COUNT, to_device), OK);
            // Masks are spent in both places.
            for (keys, x) in keys.into_iter().zip([input.cast_const(), x.as_ptr()]) {
                let again = trefoil_pfss_keys_mask_inputs(keys, x, COUNT, to_device);
                refused(again, STATE, "the keys already masked inputs");
                trefoil_pfss_keys_free(keys);
            }
        }
        assert_eq!((to_host, machine.words(to_device, COUNT)), (zero, one));
    });
}

/// Reads a finished evaluation without output bits to host memory, and frees it.
///
/// # Safety
/// A live handle.
unsafe fn check_host_results(evaluation: *mut Evaluation, expected: &[u64]) {
    let mut words = vec![7; expected.len()];
    // SAFETY: a live handle by the caller's promise, freed once, and arrays of the given lengths.
    unsafe {
        assert_eq!(trefoil_pfss_y_share(evaluation, words.as_mut_ptr(), words.len()), OK);
        assert_eq!(words, expected);
        assert_eq!(trefoil_pfss_bool_share(evaluation, null_mut(), 0), OK);
        let packed = trefoil_pfss_bool_share_packed(evaluation, null_mut(), 0);
        refused(packed, STATE, "the output bits are additive shares");
        let spent = trefoil_pfss_evaluation_resume(evaluation, null(), 0);
        refused(spent, STATE, "no opening of bits is pending");
        trefoil_pfss_evaluation_free(evaluation);
    }
}

/// Masks, evaluates and reads words on the device, after refusals of each call.
fn evaluation(machine: &Machine) {
    let (on, ring, x) = (&machine.on, Ring::new(BITS).unwrap(), secrets(COUNT));
    for coeffs in [CoeffMode::MaskedSelect, CoeffMode::IntervalLut] {
        let program = pieces(coeffs);
        let (keys, _) = dealt(machine, &program);
        let sums = |[a, b]: [Vec<u8>; 2]| -> Vec<u64> {
            words_of(&a).iter().zip(&words_of(&b)).map(|(&a, &b)| ring.add(a, b)).collect()
        };
        let masked = [0, 1].map(|party: usize| {
            let x = share(&x, party);
            // SAFETY: a live handle, and arrays of the given length.
            let make =
                |inputs: &[*const u64], to| unsafe { trefoil_pfss_keys_mask_inputs(keys[party], inputs[0], COUNT, to) };
            on.result_of(&MachineCall { inputs: &[&x], bytes: 8 * COUNT, computes: false, make: &make })
        });
        let hatx = sums(masked);
        let parties = keys.map(|keys| {
            let mut evaluation = null_mut();
            let place = &raw mut evaluation;
            let make = |inputs: &[*const u64], _: *mut u64| -> Status {
                // SAFETY: live handles, an array of the given length, and a place for a handle.
                unsafe { trefoil_pfss_evaluate(machine.device.backend, keys, inputs[0], COUNT, place) }
            };
            on.result_of(&MachineCall { inputs: &[&hatx], bytes: 0, computes: true, make: &make });
            // SAFETY: a live handle, freed once.
            unsafe { trefoil_pfss_keys_free(keys) };
            evaluation
        });
        // SAFETY: live handles, freed once, and arrays of the given length.
        let y = unsafe {
            exchange(parties);
            parties.map(|party| {
                let read = |_: &[*const u64], to| trefoil_pfss_y_share(party, to, COUNT);
                // The words are copied from the device, to host arrays too.
                let words = on.result_of(&MachineCall { inputs: &[], bytes: 8 * COUNT, computes: true, make: &read });
                trefoil_pfss_evaluation_free(party);
                words
            })
        };
        let plain = x.iter().map(|&x| program.desc().eval(ring.reduce(x)).words[0]);
        assert_eq!(sums(y), plain.collect::<Vec<_>>(), "{coeffs:?}");
    }
}

#[test]
fn refused_calls_on_device_arrays_leave_keys_usable() {
    const OBSTACLES: &[Obstacle] = &[
        Obstacle::TooShort,
        Obstacle::OtherDevice,
        Obstacle::Captured,
        Obstacle::OtherCapture(GLOBAL),
        Obstacle::OtherCapture(THREAD_LOCAL),
        Obstacle::ComputingInCapture(GLOBAL),
        Obstacle::ComputingInCapture(THREAD_LOCAL),
    ];
    on_machine("devices=2;schedule=lazy", || evaluation(&Machine::new(OBSTACLES)));
}

#[test]
fn unmapped_device_arrays_are_refused_before_keys_are_spent() {
    on_machine(&format!("devices=2;schedule=lazy{}", refused_copies()), || {
        evaluation(&Machine::new(&[Obstacle::Unmapped]));
    });
}
