//! Costs of a model: sums over the plans that it runs.
//!
//! Everything follows from shapes and public parameters. No keys are dealt, and no backend is
//! opened.

use pfss::{MatrixShape, Party, WeightShape};

use super::{
    PlanHandle,
    computation::{Computation, SEED},
};
use crate::{
    memory::{array, put, shared},
    status::{CallFailure, Status, guard},
};

/// One step of a model: runs of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ModelStep {
    /// The plan.
    pub plan: *mut PlanHandle,
    /// Number of runs.
    pub runs: u64,
    /// The part of a matrix product by weights that is run; 0 for all other plans.
    ///
    /// 0: both factors are opened, by `trefoil_pfss_run_start`. 1: the second factor alone, as
    /// weights, by `trefoil_pfss_weights_open`. 2: the first factor alone, for a product by weights
    /// opened before, by `trefoil_pfss_weights_product`. For 1 and 2 the plan has a batch of 1.
    pub weights: u32,
}

/// Keys, messages and arithmetic of a model. Sums are saturating.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCost {
    /// Keys of a gate, matrix triples and keys of weights that each party gets.
    pub gates: u64,
    /// Elements that gates are evaluated on, of matrix products, and of weights that are opened.
    pub elements: u64,
    /// Bytes of keys of party 0 and party 1, as `trefoil_pfss_plan_key_bytes` counts them.
    pub key_bytes: [u64; 2],
    /// Bytes that each party sends, step digests included.
    pub sent_bytes: u64,
    /// Rounds of all steps, one after the other.
    pub rounds: u64,
    /// AES blocks that each party computes to evaluate its keys, by the formula of each gate.
    ///
    /// For predicates they are the blocks of one public point for each secret.
    pub aes_blocks: u64,
}

impl ModelCost {
    /// The cost of one run of a computation that opens all its inputs.
    fn of(computation: &Computation) -> Self {
        let (sent_bytes, rounds) = computation.traffic();
        let key_bytes = Party::BOTH.map(|party| computation.key_bytes(party));
        let mut cost = Self { key_bytes, sent_bytes, rounds, ..Self::default() };
        if let Computation::Matmul(..) = computation {
            return Self { gates: 1, elements: computation.outputs() as u64, ..cost };
        }
        for (gate, count) in computation.deals() {
            let count = count as u64;
            cost.gates += 1;
            cost.elements += count;
            cost.aes_blocks += gate.cost().aes * count;
        }
        cost
    }

    /// The cost of one run of the step `index`.
    ///
    /// # Safety
    /// As said at the top of the crate, for the step's plan.
    unsafe fn of_step(index: usize, step: ModelStep) -> Result<Self, CallFailure> {
        // SAFETY: the caller's promise.
        let plan = unsafe { shared("plan of a step", step.plan) }?;
        let computation = &*plan.computation;
        if step.weights == 0 {
            return Ok(Self::of(computation));
        }
        // Products by weights open one factor at a time.
        match (step.weights, computation) {
            (1, Computation::Matmul(ring, MatrixShape { batch: 1, inner, cols, .. })) => {
                let weights = WeightShape { inner: *inner, cols: *cols };
                let (sent_bytes, rounds) = weights.traffic(*ring);
                let (elements, key_bytes) = (weights.elements() as u64, [SEED; 2]);
                Ok(Self { gates: 1, elements, key_bytes, sent_bytes, rounds, aes_blocks: 0 })
            }
            (2, Computation::Matmul(ring, MatrixShape { batch: 1, rows, inner, cols })) => {
                let weights = WeightShape { inner: *inner, cols: *cols };
                let (sent_bytes, rounds) = weights.product_traffic(*ring, *rows);
                Ok(Self { sent_bytes, rounds, ..Self::of(computation) })
            }
            (got, _) => {
                let expected = "expected `weights` of 0, or of 1 or 2 for matrix products with a batch of 1";
                Err(CallFailure::argument(format!("{expected}, got {got} in step {index}")))
            }
        }
    }

    /// The sum with `runs` times another cost.
    fn plus(self, runs: u64, other: Self) -> Self {
        let sum = |sum: u64, once: u64| sum.saturating_add(once.saturating_mul(runs));
        Self {
            gates: sum(self.gates, other.gates),
            elements: sum(self.elements, other.elements),
            key_bytes: [0, 1].map(|party: usize| sum(self.key_bytes[party], other.key_bytes[party])),
            sent_bytes: sum(self.sent_bytes, other.sent_bytes),
            rounds: sum(self.rounds, other.rounds),
            aes_blocks: sum(self.aes_blocks, other.aes_blocks),
        }
    }
}

/// Computes the cost of a model, given as plans and the number of runs of each.
///
/// The sums equal the costs of the runs. Weights that are opened once are a separate step, and so
/// are the products by them. For the cost of each step, call this function with one step.
///
/// # Safety
/// As said [at the top](crate#safety), also for the plan of each step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_model_cost(steps: *const ModelStep, len: usize, cost: *mut ModelCost) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let steps = unsafe { array("steps", steps, len) }?;
        let mut sum = ModelCost::default();
        for (index, step) in steps.iter().enumerate() {
            // SAFETY: the caller's promise.
            sum = sum.plus(step.runs, unsafe { ModelCost::of_step(index, *step) }?);
        }
        // SAFETY: the caller's promise.
        unsafe { put("cost", sum, cost) }
    })
}
