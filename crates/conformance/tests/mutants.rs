//! Takes one barrier, fence, wait or bounds test at a time out of the PTX that ships, and holds the suite to noticing it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};

use conformance::{Case, OpSpec};
use cuda_backend::{CudaConfig, CudaQueue, KernelSource, ModuleText};
use cuda_sim::driver::session;
use ptx::mutate::{Fault, Mutation, mutations};
use sha2::{Digest, Sha256};

/// Cases on more elements take too long to repeat them for each mutant.
const MAX_ELEMENTS: u64 = 1 << 12;

/// Least share of mutants that the suite reports.
const KILLED: f64 = 0.95;

type Specs = fn() -> Vec<OpSpec<CudaQueue>>;

struct Module {
    name: &'static str,
    ptx: &'static str,
    manifest: &'static str,
    specs: Specs,
}

macro_rules! module {
    ($name:literal, $specs:path) => {
        Module {
            name: $name,
            ptx: include_str!(concat!("../../../kernels-ptx/ptx/", $name, ".ptx")),
            manifest: include_str!(concat!("../../../kernels-ptx/ptx/", $name, ".json")),
            specs: $specs,
        }
    };
}

impl Module {
    /// A queue whose only module is this one with the text `ptx`.
    fn open(&self, ptx: String) -> CudaQueue {
        let digest = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let manifest = self.manifest.replace(&digest(self.ptx), &digest(&ptx));
        let text = ModuleText { name: self.name.into(), ptx: ptx.into(), manifest: manifest.into() };
        CudaQueue::open(CudaConfig { kernels: KernelSource::Texts(vec![text]), ..CudaConfig::default() }).unwrap()
    }

    /// The cases that launch each kernel, by the unchanged module; all of them hold.
    fn cases_of<'a>(&self, cases: &[&'a Case<CudaQueue>]) -> BTreeMap<String, Vec<&'a Case<CudaQueue>>> {
        let session = session("checks=sanitize").unwrap();
        let q = self.open(self.ptx.to_owned());
        let mut of_kernel: BTreeMap<String, Vec<&Case<CudaQueue>>> = BTreeMap::new();
        let mut before = BTreeMap::new();
        for case in cases {
            case.hold(&q).unwrap();
            let launches = session.counters().launches_of;
            for (kernel, count) in &launches {
                if before.get(kernel) != Some(count) {
                    of_kernel.entry(kernel.clone()).or_default().push(case);
                }
            }
            before = launches;
        }
        of_kernel
    }

    /// The mutants of every `step`-th mutation that no case reports, and the number of those tried.
    fn survivors(&self, step: usize) -> (Vec<Mutation>, usize) {
        let mut specs = (self.specs)();
        for spec in &mut specs {
            spec.limit_elements(MAX_ELEMENTS);
        }
        let cases: Vec<_> = specs.iter().flat_map(|spec| &spec.cases).collect();
        let of_kernel = self.cases_of(&cases);
        let tree = ptx::parse(self.ptx).unwrap();
        let chosen: Vec<_> = mutations(&tree).into_iter().step_by(step).collect();
        let tried = chosen.len();
        let survives = |mutation: &Mutation| {
            let cases = of_kernel.get(&mutation.function).map_or(&[][..], Vec::as_slice);
            !self.is_reported(ptx::print(&mutation.apply(&tree)), cases)
        };
        (chosen.into_iter().filter(survives).collect(), tried)
    }

    /// Whether one of `cases` fails with `ptx`, in one order of blocks and warps or the opposite.
    fn is_reported(&self, ptx: String, cases: &[&Case<CudaQueue>]) -> bool {
        ["order=natural", "order=reverse"].iter().any(|order| {
            let session = session(&format!("{order};checks=sanitize")).unwrap();
            let q = self.open(ptx.clone());
            cases.iter().any(|case| case.hold(&q).is_err()) || !session.reports().is_empty()
        })
    }
}

/// Every mutant is reported but for a few, and every one that lacks a barrier.
fn are_noticed(module: &Module, step: usize) {
    let (survivors, tried) = module.survivors(step);
    let list: Vec<_> = survivors.iter().map(|m| format!("{} line {}: {}", m.function, m.line, m.text)).collect();
    let barriers: BTreeSet<_> = survivors.iter().filter(|m| m.fault == Fault::Barrier).map(|m| m.line).collect();
    assert!(barriers.is_empty(), "barriers that can be taken out unnoticed: {list:#?}");
    let killed = 1.0 - survivors.len() as f64 / tried as f64;
    assert!(killed >= KILLED, "only {:.0} % of {tried} mutants are noticed: {list:#?}", 100.0 * killed);
}

#[test]
fn faults_in_the_circle_kernels_are_noticed() {
    are_noticed(&module!("circle", conformance::circle::specs), 1);
}

#[test]
fn faults_in_the_kernels_of_function_secret_sharing_are_noticed() {
    are_noticed(&module!("fss", conformance::fss::specs), 1);
}

/// The module holds each kernel for three element types, so a sample stands for all.
#[test]
fn faults_in_the_linear_algebra_kernels_are_noticed() {
    are_noticed(&module!("linalg", conformance::linalg::specs), 23);
}
