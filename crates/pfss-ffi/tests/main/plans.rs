//! Plans through the C interface: results against the functions in the clear, and refusals.

use core::ptr::{null, null_mut};
use std::ffi::CStr;

use pfss::{
    KeyBundle, MatrixShape, MatrixTriple, Ring, SignedRange,
    functions::{Accuracy, FixedFn, TableFn, gelu, neg_exp, reciprocal, rsqrt, silu},
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{BoolMode, Piece, SufDesc, SufModes, SufProgram, SufSpec},
};
use trefoil_pfss::{
    FunctionParameters, GateParameters, ModelCost, ModelStep, PlanHandle, PlanInfo, Query, RunHandle, Status,
    trefoil_pfss_gate_free, trefoil_pfss_gate_mask_outputs, trefoil_pfss_gate_named, trefoil_pfss_gate_read,
    trefoil_pfss_model_cost, trefoil_pfss_plan_free, trefoil_pfss_plan_function, trefoil_pfss_plan_gate,
    trefoil_pfss_plan_inspect, trefoil_pfss_plan_key_bytes, trefoil_pfss_plan_matmul, trefoil_pfss_plan_predicates,
    trefoil_pfss_plan_product, trefoil_pfss_plan_softmax, trefoil_pfss_run_absorb, trefoil_pfss_run_free,
    trefoil_pfss_run_masked, trefoil_pfss_run_pending, trefoil_pfss_run_start, trefoil_pfss_run_y_share,
};

use crate::{
    example::program,
    misuse::refused,
    setup::{ARGUMENT, BUNDLE, LENGTH, OK, PROGRAM, STATE, Setup, parameters},
};

/// A plan, made by one of the functions.
pub(crate) fn plan(make: impl FnOnce(*mut *mut PlanHandle) -> Status) -> *mut PlanHandle {
    let mut plan = null_mut();
    assert_eq!(make(&mut plan), OK);
    plan
}

/// A backend, and both parties' keys of a plan.
struct Dealt {
    setup: Setup,
    keys: [Vec<u8>; 2],
}

impl Dealt {
    fn new(plan: *mut PlanHandle) -> Self {
        let setup = Setup::new();
        // SAFETY: a live handle.
        let keys = unsafe { setup.deal_plan(plan) };
        Self { setup, keys }
    }

    /// Starts the run of one party.
    fn start(&self, plan: *mut PlanHandle, party: usize, [x, y]: [&[u64]; 2], run: *mut *mut RunHandle) -> Status {
        let (backend, data, len) = (self.setup.backend, self.keys[party].as_ptr(), self.keys[party].len());
        // SAFETY: live handles, arrays of the given lengths, and a place for a handle.
        unsafe { trefoil_pfss_run_start(backend, plan, data, len, x.as_ptr(), x.len(), y.as_ptr(), y.len(), run) }
    }
}

/// A party's additive shares of words.
pub(crate) fn share(words: &[u64], party: usize) -> Vec<u64> {
    let share = |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let of = |(at, word): (usize, &u64)| if party == 0 { share(at) } else { word.wrapping_sub(share(at)) };
    words.iter().enumerate().map(of).collect()
}

/// The message of a run, empty if all is computed.
pub(crate) fn message(run: *mut RunHandle) -> Vec<u8> {
    let mut len = 0;
    // SAFETY: a live handle, and arrays of the given lengths.
    unsafe {
        assert_eq!(trefoil_pfss_run_pending(run, &mut len), OK);
        let mut message = vec![0; len];
        if len > 0 {
            assert_eq!(trefoil_pfss_run_masked(run, message.as_mut_ptr(), len), OK);
        }
        message
    }
}

/// The cost of plans with their numbers of runs, and the parts of products that are run.
fn cost(steps: &[(*mut PlanHandle, u64, u32)]) -> ModelCost {
    let steps: Vec<ModelStep> = steps.iter().map(|&(plan, runs, weights)| ModelStep { plan, runs, weights }).collect();
    let mut cost = ModelCost::default();
    // SAFETY: an array of the given length, whose plans are live handles, and a place for a cost.
    assert_eq!(unsafe { trefoil_pfss_model_cost(steps.as_ptr(), steps.len(), &mut cost) }, OK);
    cost
}

