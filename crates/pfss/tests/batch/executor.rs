//! Tasks side by side: the shares of the gates alone, few messages, one flush of each class in a phase, and an error
//! where nothing moves.

use std::time::Duration;

use pfss::{
    Dealer, Gate, GateKind, Inputs, KeyBundle, MaskedKeys, MemoryChannel, Party, PfssError, Session, SignedRange, Task,
    batch::{
        BarrierPolicy, BatchConfig, BatchError, BatchLimits, Class, Fit, GateChain, Job, LayerLimits, LayerTotals,
        Limit, Need, Pace, PhaseExecutor, PhaseTask, Port, Ticket,
    },
    memory_pair, run_lockstep,
};
use runtime::AnyQueue;

use crate::{
    batch::common::{Case, relu},
    common::{WORDS, add, both, queues::cpu, share, words},
};

const LAZY: Pace = Pace::Lazy { open_words: 1 << 22, jobs: 1 << 14 };

/// A ReLU and a shift after it, on the shares `x` of small values.
struct Layer {
    x: [Vec<u64>; 2],
    seed: u64,
}

impl Layer {
    fn new(count: usize, seed: u64) -> Self {
        let values = words(count, seed).into_iter().map(|value| (value >> 30) as i64 - (1 << 33));
        Self { x: share(WORDS, &values.collect::<Vec<_>>()), seed }
    }

    fn shift() -> Task<'static> {
        Task::GapArs(SignedRange::new(-(1 << 40), 1 << 40).unwrap().gap_cert(64).unwrap())
    }

    fn deal(&self) -> [[KeyBundle; 2]; 2] {
        let (q, mut dealer) = (runtime::cpu().unwrap(), Dealer::insecure_from_seed(self.seed));
        let count = self.x[0].len();
        let relu = dealer.deal(&q, &Gate::relu(64).unwrap(), count).unwrap();
        let shift = dealer.deal(&q, &Gate::gap_ars(64, 12).unwrap(), count).unwrap();
        let ([r0, r1], [s0, s1]) = (relu, shift);
        [[r0, s0], [r1, s1]]
    }

    fn chain(&self, party: usize) -> GateChain<'static> {
        let [zero, one] = self.deal();
        let [relu, shift] = if party == 0 { zero } else { one };
        let chain = GateChain::on(self.x[party].clone()).then(Class::Coeff, Task::Relu, relu).unwrap();
        chain.then(Class::Trunc, Self::shift(), shift).unwrap()
    }

    fn expected(&self) -> [Vec<u64>; 2] {
        let q = runtime::cpu().unwrap();
        let [[r0, s0], [r1, s1]] = self.deal();
        let relu = run_lockstep(&q, Task::Relu, [r0, r1], [&self.x[0], &self.x[1]]).unwrap();
        let shifted = run_lockstep(&q, Self::shift(), [s0, s1], [&relu[0].words, &relu[1].words]).unwrap();
        shifted.map(|shares| shares.words)
    }
}

fn executor(q: &AnyQueue, config: BatchConfig, pace: Pace) -> PhaseExecutor<'_, AnyQueue> {
    PhaseExecutor::new(q, None, config, LayerLimits::default(), pace).unwrap()
}

fn run_all<'a>(
    executor: &mut PhaseExecutor<'a, AnyQueue>,
    session: &mut Session<MemoryChannel>,
    mut chains: Vec<GateChain<'a>>,
) -> Result<Vec<Vec<u64>>, PfssError> {
    let mut tasks: Vec<&mut dyn PhaseTask<'a>> = Vec::new();
    for chain in &mut chains {
        tasks.push(chain);
    }
    executor.run(session, &mut tasks)?;
    Ok(chains.into_iter().map(|chain| chain.into_words().unwrap()).collect())
}

