//! Types: whether every declaration and operand is one that NVIDIA's assembler accepts.
//!
//! The rules match `ptxas` 13.5 and were found by running it: `tests/data/typing.txt` holds some
//! thousand lines of PTX with its verdicts, and notes where this pass is stricter on purpose.
//! Targets before `sm_30` and PTX before 6.0 are refused as such. Opcodes outside the table
//! ([`crate::opcodes`]) are skipped here; a lint and the executor refuse them.

mod call;
mod declaration;
mod expected;
mod gates;
mod header;
mod known;
mod mistake;
mod names;
mod operand;
mod place;
mod symbols;
mod types;
mod vector;

use std::collections::HashSet;

pub use header::{architecture, first_version};
pub use mistake::{Mistake, Reason};

use self::{
    gates::Release,
    known::{Known, Opcodes},
    operand::Operands,
    symbols::Symbols,
};
use crate::ast::{Body, Function, Instruction, Module, Type};

/// Every mistake of `module`.
///
/// The order is its head, then its declarations, then each body in text order.
#[must_use]
pub fn check(module: &Module) -> Vec<Mistake> {
    let mut mistakes = header::check(module);
    let release = header::release(module);
    let symbols = Symbols::new(module);
    declaration::check(module, &symbols, release, &mut mistakes);
    names::check(module, &mut mistakes);
    let mut opcodes = Opcodes::new(release);
    for function in &module.functions {
        if let Some(body) = &function.body {
            check_body(&symbols, release, &mut opcodes, function, body, &mut mistakes);
        }
    }
    mistakes
}

fn check_body<'module>(
    symbols: &Symbols<'module>,
    release: Release,
    opcodes: &mut Opcodes<'module>,
    function: &Function,
    body: &'module Body,
    mistakes: &mut Vec<Mistake>,
) {
    let mut results = HashSet::new();
    for (index, instruction) in body.instructions.iter().enumerate() {
        let line = instruction.line;
        if let Some(guard) = instruction.guard
            && body.register(guard.register).ty != Type::Pred
        {
            let register = body.register(guard.register);
            let got = format!("`{}` of type .{}", register.name, register.ty.name());
            mistakes.push(Mistake { line, reason: Reason::Guard { got } });
        }
        let Some(known) = opcodes.get(&instruction.opcode) else { continue };
        if let Some(reason) = &known.lacks {
            mistakes.push(Mistake { line, reason: reason.clone() });
            continue;
        }
        let at = Operands { symbols, release, function, body, results: &results, known: &known, instruction, index };
        mistakes.extend(check_operands(&at, instruction, &known).map(|reason| Mistake { line, reason }));
        results.extend(call::results(instruction));
    }
}

/// The first mistake among the operands of an instruction.
fn check_operands(at: &Operands<'_>, instruction: &Instruction, known: &Known) -> Option<Reason> {
    if instruction.opcode.base() == "call" {
        return call::check(at);
    }
    let signatures = known.form.signatures;
    let Some(signature) = signatures.iter().find(|signature| signature.len() == instruction.operands.len()) else {
        let expected = signatures.iter().map(|signature| signature.len().to_string()).collect::<Vec<_>>().join(" or ");
        return Some(Reason::Operands { expected, got: instruction.operands.len() });
    };
    (0..signature.len()).find_map(|place| at.check(place, signature[place]))
}
