//! Trials of a kernel's mutants: cases of the suite and single launches, the cheapest first.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use conformance::{Conditioned, Failure};
use cuda_backend::{AesKernel, CudaQueue};
use cuda_sim::driver::{Counters, Simulation, simulate};
use ptx::{
    ast::Module,
    mutate::{Fault, Mutation, mutations},
};
use runtime::AnyQueue;

use super::shipped::{Shipped, open, restricted};

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
        let trials = ways.into_iter().flat_map(|(way, on)| {
            (shipped.specs)().into_iter().flat_map(move |mut spec| {
                spec.limit_elements(MAX_ELEMENTS);
                spec.cases.into_iter().map(move |case| {
                    Self::new(format!("{} {}{way}", spec.op, case.name()), move |q: &CudaQueue| {
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

/// The trials of a module, and what each needs of its text.
pub(super) struct Trials<'a> {
    shipped: &'a Shipped,
    whole: Module,
    /// The cheapest first.
    trials: Vec<Trial>,
    /// The module reduced to sets of kernels, with the mutations of each reduced module.
    cut: BTreeMap<BTreeSet<String>, (Module, OfKernel)>,
    /// What noticed the faults of each kind, in their order, by the family of their kernel.
    noticed: RefCell<BTreeMap<(String, Fault), Vec<Noticed>>>,
    /// Whether a trial holds on its unaltered kernels alone, for the trials that were used.
    alone: RefCell<BTreeMap<usize, bool>>,
}

/// The number of a trial, and the order of its blocks and warps.
type Run = (usize, &'static str);

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
    /// Runs the suite and `more` on the unaltered module, which must hold.
    ///
    /// Those with a launch of more than `longest` warp instructions are left out.
    pub(super) fn of(shipped: &'a Shipped, more: Vec<Trial>, longest: u64) -> Self {
        let whole = shipped.parse();
        let text = shipped.text(&whole);
        let machine = || simulate(&format!("threads=2;watchdog={longest}")).unwrap();
        let mut opened: Option<(CudaQueue, Simulation)> = None;
        let mut trials = Vec::new();
        let cases = shipped.aes.iter().flat_map(|&aes| Trial::cases(shipped, aes));
        for mut trial in cases.chain(more) {
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
        trials.sort_by_key(|trial| trial.cost);
        let mut cut = BTreeMap::new();
        for trial in &trials {
            cut.entry(trial.kernels.clone()).or_insert_with(|| {
                let module = restricted(&whole, &trial.kernels);
                let of_kernel = altered(shipped, &module);
                (module, of_kernel)
            });
        }
        Self { shipped, whole, trials, cut, noticed: RefCell::default(), alone: RefCell::default() }
    }

    /// Every mutation of the module.
    pub(super) fn mutations(&self) -> OfKernel {
        altered(self.shipped, &self.whole)
    }

    /// A trial, of the `most` cheapest ones that launch the kernel of `mutation`, that fails or makes the simulator report
    /// something when the mutation, number `index` of its kernel, is in place.
    pub(super) fn find_failing(&self, mutation: &Mutation, index: usize, most: usize) -> Option<String> {
        let kernel = &mutation.function;
        let mut noticed = self.noticed.borrow_mut();
        let noticed = noticed.entry((family(kernel).into(), mutation.fault)).or_default();
        let (run, how) = self.runs(mutation, index, most, noticed).into_iter().find_map(|(number, order)| {
            if !self.holds_alone(number) {
                return None;
            }
            let trial = &self.trials[number];
            let (module, of_kernel) = &self.cut[&trial.kernels];
            let text = self.shipped.text(&of_kernel[kernel][index].apply(module));
            let watchdog = PATIENCE.0 + PATIENCE.1 * trial.cost;
            let session = simulate(&format!("order={order};checks=sanitize;watchdog={watchdog}")).unwrap();
            let q = open(text, trial.aes);
            let failed = (trial.check)(&q).err().map(|failure| failure.to_string());
            let how = session.reports().first().map(ToString::to_string).or(failed)?;
            Some(((number, order), format!("{}, {order} order: {how}", trial.name)))
        })?;
        noticed.push(Noticed { index, trial: self.trials[run.0].label.clone(), order: run.1 });
        Some(how)
    }

    /// The runs of the `most` cheapest trials of a mutant, those first that probably notice it.
    ///
    /// `noticed` lists what noticed faults of this kind before, in this kernel and in its other element types. First
    /// comes what noticed the fault of the same number, then what noticed the last fault, then what followed the same
    /// run before, then the others. Launches of one kernel differ in the length of rows, which grows from store to
    /// store: after one, the next longer ones come first.
    fn runs(&self, mutation: &Mutation, index: usize, most: usize, noticed: &[Noticed]) -> Vec<Run> {
        let launches = |trial: &usize| self.trials[*trial].kernels.contains(&mutation.function);
        let launching: Vec<_> = (0..self.trials.len()).filter(launches).take(most).collect();
        // The order of blocks and warps matters less to a bounds test than the sizes of a trial.
        let mut runs: Vec<Run> = match mutation.fault {
            Fault::Guard => {
                ORDERS.into_iter().flat_map(|order| launching.iter().map(move |&trial| (trial, order))).collect()
            }
            _ => launching.iter().flat_map(|&trial| ORDERS.map(|order| (trial, order))).collect(),
        };
        let Some(last) = noticed.last() else { return runs };

        let is_of = |&(trial, order): &Run, noticed: &Noticed| {
            order == noticed.order && self.trials[trial].label == noticed.trial
        };
        if let Some(&(last, order)) = runs.iter().find(|run| is_of(run, last) && self.trials[run.0].is_launch) {
            runs.sort_by_key(|run| (run.1 != order, !self.trials[run.0].is_launch, run.0 < last));
        }
        let followed = |run: &Run| {
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
            let (module, _) = &self.cut[&trial.kernels];
            let _session = simulate("checks=sanitize").unwrap();
            (trial.check)(&open(self.shipped.text(module), trial.aes)).is_ok()
        })
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