/// The opened result of both parties' runs of a plan, which is freed.
pub(crate) type Opened<'a> = &'a dyn Fn(*mut PlanHandle, [&[u64]; 2]) -> Vec<u64>;

/// The opened result of both parties' runs, which send the planned bytes. Frees the plan.
fn opened(plan: *mut PlanHandle, inputs: [&[u64]; 2]) -> Vec<u64> {
    let dealt = Dealt::new(plan);
    let mut runs = [null_mut(); 2];
    // SAFETY: live handles and arrays of the given lengths; zeros are an information.
    unsafe {
        let mut info = core::mem::zeroed::<PlanInfo>();
        assert_eq!(trefoil_pfss_plan_inspect(plan, &mut info), OK);
        assert_eq!([info.x_len, info.y_len], inputs.map(<[u64]>::len));
        for (party, run) in runs.iter_mut().enumerate() {
            let [x, y] = inputs.map(|words| share(words, party));
            assert_eq!(dealt.start(plan, party, [&x, &y], run), OK);
        }
        let mut key_bytes = [0; 2];
        assert_eq!(trefoil_pfss_plan_key_bytes(plan, key_bytes.as_mut_ptr(), 2), OK);
        let [zero, one] = dealt.keys.each_ref().map(|keys| keys_of(keys));
        assert_eq!((key_bytes, zero.gates, zero.elements), ([zero.bytes, one.bytes], one.gates, one.elements));
        let ModelCost { gates, elements, key_bytes: planned, sent_bytes, rounds, .. } = cost(&[(plan, 1, 0)]);
        assert_eq!((gates, elements, planned), (zero.gates, zero.elements, key_bytes));
        assert_eq!((rounds, sent_bytes), (info.rounds, info.sent_bytes));
        trefoil_pfss_plan_free(plan);
        assert_eq!(exchanged(runs), (info.rounds, info.sent_bytes));
        result(runs, info.outputs, Ring::new(info.out_n).unwrap())
    }
}

/// The gates, elements and bytes of one party's keys.
#[derive(Default)]
struct DealtKeys {
    gates: u64,
    elements: u64,
    bytes: u64,
}

/// The gates, elements and bytes of the keys of a plan.
fn keys_of(bytes: &[u8]) -> DealtKeys {
    // A magic, and each part after its length.
    let (mut rest, mut dealt) = (&bytes[8..], DealtKeys::default());
    while let Some((len, body)) = rest.split_first_chunk::<8>() {
        let (part, after) = body.split_at(u64::from_le_bytes(*len) as usize);
        let (elements, bytes) = match KeyBundle::from_bytes(part) {
            Ok(bundle) => {
                let sections = bundle.sections();
                let of_keys = sections.iter().filter(|section| section.name != "program");
                (bundle.count(), of_keys.map(|section| section.bytes).sum::<u64>())
            }
            // a triple is a header of 88 bytes and its keys
            Err(_) => {
                let triple = MatrixTriple::from_bytes(part).unwrap();
                (triple.shape().lens()[2], part.len() as u64 - 88)
            }
        };
        dealt.gates += 1;
        dealt.elements += elements as u64;
        dealt.bytes += bytes;
        rest = after;
    }
    dealt
}

/// Runs both parties to their end, and returns the rounds and the bytes that each has sent.
pub(crate) fn exchanged(runs: [*mut RunHandle; 2]) -> (u64, u64) {
    let (mut rounds, mut sent) = (0, 0);
    loop {
        let messages = runs.map(message);
        if messages[0].is_empty() {
            return (rounds, sent);
        }
        rounds += 1;
        sent += messages[0].len() as u64;
        for party in [0, 1] {
            let theirs = &messages[1 - party];
            // SAFETY: a live handle, and an array of the given length.
            let status = unsafe { trefoil_pfss_run_absorb(runs[party], theirs.as_ptr(), theirs.len()) };
            assert_eq!(status, OK);
        }
    }
}

