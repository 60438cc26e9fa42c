//! Registers, constants and tables of the code under construction.

use std::collections::{HashMap, HashSet};

use ptx::ast::{Name, Opcode, Special};

use super::super::code::{Code, Preset};
use super::super::register::{R, Slot};

/// Why an instruction was not decoded.
pub(super) struct Refusal(pub(super) String);

pub(super) type Decoded<T> = Result<T, Refusal>;

/// Ends decoding of an instruction with a reason.
pub(super) fn refuse<T>(reason: impl Into<String>) -> Decoded<T> {
    Err(Refusal(reason.into()))
}

/// The code under construction, across all functions of a kernel.
#[derive(Default)]
pub(super) struct Build {
    pub(super) code: Code,
    presets32: HashMap<Preset, R>,
    presets64: HashMap<Preset, R>,
    /// Opcodes that were looked up in the table and found.
    admitted: HashSet<Name>,
}

fn next(count: &mut usize) -> Decoded<R> {
    let index = R::try_from(*count).ok().filter(|&index| index != R::MAX);
    *count += 1;
    index.ok_or(Refusal("more than 65534 registers".to_owned()))
}

/// The register that holds `preset` from the start, a new one at its first use.
fn placed(
    known: &mut HashMap<Preset, R>,
    list: &mut Vec<(R, Preset)>,
    count: &mut usize,
    preset: Preset,
) -> Decoded<R> {
    if let Some(&reg) = known.get(&preset) {
        return Ok(reg);
    }
    let reg = next(count)?;
    known.insert(preset, reg);
    list.push((reg, preset));
    Ok(reg)
}

/// Adds an entry to a table of the code; its index.
pub(super) fn push<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    table.len() as u32 - 1
}

impl Build {
    /// Refuses an opcode outside the table, so that no modifier goes unnoticed.
    pub(super) fn admit(&mut self, opcode: &Opcode) -> Decoded<()> {
        if self.admitted.contains(opcode.text()) {
            return Ok(());
        }
        if ptx::opcodes::group(opcode.text()).is_none() {
            return refuse("unknown opcode");
        }
        self.admitted.insert(opcode.text().into());
        Ok(())
    }

    pub(super) fn new32(&mut self) -> Decoded<R> {
        next(&mut self.code.words32)
    }

    pub(super) fn new64(&mut self) -> Decoded<R> {
        next(&mut self.code.words64)
    }

    pub(super) fn new_predicate(&mut self) -> Decoded<R> {
        next(&mut self.code.predicates)
    }

    /// The 32-bit register that holds `preset` from the start.
    pub(super) fn preset32(&mut self, preset: Preset) -> Decoded<R> {
        let Code { words32, presets32, .. } = &mut self.code;
        placed(&mut self.presets32, presets32, words32, preset)
    }

    /// The 64-bit register that holds `preset` from the start.
    pub(super) fn preset64(&mut self, preset: Preset) -> Decoded<R> {
        let Code { words64, presets64, .. } = &mut self.code;
        placed(&mut self.presets64, presets64, words64, preset)
    }

    pub(super) fn const32(&mut self, value: u32) -> Decoded<R> {
        self.preset32(Preset::Const(value.into()))
    }

    pub(super) fn const64(&mut self, value: u64) -> Decoded<R> {
        self.preset64(Preset::Const(value))
    }

    pub(super) fn special(&mut self, special: Special) -> Decoded<R> {
        self.preset32(Preset::Special(special))
    }

    /// A predicate that is true throughout.
    pub(super) fn always(&mut self) -> Decoded<R> {
        if let Some(known) = self.code.true_predicate {
            return Ok(known);
        }
        let reg = self.new_predicate()?;
        self.code.true_predicate = Some(reg);
        Ok(reg)
    }
}

/// Temporaries of one instruction in one register file, used again by the next.
#[derive(Default)]
pub(super) struct Temps {
    regs: Vec<R>,
    used: usize,
}

impl Temps {
    pub(super) fn reset(&mut self) {
        self.used = 0;
    }

    /// The next one; `make` gives a new register once the list is used up.
    pub(super) fn next(&mut self, make: impl FnOnce() -> Decoded<R>) -> Decoded<R> {
        if self.used == self.regs.len() {
            self.regs.push(make()?);
        }
        self.used += 1;
        Ok(self.regs[self.used - 1])
    }
}

/// The register a slot names, for slots of the 32-bit file.
pub(super) fn low_register(slot: Slot) -> Option<R> {
    match slot {
        Slot::W32(reg) | Slot::Narrow(reg, _) => Some(reg),
        Slot::W64(_) | Slot::None => None,
    }
}
