//! Trials of a kernel's mutants: cases of the suite and single launches, the cheapest first.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use conformance::{Conditioned, Failure};
use cuda_backend::{AesKernel, CudaQueue, ModuleText};
use cuda_sim::driver::{Counters, Simulation, simulate};
use ptx::{
    ast::Module,
    mutate::{Fault, Mutation, mutations},
};
use runtime::AnyQueue;
use serde_json::Value;

use super::{
    shipped::{Shipped, open, restricted},
    table::{MutantLine, Settled, lines},
};

/// Cases on more elements take too long to repeat them for each mutant.
const MAX_ELEMENTS: u64 = 1 << 14;

/// Element types in the names of kernels and of cases.
const TYPES: [&str; 3] = ["f32", "f16", "bf16"];

/// Turns of blocks and warps.
const ORDERS: [&str; 3] = ["natural", "reverse", "seeded"];

/// Watchdog limit of a mutant, in warp instructions.
///
/// A constant, plus a multiple of the unaltered kernel's count.
const PATIENCE: (u64, u64) = (100_000, 8);

/// Bytes of a text whose reading takes the time of a warp instruction, in the estimates by which trials are sorted.
const BYTES_AS_AN_INSTRUCTION: u64 = 2;

type TrialCheck = Box<dyn Fn(&CudaQueue) -> Result<(), Failure>>;

/// A case of the suite, or a launch of kernels under circumstances that are rare in use.
pub(super) struct Trial {
    name: String,
    /// The name without the element type, which is at its beginning or its end.
    label: String,
    /// Whether it launches single kernels, and is no case of the suite.
    is_launch: bool,
    check: TrialCheck,
    /// How its queue evaluates keys.
    aes: AesKernel,
    /// The kernels that it launches.
    kernels: BTreeSet<String>,
    /// The warp instructions that they execute.
    cost: u64,
}

impl Trial {
    pub(super) fn new(name: impl Into<String>, check: impl Fn(&CudaQueue) -> Result<(), Failure> + 'static) -> Self {
        let (aes, kernels, name) = (AesKernel::default(), BTreeSet::new(), name.into());
        let label = TYPES
            .iter()
            .fold(name.clone(), |name, kind| name.replace(&format!(" {kind},"), "").replace(&format!("_{kind}"), ""));
        Self { name, label, is_launch: true, check: Box::new(check), aes, kernels, cost: 0 }
    }

    /// Every case of the module's specifications, as it is and between guard words, on a queue with this AES.
    fn cases(shipped: &Shipped, aes: AesKernel) -> Vec<Self> {
        let ways = [("", Conditioned::plain as fn(_) -> _), (" guarded", Conditioned::guarded)];
        let by = if aes == AesKernel::default() { String::new() } else { format!(" by {}", aes.name()) };
        let by = by.as_str();
        let trials = ways.into_iter().flat_map(|(way, on)| {
            (shipped.specs)().into_iter().flat_map(move |mut spec| {
                spec.limit_elements(MAX_ELEMENTS);
                spec.cases.into_iter().map(move |case| {
                    Self::new(format!("{} {}{way}{by}", spec.op, case.name()), move |q: &CudaQueue| {
                        on(AnyQueue::Cuda(q.clone())).hold(&case)
                    })
                })
            })
        });
        trials.map(|trial| Self { aes, is_launch: false, ..trial }).collect()
    }
}

/// The mutations of each kernel in their order.
pub(super) type OfKernel = BTreeMap<String, Vec<Mutation>>;

/// A module reduced to a set of kernels.
struct Reduced {
    module: Module,
    manifest: Value,
    mutations: OfKernel,
    /// Bytes of its text.
    bytes: usize,
}

/// The trials of a module, and what each needs of its text.
pub(super) struct Trials<'a> {
    shipped: &'a Shipped,
    lines: Vec<MutantLine>,
    whole: Module,
    /// The cheapest first.
    trials: Vec<Trial>,
    /// The module reduced to the kernels of each trial.
    reduced: BTreeMap<BTreeSet<String>, Reduced>,
    /// What noticed the faults of each kind, in their order, by the family of their kernel.
    noticed: RefCell<BTreeMap<(String, Fault), Vec<Noticed>>>,
    /// Whether a trial holds on its unaltered kernels alone, for the trials that were used.
    alone: RefCell<BTreeMap<usize, bool>>,
}

