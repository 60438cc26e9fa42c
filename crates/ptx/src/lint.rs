//! Lints of shipped kernels.

use std::{collections::HashSet, fmt};

use crate::{
    ast::{Body, Directive, Function, FunctionKind, Instruction, Module, Space},
    opcodes, print_instruction,
    table::{KernelSpec, Table},
    typing::{self, Mistake, Reason},
    uniform::{Collective, Spread, divergent_collectives},
    words::wide_products,
};

/// A property that [`check`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lint {
    /// A load, store or atomic without a state space.
    ///
    /// It is slow for shared memory, and ptxas does not fix it.
    GenericAccess,
    /// A variable in local memory, which lives in DRAM.
    LocalDepot,
    /// A call: everything should have been inlined.
    Call,
    /// A `trap`, as panics leave.
    Trap,
    /// A symbol of the panic machinery.
    PanicSymbol,
    /// A product of 64 by 64 bits whose factors are words.
    ///
    /// It is slow, and `core_types::field::widening_mul_add` is one instruction.
    WideProduct,
    /// A collective that threads may reach separately.
    DivergentCollective,
    /// A different number of barriers than the table declares.
    BarrierCount,
    /// Something that the assembler refuses.
    Refused,
    /// An opcode that the executor does not run.
    UnknownOpcode,
    /// Launch bounds other than those that the table declares.
    LaunchBounds,
    /// A kernel in the table but not in the module, or the other way round.
    Unlisted,
}

impl Lint {
    /// The name in reports and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GenericAccess => "generic-access",
            Self::LocalDepot => "local-depot",
            Self::Call => "call",
            Self::Trap => "trap",
            Self::PanicSymbol => "panic-symbol",
            Self::WideProduct => "wide-product",
            Self::DivergentCollective => "divergent-collective",
            Self::BarrierCount => "barrier-count",
            Self::Refused => "refused",
            Self::UnknownOpcode => "unknown-opcode",
            Self::LaunchBounds => "launch-bounds",
            Self::Unlisted => "unlisted",
        }
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing a lint found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The lint.
    pub lint: Lint,
    /// The kernel or function, or the symbol for [`Lint::PanicSymbol`].
    pub kernel: String,
    /// Line of the PTX text, from 1; 0 where there is no such place.
    pub line: u32,
    /// What was found.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}: {}", self.line, self.kernel, self.lint, self.text)
    }
}

/// Runs every lint over `module`; findings come in text order, those about the table last.
#[must_use]
pub fn check(module: &Module, table: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let refused = typing::check(module).into_iter();
    findings.extend(refused.map(|mistake| Finding {
        lint: Lint::Refused,
        kernel: place(module, &mistake),
        line: mistake.line,
        text: mistake.reason.to_string(),
    }));
    panic_symbols(module, &mut findings);
    let unknown = unknown_opcodes(module);
    for function in &module.functions {
        if let Some(body) = &function.body {
            check_body(function, body, table, &unknown, &mut findings);
        }
    }
    for spec in &table.kernels {
        if !module.entries().any(|(function, _)| *function.name == *spec.name) {
            let text = "in the table, but the module has no such kernel".to_owned();
            findings.push(Finding { lint: Lint::Unlisted, kernel: spec.name.clone(), line: 0, text });
        }
    }
    findings
}

/// The location of a mistake: the thing declared, or the function around its line.
fn place(module: &Module, mistake: &Mistake) -> String {
    if let Reason::Declaration { name, .. } = &mistake.reason {
        return name.clone();
    }
    let after = module.functions.partition_point(|function| function.line <= mistake.line);
    let function = after.checked_sub(1).map(|index| module.functions[index].name.to_string());
    function.unwrap_or_else(|| "module".to_owned())
}

fn panic_symbols(module: &Module, findings: &mut Vec<Finding>) {
    let functions = module.functions.iter().map(|function| (&function.name, function.line));
    let globals = module.globals.iter().map(|variable| (&variable.name, variable.line));
    let mut seen = HashSet::new();
    for (name, line) in functions.chain(globals) {
        if name.contains("panicking") && seen.insert(name) {
            let text = "symbol of the panic machinery".to_owned();
            findings.push(Finding { lint: Lint::PanicSymbol, kernel: name.to_string(), line, text });
        }
    }
}