/// The opened result of runs that have ended, which are freed.
pub(crate) fn result(runs: [*mut RunHandle; 2], len: usize, ring: Ring) -> Vec<u64> {
    let shares = runs.map(|run| {
        let mut words = vec![0; len];
        // SAFETY: a live handle, freed once, and an array of the given length.
        unsafe {
            assert_eq!(trefoil_pfss_run_y_share(run, words.as_mut_ptr(), len), OK);
            trefoil_pfss_run_free(run);
        }
        words
    });
    shares[0].iter().zip(&shares[1]).map(|(&a, &b)| ring.add(a, b)).collect()
}

fn words(values: &[i64]) -> Vec<u64> {
    values.iter().map(|value| value.cast_unsigned()).collect()
}

fn function_of(fraction_bits: u32, output_bits: u32) -> FunctionParameters {
    FunctionParameters { fraction_bits, output_bits, degree: 0, pieces: 0, by_table: 0, min: 0, max: 0 }
}

fn function(name: &CStr, parameters: FunctionParameters, count: usize) -> *mut PlanHandle {
    // SAFETY: a string that ends with a zero byte, parameters, and a place for a handle.
    plan(|plan| unsafe { trefoil_pfss_plan_function(name.as_ptr(), &parameters, count, plan) })
}

/// The plan of a gate by name, which is freed before it.
pub(crate) fn gate(name: &CStr, parameters: GateParameters, count: usize) -> *mut PlanHandle {
    let mut gate = null_mut();
    // SAFETY: a string that ends with a zero byte, parameters, places for handles, and a handle that is freed once.
    unsafe {
        assert_eq!(trefoil_pfss_gate_named(name.as_ptr(), &parameters, &mut gate), OK);
        let planned = plan(|plan| trefoil_pfss_plan_gate(gate, count, plan));
        trefoil_pfss_gate_free(gate);
        planned
    }
}

#[test]
fn gates_by_name_run_as_plans_for_every_input() {
    check_gates(&opened);
}

/// Gates by name, for every input.
pub(crate) fn check_gates(opened: Opened<'_>) {
    let all: Vec<u64> = (0..256).collect();
    let table: Vec<u64> = all.iter().map(|x| x * x % 32).collect();
    let lut = GateParameters { word_bits: 5, table: table.as_ptr(), table_len: table.len(), ..parameters(8, 0) };
    type Meaning = fn(i64) -> i64;
    let gates: [(&CStr, GateParameters, Meaning, u64); 5] = [
        (c"relu", parameters(8, 0), |x| x.max(0), 255),
        (c"abs", parameters(8, 0), i64::abs, 255),
        (c"ars", parameters(8, 3), |x| x.div_euclid(8), 255),
        (c"truncate_reduce", parameters(8, 3), |x| x.div_euclid(8), 31),
        (c"lut", lut, |x| x * x, 31),
    ];
    for (name, parameters, meaning, mask) in gates {
        let expected = all.iter().map(|&x| meaning(i64::from((x as u8).cast_signed())).cast_unsigned() & mask);
        assert_eq!(opened(gate(name, parameters, all.len()), [&all, &[]]), expected.collect::<Vec<u64>>(), "{name:?}");
    }
}

#[test]
fn a_descriptor_of_two_words_runs_as_a_plan_for_every_input() {
    check_descriptor(&opened);
}

/// A descriptor of two words, for every input.
pub(crate) fn check_descriptor(opened: Opened<'_>) {
    let all: Vec<u64> = (0..256).collect();
    let piece =
        |start, polys: [&[u64]; 2]| Piece { start, polys: polys.map(<[u64]>::to_vec).to_vec(), bools: Vec::new() };
    let desc = SufDesc::new(SufSpec {
        n: 8,
        degree: 1,
        words: vec!["y".into(), "z".into()],
        bools: Vec::new(),
        preds: Vec::new(),
        pieces: vec![piece(0, [&[1, 2], &[3]]), piece(100, [&[5], &[0, 1]])],
    });
    let bytes = SufProgram::new(desc.unwrap(), SufModes::default()).unwrap().to_bytes();
    let mut gate = null_mut();
    // SAFETY: an array of the given length, places for handles, and a handle that is freed once.
    let planned = unsafe {
        assert_eq!(trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len(), &mut gate), OK);
        let planned = plan(|plan| trefoil_pfss_plan_gate(gate, all.len(), plan));
        trefoil_pfss_gate_free(gate);
        planned
    };
    // The words of each element are one after the other.
    let words = |&x: &u64| if x < 100 { [1 + 2 * x, 3] } else { [5, x] };
    assert_eq!(opened(planned, [&all, &[]]), all.iter().flat_map(words).collect::<Vec<u64>>());
}

