//! Jobs with known masks, and both parties of a batch.

use pfss::{
    Dealer, Gate, Interval, KeyBundle, MaskedKeys, PfssError, Predicate, SignedRange, Task,
    batch::{BatchConfig, Handle, Job, Streams, SuperBatch},
    run_lockstep,
    suf::{BoolMode, CoeffMode, Pred, PredProgram, SufModes},
};
use runtime::AnyQueue;

use crate::common::{descriptor, flat, suf_gate, two_bits, words};

/// A gate on both parties' shares of inputs under known masks.
pub(crate) struct Case {
    pub(crate) gate: Gate,
    pub(crate) task: Task<'static>,
    pub(crate) x: [Vec<u64>; 2],
    pub(crate) masks: Vec<u64>,
    seed: u64,
}

impl Case {
    pub(crate) fn new(gate: Gate, task: Task<'static>, count: usize, seed: u64) -> Self {
        let of = |part: u64| words(count, seed.wrapping_mul(8) + part).iter().map(|&x| gate.ring().reduce(x)).collect();
        Self { x: [of(0), of(1)], masks: of(2), gate, task, seed }
    }

    /// The same bundles again and again.
    pub(crate) fn deal(&self) -> [KeyBundle; 2] {
        let q = runtime::cpu().unwrap();
        Dealer::insecure_from_seed(self.seed).insecure_deal_for_masks(&q, &self.gate, &self.masks).unwrap()
    }

    pub(crate) fn x_hat(&self) -> Vec<u64> {
        let ring = self.gate.ring();
        (0..self.masks.len()).map(|e| ring.add(ring.add(self.x[0][e], self.x[1][e]), self.masks[e])).collect()
    }

    /// The keys for the masked inputs.
    pub(crate) fn keys(&self) -> [MaskedKeys; 2] {
        self.deal().map(|bundle| bundle.with_open_inputs().unwrap())
    }

    pub(crate) fn jobs(&self) -> [Job<'static>; 2] {
        self.keys().map(|keys| Job::new(self.task, keys, self.x_hat()))
    }

    /// Both parties' shares without a batch, on the processor.
    pub(crate) fn expected(&self) -> [Vec<u64>; 2] {
        let (q, x) = (runtime::cpu().unwrap(), [&self.x[0][..], &self.x[1][..]]);
        run_lockstep(&q, self.task, self.deal(), x).unwrap().each_ref().map(flat)
    }
}

/// Two pieces, a bit over all bits of `x` and one over two classes of them.
fn suf(preds: PredProgram, coeffs: CoeffMode, bools: BoolMode) -> Gate {
    let of = [Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }];
    let pieces: [(u64, &[&[u64]]); 2] = [(0, &[&[1, 2, 3], &[7]]), (70_000, &[&[4, 5], &[0, 1]])];
    suf_gate(descriptor(20, &of, &two_bits(), &pieces), SufModes { preds, coeffs, bools })
}