/// The opcodes of `module` that the executor does not run.
fn unknown_opcodes(module: &Module) -> HashSet<&str> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    let opcodes: HashSet<_> =
        bodies.flat_map(|body| &body.instructions).map(|instruction| instruction.opcode.text()).collect();
    opcodes.into_iter().filter(|opcode| opcodes::group(opcode).is_none()).collect()
}

fn check_body(function: &Function, body: &Body, table: &Table, unknown: &HashSet<&str>, findings: &mut Vec<Finding>) {
    let spec = table.kernel(&function.name);
    let mut report = |lint: Lint, line: u32, text: String| {
        findings.push(Finding { lint, kernel: function.name.to_string(), line, text });
    };
    for variable in body.variables.iter().filter(|variable| variable.space == Space::Local) {
        report(Lint::LocalDepot, variable.line, format!("`{}` of {} bytes", variable.name, variable.bytes()));
    }
    for instruction in &body.instructions {
        let text = || format!("`{}`", print_instruction(function, body, instruction));
        for lint in of_instruction(instruction, unknown) {
            report(lint, instruction.line, text());
        }
    }
    for product in wide_products(body) {
        report(Lint::WideProduct, product.line, format!("`{}`", print_instruction(function, body, product)));
    }
    for divergence in divergent_collectives(function, body) {
        let instruction = &body.instructions[divergence.instruction];
        let joined = match divergence.collective {
            Collective::Warp => "the lanes of a warp",
            Collective::Warps => "whole warps",
            Collective::Block => "the whole block",
        };
        let apart = if divergence.spread == Spread::Lanes { "lanes" } else { "warps" };
        let code = print_instruction(function, body, instruction);
        let text = format!("`{code}` joins {joined}, but {apart} may reach it apart");
        report(Lint::DivergentCollective, instruction.line, text);
    }
    match spec {
        Some(spec) => against_table(function, body, spec, report),
        None if function.kind == FunctionKind::Entry => {
            report(Lint::Unlisted, function.line, "in the module, but the table does not list it".to_owned());
        }
        None => {}
    }
}

/// The lints that look at single instructions.
fn of_instruction(instruction: &Instruction, unknown: &HashSet<&str>) -> impl Iterator<Item = Lint> + use<> {
    let opcode = &instruction.opcode;
    let base = opcode.base();
    [
        (is_generic_access(instruction), Lint::GenericAccess),
        (base == "call", Lint::Call),
        (base == "trap", Lint::Trap),
        (unknown.contains(opcode.text()), Lint::UnknownOpcode),
    ]
    .into_iter()
    .filter_map(|(found, lint)| found.then_some(lint))
}

/// Whether a load, store or atomic names no state space.
fn is_generic_access(instruction: &Instruction) -> bool {
    let opcode = &instruction.opcode;
    let space = |part: &str| Space::from_name(part.split("::").next().unwrap_or_default()).is_some();
    matches!(opcode.base(), "ld" | "ldu" | "ldmatrix" | "st" | "stmatrix" | "atom" | "red")
        && !opcode.modifiers().any(space)
}

fn against_table(function: &Function, body: &Body, spec: &KernelSpec, mut report: impl FnMut(Lint, u32, String)) {
    let barrier =
        |instruction: &&Instruction| matches!(Collective::of(instruction), Some(Collective::Block | Collective::Warps));
    let barriers = body.instructions.iter().filter(barrier).count();
    if barriers != spec.barriers as usize {
        let text = format!("expected {} barriers, got {barriers}", spec.barriers);
        report(Lint::BarrierCount, function.line, text);
    }
    let threads = function.directives.iter().find_map(|directive| match directive {
        Directive::MaxThreads(extent) | Directive::RequiredThreads(extent) => Some(*extent),
        _ => None,
    });
    if threads != Some(spec.block) {
        let got = threads.map_or("none".to_owned(), |extent| format!("{extent:?}"));
        report(Lint::LaunchBounds, function.line, format!("expected threads {:?}, got {got}", spec.block));
    }
    let min_blocks = function.directives.iter().find_map(|directive| match directive {
        Directive::MinBlocks(count) => Some(*count),
        _ => None,
    });
    if min_blocks.unwrap_or(0) != spec.min_blocks {
        let text = format!("expected {} blocks per multiprocessor, got {}", spec.min_blocks, min_blocks.unwrap_or(0));
        report(Lint::LaunchBounds, function.line, text);
    }
}