#[test]
fn tasks_share_their_messages_and_flushes_and_get_the_shares_of_the_gates_alone() {
    let q = cpu(None);
    let layers: Vec<Layer> =
        [40, 1, 64, 0, 97].into_iter().zip(20..).map(|(count, seed)| Layer::new(count, seed)).collect();
    let streamed = BatchConfig { fit: Fit::Split, part: 32, ..BatchConfig::default() };
    let tight = Pace::Lazy { open_words: 60, jobs: 2 };
    let runs = [(BatchConfig::default(), LAZY), (streamed, LAZY), (streamed, Pace::Eager), (streamed, tight)];
    for (config, pace) in runs {
        let results = both([(), ()], |mut session, party, ()| {
            let mut executor = executor(&q, config, pace);
            let chains = layers.iter().map(|layer| layer.chain(party)).collect();
            let words = run_all(&mut executor, &mut session, chains).unwrap();
            (words, session.traffic().rounds, executor.finalize_layer(&mut session).unwrap())
        });
        for (at, layer) in layers.iter().enumerate() {
            let got = [results[0].0[at].clone(), results[1].0[at].clone()];
            assert_eq!(got, layer.expected(), "layer {at}, {pace:?}");
        }
        assert_eq!(results[0].2, results[1].2);
        if pace != tight {
            // Two gates of two rounds each, however many tasks there are, and one flush of each class.
            assert_eq!(results[0].1, 4, "{pace:?}");
            let (elements, jobs) = (2 * (40 + 1 + 64 + 97), 10);
            let expected = LayerTotals {
                phases: 2,
                jobs,
                words: elements,
                flushes: [1, 1],
                elements,
                element_bits: 64 * elements,
            };
            assert_eq!(results[0].2, expected);
        } else {
            assert!(results[0].1 > 4);
        }
    }
}

/// Descriptors have further rounds, in addition to the one round of other gates.
#[test]
fn gates_of_different_numbers_of_rounds_run_side_by_side() {
    let q = cpu(None);
    let all = crate::batch::common::cases(35);
    let (relu, suf) = (&all[0], &all[12]);
    let results = both([(), ()], |mut session, party, ()| {
        let mut executor = executor(&q, BatchConfig::default(), LAZY);
        let bundle = |case: &Case| case.deal().into_iter().nth(party).unwrap();
        let chains = vec![
            GateChain::on(relu.x[party].clone()).then(Class::Trunc, Task::Relu, bundle(relu)).unwrap(),
            GateChain::on(suf.x[party].clone()).then(Class::Coeff, Task::Suf, bundle(suf)).unwrap(),
        ];
        let words = run_all(&mut executor, &mut session, chains).unwrap();
        (words, session.traffic().rounds)
    });
    assert_eq!([results[0].0[0].clone(), results[1].0[0].clone()], relu.expected());
    let words = 2 * 35;
    assert_eq!([0, 1].map(|party: usize| results[party].0[1].clone()), suf.expected().map(|all| all[..words].to_vec()));
    assert_eq!(results[0].1, suf.gate.cost().rounds);
}

/// A gate that masks its outputs ends a chain, keys for opened inputs are none of its, and a refusal spends nothing.
#[test]
fn a_chain_refuses_gates_that_do_not_take_shares_of_results() {
    let (q, mut dealer) = (runtime::cpu().unwrap(), Dealer::from_os().unwrap());
    let bare = Gate::relu(64).unwrap();
    let masked = bare.clone().with_masked_outputs().unwrap();
    let ([first, _], wires) = dealer.deal_wired(&q, &masked, Inputs::Fresh(2)).unwrap();
    let ([open, _], _) = dealer.deal_wired(&q, &bare, Inputs::Open(&[&wires[0]])).unwrap();
    let [fresh, _] = dealer.deal(&q, &bare, 2).unwrap();
    let again = |bundle: &KeyBundle| KeyBundle::from_bytes(&bundle.to_bytes()).unwrap();
    let suf = || crate::batch::common::cases(2)[12].deal().into_iter().next().unwrap();
    let chain = || GateChain::on(vec![5, 6]);
    let then = |chain: GateChain<'static>, bundle| chain.then(Class::Coeff, Task::Relu, bundle);

    let ends = || then(chain(), again(&first)).unwrap();
    assert_eq!(then(ends(), again(&fresh)).unwrap_err(), PfssError::MaskedOutputs);
    assert_eq!(ends().then(Class::Coeff, Task::Suf, suf()).unwrap_err(), PfssError::MaskedOutputs);
    assert_eq!(then(chain(), again(&open)).unwrap_err(), PfssError::OpenInputs);
    assert_eq!(then(then(chain(), again(&fresh)).unwrap(), again(&open)).unwrap_err(), PfssError::OpenInputs);
    let kind = |expected, got| PfssError::Kind { expected, got };
    assert_eq!(then(chain(), suf()).unwrap_err(), kind(GateKind::Relu, GateKind::Suf));
    assert_eq!(chain().then(Class::Coeff, Task::Suf, again(&fresh)).unwrap_err(), kind(GateKind::Suf, GateKind::Relu));

    // A gate with masked outputs may be the last, and no key was spent.
    assert!(then(then(chain(), again(&fresh)).unwrap(), again(&first)).is_ok());
    assert!(fresh.mask(&[5, 6]).is_ok() && first.mask(&[5, 6]).is_ok() && open.with_open_inputs().is_ok());
}

