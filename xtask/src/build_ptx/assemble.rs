//! Assembling every module for every architecture, and holding what each kernel takes to its budget.

use std::{ops::AddAssign, path::Path};

use anyhow::Result;

use super::{
    budgets::Budgets,
    manifest::Kernel,
    module::Module,
    ptxas::{self, Usage},
    report,
};
use crate::{pool::on_every_core, step::skip, tally::Tally};

/// What the assembler says, each with its architecture.
#[derive(Default)]
struct Assembled {
    usages: Vec<(&'static str, Usage)>,
    /// Why modules were refused.
    errors: Vec<(&'static str, String)>,
}

impl AddAssign for Assembled {
    fn add_assign(&mut self, rhs: Self) {
        self.usages.extend(rhs.usages);
        self.errors.extend(rhs.errors);
    }
}

/// Assembles every module and holds the kernels to their budgets. Unless it is only to `check`, kernels without a budget are
/// given one.
pub(super) fn run(root: &Path, kernels: &[Kernel], check: bool) -> Result<Tally> {
    let Some(ptxas) = ptxas::find(root) else {
        return Ok(skip("ptxas", ptxas::NONE_FOUND));
    };
    let assembled = on_every_core(ptxas::ARCHITECTURES, |architecture| Ok(assemble(root, &ptxas, architecture)))?;
    let mut budgets = Budgets::read(root)?;
    let whole = assembled.errors.is_empty(); // an architecture that is missing might need more
    if !check && whole && budgets.add_missing(assembled.usages.iter().map(|(_, usage)| usage)) {
        budgets.write(root)?;
    }
    let mut tally = Tally::default();
    for architecture in ptxas::ARCHITECTURES {
        let of_it = assembled.errors.iter().filter(|(its, _)| *its == architecture);
        let mut findings: Vec<String> = of_it.map(|(_, error)| error.clone()).collect();
        let usages: Vec<_> = assembled.usages.iter().filter(|(its, _)| *its == architecture).collect();
        findings.extend(usages.iter().flat_map(|(_, usage)| budgets.violations(architecture, usage)));
        if usages.len() != kernels.len() {
            findings.push(format!("ptxas reports on {} kernels, expected {}", usages.len(), kernels.len()));
        }
        tally += report(&format!("ptxas for {architecture}"), &findings);
    }
    let stale = budgets.stale(kernels.iter().map(|kernel| &*kernel.name));
    let stale: Vec<String> = stale.into_iter().map(|kernel| format!("`{kernel}` is no kernel; delete it")).collect();
    tally += report("ci/budgets.toml", &stale);
    Ok(tally)
}

/// Assembles every module for an architecture.
fn assemble(root: &Path, ptxas: &Path, architecture: &'static str) -> Assembled {
    let mut assembled = Assembled::default();
    for module in Module::ALL {
        match ptxas::assemble(ptxas, &module.file(root, "ptx"), architecture) {
            Ok(usages) => assembled.usages.extend(usages.into_iter().map(|usage| (architecture, usage))),
            Err(error) => assembled.errors.push((architecture, format!("{}.ptx: {error:#}", module.name()))),
        }
    }
    assembled
}
