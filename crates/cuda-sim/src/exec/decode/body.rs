//! Decoding of one function: registers, operands, guards.

use std::collections::BTreeSet;

use ptx::ast::{self, AddressBase, Operand, Special, Symbol, Type};

use super::super::code::{CodeStep, NO_GUARD, PredOp, Preset, StepOp};
use super::super::register::{AddressOperand, R, Slot};
use super::build::{Build, Decoded, Refusal, Temps, low_register, refuse};
use super::layout::{ModuleLayout, SymbolLocation};

/// A register of the source function.
#[derive(Clone, Copy)]
pub(super) enum Home {
    Word(Slot),
    Predicate(R),
}

/// One function being decoded at one call depth.
pub(super) struct Body<'a> {
    pub(super) build: &'a mut Build,
    pub(super) layout: &'a ModuleLayout<'a>,
    pub(super) function: &'a ast::Function,
    pub(super) body: &'a ast::Body,
    /// Kernels end at `ret` and read their parameters from the launch.
    pub(super) is_entry: bool,
    /// Where this function's parameters and local variables lie in a thread's local memory.
    pub(super) frame: super::layout::Frame,
    /// Where the frames of the next call depth begin.
    pub(super) callee_base: u64,
    homes: Vec<Option<Home>>,
    temps32: Temps,
    temps64: Temps,
    temp_predicates: Temps,
    carry: Option<R>,
    /// Holds the step after the call, per lane.
    pub(super) back: R,
    guard: (R, bool),
    /// Index of the instruction.
    pub(super) at: usize,
    pub(super) steps: Vec<CodeStep>,
    pub(super) origin: Vec<u32>,
    /// Functions called.
    pub(super) calls: BTreeSet<usize>,
    /// Whether some call goes through a register.
    pub(super) indirect: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        build: &'a mut Build,
        layout: &'a ModuleLayout<'a>,
        function: &'a ast::Function,
        body: &'a ast::Body,
        frame: super::layout::Frame,
        callee_base: u64,
    ) -> Decoded<Self> {
        let is_entry = function.kind == ast::FunctionKind::Entry;
        let back = build.new32()?;
        Ok(Self {
            homes: vec![None; body.registers.len()],
            build,
            layout,
            function,
            body,
            is_entry,
            frame,
            callee_base,
            temps32: Temps::default(),
            temps64: Temps::default(),
            temp_predicates: Temps::default(),
            carry: None,
            back,
            guard: (NO_GUARD, false),
            at: 0,
            steps: Vec::new(),
            origin: Vec::new(),
            calls: BTreeSet::new(),
            indirect: false,
        })
    }

    /// Starts an instruction: fresh temporaries, its guard.
    pub(super) fn begin(&mut self, instruction: &ast::Instruction) -> Decoded<()> {
        self.build.admit(&instruction.opcode)?;
        [&mut self.temps32, &mut self.temps64, &mut self.temp_predicates].into_iter().for_each(Temps::reset);
        self.guard = (NO_GUARD, false);
        if let Some(guard) = instruction.guard {
            let mut reg = self.predicate_home(guard.register)?;
            // An instruction of several steps must not see its own result as its guard.
            if instruction.operands.iter().any(|operand| operand.registers().any(|used| used == guard.register)) {
                reg = self.computed_predicate(|copy| StepOp::Pred(PredOp::Move, copy, reg, reg))?;
            }
            self.guard = (reg, guard.negated);
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, op: StepOp) {
        let (guard, negated) = self.guard;
        self.steps.push(CodeStep { guard, negated, op });
    }

    /// Turns the guard of the instruction into a branch around it.
    pub(super) fn branch_around(&mut self) {
        let (guard, negated) = self.guard;
        if guard != NO_GUARD {
            self.steps.push(CodeStep { guard, negated: !negated, op: StepOp::Bra(self.at as u32 + 1) });
            self.guard = (NO_GUARD, false);
        }
    }

    /// Emits an operation that is all of an instruction.
    pub(super) fn step(&mut self, op: StepOp) -> Decoded<()> {
        self.emit(op);
        Ok(())
    }

    /// Emits what [`Body::dest`] left to do.
    pub(super) fn finish(&mut self, finish: Option<StepOp>) {
        if let Some(op) = finish {
            self.emit(op);
        }
    }

    /// Emits the operation that leaves a result of `bits` bits in operand `to`.
    ///
    /// `op` gets the register to write.
    pub(super) fn write(&mut self, to: &Operand, bits: u8, op: impl FnOnce(R) -> StepOp) -> Decoded<()> {
        let (d, finish) = self.dest(to, bits)?;
        self.emit(op(d));
        self.finish(finish);
        Ok(())
    }

    /// As [`Body::write`], to the first operand.
    pub(super) fn result(
        &mut self,
        instruction: &ast::Instruction,
        bits: u8,
        op: impl FnOnce(R) -> StepOp,
    ) -> Decoded<()> {
        self.write(operand(instruction, 0)?, bits, op)
    }

    pub(super) fn temp32(&mut self) -> Decoded<R> {
        self.temps32.next(|| self.build.new32())
    }

    pub(super) fn temp64(&mut self) -> Decoded<R> {
        self.temps64.next(|| self.build.new64())
    }

    pub(super) fn temp_predicate(&mut self) -> Decoded<R> {
        self.temp_predicates.next(|| self.build.new_predicate())
    }

    /// A 32-bit temporary that holds the result of `op`, which gets it as its destination.
    pub(super) fn computed32(&mut self, op: impl FnOnce(R) -> StepOp) -> Decoded<R> {
        let temp = self.temp32()?;
        self.emit(op(temp));
        Ok(temp)
    }

    /// As [`Body::computed32`], of 64 bits.
    pub(super) fn computed64(&mut self, op: impl FnOnce(R) -> StepOp) -> Decoded<R> {
        let temp = self.temp64()?;
        self.emit(op(temp));
        Ok(temp)
    }

    /// As [`Body::computed32`], of a predicate.
    pub(super) fn computed_predicate(&mut self, op: impl FnOnce(R) -> StepOp) -> Decoded<R> {
        let temp = self.temp_predicate()?;
        self.emit(op(temp));
        Ok(temp)
    }

    /// The carry flag of extended-precision arithmetic.
    pub(super) fn carry(&mut self) -> Decoded<R> {
        if self.carry.is_none() {
            self.carry = Some(self.build.new_predicate()?);
        }
        Ok(self.carry.unwrap_or_default())
    }

    fn home(&mut self, reg: ast::Reg) -> Decoded<Home> {
        let index = reg.0 as usize;
        if let Some(home) = self.homes[index] {
            return Ok(home);
        }
        let home = match self.body.register(reg).class() {
            ast::Class::Pred => Home::Predicate(self.build.new_predicate()?),
            ast::Class::B8 => Home::Word(Slot::Narrow(self.build.new32()?, 8)),
            ast::Class::B16 => Home::Word(Slot::Narrow(self.build.new32()?, 16)),
            ast::Class::B32 => Home::Word(Slot::W32(self.build.new32()?)),
            ast::Class::B64 => Home::Word(Slot::W64(self.build.new64()?)),
            ast::Class::B128 => return refuse("128-bit register"),
        };
        self.homes[index] = Some(home);
        Ok(home)
    }

    pub(super) fn predicate_home(&mut self, reg: ast::Reg) -> Decoded<R> {
        match self.home(reg)? {
            Home::Predicate(reg) => Ok(reg),
            Home::Word(_) => refuse("expected a predicate register"),
        }
    }

    /// The slot of an operand that is a register or `_`.
    pub(super) fn slot(&mut self, operand: &Operand) -> Decoded<Slot> {
        match operand {
            Operand::Reg(reg) => match self.home(*reg)? {
                Home::Word(slot) => Ok(slot),
                Home::Predicate(_) => refuse("unexpected predicate register"),
            },
            Operand::Sink => Ok(Slot::None),
            _ => refuse("expected a register"),
        }
    }

    pub(super) fn is_predicate(&mut self, operand: &Operand) -> bool {
        matches!(operand, Operand::Reg(reg) | Operand::NotReg(reg)
            if self.body.register(*reg).class() == ast::Class::Pred)
    }

    /// A 32-bit source: a register, a number, or the low half of something wider.
    pub(super) fn src32(&mut self, operand: &Operand) -> Decoded<R> {
        match operand {
            Operand::Reg(_) => match self.slot(operand)? {
                Slot::W64(wide) => self.computed32(|temp| StepOp::Trunc32(temp, wide)),
                slot => low_register(slot).ok_or(Refusal("expected a value".to_owned())),
            },
            Operand::Special(special) => self.special(*special),
            Operand::Int(value) => self.build.const32(*value as u32),
            Operand::F32(bits) => self.build.const32(*bits),
            Operand::F64(bits) => self.build.const32((f64::from_bits(*bits) as f32).to_bits()),
            Operand::Symbol { .. } => {
                let wide = self.src64(operand)?;
                self.computed32(|temp| StepOp::Trunc32(temp, wide))
            }
            _ => refuse("expected a 32-bit value"),
        }
    }

    /// A 64-bit source; narrower registers are zero extended.
    pub(super) fn src64(&mut self, operand: &Operand) -> Decoded<R> {
        match operand {
            Operand::Reg(_) => match self.slot(operand)? {
                Slot::W64(reg) => Ok(reg),
                slot => {
                    let narrow = low_register(slot).ok_or(Refusal("expected a value".to_owned()))?;
                    self.computed64(|temp| StepOp::Zext64(temp, narrow))
                }
            },
            Operand::Special(Special::Clock64 | Special::Globaltimer) => self.computed64(StepOp::Clock64),
            Operand::Special(special) => {
                let narrow = self.special(*special)?;
                self.computed64(|temp| StepOp::Zext64(temp, narrow))
            }
            Operand::Int(value) => self.build.const64(value.cast_unsigned()),
            Operand::F64(bits) => self.build.const64(*bits),
            Operand::F32(bits) => self.build.const64(f64::from(f32::from_bits(*bits)).to_bits()),
            Operand::Symbol { symbol, offset } => self.address_of(symbol, *offset),
            _ => refuse("expected a 64-bit value"),
        }
    }

    /// A 16-bit source, zero extended: a register of that width or a number.
    pub(super) fn src16(&mut self, operand: &Operand) -> Decoded<R> {
        match operand {
            Operand::Int(value) => self.build.const32(*value as u32 & 0xffff),
            _ => self.src32(operand),
        }
    }

    /// The low `bits` of a register, extended into a temporary.
    pub(super) fn extended(&mut self, reg: R, bits: u8, signed: bool) -> Decoded<R> {
        self.computed32(|d| StepOp::Ext32 { signed, bits, d, a: reg })
    }

    /// A 16-bit integer source as 32 bits, by its signedness.
    pub(super) fn src16_as32(&mut self, operand: &Operand, signed: bool) -> Decoded<R> {
        let reg = self.src16(operand)?;
        if signed { self.extended(reg, 16, true) } else { Ok(reg) }
    }

    /// A predicate source.
    pub(super) fn srcp(&mut self, operand: &Operand) -> Decoded<R> {
        match operand {
            Operand::Reg(reg) => self.predicate_home(*reg),
            Operand::NotReg(reg) => {
                let reg = self.predicate_home(*reg)?;
                self.computed_predicate(|temp| StepOp::Pred(PredOp::Not, temp, reg, reg))
            }
            Operand::Int(value) => {
                let always = self.build.always()?;
                if *value != 0 {
                    return Ok(always);
                }
                self.computed_predicate(|temp| StepOp::Pred(PredOp::Not, temp, always, always))
            }
            _ => refuse("expected a predicate"),
        }
    }

    /// A predicate destination; `_` gives a temporary.
    pub(super) fn destp(&mut self, operand: &Operand) -> Decoded<R> {
        match operand {
            Operand::Reg(reg) => self.predicate_home(*reg),
            Operand::Sink => self.temp_predicate(),
            _ => refuse("expected a predicate register"),
        }
    }

    /// A register for a result of `bits` bits, and the finishing step after it is written.
    ///
    /// The finishing step makes `operand` hold the result.
    pub(super) fn dest(&mut self, operand: &Operand, bits: u8) -> Decoded<(R, Option<StepOp>)> {
        let slot = self.slot(operand)?;
        Ok(match (slot, bits) {
            (Slot::W64(reg), 64) => (reg, None),
            (Slot::W64(reg), _) => {
                let temp = self.temp32()?;
                (temp, Some(StepOp::Zext64(reg, temp)))
            }
            (Slot::None, 64) => (self.temp64()?, None),
            (Slot::None, _) => (self.temp32()?, None),
            (Slot::W32(reg) | Slot::Narrow(reg, _), 64) => {
                let temp = self.temp64()?;
                (temp, Some(StepOp::Trunc32(reg, temp)))
            }
            (Slot::W32(reg), 32) => (reg, None),
            (Slot::W32(reg), _) => (reg, Some(StepOp::Ext32 { signed: false, bits, d: reg, a: reg })),
            (Slot::Narrow(reg, kept), _) => {
                (reg, Some(StepOp::Ext32 { signed: false, bits: kept.min(bits), d: reg, a: reg }))
            }
        })
    }

    fn special(&mut self, special: Special) -> Decoded<R> {
        match special {
            Special::Clock | Special::GlobaltimerLo => self.computed32(|temp| StepOp::Clock(false, temp)),
            Special::ClockHi | Special::GlobaltimerHi => self.computed32(|temp| StepOp::Clock(true, temp)),
            Special::Clock64 | Special::Globaltimer => {
                let wide = self.computed64(StepOp::Clock64)?;
                self.computed32(|temp| StepOp::Trunc32(temp, wide))
            }
            other => self.build.special(other),
        }
    }

    /// Where a symbol lies, and in which space.
    pub(super) fn place(&self, symbol: &Symbol) -> Decoded<SymbolLocation> {
        match symbol {
            Symbol::Local(index) => match &self.body.variables[*index as usize] {
                variable if variable.space == ast::Space::Shared => {
                    self.layout.shared_variable(self.function, *index as usize)
                }
                variable if matches!(variable.space, ast::Space::Global | ast::Space::Const) => {
                    self.layout.module_symbol(&variable.name)
                }
                _ => Ok(SymbolLocation::Local(self.frame.variables[*index as usize])),
            },
            Symbol::Param(index) if self.is_entry => Ok(SymbolLocation::Param(self.frame.params[*index as usize])),
            Symbol::Param(index) => Ok(SymbolLocation::Local(self.frame.params[*index as usize])),
            Symbol::Return(index) => Ok(SymbolLocation::Local(self.frame.returns[*index as usize])),
            Symbol::Module(name) => self.layout.module_symbol(name),
        }
    }

    /// A register with the address of a symbol within its space.
    pub(super) fn address_of(&mut self, symbol: &Symbol, offset: i64) -> Decoded<R> {
        match self.place(symbol)? {
            SymbolLocation::Global(index) => self.build.preset64(Preset::Global(index, offset)),
            SymbolLocation::Shared(at) | SymbolLocation::Local(at) | SymbolLocation::Param(at) => {
                self.build.const64(at.wrapping_add_signed(offset))
            }
            SymbolLocation::Function(handle) => self.build.const64(handle),
        }
    }

    /// The target of an access, and the place of the symbol it is based on.
    pub(super) fn target(&mut self, operand: &Operand) -> Decoded<(AddressOperand, Option<SymbolLocation>)> {
        let Operand::Address(address) = operand else { return refuse("expected an address") };
        match &address.base {
            AddressBase::Reg(reg) => {
                let base = self.slot(&Operand::Reg(*reg))?;
                Ok((AddressOperand { base, offset: address.offset }, None))
            }
            AddressBase::Absolute => Ok((AddressOperand { base: Slot::None, offset: address.offset }, None)),
            AddressBase::Symbol(symbol) => {
                let place = self.place(symbol)?;
                let target = match place {
                    SymbolLocation::Global(index) => {
                        let base = self.build.preset64(Preset::Global(index, 0))?;
                        AddressOperand { base: Slot::W64(base), offset: address.offset }
                    }
                    SymbolLocation::Shared(at) | SymbolLocation::Local(at) | SymbolLocation::Param(at) => {
                        AddressOperand {
                            base: Slot::None,
                            offset: at.wrapping_add_signed(address.offset).cast_signed(),
                        }
                    }
                    SymbolLocation::Function(_) => return refuse("a function is not an address in memory"),
                };
                Ok((target, Some(place)))
            }
        }
    }
}

/// The type an opcode ends in.
pub(super) fn type_of(instruction: &ast::Instruction) -> Decoded<Type> {
    let last = instruction.opcode.modifiers().next_back().and_then(Type::from_name);
    last.ok_or(Refusal("no type at the end of the opcode".to_owned()))
}

pub(super) fn operand(instruction: &ast::Instruction, index: usize) -> Decoded<&Operand> {
    instruction.operands.get(index).ok_or_else(|| Refusal(format!("operand {} is missing", index + 1)))
}
