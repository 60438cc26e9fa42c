//! The evaluation plan of a task.
//!
//! It follows from the task and the shape of its gate, and is computed once for all batches.

use core::slice;
use std::sync::Arc;

use backend_api::ops::fss::FssOps;

use super::{
    intervals::PayloadPlan,
    predicates::additive,
    product::{product, product_on_device},
    shares::{
        pending::{DeviceStep, Step},
        results::{BoolShares, Shares},
    },
    suf::SufPlan,
    tasks::{compare::Compare, table::TablePlan},
    walk::{comparison::Comparison, evaluator::Evaluator},
};
use crate::{
    Gate, GateKind, KeyBundle, MaskedKeys, PfssError, SignedRange, Task,
    answers::ComparisonProgram,
    error::check_len,
    gate::{AnyGate, kinds::lut::Lut},
    secret::staging::StagedSecret,
};

/// The evaluation of a task with keys of its gate.
#[derive(Debug)]
pub(crate) enum TaskPlan {
    /// Bits of comparisons are opened under masks, and the result is sums of words.
    Compare(Compare),
    /// Every entry of a table is read.
    Look(TablePlan),
    /// XOR shares of comparisons, with nothing to open.
    Bits(Comparison),
    /// Sums over a tree with a payload: powers on intervals, or a shift; nothing to open.
    Payload(PayloadPlan),
    /// A product of opened factors.
    Product,
    /// The steps of a descriptor.
    Suf(Arc<SufPlan>),
}