/// A product of secrets: one opening, and a gate that opens nothing.
struct Product {
    bundle: Option<KeyBundle>,
    factors: [Vec<u64>; 2],
    opening: Option<(Ticket, MaskedKeys)>,
    gate: Option<Ticket>,
    words: Vec<u64>,
}

impl<'a> PhaseTask<'a> for Product {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        if let Some(bundle) = self.bundle.take() {
            self.opening = Some(port.open_factors(bundle, self.factors.each_ref().map(Vec::as_slice))?);
        }
        if let Some((ticket, keys)) = self.opening.take() {
            let Some(opened) = port.opened(ticket)? else {
                self.opening = Some((ticket, keys));
                return Ok(Need::Open);
            };
            self.gate = Some(port.submit(Class::Coeff, Job::new(Task::Product, keys, opened))?);
        }
        let Some(ticket) = self.gate else { return Ok(Need::None) };
        let Some(shares) = port.shares(ticket)? else { return Ok(Need::Coeff) };
        (self.gate, self.words) = (None, shares.words);
        Ok(Need::None)
    }

    fn is_done(&self) -> bool {
        self.bundle.is_none() && self.opening.is_none() && self.gate.is_none()
    }
}

#[test]
fn products_open_their_factors_beside_other_gates() {
    let q = cpu(None);
    let (gate, layer) = (Gate::product(40).unwrap(), Layer::new(12, 3));
    let (ring, streamed) = (gate.ring(), BatchConfig { fit: Fit::Split, part: 32, ..BatchConfig::default() });
    let share = |seed| words(40, seed).into_iter().map(|word| ring.reduce(word)).collect::<Vec<_>>();
    let factors = [[share(1), share(2)], [share(3), share(4)]];
    let product = |party: usize| {
        let bundle = Dealer::insecure_from_seed(6).deal(&q, &gate, 40).unwrap().into_iter().nth(party);
        Product { bundle, factors: factors[party].clone(), opening: None, gate: None, words: vec![] }
    };
    let results = both([(), ()], |mut session, party, ()| {
        let (mut executor, mut product, mut chain) = (executor(&q, streamed, LAZY), product(party), layer.chain(party));
        executor.run(&mut session, &mut [&mut product, &mut chain]).unwrap();
        (product.words, session.traffic().rounds)
    });
    let alone = both([(), ()], |mut session, party, ()| {
        let (mut executor, mut product) = (executor(&q, streamed, LAZY), product(party));
        executor.run(&mut session, &mut [&mut product]).unwrap();
        (product.words, session.traffic().rounds)
    });
    assert_eq!(alone, results.each_ref().map(|(words, _)| (words.clone(), 1)), "nothing to open after the factors");
    let plain = |e: usize| {
        let [x, y] = [0, 1].map(|factor: usize| ring.add(factors[0][factor][e], factors[1][factor][e]));
        ring.mul(x, y)
    };
    let sums = add(ring, [&results[0].0, &results[1].0]);
    assert_eq!(sums, (0..40).map(plain).collect::<Vec<_>>());
    assert_eq!(results[0].1, 4);
}

