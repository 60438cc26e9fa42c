//! Handles of plans: public computations of several gates, with all their sizes.
//!
//! Functions, softmax, products and comparisons take several gates or two inputs. A plan names the
//! computation, of one gate or several, deals the keys of all its gates as one byte string for each
//! party, and is run from message to message. Products by weights that are opened once have the
//! same runs, but no plan of their own. The cost of a model is a sum over plans.
//!
//! # Safety
//! As said [at the top](crate#safety).

mod computation;
pub(crate) mod cost;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod weights;

use core::ffi::c_char;
use std::sync::Arc;

use pfss::{
    Gate, MatrixShape, Party, PfssError, Ring, SignedRange,
    functions::{Accuracy, TableFn, gelu, neg_exp, reciprocal, rsqrt, silu},
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::SufModes,
};

use computation::Computation;
use query::Query;

use crate::{
    Backend, Bytes, DealerHandle, GateHandle,
    gate::proven_range,
    memory::{BothPlaces, array, fill, free, in_turn, put, put_handle, shared, text},
    status::{CallFailure, Status, guard},
};

/// A public computation of several gates. Threads may share it.
pub struct PlanHandle {
    computation: Arc<Computation>,
}

impl PlanHandle {
    fn new(computation: Computation) -> Self {
        Self { computation: Arc::new(computation) }
    }
}

/// The parameters of a function by name.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FunctionParameters {
    /// Fraction bits of inputs, 8 to 20; of results too, unless `output_bits` applies.
    pub fraction_bits: u32,
    /// Fraction bits of results of `reciprocal` and `rsqrt`; zero for the other functions.
    pub output_bits: u32,
    /// Degree of the pieces, 1 to 3.
    ///
    /// `degree` and `pieces` are both zero for the recommended ones, and for a table.
    pub degree: u32,
    /// Pieces in total, or for each octave of `reciprocal` and `rsqrt`.
    pub pieces: u32,
    /// 1 for a table of lines (`gelu`, `silu`, `neg_exp`): smaller keys, more rounds. Else 0.
    pub by_table: u32,
    /// The least input as a fixed-point integer, if a range is proven.
    ///
    /// Otherwise `min` and `max` are both zero.
    pub min: i64,
    /// The greatest input.
    pub max: i64,
}

/// The sizes of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanInfo {
    /// Elements of the first input.
    pub x_len: usize,
    /// Elements of the second input; 0 if there is none.
    pub y_len: usize,
    /// Elements of the result.
    pub outputs: usize,
    /// Ring width of the result in bits.
    pub out_n: u32,
    /// Messages that each party sends.
    pub rounds: u64,
    /// Bytes of all these messages.
    pub sent_bytes: u64,
}

impl FunctionParameters {
    /// The function `name` of `count` elements.
    fn computation(&self, name: &str, count: usize) -> Result<Computation, CallFailure> {
        let by_octaves = matches!(name, "reciprocal" | "rsqrt");
        if !by_octaves && self.output_bits > 0 {
            return Err(CallFailure::argument(format!("expected no `output_bits` for function `{name}`")));
        }
        let inputs = proven_range(self.min, self.max)?;
        if self.by_table > 0 {
            // A table has no choice of pieces.
            if (self.degree, self.pieces) != (0, 0) {
                return Err(CallFailure::argument("expected no `degree` and no `pieces` for a function by table"));
            }
            let function = match name {
                "gelu" => TableFn::gelu(self.fraction_bits),
                "silu" => TableFn::silu(self.fraction_bits),
                "neg_exp" => TableFn::neg_exp(self.fraction_bits),
                _ => return Err(unknown(name, "gelu, silu, neg_exp (by table)")),
            }?;
            let gates = function.gates_within(inputs.unwrap_or(function.inputs()))?;
            return Ok(Computation::Table(Box::new(gates), count));
        }
        let accuracy = self.accuracy(by_octaves);
        let function = match name {
            "gelu" => gelu(accuracy),
            "silu" => silu(accuracy),
            "neg_exp" => neg_exp(accuracy),
            "reciprocal" => reciprocal(accuracy, self.output_bits),
            "rsqrt" => rsqrt(accuracy, self.output_bits),
            _ => return Err(unknown(name, "gelu, silu, neg_exp, reciprocal, rsqrt")),
        }?;
        let gates = function.gates_within(SufModes::default(), inputs.unwrap_or(function.inputs()))?;
        Ok(Computation::Spline(Box::new(gates), count))
    }

