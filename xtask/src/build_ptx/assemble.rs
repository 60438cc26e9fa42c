//! Assembly of every module for every architecture.
//!
//! The resources of each kernel are compared with its budget.

use std::{ops::AddAssign, path::Path};

use anyhow::Result;

use super::{
    budgets::Budgets,
    manifest::Kernel,
    module::Module,
    ptxas::{self, Usage},
    report,
    sass::{self, Disassembler},
};
use crate::{pool::on_every_core, step::skip, tally::Tally};

/// The assembler's output, each item with its architecture.
#[derive(Default)]
struct Assembled {
    usages: Vec<(&'static str, Usage)>,
    /// Why modules were refused.
    errors: Vec<(&'static str, String)>,
    /// Costs by the model, if there is a disassembler.
    kernels: Option<Vec<sass::Kernel>>,
}

impl AddAssign for Assembled {
    fn add_assign(&mut self, rhs: Self) {
        self.usages.extend(rhs.usages);
        self.errors.extend(rhs.errors);
        self.kernels = self.kernels.take().or(rhs.kernels);
    }
}

/// Assembles every module and holds the kernels to their budgets.
///
/// Unless it is only to `check`, kernels without a budget are given one.
pub(super) fn run(root: &Path, kernels: &[Kernel], check: bool) -> Result<Tally> {
    let Some(ptxas) = ptxas::find(root, "ptxas") else {
        return Ok(skip("ptxas", ptxas::NONE_FOUND));
    };
    let disassembler = Disassembler::find(root);
    let assembled = on_every_core(ptxas::ARCHITECTURES, |architecture| {
        assemble(root, &ptxas, architecture, disassembler.as_ref().filter(|_| architecture == sass::ARCHITECTURE))
    })?;
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
    // Kernels that could not be assembled are reported above, and would count as gone.
    if whole {
        tally += sass::check(root, &ptxas::version(&ptxas)?, assembled.kernels.as_deref(), check)?;
    }
    Ok(tally)
}

/// Assembles every module for an architecture.
///
/// It reads the machine code with `disassembler`.
fn assemble(
    root: &Path,
    ptxas: &Path,
    architecture: &'static str,
    disassembler: Option<&Disassembler>,
) -> Result<Assembled> {
    let mut assembled = Assembled { kernels: disassembler.map(|_| Vec::new()), ..Assembled::default() };
    let folder = tempfile::tempdir()?;
    for module in Module::ALL {
        let cubin = folder.path().join(module.name());
        match ptxas::assemble(ptxas, &module.file(root, "ptx"), architecture, &cubin) {
            Ok(usages) => assembled.usages.extend(usages.into_iter().map(|usage| (architecture, usage))),
            Err(error) => {
                assembled.errors.push((architecture, format!("{}.ptx: {error:#}", module.name())));
                continue;
            }
        }
        if let (Some(disassembler), Some(kernels)) = (disassembler, &mut assembled.kernels) {
            kernels.extend(disassembler.kernels(&cubin)?);
        }
    }
    Ok(assembled)
}
