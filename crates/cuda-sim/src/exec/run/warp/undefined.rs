//! Registers with undefined values.
//!
//! They were never written, or read from a lane that took no part in a shuffle.
//!
//! Such a value may be moved about and computed with; it is a fault if it decides something: a
//! branch, an address, a mask, a value that a store puts into global memory. A warp follows these
//! values only as long as it has one.

use super::regs::Regs;
use crate::exec::code::{Bin, Code, CodeStep, NO_GUARD, PredOp, StepOp};
use crate::exec::collective::{BarRed, BarrierRole, CollectiveKind, CollectiveOp, Members, Mma};
use crate::exec::fault::FaultKind;
use crate::exec::lanes::{FULL, LaneBits, WARP, lanes_where};
use crate::exec::operands::{Use, operands};
use crate::exec::register::{AddressOperand, FileRegister, R, Slot};
use crate::exec::run::trouble::{StepResult, trouble};

/// The lanes in which registers are undefined.
pub(in crate::exec::run) struct Undefined {
    /// By number of the register.
    lanes: Vec<u32>,
    /// Registers with such a lane.
    some: usize,
}

impl Undefined {
    /// Registers that all hold something.
    pub(in crate::exec::run) fn new(code: &Code) -> Self {
        Self { lanes: vec![0; code.registers()], some: 0 }
    }

    /// Whether no register is undefined in any lane.
    pub(super) fn is_empty(&self) -> bool {
        self.some == 0
    }

    /// The lanes in which a register is undefined.
    fn of(&self, code: &Code, register: FileRegister) -> u32 {
        self.lanes[code.number_of(register)]
    }

    /// The lanes in which one of some slots is undefined.
    pub(in crate::exec::run) fn of_slots(&self, code: &Code, slots: &[Slot]) -> u32 {
        let registers = slots.iter().filter_map(|&slot| FileRegister::of(slot));
        registers.fold(0, |lanes, register| lanes | self.of(code, register))
    }

    /// Marks the `active` lanes of a register: undefined if set in `lanes`, else defined.
    pub(in crate::exec::run) fn set(&mut self, number: usize, active: u32, lanes: u32) {
        let old = self.lanes[number];
        let new = old & !active | lanes & active;
        self.lanes[number] = new;
        self.some = self.some + usize::from(new != 0) - usize::from(old != 0);
    }

    pub(in crate::exec::run) fn set_register(&mut self, code: &Code, register: FileRegister, active: u32, lanes: u32) {
        self.set(code.number_of(register), active, lanes);
    }
}

/// Lanes rely on something.
fn rely(lanes: u32, used_as: &'static str) -> StepResult {
    if lanes == 0 { Ok(()) } else { trouble(lanes.trailing_zeros() as usize, FaultKind::Undefined { used_as }) }
}

impl Undefined {
    /// Checks a step that lanes of `mask` are about to make, and tracks its results.
    pub(super) fn step(&mut self, regs: &Regs, code: &Code, step: &CodeStep, mask: u32) -> StepResult {
        let mut active = mask;
        if step.guard != NO_GUARD {
            rely(self.of(code, FileRegister::Predicate(step.guard)) & mask, "the condition of an instruction")?;
            let p = regs.p[step.guard as usize];
            active &= if step.negated { !p } else { p };
        }
        if active == 0 {
            return Ok(());
        }
        let base = |target: AddressOperand| self.of_slots(code, &[target.base]) & active;
        match step.op {
            StepOp::Load(index) => rely(base(code.accesses[index as usize].target), "an address")?,
            // Whether the stored value matters depends on where it goes.
            StepOp::Store(index) => return rely(base(code.accesses[index as usize].target), "an address"),
            StepOp::Atomic(index) => {
                let atomic = &code.atomics[index as usize];
                rely(base(atomic.target), "an address")?;
                rely(self.of_slots(code, &[atomic.b, atomic.c]) & active, "the operand of an atomic")?;
            }
            StepOp::CopyAsync(index) => {
                let copy = &code.copies[index as usize];
                rely(base(copy.target) | base(copy.source), "an address")?;
                let length = copy.read.map_or(0, |reg| self.of(code, FileRegister::W32(reg)));
                rely(length & active, "the length of a copy")?;
            }
            StepOp::BraTable(index, _) => {
                rely(self.of(code, FileRegister::W32(index)) & active, "the index of a branch")?
            }
            StepOp::CallTable { handle, .. } => {
                rely(self.of(code, FileRegister::W64(handle)) & active, "the target of a call")?
            }
            StepOp::Collective(index) => return self.arrive(code, &code.collectives[index as usize], active),
            _ => {}
        }
        let mut lanes = 0;
        operands(code, step.op, &mut |register, what| {
            if what == Use::Read {
                lanes |= self.of(code, register);
            }
        });
        if lanes & active != 0 {
            lanes = self.result(regs, code, step.op, lanes & active);
        }
        if matches!(step.op, StepOp::Load(_) | StepOp::Atomic(_)) {
            lanes = 0;
        }
        let mut results = [None; 4];
        let mut count = 0;
        operands(code, step.op, &mut |register, what| {
            if what == Use::Write {
                results[count] = Some(register);
                count += 1;
            }
        });
        results.into_iter().flatten().for_each(|register| self.set_register(code, register, active, lanes));
        Ok(())
    }