    /// The given pieces, or the recommended ones for the fraction bits.
    fn accuracy(&self, by_octaves: bool) -> Accuracy {
        match (self.degree, self.pieces) {
            (0, 0) if by_octaves => Accuracy::recommended_by_octave(self.fraction_bits),
            (0, 0) => Accuracy::recommended(self.fraction_bits),
            (degree, pieces) => Accuracy::new(degree, pieces).with_fraction_bits(self.fraction_bits),
        }
    }
}

/// Refuses a number of elements that no keys have.
fn check_count(count: usize) -> Result<(), CallFailure> {
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(CallFailure::argument(format!("expected fewer than 2^32 elements, got {count}"))),
    }
}

/// The ring of `n` bits.
fn ring_of(n: u32) -> Result<Ring, CallFailure> {
    Ring::new(n).ok_or_else(|| CallFailure::argument(format!("expected a ring of 1 to 64 bits, got {n}")))
}

fn unknown(name: &str, known: &str) -> CallFailure {
    CallFailure::argument(format!("unknown function `{name}`; expected one of: {known}"))
}

/// Plans a gate of `count` elements: one made by name, or a descriptor without output bits.
///
/// The result has the words of each element one after the other. Gates with masked outputs are
/// refused. `count` is below `2^32`. The gate may be freed before the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_gate(
    gate: *mut GateHandle,
    count: usize,
    plan: *mut *mut PlanHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let gate = unsafe { shared("gate", gate) }?;
        check_count(count)?;
        let operation = &gate.operation;
        let bits = operation.gate().program().map_or(0, |program| program.desc().bools().len());
        if bits > 0 || operation.gate().masks_outputs() {
            return Err(CallFailure::argument("expected a gate without output bits and without masked outputs"));
        }
        let computation = Computation::Gate(Arc::clone(operation), count);
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(computation), plan) }
    })
}

/// Plans the function `name` of `count` fixed-point numbers in a ring of 64 bits.
///
/// The names are `gelu`, `silu`, `neg_exp` (`exp(-t)` for `t >= 0`), `reciprocal` (for inputs of 1
/// to 1024) and `rsqrt` (for inputs of 1/16 to 256). A proven range makes keys smaller. `count` is
/// below `2^32`.
///
/// # Safety
/// As said [at the top](crate#safety); `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_function(
    name: *const c_char,
    parameters: *const FunctionParameters,
    count: usize,
    plan: *mut *mut PlanHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (name, parameters) = unsafe { (text("name", name)?, array("parameters", parameters, 1)?[0]) };
        check_count(count)?;
        let computation = parameters.computation(&name, count)?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(computation), plan) }
    })
}

/// Plans the softmax of `rows` packed rows; row `r` has `lengths[r]` elements.
///
/// Rows have at most 1024 elements and may have none. Logits have 12 fraction bits in a ring of 64
/// bits, and lie in `min..=max`, which nothing checks. Results have 12 fraction bits. With
/// `by_table` of 1, exponentials come from a table of lines: smaller keys, more rounds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_softmax(
    lengths: *const usize,
    rows: usize,
    min: i64,
    max: i64,
    by_table: u32,
    plan: *mut *mut PlanHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let lengths = unsafe { array("lengths", lengths, rows) }?;
        let layout = RowLayout::ragged(SecureSoftmaxPlan::MAX_COLS, lengths).map_err(CallFailure::argument)?;
        let logits = SignedRange::new(min, max).map_err(PfssError::from)?;
        let modes = SufModes::default();
        let softmax = if by_table > 0 {
            SecureSoftmaxPlan::by_table(layout, logits, modes)
        } else {
            SecureSoftmaxPlan::new(layout, logits, modes)
        }?;
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(Computation::Softmax(Box::new(softmax))), plan) }
    })
}