#[test]
fn costs_of_models_are_sums_over_their_steps() {
    let relu = gate(c"relu", parameters(64, 0), 70);
    let [product, batch] = [1, 2].map(|batch| {
        // SAFETY: a place for a handle.
        plan(|plan| unsafe { trefoil_pfss_plan_matmul(43, batch, 3, 4, 5, plan) })
    });
    assert_eq!(cost(&[]), ModelCost::default());
    // For each of 96 elements party 1 has trees of 928 bytes, three words and a bit. Party 0 has a seed in place of the
    // roots, words and bits. An element walks 56 blocks; 64 bits of each of 70 are opened, and then one.
    let of_relu = ModelCost {
        gates: 1,
        elements: 70,
        key_bytes: [96 * (928 - 16) + 32, 96 * (928 + 24) + 96 / 8],
        sent_bytes: 70 * 8 + 9 + 2 * 16,
        rounds: 2,
        aes_blocks: 56 * 70,
    };
    assert_eq!(cost(&[(relu, 1, 0)]), of_relu);
    // 20 weights of 43 bits are opened once, and 12 elements for each product of 15.
    let of_weights =
        ModelCost { gates: 1, elements: 20, key_bytes: [32; 2], sent_bytes: 108 + 16, rounds: 1, aes_blocks: 0 };
    let of_product = ModelCost {
        gates: 1,
        elements: 15,
        key_bytes: [32, 32 + 8 * 15],
        sent_bytes: 65 + 16,
        rounds: 1,
        aes_blocks: 0,
    };
    assert_eq!([1, 2].map(|part| cost(&[(product, 1, part)])), [of_weights, of_product]);
    // 32 elements in one message, if both factors are opened
    assert_eq!(cost(&[(product, 1, 0)]), ModelCost { sent_bytes: 172 + 16, ..of_product });
    let [zero, one] = of_relu.key_bytes;
    let of_model = ModelCost {
        gates: 1 + 5 + 2,
        elements: 20 + 5 * 15 + 2 * 70,
        key_bytes: [32 + 5 * 32 + 2 * zero, 32 + 5 * (32 + 8 * 15) + 2 * one],
        sent_bytes: 124 + 5 * 81 + 2 * of_relu.sent_bytes,
        rounds: 1 + 5 + 2 * 2,
        aes_blocks: 2 * 56 * 70,
    };
    assert_eq!(cost(&[(product, 1, 1), (product, 5, 2), (relu, 2, 0)]), of_model);
    assert_eq!(cost(&[(relu, u64::MAX, 0), (relu, 1, 0)]).rounds, u64::MAX);
    // SAFETY: steps with live handles or null, a place for a cost, and handles that are freed once.
    unsafe {
        for (plan, weights, text) in [
            (relu, 1, "expected `weights` of 0, or of 1 or 2 for matrix products with a batch of 1, got 1 in step 0"),
            (batch, 2, "with a batch of 1, got 2 in step 0"),
            (product, 3, "with a batch of 1, got 3 in step 0"),
            (null_mut(), 0, "plan of a step is a null pointer"),
        ] {
            let (step, mut unwritten) = (ModelStep { plan, runs: 1, weights }, of_model);
            refused(trefoil_pfss_model_cost(&step, 1, &mut unwritten), ARGUMENT, text);
            assert_eq!(unwritten, of_model);
        }
        refused(trefoil_pfss_model_cost(null(), 0, null_mut()), ARGUMENT, "cost is a null pointer");
        [relu, product, batch].into_iter().for_each(|plan| trefoil_pfss_plan_free(plan));
    }
}

#[test]
fn functions_are_those_of_the_library() {
    check_functions(&opened);
}

