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
        let (aes, kernels) = (AesKernel::default(), BTreeSet::new());
        Self { name: name.into(), check: Box::new(check), aes, kernels, cost: 0 }
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
        trials.map(|trial| Self { aes, ..trial }).collect()
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
    /// The trial that noticed the last fault of each kind in a kernel.
    last: RefCell<BTreeMap<(String, Fault), Noticed>>,
    /// Whether a trial holds on its unaltered kernels alone, for the trials that were used.
    alone: RefCell<BTreeMap<usize, bool>>,
}

/// The number of a trial, and the order of its blocks and warps.
type Noticed = (usize, &'static str);

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
        Self { shipped, whole, trials, cut, last: RefCell::default(), alone: RefCell::default() }
    }

    /// Every mutation of the module.
    pub(super) fn mutations(&self) -> OfKernel {
        altered(self.shipped, &self.whole)
    }

    /// A trial, of the `most` cheapest ones that launch the kernel of `mutation`, that fails or makes the simulator report
    /// something when the mutation, number `index` of its kernel, is in place.
    ///
    /// What noticed the last fault of this kind in the kernel is tried first.
    pub(super) fn find_failing(&self, mutation: &Mutation, index: usize, most: usize) -> Option<String> {
        let kernel = &mutation.function;
        let launches = |trial: &usize| self.trials[*trial].kernels.contains(kernel);
        let mut launching: Vec<_> = (0..self.trials.len()).filter(launches).take(most).collect();
        let kind = (kernel.clone(), mutation.fault);
        let mut orders = ORDERS;
        if let Some(&(trial, order)) = self.last.borrow().get(&kind) {
            launching.sort_by_key(|&other| other != trial);
            orders.sort_by_key(|&other| other != order);
        }
        launching.into_iter().filter(|&number| self.holds_alone(number)).find_map(|number| {
            let trial = &self.trials[number];
            let (module, of_kernel) = &self.cut[&trial.kernels];
            let text = self.shipped.text(&of_kernel[kernel][index].apply(module));
            let watchdog = PATIENCE.0 + PATIENCE.1 * trial.cost;
            orders.into_iter().find_map(|order| {
                let session = simulate(&format!("order={order};checks=sanitize;watchdog={watchdog}")).unwrap();
                let q = open(text.clone(), trial.aes);
                let failed = (trial.check)(&q).err().map(|failure| failure.to_string());
                let noticed = session.reports().first().map(ToString::to_string).or(failed)?;
                self.last.borrow_mut().insert(kind.clone(), (number, order));
                Some(format!("{}, {order} order: {noticed}", trial.name))
            })
        })
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

/// The mutations of the kernels in `module` that `shipped` has.
pub(super) fn altered(shipped: &Shipped, module: &Module) -> OfKernel {
    let mut of_kernel = by_kernel(module);
    of_kernel.retain(|kernel, mutations| {
        mutations.retain(|mutation| shipped.alters(kernel, mutation.fault));
        !mutations.is_empty()
    });
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
