//! `trefoil doctor --kernels`: each kernel as the driver compiles it, against its budgets.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use anyhow::{Context as _, Result};
use runtime::{AnyQueue, KernelFacts, ModuleFacts, ModuleOutcome};
use serde::{Deserialize, Serialize};

use crate::exit::UsageError;

/// The budgets of the build.
const BUDGETS: &str = include_str!("../../../../../ci/budgets.toml");

#[derive(Deserialize)]
struct RegisterBudgets {
    registers: BTreeMap<String, u32>,
}

/// Every module, compiled on the device.
#[derive(Serialize)]
pub(super) struct CompiledModules {
    /// Whether the simulator counted registers and blocks.
    ///
    /// It counts them from the text; a driver's assembler finds different numbers.
    simulated: bool,
    modules: Vec<ModuleReport>,
}

#[derive(Default, Serialize)]
struct ModuleReport {
    name: String,
    /// Why the module cannot be used.
    reason: Option<String>,
    milliseconds: f64,
    /// The log of the driver's compiler.
    log: String,
    kernels: Vec<KernelReport>,
}

#[derive(Serialize)]
struct KernelReport {
    name: String,
    threads: u32,
    registers: u32,
    budget: Option<u32>,
    local_bytes: u32,
    shared_bytes: u32,
    blocks: Option<u32>,
    min_blocks: u32,
    carveout: i32,
    /// Violated requirements, in words.
    findings: Vec<String>,
}

/// Compiles every module on the device of `queue`.
pub(super) fn compile(queue: &AnyQueue, simulated: bool) -> Result<CompiledModules> {
    let AnyQueue::Cuda(queue) = queue else {
        return Err(UsageError("`--kernels` needs a device: set TREFOIL_BACKEND to `gpu` or `sim`".to_owned()).into());
    };
    let budgets: RegisterBudgets = toml::from_str(BUDGETS).context("ci/budgets.toml")?;
    let module = |ModuleOutcome { module: name, outcome }| match outcome {
        Err(error) => ModuleReport { name, reason: Some(error.to_string()), ..ModuleReport::default() },
        Ok(ModuleFacts { took, log, kernels }) => {
            let kernel = |facts| KernelReport::judged(facts, &budgets, simulated);
            let kernels = kernels.into_iter().map(kernel).collect();
            ModuleReport { name, reason: None, milliseconds: took.as_secs_f64() * 1e3, log, kernels }
        }
    };
    Ok(CompiledModules { simulated, modules: queue.compile("")?.into_iter().map(module).collect() })
}

impl KernelReport {
    fn judged(facts: KernelFacts, budgets: &RegisterBudgets, simulated: bool) -> Self {
        let KernelFacts { name, threads, registers, local_bytes, shared_bytes, blocks, min_blocks, carveout } = facts;
        let budget = budgets.registers.get(&name).copied();
        let mut findings = Vec::new();
        if local_bytes > 0 {
            findings.push(format!("{local_bytes} bytes of a thread in local memory, expected none"));
        }
        match budget {
            _ if simulated => {}
            Some(budget) if registers > budget => findings.push(format!("{registers} registers, budget {budget}")),
            None => findings.push("no budget".to_owned()),
            Some(_) => {}
        }
        Self { name, threads, registers, budget, local_bytes, shared_bytes, blocks, min_blocks, carveout, findings }
    }
}

impl CompiledModules {
    /// Summarises the findings in a line; `None` without any.
    pub(super) fn wrong(&self) -> Option<String> {
        let unusable = self.modules.iter().filter(|module| module.reason.is_some()).count();
        let kernels = self.modules.iter().flat_map(|module| &module.kernels);
        let beyond = kernels.filter(|kernel| !kernel.findings.is_empty()).count();
        (unusable + beyond > 0).then(|| {
            format!("{unusable} modules of kernels cannot be used here, {beyond} kernels are not within their budgets")
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let counted = if self.simulated { "; registers and blocks are the simulator's count" } else { "" };
        writeln!(out, "\ncompiled    by the driver{counted}")?;
        for module in &self.modules {
            match &module.reason {
                Some(reason) => writeln!(out, "  {}: {reason}", module.name)?,
                None => writeln!(out, "  {} in {:.0} ms", module.name, module.milliseconds)?,
            }
            for line in module.log.lines() {
                writeln!(out, "    the compiler: {line}")?;
            }
            if !module.kernels.is_empty() {
                let columns = "threads registers (budget) local shared blocks (meant) carveout";
                writeln!(out, "    {:<40} {columns}", "kernel")?;
            }
            for kernel in &module.kernels {
                kernel.print(out)?;
            }
        }
        Ok(())
    }
}

impl KernelReport {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let or_unknown = |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let carveout = if self.carveout < 0 { "driver's".to_owned() } else { format!("{} %", self.carveout) };
        let Self { name, threads, registers, local_bytes, shared_bytes, min_blocks, .. } = self;
        let (budget, blocks) = (or_unknown(self.budget), or_unknown(self.blocks));
        let fewer = if self.blocks.is_some_and(|blocks| blocks < *min_blocks) { "<" } else { "" };
        writeln!(
            out,
            "    {name:<40} {threads:>7} {registers:>9} {:>8} {local_bytes:>5} {shared_bytes:>6} {:>6} {:>7} {carveout:>8}",
            format!("({budget})"),
            format!("{fewer}{blocks}"),
            format!("({min_blocks})"),
        )?;
        for finding in &self.findings {
            writeln!(out, "      FAILED: {finding}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(registers: u32, local_bytes: u32, simulated: bool) -> usize {
        let facts = KernelFacts {
            name: "k".to_owned(),
            threads: 256,
            registers,
            local_bytes,
            shared_bytes: 0,
            blocks: Some(2),
            min_blocks: 3,
            carveout: -1,
        };
        let budgets: RegisterBudgets = toml::from_str("[registers]\nk = 40").unwrap();
        KernelReport::judged(facts, &budgets, simulated).findings.len()
    }

    #[test]
    fn registers_and_local_memory_are_held_to_the_budgets() {
        assert_eq!(judged(40, 0, false), 0);
        assert_eq!(judged(48, 0, false), 1);
        assert_eq!(judged(48, 8, false), 2);
        assert_eq!(judged(48, 8, true), 1);
        let budgets: RegisterBudgets = toml::from_str(BUDGETS).unwrap();
        assert!(budgets.registers.len() > 140);
    }
}