/// A task that behaves as told.
struct Stuck {
    need: Need,
    done: bool,
}

impl<'a> PhaseTask<'a> for Stuck {
    fn step(&mut self, _port: &mut Port<'a>) -> Result<Need, PfssError> {
        Ok(self.need)
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

#[test]
fn where_nothing_moves_and_nothing_waits_there_is_an_error_with_the_numbers() {
    let q = cpu(None);
    for pace in [LAZY, Pace::Eager] {
        let (zero, _one) = memory_pair(Duration::from_secs(1));
        let mut session = Session::new(zero);
        let mut executor = executor(&q, BatchConfig::default(), pace);
        let needs = [Need::Open, Need::Coeff, Need::Coeff, Need::Trunc, Need::None];
        let mut tasks: Vec<Stuck> = needs.into_iter().map(|need| Stuck { need, done: false }).collect();
        tasks.push(Stuck { need: Need::Open, done: true });
        let mut refs: Vec<&mut dyn PhaseTask<'_>> = Vec::new();
        for task in &mut tasks {
            refs.push(task);
        }
        let stuck = executor.run(&mut session, &mut refs).unwrap_err();
        assert_eq!(stuck, BatchError::NoProgress { unfinished: 5, open: 1, coeff: 2, trunc: 1 }.into());
        assert_eq!(executor.run(&mut session, &mut []).unwrap_err(), BatchError::Poisoned.into());
        assert_eq!(session.traffic().rounds, 0);
    }
}

/// Submits one gate and is done, so that only a barrier flushes it.
struct Submit<'a> {
    class: Class,
    job: Option<Job<'a>>,
    ticket: Option<Ticket>,
}

impl<'a> PhaseTask<'a> for Submit<'a> {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        if let Some(job) = self.job.take() {
            self.ticket = Some(port.submit(self.class, job)?);
        }
        Ok(Need::None)
    }

    fn is_done(&self) -> bool {
        self.job.is_none()
    }
}

/// Fetches the shares that a ticket stands for.
struct Fetch(Option<Ticket>, Result<usize, PfssError>);

impl<'a> PhaseTask<'a> for Fetch {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        if let Some(ticket) = self.0.take() {
            self.1 = match port.shares(ticket) {
                Ok(shares) => Ok(shares.map_or(0, |shares| shares.words.len())),
                Err(error) => Err(error.into()),
            };
        }
        Ok(Need::None)
    }

    fn is_done(&self) -> bool {
        self.0.is_none()
    }
}

#[test]
fn a_barrier_drains_what_its_policy_names_and_the_layer_the_rest() {
    let q = cpu(None);
    let cases = [relu(33, 1), relu(7, 2)];
    let results = both([(), ()], |mut session, party, ()| {
        let mut executor = executor(&q, BatchConfig::default(), LAZY);
        let job = |case: &Case| case.jobs().into_iter().nth(party);
        let mut first = Submit { class: Class::Coeff, job: job(&cases[0]), ticket: None };
        let mut second = Submit { class: Class::Trunc, job: job(&cases[1]), ticket: None };
        executor.run(&mut session, &mut [&mut first, &mut second]).unwrap();
        assert_eq!(session.traffic().rounds, 0);
        let mut fetched = Vec::new();
        let policies = [
            BarrierPolicy { open: true, ..BarrierPolicy::default() },
            BarrierPolicy { trunc: true, ..BarrierPolicy::default() },
        ];
        for policy in policies {
            executor.barrier(&mut session, policy).unwrap();
            let mut fetch = Fetch(second.ticket, Ok(0));
            executor.run(&mut session, &mut [&mut fetch]).unwrap();
            fetched.push(fetch.1);
        }
        let totals = executor.finalize_layer(&mut session).unwrap();
        for ticket in [first.ticket, first.ticket, second.ticket] {
            let mut fetch = Fetch(ticket, Ok(0));
            executor.run(&mut session, &mut [&mut fetch]).unwrap();
            fetched.push(fetch.1);
        }
        assert_eq!(executor.totals(), LayerTotals::default());
        (fetched, totals.flushes, session.traffic().rounds)
    });
    for (fetched, flushes, rounds) in results {
        assert_eq!(fetched[..3], [Ok(0), Ok(7), Ok(33)]);
        let twice = [0, 1].map(|got| Err(PfssError::Batch(BatchError::Ticket { got })));
        assert_eq!(fetched[3..], twice, "fetched twice");
        assert_eq!((flushes, rounds), ([1, 1], 2));
    }
}