/// The number of a trial, and the order of its blocks and warps.
type TrialRun = (usize, &'static str);

/// What noticed a fault.
struct Noticed {
    /// The number of the mutation in its kernel.
    index: usize,
    /// The label of the trial.
    trial: String,
    order: &'static str,
}

impl Noticed {
    /// Whether the same run noticed both.
    fn is_alike(&self, other: &Self) -> bool {
        self.trial == other.trial && self.order == other.order
    }
}

impl<'a> Trials<'a> {
    /// The trials that `noticed.txt` names and `more`. See [`Self::of`].
    pub(super) fn listed(shipped: &'a Shipped, more: Vec<Trial>, longest: u64) -> Self {
        let named: BTreeSet<_> = lines().into_iter().map(|line| line.trial).collect();
        Self::among(shipped, more, longest, |trial| trial.is_launch || named.contains(trial.name.as_str()))
    }

    /// Runs the suite and `more` on the unaltered module, which must hold.
    ///
    /// Those with a launch of more than `longest` warp instructions are left out.
    pub(super) fn of(shipped: &'a Shipped, more: Vec<Trial>, longest: u64) -> Self {
        Self::among(shipped, more, longest, |_| true)
    }

    fn among(shipped: &'a Shipped, more: Vec<Trial>, longest: u64, is_chosen: impl Fn(&Trial) -> bool) -> Self {
        let whole = shipped.parse();
        let text = shipped.text(&whole, &shipped.manifest(&whole));
        let machine = || simulate(&format!("threads=2;watchdog={longest}")).unwrap();
        let mut opened: Option<(CudaQueue, Simulation)> = None;
        let mut trials = Vec::new();
        let cases = shipped.aes.iter().flat_map(|&aes| Trial::cases(shipped, aes));
        for mut trial in cases.chain(more).filter(is_chosen) {
            // before another session, which waits for this one's end
            opened = opened.filter(|(q, _)| q.device().aes() == trial.aes);
            let (q, session) = opened.get_or_insert_with(|| {
                let session = machine();
                (open(text.clone(), trial.aes), session)
            });
            let before = session.counters();
            let held = (trial.check)(q);
            if session.reports().iter().any(|report| report.to_string().contains("timed out")) {
                opened = None; // the device is lost
                continue;
            }
            held.unwrap_or_else(|failure| panic!("{}: {failure}", trial.name));
            let after = session.counters();
            trial.kernels = launched(&before, &after);
            trial.cost = after.kernels.warp_instructions - before.kernels.warp_instructions;
            // ops that evaluate no key behave the same with every AES kernel
            if trial.aes == AesKernel::default() || trial.kernels.iter().any(|name| name.ends_with(trial.aes.name())) {
                trials.push(trial);
            }
        }
        let mut reduced = BTreeMap::new();
        for trial in &trials {
            reduced.entry(trial.kernels.clone()).or_insert_with(|| Reduced::new(shipped, &whole, &trial.kernels));
        }
        trials.sort_by_key(|trial| trial.cost + reduced[&trial.kernels].bytes as u64 / BYTES_AS_AN_INSTRUCTION);
        Self { shipped, lines: lines(), whole, trials, reduced, noticed: RefCell::default(), alone: RefCell::default() }
    }

    /// Every mutation of the module.
    pub(super) fn mutations(&self) -> OfKernel {
        altered(self.shipped, &self.whole)
    }

    /// Settles mutation number `index` of its kernel by the runs that the table lists, if they do.
    ///
    /// The same trial notices it again; one that is `equivalent` survives the same trials, or one of them notices it.
    pub(super) fn settle_again(&self, mutation: &Mutation, index: usize, equivalent: bool) -> Option<Settled> {
        let kernel = &mutation.function;
        let mut mutant = Mutant { trials: self, kernel, index, texts: BTreeMap::new() };
        let is_of = |line: &&MutantLine| line.is_of(kernel, index) && line.order.is_none() == equivalent;
        let numbered = |line: &MutantLine| {
            let is_listed = |trial: &Trial| trial.name == line.trial && trial.kernels.contains(kernel);
            Some((self.trials.iter().position(is_listed)?, line.order))
        };
        let listed = self.lines.iter().filter(is_of).map(numbered).collect::<Option<Vec<_>>>()?;
        let runs = listed.iter().flat_map(|&(number, of_line)| {
            let orders = ORDERS.into_iter().filter(move |&order| of_line.is_none_or(|of_line| of_line == order));
            orders.map(move |order| (number, order))
        });
        let noticed = runs.into_iter().find_map(|run| Some(self.noticed_by(run, mutant.failure(run)?)));
        let survived = || self.survived(&listed.iter().map(|&(number, _)| number).collect::<Vec<_>>());
        noticed.or_else(|| (equivalent && !listed.is_empty()).then(survived))
    }

    /// Settles mutation number `index` of its kernel by the `most` cheapest trials that launch the kernel: one fails or
    /// makes the simulator report something, or none does.
    pub(super) fn settle(&self, mutation: &Mutation, index: usize, most: usize) -> Settled {
        let kernel = &mutation.function;
        let mut mutant = Mutant { trials: self, kernel, index, texts: BTreeMap::new() };
        let mut noticed = self.noticed.borrow_mut();
        let noticed = noticed.entry((family(kernel).into(), mutation.fault)).or_default();
        // A trial that fails on the unaltered kernels alone cannot show that a mutant survives it.
        let counts = |&number: &usize| most == usize::MAX || self.holds_alone(number);
        let launching: Vec<_> = self.launching(kernel).filter(counts).take(most).collect();
        let mut runs = self.runs(mutation, index, &launching, noticed).into_iter();
        let Some((run, how)) = runs.find_map(|run| Some((run, mutant.failure(run)?))) else {
            return self.survived(&launching);
        };
        noticed.push(Noticed { index, trial: self.trials[run.0].label.clone(), order: run.1 });
        self.noticed_by(run, how)
    }

    /// The trials that launch `kernel`, the cheapest first.
    fn launching(&self, kernel: &str) -> impl Iterator<Item = usize> {
        (0..self.trials.len()).filter(move |&number| self.trials[number].kernels.contains(kernel))
    }

    fn noticed_by(&self, (number, order): TrialRun, how: String) -> Settled {
        let name = &self.trials[number].name;
        Settled { trials: vec![name.clone()], noticed: Some((order, format!("{name}, {order} order: {how}"))) }
    }

    fn survived(&self, numbers: &[usize]) -> Settled {
        Settled { trials: numbers.iter().map(|&number| self.trials[number].name.clone()).collect(), noticed: None }
    }

    /// The runs of these trials of a mutant, those first that probably notice it.
    ///
    /// `noticed` lists what noticed faults of this kind before, in this kernel and in its other element types. First
    /// comes what noticed the fault of the same number, then what noticed the last fault, then what followed the same
    /// run before, then the others. Launches of one kernel differ in the length of rows, which grows from store to
    /// store: after one, the next longer ones come first.
    fn runs(&self, mutation: &Mutation, index: usize, launching: &[usize], noticed: &[Noticed]) -> Vec<TrialRun> {
        // The order of blocks and warps matters less to a bounds test than the sizes of a trial.
        let mut runs: Vec<TrialRun> = match mutation.fault {
            Fault::Guard => {
                ORDERS.into_iter().flat_map(|order| launching.iter().map(move |&trial| (trial, order))).collect()
            }
            _ => launching.iter().flat_map(|&trial| ORDERS.map(|order| (trial, order))).collect(),
        };
        let Some(last) = noticed.last() else { return runs };

        let is_of = |&(trial, order): &TrialRun, noticed: &Noticed| {
            order == noticed.order && self.trials[trial].label == noticed.trial
        };
        if let Some(&(last, order)) = runs.iter().find(|run| is_of(run, last) && self.trials[run.0].is_launch) {
            runs.sort_by_key(|run| (run.1 != order, !self.trials[run.0].is_launch, run.0 < last));
        }
        let followed = |run: &TrialRun| {
            let pairs = noticed.iter().zip(&noticed[1..]);
            pairs.rev().any(|(one, next)| one.is_alike(last) && !next.is_alike(last) && is_of(run, next))
        };
        runs.sort_by_cached_key(|run| match noticed.iter().rposition(|noticed| is_of(run, noticed)) {
            Some(_) if noticed.iter().any(|noticed| noticed.index == index && is_of(run, noticed)) => 0,
            Some(_) if is_of(run, last) => 1,
            Some(at) if followed(run) => 2 + noticed.len() - at,
            Some(at) => 2 + 2 * noticed.len() - at,
            None => usize::MAX,
        });
        runs
    }

    /// Whether trial `number` holds on the kernels that it launches, unaltered and without the others.
    ///
    /// An op may look up a kernel that it then launches on no block: without that kernel, every mutant would fail.
    fn holds_alone(&self, number: usize) -> bool {
        *self.alone.borrow_mut().entry(number).or_insert_with(|| {
            let trial = &self.trials[number];
            let Reduced { module, manifest, .. } = &self.reduced[&trial.kernels];
            let _session = simulate("checks=sanitize").unwrap();
            (trial.check)(&open(self.shipped.text(module, manifest), trial.aes)).is_ok()
        })
    }
}

impl Reduced {
    fn new(shipped: &Shipped, whole: &Module, kernels: &BTreeSet<String>) -> Self {
        let module = restricted(whole, kernels);
        let (mutations, manifest) = (altered(shipped, &module), shipped.manifest(&module));
        let bytes = ptx::print(&module).len();
        Self { module, manifest, mutations, bytes }
    }
}

/// A mutant in its trials.
struct Mutant<'t, 'k> {
    trials: &'t Trials<'t>,
    kernel: &'k str,
    /// The number of the mutation in its kernel.
    index: usize,
    /// The altered texts, by the kernels in them.
    texts: BTreeMap<&'t BTreeSet<String>, ModuleText>,
}

impl Mutant<'_, '_> {
    /// How the trial fails in this order, or the report of the simulator, if anything.
    fn failure(&mut self, (number, order): TrialRun) -> Option<String> {
        let Self { trials: of, kernel, index, texts } = self;
        if of.alone.borrow().get(&number) == Some(&false) {
            return None;
        }
        let trial = &of.trials[number];
        let text = texts.entry(&trial.kernels).or_insert_with(|| {
            let Reduced { module, manifest, mutations, .. } = &of.reduced[&trial.kernels];
            of.shipped.text(&mutations[*kernel][*index].apply(module), manifest)
        });
        let watchdog = PATIENCE.0 + PATIENCE.1 * trial.cost;
        let how = {
            let session = simulate(&format!("order={order};checks=sanitize;watchdog={watchdog}")).unwrap();
            let q = open(text.clone(), trial.aes);
            let failed = (trial.check)(&q).err().map(|failure| failure.to_string());
            session.reports().first().map(ToString::to_string).or(failed)?
        };
        of.holds_alone(number).then_some(how)
    }
}

/// The name of a kernel without its element type.
fn family(kernel: &str) -> &str {
    let of_type = |kind: &&str| kernel.strip_suffix(*kind)?.strip_suffix('_');
    TYPES.iter().find_map(of_type).unwrap_or(kernel)
}

/// The mutations of the kernels in `module` that `shipped` has.
pub(super) fn altered(shipped: &Shipped, module: &Module) -> OfKernel {
    let mut of_kernel = by_kernel(module);
    of_kernel.retain(|kernel, _| shipped.alters(kernel));
    of_kernel
}

/// The mutations of `module`.
fn by_kernel(module: &Module) -> OfKernel {
    let mut of_kernel = OfKernel::new();
    for mutation in mutations(module) {
        of_kernel.entry(mutation.function.clone()).or_default().push(mutation);
    }
    of_kernel
}

/// The kernels launched between two counts.
fn launched(before: &Counters, after: &Counters) -> BTreeSet<String> {
    let more = |(kernel, count): &(&String, &u64)| before.launches_of.get(*kernel) != Some(*count);
    after.launches_of.iter().filter(more).map(|(kernel, _)| kernel.clone()).collect()
}