impl Task<'_> {
    /// Checks that the keys are for the task and for `inputs` masked inputs.
    ///
    /// Their gate must fit the task, in the ring of its certificate.
    pub(crate) fn check_keys(&self, bundle: &KeyBundle, inputs: usize) -> Result<(), PfssError> {
        let (kind, count) = (bundle.gate().kind(), bundle.count());
        match self {
            Self::Predicates(_) | Self::PredicateBits(_) => {
                bundle.check_use(kind, inputs)?;
                match kind {
                    // each predicate names the kind that it needs
                    GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates => Ok(()),
                    // predicates may have the facts of a task of this gate, whose plan is kept
                    _ => self.plan(bundle.gate()).map(drop),
                }
            }
            Self::Product => {
                bundle.check_use(self.describe().0, count)?;
                check_len("factors", 2 * count, inputs)
            }
            _ => {
                bundle.check_use(self.describe().0, inputs)?;
                match self {
                    // not among the facts, by which plans are kept
                    Self::GapArs(cert) if cert.n() != bundle.gate().n() => {
                        Err(PfssError::CertWidth { expected: bundle.gate().n(), got: cert.n() })
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The evaluation plan of the task with keys of `gate`.
    ///
    /// The keys [fit](Self::check_keys). Every other mismatch is refused.
    pub(crate) fn plan(&self, gate: &Gate) -> Result<TaskPlan, PfssError> {
        let plan = match (*self, gate.definition()) {
            (Self::Relu, AnyGate::Relu(relu)) => relu.plan(gate, SignedRange::of_bits(gate.n()))?,
            (Self::ReluWithin(range), AnyGate::Relu(relu)) => relu.plan(gate, range)?,
            (Self::Abs, AnyGate::Relu(relu)) => relu.plan_abs(gate)?,
            (Self::TruncateReduce, AnyGate::TruncateReduce(truncation)) => truncation.plan(gate),
            (Self::GapArs(_), AnyGate::GapArs(shift)) if shift.one_round => {
                return Ok(TaskPlan::Payload(shift.plan_in_one_round(gate)));
            }
            (Self::GapArs(_), AnyGate::GapArs(shift)) => shift.plan(gate),
            (Self::Lrs, AnyGate::Lrs(shift)) => shift.plan(gate),
            (Self::Ars, AnyGate::Ars(shift)) => shift.plan(gate),
            (Self::ReluArs, AnyGate::ReluArs(shift)) => shift.plan(gate),
            (Self::Predicates(predicates), AnyGate::FullPredicates(_) | AnyGate::LowPredicates(_)) => {
                additive(gate, predicates, 0)?
            }
            (Self::Predicates(predicates), AnyGate::SignPredicates(_)) => {
                additive(gate, predicates, 1)? // the first row of bits is the top bit of the mask
            }
            (Self::PredicateBits(predicates), definition) => {
                let program = ComparisonProgram::new(gate, predicates)?;
                return match definition {
                    AnyGate::FullPredicates(_) | AnyGate::SignPredicates(_) | AnyGate::LowPredicates(_) => {
                        Ok(TaskPlan::Bits(Comparison::new(&program)))
                    }
                    _ => Err(self.not_for(gate)),
                };
            }
            (Self::Lut(table), AnyGate::Lut(_)) => return Ok(TaskPlan::Look(Lut::plan(gate, table)?)),
            (Self::IntervalPowers(intervals), AnyGate::IntervalPowers(powers)) => {
                return Ok(TaskPlan::Payload(powers.plan(gate, intervals)?));
            }
            (Self::Product, AnyGate::Product(_)) => return Ok(TaskPlan::Product),
            (Self::Suf, AnyGate::Suf(suf)) => return Ok(TaskPlan::Suf(Arc::new(SufPlan::new(gate, &suf.program)))),
            _ => return Err(self.not_for(gate)),
        };
        Ok(TaskPlan::Compare(plan))
    }

    /// Refuses results that a device does not form: bits, and words of some descriptors.
    pub(crate) fn check_on_device(&self, gate: &Gate) -> Result<(), PfssError> {
        let other = match (self, gate.program()) {
            (Self::PredicateBits(_), _) => Some(XOR_SHARES),
            (Self::Suf, Some(program)) => program.off_device(),
            _ => None,
        };
        other.map_or(Ok(()), |got| Err(PfssError::NotOnDevice { got }))
    }

    /// The task is not for keys of `gate`.
    fn not_for(&self, gate: &Gate) -> PfssError {
        if let (Self::Predicates(predicates), 0) = (self, gate.masks())
            && !predicates.is_empty()
        {
            return PfssError::Length { what: "predicates", expected: 0, got: predicates.len() };
        }
        PfssError::Kind { expected: self.describe().0, got: gate.kind() }
    }
}

impl TaskPlan {
    /// The comparisons of trees; none for other kinds of plans.
    pub(crate) fn comparisons(&self) -> &[Comparison] {
        match self {
            Self::Compare(plan) => plan.comparisons(),
            Self::Bits(comparison) => slice::from_ref(comparison),
            _ => &[],
        }
    }

    /// The first step of the gate.
    ///
    /// The keys are those that the plan was [made for](Task::plan), and there is a masked input for
    /// each secret of an element.
    pub(crate) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        MaskedKeys(bundle): MaskedKeys,
        mut x_hat: Vec<u64>,
    ) -> Result<Step, PfssError> {
        reduce(&bundle, &mut x_hat);
        match self {
            Self::Compare(plan) => plan.eval(evaluator, bundle, x_hat).map(Step::Open),
            Self::Look(table) => table.eval(evaluator, bundle, &x_hat).map(Step::Open),
            Self::Bits(comparison) => {
                let bits = comparison.eval_bits(evaluator, &bundle, &x_hat)?;
                Ok(Step::Done(Shares { words: Vec::new(), bools: BoolShares::Xor(bits) }))
            }
            Self::Payload(plan) => Ok(Step::Done(plan.eval(evaluator, &bundle, &x_hat)?.into())),
            Self::Product => Ok(Step::Done(product(&bundle, &x_hat).into())),
            Self::Suf(plan) => plan.eval(evaluator, bundle, x_hat),
        }
    }

    /// [`eval`](Self::eval) with the words left in device memory.
    ///
    /// A product takes `room`, secret memory of a share for each element or more, for a sum.
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`] for a task with [other results](Task::check_on_device).
    pub(crate) fn eval_on_device<'q, Q: FssOps>(
        &self,
        q: &'q Q,
        MaskedKeys(bundle): MaskedKeys,
        mut x_hat: Vec<u64>,
        room: &mut Option<StagedSecret<'q, Q, u64>>,
    ) -> Result<DeviceStep<'q, Q>, PfssError> {
        reduce(&bundle, &mut x_hat);
        match self {
            Self::Compare(plan) => plan.eval(q, bundle, x_hat).map(DeviceStep::Open),
            Self::Look(table) => table.eval(q, bundle, &x_hat).map(DeviceStep::Open),
            Self::Bits(_) => Err(PfssError::NotOnDevice { got: XOR_SHARES }),
            Self::Payload(plan) => plan.eval_on_device(q, &bundle, &x_hat).map(DeviceStep::Done),
            Self::Product => product_on_device(q, &bundle, &x_hat, room.take()).map(DeviceStep::Done),
            Self::Suf(plan) => plan.eval_on_device(q, bundle, x_hat),
        }
    }
}

/// Name of the results of [`Task::PredicateBits`].
const XOR_SHARES: &str = "XOR shares of predicates";

/// Clears the bits above the ring of the inputs: only the low bits count.
fn reduce(bundle: &KeyBundle, x_hat: &mut [u64]) {
    let ring = bundle.gate().ring();
    x_hat.iter_mut().for_each(|word| *word = ring.reduce(*word));
}

impl MaskedKeys {
    /// The first step of `task`, which has all work on key trees.
    ///
    /// It is computed from the masked inputs `x_hat`, one for each element. For
    /// [`Task::Product`], all first factors are followed by all second ones.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless there is an input for each element, the other errors of the
    /// [`Task`], and [`PfssError::Backend`].
    pub fn eval<Q: Evaluator>(self, q: &Q, task: Task<'_>, x_hat: &[u64]) -> Result<Step, PfssError> {
        task.check_keys(&self.0, x_hat.len())?;
        task.plan(self.gate())?.eval(q, self, x_hat.to_vec())
    }
}