/// Functions by splines and by tables.
pub(crate) fn check_functions(opened: Opened<'_>) {
    let both = [-70_000, -4096, -1, 0, 1, 2048, 6144, 70_000];
    let positive = [4096, 4097, 8192, 12_345, 100_000, 1_000_000];
    let distances = [0, 1, 4096, 30_000, 65_535, 65_536, 1_000_000];
    let fine = Accuracy::new(2, 64).with_fraction_bits(16);
    let splines: [(&CStr, FunctionParameters, FixedFn, &[i64]); 6] = [
        (c"gelu", function_of(12, 0), gelu(Accuracy::CUBIC_16).unwrap(), &both),
        (c"silu", function_of(16, 0), silu(fine).unwrap(), &both),
        (c"neg_exp", function_of(12, 0), neg_exp(Accuracy::CUBIC_16).unwrap(), &distances),
        (c"reciprocal", function_of(12, 20), reciprocal(Accuracy::CUBIC_QUARTER_OCTAVE, 20).unwrap(), &positive),
        (c"rsqrt", function_of(12, 12), rsqrt(Accuracy::CUBIC_QUARTER_OCTAVE, 12).unwrap(), &positive),
        (
            c"gelu",
            FunctionParameters { degree: 2, pieces: 32, min: -70_000, max: 70_000, ..function_of(12, 0) },
            gelu(Accuracy::QUADRATIC_32).unwrap(),
            &both,
        ),
    ];
    for (name, parameters, expected, inputs) in splines {
        let got = opened(function(name, parameters, inputs.len()), [&words(inputs), &[]]);
        let expected: Vec<i64> = inputs.iter().map(|&x| expected.eval(x)).collect();
        assert_eq!(got, words(&expected), "{name:?}");
    }
    let tables: [(&CStr, TableFn, &[i64]); 3] = [
        (c"gelu", TableFn::gelu(12).unwrap(), &both),
        (c"silu", TableFn::silu(12).unwrap(), &both),
        (c"neg_exp", TableFn::neg_exp(12).unwrap(), &distances),
    ];
    for (name, expected, inputs) in tables {
        let parameters = FunctionParameters { by_table: 1, ..function_of(12, 0) };
        let got = opened(function(name, parameters, inputs.len()), [&words(inputs), &[]]);
        let expected: Vec<i64> = inputs.iter().map(|&x| expected.eval(x)).collect();
        assert_eq!(got, words(&expected), "{name:?} by table");
    }
}

#[test]
fn softmax_of_packed_rows_matches_the_library() {
    check_softmax(&opened);
}

/// Softmax of packed rows.
pub(crate) fn check_softmax(opened: Opened<'_>) {
    let (lengths, range) = ([3, 0, 1, 5], SignedRange::new(-40_000, 40_000).unwrap());
    let logits = [4096, -4096, 0, 7, -40_000, 40_000, 39_000, 12_345, -3];
    let layout = RowLayout::ragged(5, &lengths).unwrap();
    for by_table in [0, 1] {
        let modes = SufModes::default();
        let expected = if by_table == 0 {
            SecureSoftmaxPlan::new(layout.clone(), range, modes)
        } else {
            SecureSoftmaxPlan::by_table(layout.clone(), range, modes)
        };
        let (min, max) = (range.min(), range.max());
        // SAFETY: an array of the given length, and a place for a handle.
        let plan = plan(|plan| unsafe {
            trefoil_pfss_plan_softmax(lengths.as_ptr(), lengths.len(), min, max, by_table, plan)
        });
        let got = opened(plan, [&words(&logits), &[]]);
        assert_eq!(got, words(&expected.unwrap().eval(&logits).unwrap()), "{by_table}");
    }
}

#[test]
fn products_of_matrices_and_elements_are_those_of_plain_integers() {
    check_products(&opened);
}