#[test]
fn limits_of_layer_and_batch_stop_the_executor_by_their_names() {
    let q = cpu(None);
    let (zero, _one) = memory_pair(Duration::from_secs(1));
    let mut session = Session::new(zero);
    let layer = LayerLimits { elements: 32, ..LayerLimits::default() };
    let mut refused = |config, limits| {
        let mut executor = PhaseExecutor::new(&q, None, config, limits, LAZY).unwrap();
        let [job, _] = relu(33, 1).jobs();
        let mut task = Submit { class: Class::Coeff, job: Some(job), ticket: None };
        executor.run(&mut session, &mut [&mut task])?;
        executor.finalize_layer(&mut session).map(|_| ())
    };
    let error = refused(BatchConfig::default(), layer).unwrap_err();
    assert_eq!(error, BatchError::Limit { limit: Limit::LayerElements, max: 32, got: 33 }.into());
    let limits = BatchLimits { words: 32, ..BatchLimits::default() };
    let error = refused(BatchConfig { limits, ..BatchConfig::default() }, LayerLimits::default()).unwrap_err();
    assert_eq!(error, BatchError::Limit { limit: Limit::Words, max: 32, got: 33 }.into());
    // nor does it send anything under keys of the other party
    let mut executor = executor(&q, BatchConfig::default(), LAZY);
    let refused = run_all(&mut executor, &mut session, vec![Layer::new(4, 1).chain(1)]).unwrap_err();
    assert_eq!(refused, PfssError::WrongParty { expected: Party::Zero, got: Party::One });
}

/// Chains of one gate each, which wait for the numbers of words or gates in the pace.
#[test]
fn a_pace_decides_which_openings_and_gates_go_together() {
    const MANY: usize = 1 << 20;
    let q = cpu(None);
    // elements of the chains, words and gates that wait; rounds, and phases of one flush each
    let table: [(&[usize], usize, usize, u64, u64); 8] = [
        (&[1], MANY, MANY, 2, 1),
        (&[40, 40], 40, MANY, 3, 1),
        (&[40, 40], 41, MANY, 2, 1),
        (&[1, 1], 0, MANY, 3, 1),
        (&[1, 1, 1], MANY, 0, 4, 3),
        (&[1, 1, 1], MANY, 1, 4, 3),
        (&[1, 1, 1], MANY, 2, 3, 2),
        (&[1, 1, 1], MANY, 3, 2, 1),
    ];
    for (counts, open_words, jobs, rounds, phases) in table {
        let (pace, cases) = (Pace::Lazy { open_words, jobs }, counts.iter().zip(1..));
        let cases: Vec<Case> = cases.map(|(&count, seed)| relu(count, seed)).collect();
        let results = both([(), ()], |mut session, party, ()| {
            let mut executor = executor(&q, BatchConfig::default(), pace);
            let chain = |case: &Case| {
                let bundle = case.deal().into_iter().nth(party).unwrap();
                GateChain::on(case.x[party].clone()).then(Class::Coeff, Task::Relu, bundle).unwrap()
            };
            let words = run_all(&mut executor, &mut session, cases.iter().map(chain).collect()).unwrap();
            (words, session.traffic().rounds, executor.totals())
        });
        for (at, case) in cases.iter().enumerate() {
            assert_eq!([0, 1].map(|party: usize| results[party].0[at].clone()), case.expected(), "{pace:?}");
        }
        for (_, got, totals) in results {
            assert_eq!((got, totals.phases, totals.flushes), (rounds, phases, [phases, 0]), "{pace:?}");
        }
    }
}
