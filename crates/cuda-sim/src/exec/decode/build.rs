//! Registers, constants and tables of the code under construction.

use std::collections::{HashMap, HashSet};

use ptx::ast::{Name, Opcode, Special};

use super::super::code::{Code, Preset, StepOp};
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
        if let Some(&known) = self.presets32.get(&preset) {
            return Ok(known);
        }
        let reg = self.new32()?;
        self.presets32.insert(preset, reg);
        self.code.presets32.push((reg, preset));
        Ok(reg)
    }

    /// The 64-bit register that holds `preset` from the start.
    pub(super) fn preset64(&mut self, preset: Preset) -> Decoded<R> {
        if let Some(&known) = self.presets64.get(&preset) {
            return Ok(known);
        }
        let reg = self.new64()?;
        self.presets64.insert(preset, reg);
        self.code.presets64.push((reg, preset));
        Ok(reg)
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

/// Finishing step after an operation has written its register.
///
/// [`super::body::Body::dest`] returned that register.
#[derive(Clone, Copy)]
pub(super) enum Finish {
    Nothing,
    Do(StepOp),
}

/// Temporaries of one instruction, used again by the next.
#[derive(Default)]
pub(super) struct Temps {
    words32: Vec<R>,
    words64: Vec<R>,
    predicates: Vec<R>,
    used: (usize, usize, usize),
}

impl Temps {
    pub(super) fn reset(&mut self) {
        self.used = (0, 0, 0);
    }

    pub(super) fn word32(&mut self, build: &mut Build) -> Decoded<R> {
        if self.used.0 == self.words32.len() {
            self.words32.push(build.new32()?);
        }
        self.used.0 += 1;
        Ok(self.words32[self.used.0 - 1])
    }

    pub(super) fn word64(&mut self, build: &mut Build) -> Decoded<R> {
        if self.used.1 == self.words64.len() {
            self.words64.push(build.new64()?);
        }
        self.used.1 += 1;
        Ok(self.words64[self.used.1 - 1])
    }

    pub(super) fn predicate(&mut self, build: &mut Build) -> Decoded<R> {
        if self.used.2 == self.predicates.len() {
            self.predicates.push(build.new_predicate()?);
        }
        self.used.2 += 1;
        Ok(self.predicates[self.used.2 - 1])
    }
}

/// The register a slot names, for slots of the 32-bit file.
pub(super) fn low_register(slot: Slot) -> Option<R> {
    match slot {
        Slot::W32(reg) | Slot::Narrow(reg, _) => Some(reg),
        Slot::W64(_) | Slot::None => None,
    }
}