/// Products of matrices and elements.
pub(crate) fn check_products(opened: Opened<'_>) {
    let square = |at: u64| at.wrapping_mul(at);
    let values =
        |len: usize, factor| -> Vec<u64> { (1..=len as u64).map(|at| square(at).wrapping_mul(factor)).collect() };
    let shape = MatrixShape { batch: 2, rows: 3, inner: 4, cols: 5 };
    let [left, right, _] = shape.lens();
    let (x, y) = (values(left, 0x9e37_79b9_7f4a_7c15 >> 8), values(right, 12_345));
    for n in [64, 43, 1] {
        let ring = Ring::new(n).unwrap();
        let MatrixShape { batch, rows, inner, cols } = shape;
        // SAFETY: a place for a handle.
        let matrices = plan(|plan| unsafe { trefoil_pfss_plan_matmul(n, batch, rows, inner, cols, plan) });
        let expected: Vec<u64> = shape.multiply(&x, &y).into_iter().map(|word| ring.reduce(word)).collect();
        assert_eq!(opened(matrices, [&x, &y]), expected, "{n}");
        // SAFETY: a place for a handle.
        let elements = plan(|plan| unsafe { trefoil_pfss_plan_product(n, left, plan) });
        let factors = &values(left, 77);
        let expected: Vec<u64> = x.iter().zip(factors).map(|(x, y)| ring.reduce(x.wrapping_mul(*y))).collect();
        assert_eq!(opened(elements, [&x, factors]), expected, "{n}");
    }
}

fn predicates(n: u32, low_bits: u32, queries: &[Query], count: usize) -> *mut PlanHandle {
    // SAFETY: an array of the given length, and a place for a handle.
    plan(|plan| unsafe { trefoil_pfss_plan_predicates(n, low_bits, queries.as_ptr(), queries.len(), count, plan) })
}

#[test]
fn predicates_answer_every_query_about_every_secret() {
    check_predicates(&opened);
}

/// Queries about every secret.
pub(crate) fn check_predicates(opened: Opened<'_>) {
    let query = |kind, a, b| Query { kind, a, b };
    let all: Vec<u64> = (0..64).collect();
    type Answer = fn(u64, Query) -> bool;
    let whole: Answer = |x, Query { kind, a, b }| if kind == 1 { x < a } else { a <= x && (b == 0 || x < b) };
    let sign: Answer = |x, Query { kind, a, .. }| if kind == 4 { (x + a) % 64 >= 32 } else { x < 32 };
    let low: Answer = |x, Query { a, .. }| x % 8 < a;
    let cases = [
        (0, vec![query(1, 0, 0), query(1, 40, 0), query(2, 3, 50), query(2, 60, 0), query(1, 63, 0)], whole),
        (0, vec![query(4, 0, 0), query(4, 17, 0), query(5, 0, 0)], sign),
        (3, vec![query(7, 0, 0), query(7, 5, 0), query(7, 7, 0)], low),
    ];
    for (low_bits, queries, answer) in cases {
        let expected: Vec<u64> =
            queries.iter().flat_map(|query| all.iter().map(|&x| u64::from(answer(x, *query)))).collect();
        assert_eq!(opened(predicates(6, low_bits, &queries, 64), [&all, &[]]), expected, "{queries:?}");
    }
    // What depends on masks is a bit.
    for (low_bits, kinds) in [(0, vec![3]), (0, vec![6]), (2, vec![8])] {
        let queries: Vec<Query> = kinds.into_iter().map(|kind| query(kind, 0, 0)).collect();
        let bits = opened(predicates(6, low_bits, &queries, 64), [&all, &[]]);
        assert!(bits.iter().all(|&bit| bit < 2), "{queries:?}: {bits:?}");
    }
}