/// One gate of every kind with one secret, `count` elements each.
pub(crate) fn cases(count: usize) -> Vec<Case> {
    const BELOW: &[Predicate] = &[Predicate::Lt { beta: 12_345 }, Predicate::Wrap, Predicate::Lt { beta: 1 }];
    const SIGN: &[Predicate] = &[Predicate::NonNegative];
    const LOW: &[Predicate] = &[Predicate::LowLt { gamma: 77 }, Predicate::Carry];
    const INTERVALS: &[Interval] = &[Interval { start: 3, end: Some(900) }, Interval { start: 900, end: None }];
    let table: &'static [u64] = (0..1u64 << 8).map(|i| i * i * 99).collect::<Vec<_>>().leak();
    let short: &'static [u64] = &table[..1 << 5];
    let range = SignedRange::new(-100, 100).unwrap();
    let [cert, narrow] = [64, 43].map(|n| range.gap_cert(n).unwrap());
    let tasks = [
        (Gate::relu(64), Task::Relu),
        (Gate::relu(64), Task::Abs),
        (Gate::relu_within(40, 12), Task::ReluWithin(range)),
        (Gate::truncate_reduce(40, 9), Task::TruncateReduce),
        (Gate::gap_ars(64, 12), Task::GapArs(cert)),
        (Gate::lrs(24, 5), Task::Lrs),
        (Gate::ars(64, 12), Task::Ars),
        (Gate::relu_ars(30, 11), Task::ReluArs),
        (Gate::lut(8, 40), Task::Lut(table)),
        (Gate::full_predicates(33).unwrap().with_masks(3), Task::Predicates(BELOW)),
        (Gate::sign_predicates(16).unwrap().with_masks(1), Task::Predicates(SIGN)),
        (Gate::low_predicates(64, 12).unwrap().with_masks(2), Task::Predicates(LOW)),
    ];
    let descriptors = [
        suf(PredProgram::SharedAlpha, CoeffMode::MaskedSelect, BoolMode::Additive),
        suf(PredProgram::SharedAlpha, CoeffMode::IntervalLut, BoolMode::XorPacked),
        suf(PredProgram::StepDcf, CoeffMode::StepDcf, BoolMode::Additive),
    ];
    let tasks = tasks.into_iter().map(|(gate, task)| (gate.unwrap(), task));
    let masked = [
        (Gate::gap_ars(64, 12), Task::GapArs(cert)),
        (Gate::truncate_reduce(40, 9), Task::TruncateReduce),
        (Ok(suf(PredProgram::SharedAlpha, CoeffMode::MaskedSelect, BoolMode::XorPacked)), Task::Suf),
    ];
    let masked = masked.into_iter().map(|(gate, task)| (gate.unwrap().with_masked_outputs().unwrap(), task));
    let widening = Gate::gap_ars_to(43, 12, 64).unwrap();
    let one_round = widening.clone().in_one_round().unwrap();
    let local = [
        (Gate::sign_predicates(16).unwrap(), Task::PredicateBits(SIGN)),
        (Gate::interval_powers(20, 2).unwrap(), Task::IntervalPowers(INTERVALS)),
        (Gate::lut(5, 40).unwrap(), Task::Lut(short)),
        (widening.clone(), Task::GapArs(narrow)),
        (widening.with_masked_outputs().unwrap(), Task::GapArs(narrow)),
        (one_round.clone(), Task::GapArs(narrow)),
        (one_round.with_masked_outputs().unwrap(), Task::GapArs(narrow)),
    ];
    let all = tasks.chain(descriptors.into_iter().map(|gate| (gate, Task::Suf))).chain(masked).chain(local);
    all.enumerate().map(|(at, (gate, task))| Case::new(gate, task, count, 100 + at as u64)).collect()
}

/// A ReLU of 64 bits, whose keys take about 928 bytes an element.
pub(crate) fn relu(count: usize, seed: u64) -> Case {
    Case::new(Gate::relu(64).unwrap(), Task::Relu, count, seed)
}

/// A batch and the handles of its jobs.
pub(crate) type WithHandles<'q> = (SuperBatch<'q, AnyQueue>, Vec<Handle>);

/// One batch for each party on `q`, flushed, with the given cases in it.
pub(crate) fn flushed<'q>(
    q: &'q AnyQueue,
    stager: Option<&'q Streams<AnyQueue>>,
    config: BatchConfig,
    cases: &[&Case],
) -> Result<[WithHandles<'q>; 2], PfssError> {
    let mut batches = Vec::new();
    let mut jobs: Vec<Vec<Job<'_>>> = vec![Vec::new(), Vec::new()];
    for case in cases {
        case.jobs().into_iter().enumerate().for_each(|(party, job)| jobs[party].push(job));
    }
    for jobs in jobs {
        let mut batch = SuperBatch::new(q, stager, config)?;
        let handles = jobs.into_iter().map(|job| batch.enqueue(job)).collect::<Result<_, _>>()?;
        batch.flush()?;
        batches.push((batch, handles));
    }
    let [zero, one] = batches.try_into().unwrap_or_else(|_| unreachable!("two parties"));
    Ok([zero, one])
}
