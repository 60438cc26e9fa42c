//! `cargo xtask sass`: modelled clocks of the kernels' machine code, and their budgets.
//!
//! Clocks are modelled by pipe and loop.

mod banks;
mod budget;
mod listing;
mod pipes;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    iter,
    ops::{AddAssign, RangeInclusive},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use xshell::Shell;

use self::{listing::Listing, pipes::Clocks};
use super::{
    module::Module,
    ptxas::{self, Usage},
};
use crate::{pool::on_every_core, tally::Tally};

pub(super) use self::budget::check;

/// The architecture whose pipes are modelled.
pub(super) const ARCHITECTURE: &str = "sm_90";

const NO_ASSEMBLER: &str = "expected ptxas below target/ptxas or on the path; ci/install/ptxas fetches it";
const NO_DISASSEMBLER: &str = "nvdisasm is neither below target/ptxas (ci/install/ptxas fetches it) nor on the path";

/// Turns machine code into text.
#[derive(Clone, Debug)]
pub(super) struct Disassembler(PathBuf);

/// Modelled clocks of one warp of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// Clocks of every instruction once.
    pub(super) body: u32,
    /// Clocks of one turn of the innermost loop with most; 0 without a loop.
    pub(super) turn: u32,
}

impl Disassembler {
    pub(super) fn find(root: &Path) -> Option<Self> {
        ptxas::find(root, "nvdisasm").map(Self)
    }

    /// The machine code of a module that `ptxas` assembled into `cubin`.
    fn read(&self, cubin: &Path) -> Result<Vec<Listing>> {
        let Self(program) = self;
        let output = Command::new(program).arg("-c").arg(cubin).output();
        let output = output.with_context(|| format!("cannot start {}", program.display()))?;
        ensure!(output.status.success(), "nvdisasm: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        Ok(Listing::read(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The modelled clocks of the kernels in `cubin`.
    pub(super) fn kernels(&self, cubin: &Path) -> Result<Vec<Kernel>> {
        Ok(self.read(cubin)?.iter().map(Kernel::of).collect())
    }
}

impl Kernel {
    fn of(listing: &Listing) -> Self {
        let bound = |part| Clocks::of(part).bound().1;
        let loops = listing.loops().into_iter().map(|part| bound(&listing.instructions[part]));
        Self { name: listing.kernel.clone(), body: bound(&listing.instructions), turn: loops.max().unwrap_or_default() }
    }
}

/// Prints each kernel whose name contains `name`, or all.
pub(crate) fn run(sh: &Shell, name: Option<&str>) -> Result<Tally> {
    let root = sh.current_dir();
    let ptxas = ptxas::find(&root, "ptxas").context(NO_ASSEMBLER)?;
    let disassembler = Disassembler::find(&root).context(NO_DISASSEMBLER)?;
    let folder = tempfile::tempdir()?;
    let texts = on_every_core(Module::ALL, |module| {
        let cubin = folder.path().join(module.name());
        let usages = ptxas::assemble(&ptxas, &module.file(&root, "ptx"), ARCHITECTURE, &cubin)?;
        let is_wanted = |listing: &Listing| listing.kernel.contains(name.unwrap_or_default());
        let wanted = disassembler.read(&cubin)?.into_iter().filter(is_wanted);
        let text = |listing: Listing| (listing.kernel.clone(), describe(&listing, &usages));
        Ok(Texts(wanted.map(text).collect()))
    })?
    .0;
    if texts.is_empty() {
        bail!("expected part of a kernel's name, got `{}`; docs/kernels.md lists them", name.unwrap_or_default());
    }
    println!("clocks of one warp on {ARCHITECTURE}; the model is described in docs/kernels.md");
    for text in texts.values() {
        print!("\n{text}");
    }
    Ok(Tally::default())
}

/// Printed text by kernel.
#[derive(Default)]
struct Texts(BTreeMap<String, String>);

impl AddAssign for Texts {
    fn add_assign(&mut self, mut rhs: Self) {
        self.0.append(&mut rhs.0);
    }
}

/// The lines of a kernel: registers and spills, then body and innermost loops by pipe.
fn describe(listing: &Listing, usages: &[Usage]) -> String {
    let mut text = listing.kernel.clone();
    if let Some(usage) = usages.iter().find(|usage| usage.kernel == listing.kernel) {
        write!(text, ": {} registers, {} bytes spilled", usage.registers, usage.spill_bytes).unwrap_or_default();
    }
    let columns = ["issue", "banks", "alu", "fma", "memory", "special", "double", "tensor", "bound"];
    let columns = columns.map(|column| format!("{column:>8}")).concat();
    writeln!(text, "\n  {:<16}{columns}  by", "part").unwrap_or_default();
    let body = (String::from("body"), &*listing.instructions);
    let turn = |range: RangeInclusive<usize>| {
        (format!("loop {}-{}", range.start(), range.end()), &listing.instructions[range])
    };
    for (name, part) in iter::once(body).chain(listing.loops().into_iter().map(turn)) {
        let clocks = Clocks::of(part);
        let Clocks { issue, banks, alu, fma, memory, special, double, tensor } = clocks;
        let (pipe, bound) = clocks.bound();
        let columns = [issue, banks, alu, fma, memory, special, double, tensor, bound];
        let columns = columns.map(|clocks| format!("{clocks:>8}")).concat();
        writeln!(text, "  {name:<16}{columns}  {pipe}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_described_by_its_body_and_its_loops() {
        let text = ".text.k:\n/*00*/ LDG.E R0, [R2] ;\n.L_x_0:\n/*10*/ FFMA R0, R0, R2, R4 ;\n\
            /*20*/ IADD3 R1, R1, R2, RZ ;\n/*30*/ @P0 BRA `(.L_x_0) ;\n/*40*/ EXIT ;\n";
        let listings = Listing::read(text);
        let expected = Kernel { name: "k".to_owned(), body: 7, turn: 5 };
        assert_eq!(listings.iter().map(Kernel::of).collect::<Vec<_>>(), [expected]);
        let usage = Usage { kernel: "k".to_owned(), registers: 10, ..Usage::default() };
        let lines = describe(&listings[0], &[usage]);
        let lines: Vec<_> = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[0], "k: 10 registers, 0 bytes spilled");
        assert_eq!(lines[3], "loop 1-3 3 5 2 1 0 0 0 0 5 banks");
    }
}