#[test]
fn plans_refuse_by_name_what_they_are_not_made_for() {
    let mut none = null_mut();
    let query = |kind, a, b| Query { kind, a, b };
    // SAFETY: strings that end with a zero byte, arrays of the given lengths, and a place for a handle.
    unsafe {
        let spline = function_of(12, 0);
        for (name, parameters, status, text) in [
            (c"tanh", spline, ARGUMENT, "unknown function `tanh`; expected one of: gelu, silu"),
            (c"gelu", function_of(12, 3), ARGUMENT, "expected no `output_bits` for function `gelu`"),
            (c"gelu", function_of(7, 0), PROGRAM, ""),
            (c"rsqrt", FunctionParameters { by_table: 1, ..spline }, ARGUMENT, "unknown function `rsqrt`"),
            (c"gelu", FunctionParameters { by_table: 1, pieces: 4, ..spline }, ARGUMENT, "expected no `degree`"),
            (c"gelu", FunctionParameters { min: 2, max: 1, ..spline }, ARGUMENT, ""),
        ] {
            refused(trefoil_pfss_plan_function(name.as_ptr(), &parameters, 1, &mut none), status, text);
        }
        refused(trefoil_pfss_plan_function(null(), &spline, 1, &mut none), ARGUMENT, "name is a null");
        refused(trefoil_pfss_plan_function(c"gelu".as_ptr(), null(), 1, &mut none), ARGUMENT, "parameters is a null");
        let long = [1025];
        let refusal = trefoil_pfss_plan_softmax(long.as_ptr(), 1, -1, 1, 0, &mut none);
        refused(refusal, ARGUMENT, "expected at most 1024 active elements in row 0, got 1025");
        refused(
            trefoil_pfss_plan_matmul(65, 1, 1, 1, 1, &mut none),
            ARGUMENT,
            "expected a ring of 1 to 64 bits, got 65",
        );
        refused(trefoil_pfss_plan_product(0, 1, &mut none), ARGUMENT, "got 0");
        for count in [1 << 32, usize::MAX] {
            let one = query(1, 0, 0);
            for refusal in [
                trefoil_pfss_plan_function(c"gelu".as_ptr(), &spline, count, &mut none),
                trefoil_pfss_plan_product(64, count, &mut none),
                trefoil_pfss_plan_predicates(6, 0, &one, 1, count, &mut none),
            ] {
                refused(refusal, ARGUMENT, &format!("expected fewer than 2^32 elements, got {count}"));
            }
        }
        // The greatest number of elements, and its sizes.
        assert_eq!(trefoil_pfss_plan_product(64, (1 << 32) - 1, &mut none), OK);
        let mut info = core::mem::zeroed::<PlanInfo>();
        assert_eq!(trefoil_pfss_plan_inspect(none, &mut info), OK);
        assert_eq!((info.outputs, info.sent_bytes), ((1 << 32) - 1, 16 * ((1 << 32) - 1) + 16));
        trefoil_pfss_plan_free(none);
        none = null_mut();
        // Output bits and masks have calls of their own.
        let bytes = program(BoolMode::Additive).to_bytes();
        let [mut bits, mut masked] = [null_mut(); 2];
        assert_eq!(trefoil_pfss_gate_read(bytes.as_ptr(), bytes.len(), &mut bits), OK);
        assert_eq!(trefoil_pfss_gate_named(c"relu".as_ptr(), &parameters(16, 0), &mut masked), OK);
        refused(trefoil_pfss_plan_gate(masked, 1 << 32, &mut none), ARGUMENT, "expected fewer than 2^32 elements");
        assert_eq!(trefoil_pfss_gate_mask_outputs(masked), OK);
        for gate in [bits, masked] {
            refused(trefoil_pfss_plan_gate(gate, 1, &mut none), ARGUMENT, "without output bits and without masked");
            trefoil_pfss_gate_free(gate);
        }
        for (low_bits, queries, text) in [
            (0, vec![], "expected at least one query, got none"),
            (0, vec![query(9, 0, 0)], "expected a query of kind 1 to 8, got 9"),
            (0, vec![query(1, 0, 0), query(4, 0, 0)], "got others from query 1 on"),
            (2, vec![query(1, 0, 0)], "expected `low_bits` of 0 for these queries, got 2"),
            (0, vec![query(5, 1, 0)], "expected 0 constants for query 0 of kind 5, got 0x1 and 0x0"),
            (0, vec![query(1, 64, 0)], "constant 0x40 of item 0 is outside a ring of 6 bits"),
            (3, vec![query(7, 8, 0)], "constant 0x8 of item 0 is outside a ring of 3 bits"),
            (0, vec![query(2, 5, 5)], "interval 0 is empty"),
            (0, vec![query(3, 0, 0); 1025], "expected at most 1024 for masked bits"),
        ] {
            let refusal = trefoil_pfss_plan_predicates(6, low_bits, queries.as_ptr(), queries.len(), 1, &mut none);
            refused(refusal, ARGUMENT, text);
        }
        assert!(none.is_null());
    }
}