    /// Of the lanes that read something undefined, those whose result is so too.
    fn result(&self, regs: &Regs, code: &Code, op: StepOp, lanes: u32) -> u32 {
        let predicate = |reg: R| (regs.p[reg as usize], self.of(code, FileRegister::Predicate(reg)));
        match op {
            StepOp::Sel32(_, a, b, p) | StepOp::Sel64(_, a, b, p) => {
                let word =
                    |reg| if matches!(op, StepOp::Sel64(..)) { FileRegister::W64(reg) } else { FileRegister::W32(reg) };
                let (chosen, unsure) = predicate(p);
                lanes & (unsure | chosen & self.of(code, word(a)) | !chosen & self.of(code, word(b)))
            }
            StepOp::Pred(op @ (PredOp::And | PredOp::Or), _, a, b) => {
                // One operand alone may decide.
                let decides = |reg| {
                    let (value, unsure) = predicate(reg);
                    !unsure & if op == PredOp::And { !value } else { value }
                };
                lanes & !(decides(a) | decides(b))
            }
            StepOp::Bin32(op @ (Bin::And | Bin::Or | Bin::MulLo), _, a, b) => {
                let decides = |reg: R| {
                    let unsure = self.of(code, FileRegister::W32(reg));
                    lanes_where(lanes & !unsure, |lane| regs.w32[reg as usize].0[lane] == deciding(op) as u32)
                };
                lanes & !(decides(a) | decides(b))
            }
            StepOp::Bin64(op @ (Bin::And | Bin::Or | Bin::MulLo), _, a, b) => {
                let decides = |reg: R| {
                    let unsure = self.of(code, FileRegister::W64(reg));
                    lanes_where(lanes & !unsure, |lane| regs.w64[reg as usize].0[lane] == deciding(op))
                };
                lanes & !(decides(a) | decides(b))
            }
            _ => lanes,
        }
    }

    /// Lanes come to a collective, whose operands other than data must be defined.
    fn arrive(&mut self, code: &Code, collective: &CollectiveOp, active: u32) -> StepResult {
        let word = |reg| self.of(code, FileRegister::W32(reg)) & active;
        if let Members::Mask(mask) = collective.members {
            rely(word(mask), "the mask of a collective")?;
        }
        match collective.kind {
            CollectiveKind::Barrier { id, threads, role } => {
                rely(word(id) | threads.map_or(0, word), "the operand of a barrier")?;
                if let BarrierRole::Reduce { op, d, a } = role {
                    rely(self.of(code, FileRegister::Predicate(a)) & active, "the operand of a barrier")?;
                    let d = if op == BarRed::Popc { FileRegister::W32(d) } else { FileRegister::Predicate(d) };
                    self.set_register(code, d, active, 0);
                }
                Ok(())
            }
            CollectiveKind::LoadMatrix { target, .. } => {
                rely(self.of_slots(code, &[target.base]) & active, "an address")
            }
            _ => Ok(()),
        }
    }

    /// Tracks the results of a collective of `lanes`.
    ///
    /// `from` holds the source of each lane of a shuffle.
    pub(super) fn collect(&mut self, code: &Code, collective: &CollectiveOp, lanes: u32, from: &[u8; WARP]) {
        match collective.kind {
            CollectiveKind::Shuffle { d, valid, a, lane, clamp, .. } => {
                let [value, by] =
                    [FileRegister::W32(a), FileRegister::W32(lane)].map(|register| self.of(code, register));
                let by = by | self.of(code, FileRegister::W32(clamp));
                let unsure = |lane: usize| by >> lane & 1 == 1 || (value | !lanes) >> from[lane] & 1 == 1;
                self.set_register(code, FileRegister::W32(d), lanes, lanes_where(lanes, unsure));
                if let Some(valid) = valid {
                    self.set_register(code, FileRegister::Predicate(valid), lanes, by);
                }
            }
            CollectiveKind::Mma { shape, d, a, b, c } => self.multiply(code, shape, d, a, b, c),
            _ => {
                // The other results follow from what all lanes hand over.
                let (mut read, mut results) = (0, [None; 4]);
                let mut count = 0;
                crate::exec::operands::collective(collective, &mut |register, what| match what {
                    Use::Read => read |= self.of(code, register),
                    Use::Write => {
                        results[count] = Some(register);
                        count += 1;
                    }
                });
                let all = if read & lanes == 0 { 0 } else { FULL };
                results.into_iter().flatten().for_each(|register| self.set_register(code, register, lanes, all));
            }
        }
    }

    /// Marks undefined elements of a product.
    ///
    /// An element is undefined if one of its row, of its column or its own summand is.
    fn multiply(&mut self, code: &Code, shape: Mma, d: [R; 4], a: [R; 4], b: [R; 2], c: [R; 4]) {
        let word = |reg| self.of(code, FileRegister::W32(reg));
        let (a_words, b_words) = shape.words();
        let column = b[..b_words].iter().fold(0, |lanes, &reg| lanes | word(reg));
        let spread = |lanes: u32| LaneBits(lanes).fold(0_u32, |groups, lane| groups | 1 << (lane / 4));
        let columns = spread(column);
        let rows = [0, 1].map(|half| {
            let words = a[..a_words].iter().skip(half).step_by(2);
            spread(words.fold(0, |lanes, &reg| lanes | word(reg)))
        });
        let undefined = [0, 1, 2, 3].map(|r| {
            let unsure =
                |lane: usize| rows[r / 2] >> (lane / 4) & 1 == 1 || columns >> (2 * (lane % 4) + r % 2) & 1 == 1;
            word(c[r]) | lanes_where(FULL, unsure)
        });
        for (&d, lanes) in d.iter().zip(undefined) {
            self.set_register(code, FileRegister::W32(d), FULL, lanes);
        }
    }
}

/// The operand that decides the result of an operation by itself.
fn deciding(op: Bin) -> u64 {
    if op == Bin::Or { u64::MAX } else { 0 }
}