/// Plans `batch` products of secret matrices `x` and `y`.
///
/// `x` is `rows` by `inner`, `y` is `inner` by `cols`; matrices are row-major, one after the other,
/// modulo `2^n`, and `n` is 1 to 64. If one party owns a factor, the other party's share of it is
/// zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_matmul(
    n: u32,
    batch: usize,
    rows: usize,
    inner: usize,
    cols: usize,
    plan: *mut *mut PlanHandle,
) -> Status {
    guard(|| {
        let computation = Computation::Matmul(ring_of(n)?, MatrixShape { batch, rows, inner, cols });
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(computation), plan) }
    })
}

/// Plans `count` products `x y` of secrets modulo `2^n`.
///
/// `n` is 1 to 64, and `count` is below `2^32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_product(n: u32, count: usize, plan: *mut *mut PlanHandle) -> Status {
    guard(|| {
        check_count(count)?;
        let computation = Computation::Product(Gate::product(n)?, count);
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(computation), plan) }
    })
}

/// Plans the answers to `queries` about each of `count` secrets of `n` bits.
///
/// The result has a row of `count` words for each query, 0 or 1 modulo `2^n`. There are 1 to 1024
/// queries. All are about the whole secret (kinds 1 to 3), or about its sign (4 to 6), or about its
/// low `low_bits` bits (7 and 8); `low_bits` is 0 for the others. `count` is below `2^32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_predicates(
    n: u32,
    low_bits: u32,
    queries: *const Query,
    queries_len: usize,
    count: usize,
    plan: *mut *mut PlanHandle,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let queries = unsafe { array("queries", queries, queries_len) }?;
        check_count(count)?;
        let (gate, predicates) = query::predicates(n, low_bits, queries)?;
        let computation = Computation::Predicates(gate, predicates, count);
        // SAFETY: the caller's promise.
        unsafe { put_handle("plan", PlanHandle::new(computation), plan) }
    })
}

/// Writes the sizes of the inputs, the result and the messages of a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_inspect(plan: *mut PlanHandle, info: *mut PlanInfo) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let plan = unsafe { shared("plan", plan) }?;
        let computation = &plan.computation;
        let ([x_len, y_len], (sent_bytes, rounds)) = (computation.inputs(), computation.traffic());
        let (outputs, out_n) = (computation.outputs(), computation.out_bits());
        // SAFETY: the caller's promise.
        unsafe { put("info", PlanInfo { x_len, y_len, outputs, out_n, rounds, sent_bytes }, info) }
    })
}

/// Writes the sizes of the keys of party 0 and party 1 for a plan, in bytes; `len` is 2.
///
/// Headers, the encodings of descriptors and gaps are not counted: they take up to 3 KiB for each
/// gate and the bytes of its descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_key_bytes(plan: *mut PlanHandle, bytes: *mut u64, len: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let plan = unsafe { shared("plan", plan) }?;
        let of_parties = Party::BOTH.map(|party| plan.computation.key_bytes(party));
        // SAFETY: the caller's promise.
        unsafe { fill("parties", &of_parties, bytes, len) }
    })
}

/// Deals the keys of a plan: one byte string for party 0 and one for party 1.
///
/// Each is for its own party only, and for one run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_deal(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    plan: *mut PlanHandle,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut dealer, backend, plan) =
            unsafe { (in_turn("dealer", dealer)?, shared("backend", backend)?, shared("plan", plan)?) };
        let places = BothPlaces::new(party_0, party_1)?;
        let keys = plan.computation.deal(&mut dealer.dealer, &backend.queue)?.map(Bytes::of);
        // SAFETY: the caller's promise.
        unsafe { places.put(keys) }
    })
}

/// Frees a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_plan_free(plan: *mut PlanHandle) {
    // SAFETY: the caller's promise.
    unsafe { free(plan) };
}
