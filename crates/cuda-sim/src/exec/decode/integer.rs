//! Integer, bit and move instructions.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::{Bin, PredOp, StepOp, Tri, Un, Window};
use super::super::fault::Space;
use super::super::register::Slot;
use super::super::window::window_base;
use super::body::{Body, operand, type_of};
use super::build::{Decoded, refuse};

/// Width of an integer type and whether it is signed.
pub(super) fn shape(ty: Type) -> Decoded<(u8, bool)> {
    Ok(match ty {
        Type::B8 | Type::U8 => (8, false),
        Type::S8 => (8, true),
        Type::B16 | Type::U16 => (16, false),
        Type::S16 => (16, true),
        Type::B32 | Type::U32 => (32, false),
        Type::S32 => (32, true),
        Type::B64 | Type::U64 => (64, false),
        Type::S64 => (64, true),
        _ => return refuse("not an integer type"),
    })
}

impl Body<'_> {
    /// A two-operand instruction; 16-bit operands are computed in 32 bits.
    fn binary(&mut self, ins: &Instruction, op: Bin, ty: Type) -> Decoded<()> {
        let (bits, signed) = shape(ty)?;
        let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
        if bits == 64 {
            let (a, b) = (self.src64(x)?, self.src64(y)?);
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            self.emit(StepOp::Bin64(op, d, a, b));
            self.finish(finish);
            return Ok(());
        }
        let (a, b) = if bits == 16 {
            (self.src16_as32(x, signed)?, self.src16_as32(y, signed)?)
        } else {
            (self.src32(x)?, self.src32(y)?)
        };
        let (d, finish) = self.dest(operand(ins, 0)?, bits)?;
        self.emit(StepOp::Bin32(op, d, a, b));
        self.finish(finish);
        Ok(())
    }

    pub(super) fn add_sub(&mut self, ins: &Instruction) -> Decoded<()> {
        let subtract = ins.opcode.base().starts_with("sub");
        let carry_in = ins.opcode.base().ends_with('c');
        let ty = type_of(ins)?;
        if carry_in || ins.opcode.has("cc") {
            let wide = shape(ty)?.0 == 64;
            // Without `.cc` the carry that comes out goes nowhere.
            let cc = self.carry()?;
            let keep = self.temp_predicate()?;
            if !ins.opcode.has("cc") {
                self.emit(StepOp::Pred(PredOp::Move, keep, cc, cc));
            }
            let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
            let (a, b) = if wide { (self.src64(x)?, self.src64(y)?) } else { (self.src32(x)?, self.src32(y)?) };
            let (d, finish) = self.dest(operand(ins, 0)?, if wide { 64 } else { 32 })?;
            self.emit(StepOp::Carry { wide, subtract, carry_in, cc, d, a, b });
            self.finish(finish);
            if !ins.opcode.has("cc") {
                self.emit(StepOp::Pred(PredOp::Move, cc, keep, keep));
            }
            return Ok(());
        }
        let op = match (subtract, ins.opcode.has("sat")) {
            (false, false) => Bin::Add,
            (false, true) => Bin::AddSat,
            (true, false) => Bin::Sub,
            (true, true) => Bin::SubSat,
        };
        self.binary(ins, op, ty)
    }

    pub(super) fn mul(&mut self, ins: &Instruction) -> Decoded<()> {
        let ty = type_of(ins)?;
        let (bits, signed) = shape(ty)?;
        if ins.opcode.has("wide") {
            let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
            if bits == 16 {
                let (a, b) = (self.src16_as32(x, signed)?, self.src16_as32(y, signed)?);
                let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
                self.emit(StepOp::Bin32(Bin::MulLo, d, a, b));
                self.finish(finish);
                return Ok(());
            }
            let (a, b) = (self.src32(x)?, self.src32(y)?);
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            self.emit(StepOp::MulWide(signed, d, a, b));
            self.finish(finish);
            return Ok(());
        }
        if ins.opcode.has("hi") && bits == 16 {
            let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
            let (a, b) = (self.src16_as32(x, signed)?, self.src16_as32(y, signed)?);
            let (d, finish) = self.dest(operand(ins, 0)?, 16)?;
            let (product, sixteen) = (self.temp32()?, self.build.const32(16)?);
            self.emit(StepOp::Bin32(Bin::MulLo, product, a, b));
            self.emit(StepOp::Bin32(Bin::ShrU, d, product, sixteen));
            self.finish(finish);
            return Ok(());
        }
        let op = match (ins.opcode.has("hi"), signed) {
            (false, _) => Bin::MulLo,
            (true, false) => Bin::MulHiU,
            (true, true) => Bin::MulHiS,
        };
        self.binary(ins, op, ty)
    }

    pub(super) fn mad(&mut self, ins: &Instruction) -> Decoded<()> {
        let (bits, signed) = shape(type_of(ins)?)?;
        let [x, y, z] = [operand(ins, 1)?, operand(ins, 2)?, operand(ins, 3)?];
        if ins.opcode.has("wide") && bits == 32 {
            let (a, b, c) = (self.src32(x)?, self.src32(y)?, self.src64(z)?);
            let product = self.temp64()?;
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            self.emit(StepOp::MulWide(signed, product, a, b));
            self.emit(StepOp::Bin64(Bin::Add, d, product, c));
            self.finish(finish);
            return Ok(());
        }
        if bits == 64 {
            let (a, b, c) = (self.src64(x)?, self.src64(y)?, self.src64(z)?);
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            if ins.opcode.has("hi") {
                let product = self.temp64()?;
                self.emit(StepOp::Bin64(if signed { Bin::MulHiS } else { Bin::MulHiU }, product, a, b));
                self.emit(StepOp::Bin64(Bin::Add, d, product, c));
            } else {
                self.emit(StepOp::Mad64(d, a, b, c));
            }
            self.finish(finish);
            return Ok(());
        }
        let (a, b) = if bits == 16 {
            (self.src16_as32(x, signed)?, self.src16_as32(y, signed)?)
        } else {
            (self.src32(x)?, self.src32(y)?)
        };
        let c = self.src32(z)?;
        let result = if ins.opcode.has("wide") { 32 } else { bits };
        let (d, finish) = self.dest(operand(ins, 0)?, result)?;
        let op = match (ins.opcode.has("hi"), signed) {
            (true, _) if bits == 16 => return refuse("high half of a 16-bit product"),
            (false, _) => Tri::Mad,
            (true, false) => Tri::MadHiU,
            (true, true) => Tri::MadHiS,
        };
        self.emit(StepOp::Tri32(op, d, a, b, c));
        self.finish(finish);
        Ok(())
    }

    /// `div`, `rem`, `min`, `max` by signedness.
    pub(super) fn by_sign(&mut self, ins: &Instruction, unsigned: Bin, signed: Bin) -> Decoded<()> {
        let ty = type_of(ins)?;
        let op = if shape(ty)?.1 { signed } else { unsigned };
        self.binary(ins, op, ty)
    }

    /// `and`, `or`, `xor`, on words or predicates.
    pub(super) fn logic(&mut self, ins: &Instruction, op: Bin, predicate: PredOp) -> Decoded<()> {
        let ty = type_of(ins)?;
        if ty == Type::Pred {
            let (a, b) = (self.srcp(operand(ins, 1)?)?, self.srcp(operand(ins, 2)?)?);
            let d = self.destp(operand(ins, 0)?)?;
            self.emit(StepOp::Pred(predicate, d, a, b));
            return Ok(());
        }
        self.binary(ins, op, ty)
    }

    pub(super) fn shift(&mut self, ins: &Instruction) -> Decoded<()> {
        let (bits, signed) = shape(type_of(ins)?)?;
        let op = match (ins.opcode.base(), signed) {
            ("shl", _) => Bin::Shl,
            (_, false) => Bin::ShrU,
            (_, true) => Bin::ShrS,
        };
        let (value, count) = (operand(ins, 1)?, operand(ins, 2)?);
        let count = self.src32(count)?;
        if bits == 64 {
            let a = self.src64(value)?;
            let wide = self.temp64()?;
            self.emit(StepOp::Zext64(wide, count));
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            self.emit(StepOp::Bin64(op, d, a, wide));
            self.finish(finish);
            return Ok(());
        }
        let a = if bits == 16 { self.src16_as32(value, signed)? } else { self.src32(value)? };
        let (d, finish) = self.dest(operand(ins, 0)?, bits)?;
        self.emit(StepOp::Bin32(op, d, a, count));
        self.finish(finish);
        Ok(())
    }

    /// One operand, same width out.
    pub(super) fn unary(&mut self, ins: &Instruction, op: Un) -> Decoded<()> {
        let ty = type_of(ins)?;
        if ty == Type::Pred {
            let a = self.srcp(operand(ins, 1)?)?;
            let d = self.destp(operand(ins, 0)?)?;
            self.emit(StepOp::Pred(PredOp::Not, d, a, a));
            return Ok(());
        }
        let (bits, signed) = shape(ty)?;
        if bits == 64 {
            let a = self.src64(operand(ins, 1)?)?;
            let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
            self.emit(StepOp::Un64(op, d, a));
            self.finish(finish);
            return Ok(());
        }
        let a = if bits == 16 { self.src16_as32(operand(ins, 1)?, signed)? } else { self.src32(operand(ins, 1)?)? };
        let (d, finish) = self.dest(operand(ins, 0)?, bits)?;
        self.emit(StepOp::Un32(op, d, a));
        self.finish(finish);
        Ok(())
    }

    /// `popc`, `clz`, `bfind`: a 32-bit count of either width.
    pub(super) fn count(&mut self, ins: &Instruction, op: Un) -> Decoded<()> {
        let (bits, signed) = shape(type_of(ins)?)?;
        let op = if signed && op == Un::BfindU { Un::BfindS } else { op };
        if ins.opcode.has("shiftamt") {
            return refuse("shift amount form");
        }
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        if bits == 64 {
            let a = self.src64(operand(ins, 1)?)?;
            self.emit(StepOp::Count64(op, d, a));
        } else {
            let a = self.src32(operand(ins, 1)?)?;
            self.emit(StepOp::Un32(op, d, a));
        }
        self.finish(finish);
        Ok(())
    }

    /// Three 32-bit operands.
    pub(super) fn ternary(&mut self, ins: &Instruction, op: Tri) -> Decoded<()> {
        let (a, b, c) = (self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?);
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        self.emit(StepOp::Tri32(op, d, a, b, c));
        self.finish(finish);
        Ok(())
    }

    pub(super) fn bfe(&mut self, ins: &Instruction) -> Decoded<()> {
        let (bits, signed) = shape(type_of(ins)?)?;
        if bits == 32 {
            return self.ternary(ins, if signed { Tri::BfeS } else { Tri::BfeU });
        }
        let (a, b, c) = (self.src64(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?);
        let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
        self.emit(StepOp::Bfe64(signed, d, a, b, c));
        self.finish(finish);
        Ok(())
    }

    pub(super) fn bfi(&mut self, ins: &Instruction) -> Decoded<()> {
        if shape(type_of(ins)?)?.0 != 32 {
            return refuse("only 32-bit fields");
        }
        let [a, b, pos, len] =
            [self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src16(operand(ins, 3)?)?, {
                self.src16(operand(ins, 4)?)?
            }];
        let packed = self.temp32()?;
        self.emit(StepOp::Pack32(packed, pos, len));
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        self.emit(StepOp::Tri32(Tri::Bfi, d, a, b, packed));
        self.finish(finish);
        Ok(())
    }

    pub(super) fn prmt(&mut self, ins: &Instruction) -> Decoded<()> {
        let mode = match ins.opcode.modifiers().nth(1) {
            None => Tri::Prmt,
            Some("f4e") => Tri::PrmtF4e,
            Some("b4e") => Tri::PrmtB4e,
            Some("rc8") => Tri::PrmtRc8,
            Some("ecl") => Tri::PrmtEcl,
            Some("ecr") => Tri::PrmtEcr,
            Some("rc16") => Tri::PrmtRc16,
            Some(_) => return refuse("unknown mode"),
        };
        self.ternary(ins, mode)
    }

    pub(super) fn funnel(&mut self, ins: &Instruction) -> Decoded<()> {
        let op = match (ins.opcode.has("l"), ins.opcode.has("wrap")) {
            (true, true) => Tri::ShfLWrap,
            (true, false) => Tri::ShfLClamp,
            (false, true) => Tri::ShfRWrap,
            (false, false) => Tri::ShfRClamp,
        };
        self.ternary(ins, op)
    }

    pub(super) fn lop3(&mut self, ins: &Instruction) -> Decoded<()> {
        let (a, b, c) = (self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?);
        // Of a longer number the low 8 bits count, as in what ptxas 13.5 makes of it.
        let Operand::Int(lut) = operand(ins, 4)? else { return refuse("expected a table of 8 bits") };
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        self.emit(StepOp::Lop3 { lut: *lut as u8, d, a, b, c });
        self.finish(finish);
        Ok(())
    }

    pub(super) fn selp(&mut self, ins: &Instruction) -> Decoded<()> {
        let p = self.srcp(operand(ins, 3)?)?;
        let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
        match type_of(ins)?.bytes() {
            8 => {
                let (a, b) = (self.src64(x)?, self.src64(y)?);
                let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
                self.emit(StepOp::Sel64(d, a, b, p));
                self.finish(finish);
            }
            width => {
                let (a, b) =
                    if width == 2 { (self.src16(x)?, self.src16(y)?) } else { (self.src32(x)?, self.src32(y)?) };
                let (d, finish) = self.dest(operand(ins, 0)?, 8 * width as u8)?;
                self.emit(StepOp::Sel32(d, a, b, p));
                self.finish(finish);
            }
        }
        Ok(())
    }

    pub(super) fn mov(&mut self, ins: &Instruction) -> Decoded<()> {
        let (to, from) = (operand(ins, 0)?, operand(ins, 1)?);
        match (to, from) {
            (Operand::Vector(parts), _) => self.unpack(parts, from),
            (_, Operand::Vector(parts)) => self.pack(to, parts),
            _ if self.is_predicate(to) => {
                let a = self.srcp(from)?;
                let d = self.destp(to)?;
                self.emit(StepOp::Pred(PredOp::Move, d, a, a));
                Ok(())
            }
            _ => match self.slot(to)? {
                Slot::W64(_) => {
                    let a = self.src64(from)?;
                    let (d, finish) = self.dest(to, 64)?;
                    self.emit(StepOp::Mov64(d, a));
                    self.finish(finish);
                    Ok(())
                }
                _ => {
                    let a = self.src32(from)?;
                    let (d, finish) = self.dest(to, 32)?;
                    self.emit(StepOp::Mov32(d, a));
                    self.finish(finish);
                    Ok(())
                }
            },
        }
    }

    fn unpack(&mut self, parts: &[Operand], from: &Operand) -> Decoded<()> {
        let wide = matches!(from, Operand::Reg(_)) && matches!(self.slot(from)?, Slot::W64(_));
        match (parts, wide) {
            ([lo, hi], true) => {
                let a = self.src64(from)?;
                let (low, after_low) = self.dest(lo, 32)?;
                let (high, after_high) = self.dest(hi, 32)?;
                self.emit(StepOp::Unpack64(low, high, a));
                self.finish(after_low);
                self.finish(after_high);
                Ok(())
            }
            ([lo, hi], false) => {
                let a = self.src32(from)?;
                self.halves(lo, hi, a)
            }
            ([p, q, r, s], true) => {
                let a = self.src64(from)?;
                let (low, high) = (self.temp32()?, self.temp32()?);
                self.emit(StepOp::Unpack64(low, high, a));
                self.halves(p, q, low)?;
                self.halves(r, s, high)
            }
            _ => refuse("unpacking into so many parts"),
        }
    }

    /// Splits a word into two 16-bit registers.
    fn halves(&mut self, lo: &Operand, hi: &Operand, word: u16) -> Decoded<()> {
        let (copy, sixteen) = (self.temp32()?, self.build.const32(16)?);
        self.emit(StepOp::Mov32(copy, word));
        let (low, after_low) = self.dest(lo, 16)?;
        self.emit(StepOp::Mov32(low, copy));
        self.finish(after_low);
        let (high, after_high) = self.dest(hi, 16)?;
        self.emit(StepOp::Bin32(Bin::ShrU, high, copy, sixteen));
        self.finish(after_high);
        Ok(())
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand]) -> Decoded<()> {
        let wide = matches!(self.slot(to)?, Slot::W64(_));
        match (parts, wide) {
            ([lo, hi], true) => {
                let (low, high) = (self.src32(lo)?, self.src32(hi)?);
                let (d, finish) = self.dest(to, 64)?;
                self.emit(StepOp::Pack64(d, low, high));
                self.finish(finish);
                Ok(())
            }
            ([lo, hi], false) => {
                let (low, high) = (self.src16(lo)?, self.src16(hi)?);
                let (d, finish) = self.dest(to, 32)?;
                self.emit(StepOp::Pack32(d, low, high));
                self.finish(finish);
                Ok(())
            }
            ([p, q, r, s], true) => {
                let [p, q, r, s] = [self.src16(p)?, self.src16(q)?, self.src16(r)?, self.src16(s)?];
                let (low, high) = (self.temp32()?, self.temp32()?);
                self.emit(StepOp::Pack32(low, p, q));
                self.emit(StepOp::Pack32(high, r, s));
                let (d, finish) = self.dest(to, 64)?;
                self.emit(StepOp::Pack64(d, low, high));
                self.finish(finish);
                Ok(())
            }
            _ => refuse("packing so many parts"),
        }
    }

    /// Translates `cvta` and `cvta.to`.
    ///
    /// The windows of the generic space are a constant apart from their spaces.
    pub(super) fn cvta(&mut self, ins: &Instruction) -> Decoded<()> {
        let a = self.src64(operand(ins, 1)?)?;
        let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
        let Window::Fixed(space) = window(ins)? else { return refuse("no state space") };
        let base = self.build.const64(window_base(space))?;
        let op = if ins.opcode.has("to") { Bin::Sub } else { Bin::Add };
        self.emit(StepOp::Bin64(op, d, a, base));
        self.finish(finish);
        Ok(())
    }

    pub(super) fn isspacep(&mut self, ins: &Instruction) -> Decoded<()> {
        let a = self.src64(operand(ins, 1)?)?;
        let d = self.destp(operand(ins, 0)?)?;
        let Window::Fixed(space) = window(ins)? else { return refuse("no state space") };
        self.emit(StepOp::IsSpace(space, d, a));
        Ok(())
    }
}

/// The state space an opcode names; generic without.
pub(super) fn window(ins: &Instruction) -> Decoded<Window> {
    for modifier in ins.opcode.modifiers() {
        let space = match modifier.split("::").next().unwrap_or_default() {
            "global" | "const" => Space::Global,
            "shared" if modifier.ends_with("::cluster") => return refuse("cluster shared memory"),
            "shared" => Space::Shared,
            "local" => Space::Local,
            "param" => Space::Param,
            _ => continue,
        };
        return Ok(Window::Fixed(space));
    }
    Ok(Window::Generic)
}