#[test]
fn runs_refuse_by_name_what_their_plan_and_step_do_not_allow() {
    let product = |count| {
        // SAFETY: a place for a handle.
        plan(|plan| unsafe { trefoil_pfss_plan_product(20, count, plan) })
    };
    let (of_two, of_three) = (product(2), product(3));
    let (dealt, other) = (Dealt::new(of_two), Dealt::new(of_two));
    let (two, three) = ([1, 2], [1, 2, 3]);
    let mut runs = [null_mut(); 2];
    let [mut strange, mut foreign] = [null_mut(); 2];
    // SAFETY: live handles, arrays of the given lengths, and places for results.
    unsafe {
        // Nothing of this spends the keys.
        refused(dealt.start(of_two, 0, [&three, &two], &mut strange), LENGTH, "expected 2 elements of x, got 3");
        refused(dealt.start(of_two, 0, [&two, &[]], &mut strange), LENGTH, "expected 2 elements of y, got 0");
        refused(dealt.start(of_three, 0, [&three, &three], &mut strange), LENGTH, "expected 3 elements of keys, got 2");
        refused(dealt.start(of_two, 0, [&two, &two], null_mut()), ARGUMENT, "run is a null");
        let matrices = plan(|plan| trefoil_pfss_plan_matmul(64, 1, 1, 2, 1, plan));
        refused(dealt.start(matrices, 0, [&two, &two], &mut strange), BUNDLE, "");
        let odd = trefoil_pfss_run_start(
            dealt.setup.backend,
            of_two,
            [1, 2].as_ptr(),
            2,
            two.as_ptr(),
            2,
            two.as_ptr(),
            2,
            &mut strange,
        );
        refused(odd, BUNDLE, "expected keys of a plan");

        refused(trefoil_pfss_plan_key_bytes(of_two, [0; 3].as_mut_ptr(), 3), LENGTH, "expected 2 parties, got 3");

        // A round at a time, and each key once.
        for (party, run) in runs.iter_mut().enumerate() {
            assert_eq!(dealt.start(of_two, party, [&two, &two], run), OK);
        }
        refused(dealt.start(of_two, 0, [&two, &two], &mut strange), STATE, "bundle reused");
        let (mut word, mine) = ([0; 2], message(runs[0]));
        refused(trefoil_pfss_run_y_share(runs[0], word.as_mut_ptr(), 2), STATE, "a message is due");
        refused(trefoil_pfss_run_absorb(runs[0], mine.as_ptr(), 1), LENGTH, "bytes of the message, got 1");
        let theirs = message(runs[1]);
        assert_eq!(trefoil_pfss_run_absorb(runs[0], theirs.as_ptr(), theirs.len()), OK);
        refused(trefoil_pfss_run_absorb(runs[0], theirs.as_ptr(), theirs.len()), STATE, "all is computed");
        refused(trefoil_pfss_run_y_share(runs[0], word.as_mut_ptr(), 1), LENGTH, "expected 2 shares of words, got 1");
        assert_eq!(trefoil_pfss_run_y_share(runs[0], word.as_mut_ptr(), 2), OK);

        // A message of another deal has another digest, and ends the run.
        assert_eq!(other.start(of_two, 0, [&two, &two], &mut foreign), OK);
        let theirs = message(foreign);
        let wrong = trefoil_pfss_run_absorb(runs[1], theirs.as_ptr(), theirs.len());
        refused(wrong, Status::TREFOIL_PFSS_PEER, "expected step digest");
        refused(trefoil_pfss_run_y_share(runs[1], word.as_mut_ptr(), 2), STATE, "the run failed earlier");
        let mut len = 0;
        refused(trefoil_pfss_run_pending(runs[1], &mut len), STATE, "the run failed earlier");
        // `foreign` still waits for a message when it is freed.
        runs.into_iter().chain([foreign, null_mut()]).for_each(|run| trefoil_pfss_run_free(run));
        [of_two, of_three, matrices].into_iter().for_each(|plan| trefoil_pfss_plan_free(plan));
        assert!(strange.is_null());
    }
}
