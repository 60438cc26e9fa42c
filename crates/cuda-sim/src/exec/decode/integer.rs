//! Integer, bit and move instructions.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::{Bin, PredOp, StepOp, Tri, Un, Window};
use super::super::fault::Space;
use super::super::register::{R, Slot};
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
    /// Operand `index` as an integer of a width and signedness; 16 bits are extended to 32.
    pub(super) fn source(&mut self, ins: &Instruction, index: usize, (bits, signed): (u8, bool)) -> Decoded<R> {
        let operand = operand(ins, index)?;
        match bits {
            64 => self.src64(operand),
            16 => self.src16_as32(operand, signed),
            _ => self.src32(operand),
        }
    }

    /// A two-operand instruction; 16-bit operands are computed in 32 bits.
    fn binary(&mut self, ins: &Instruction, op: Bin, ty: Type) -> Decoded<()> {
        let (bits, signed) = shape(ty)?;
        let (a, b) = (self.source(ins, 1, (bits, signed))?, self.source(ins, 2, (bits, signed))?);
        self.result(ins, bits, |d| if bits == 64 { StepOp::Bin64(op, d, a, b) } else { StepOp::Bin32(op, d, a, b) })
    }

    pub(super) fn add_sub(&mut self, ins: &Instruction) -> Decoded<()> {
        let subtract = ins.opcode.base().starts_with("sub");
        let carry_in = ins.opcode.base().ends_with('c');
        let ty = type_of(ins)?;
        if carry_in || ins.opcode.has("cc") {
            let bits = if shape(ty)?.0 == 64 { 64 } else { 32 };
            // Without `.cc` the carry that comes out goes nowhere.
            let cc = self.carry()?;
            let keep = self.temp_predicate()?;
            if !ins.opcode.has("cc") {
                self.emit(StepOp::Pred(PredOp::Move, keep, cc, cc));
            }
            let (a, b) = (self.source(ins, 1, (bits, false))?, self.source(ins, 2, (bits, false))?);
            self.result(ins, bits, |d| StepOp::Carry { wide: bits == 64, subtract, carry_in, cc, d, a, b })?;
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
            let (a, b) = (self.source(ins, 1, (bits, signed))?, self.source(ins, 2, (bits, signed))?);
            return match bits {
                16 => self.result(ins, 32, |d| StepOp::Bin32(Bin::MulLo, d, a, b)),
                _ => self.result(ins, 64, |d| StepOp::MulWide(signed, d, a, b)),
            };
        }
        if ins.opcode.has("hi") && bits == 16 {
            let (a, b) = (self.source(ins, 1, (bits, signed))?, self.source(ins, 2, (bits, signed))?);
            let product = self.computed32(|product| StepOp::Bin32(Bin::MulLo, product, a, b))?;
            let sixteen = self.build.const32(16)?;
            return self.result(ins, 16, |d| StepOp::Bin32(Bin::ShrU, d, product, sixteen));
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
        let (wide, high) = (ins.opcode.has("wide"), ins.opcode.has("hi"));
        let (a, b) = (self.source(ins, 1, (bits, signed))?, self.source(ins, 2, (bits, signed))?);
        let third = operand(ins, 3)?;
        let c = if bits == 64 || bits == 32 && wide { self.src64(third)? } else { self.src32(third)? };
        let product = match bits {
            32 if wide => self.computed64(|product| StepOp::MulWide(signed, product, a, b))?,
            64 if high => {
                let op = if signed { Bin::MulHiS } else { Bin::MulHiU };
                self.computed64(|product| StepOp::Bin64(op, product, a, b))?
            }
            64 => return self.result(ins, 64, |d| StepOp::Mad64(d, a, b, c)),
            _ => {
                let op = match (high, signed) {
                    (false, _) => Tri::Mad,
                    (true, false) => Tri::MadHiU,
                    (true, true) => Tri::MadHiS,
                };
                return self.result(ins, if wide { 32 } else { bits }, |d| StepOp::Tri32(op, d, a, b, c));
            }
        };
        self.result(ins, 64, |d| StepOp::Bin64(Bin::Add, d, product, c))
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
            return self.step(StepOp::Pred(predicate, d, a, b));
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
        let count = self.src32(operand(ins, 2)?)?;
        let a = self.source(ins, 1, (bits, signed))?;
        if bits == 64 {
            let count = self.computed64(|wide| StepOp::Zext64(wide, count))?;
            return self.result(ins, 64, |d| StepOp::Bin64(op, d, a, count));
        }
        self.result(ins, bits, |d| StepOp::Bin32(op, d, a, count))
    }

    /// One operand, same width out.
    pub(super) fn unary(&mut self, ins: &Instruction, op: Un) -> Decoded<()> {
        let ty = type_of(ins)?;
        if ty == Type::Pred {
            let a = self.srcp(operand(ins, 1)?)?;
            let d = self.destp(operand(ins, 0)?)?;
            return self.step(StepOp::Pred(PredOp::Not, d, a, a));
        }
        let (bits, signed) = shape(ty)?;
        let a = self.source(ins, 1, (bits, signed))?;
        self.result(ins, bits, |d| if bits == 64 { StepOp::Un64(op, d, a) } else { StepOp::Un32(op, d, a) })
    }

    /// `popc` and `clz` of either width, `bfind` of 32 bits: a 32-bit count.
    pub(super) fn count(&mut self, ins: &Instruction, op: Un) -> Decoded<()> {
        let source = operand(ins, 1)?;
        if shape(type_of(ins)?)?.0 == 64 {
            let a = self.src64(source)?;
            return self.result(ins, 32, |d| StepOp::Count64(op, d, a));
        }
        let a = self.src32(source)?;
        self.result(ins, 32, |d| StepOp::Un32(op, d, a))
    }

    /// Three 32-bit operands.
    pub(super) fn ternary(&mut self, ins: &Instruction, op: Tri) -> Decoded<()> {
        let (a, b, c) = (self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?);
        self.result(ins, 32, |d| StepOp::Tri32(op, d, a, b, c))
    }

    pub(super) fn bfe(&mut self, ins: &Instruction) -> Decoded<()> {
        let (bits, signed) = shape(type_of(ins)?)?;
        if bits == 32 {
            return self.ternary(ins, if signed { Tri::BfeS } else { Tri::BfeU });
        }
        let (a, b, c) = (self.src64(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?);
        self.result(ins, 64, |d| StepOp::Bfe64(signed, d, a, b, c))
    }

    pub(super) fn bfi(&mut self, ins: &Instruction) -> Decoded<()> {
        let (a, b) = (self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?);
        let (pos, len) = (self.src32(operand(ins, 3)?)?, self.src32(operand(ins, 4)?)?);
        let packed = self.computed32(|packed| StepOp::Pack32(packed, pos, len))?;
        self.result(ins, 32, |d| StepOp::Tri32(Tri::Bfi, d, a, b, packed))
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
        self.result(ins, 32, |d| StepOp::Lop3 { lut: *lut as u8, d, a, b, c })
    }

    pub(super) fn selp(&mut self, ins: &Instruction) -> Decoded<()> {
        let p = self.srcp(operand(ins, 3)?)?;
        let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
        match type_of(ins)?.bytes() {
            8 => {
                let (a, b) = (self.src64(x)?, self.src64(y)?);
                self.result(ins, 64, |d| StepOp::Sel64(d, a, b, p))
            }
            width => {
                let (a, b) =
                    if width == 2 { (self.src16(x)?, self.src16(y)?) } else { (self.src32(x)?, self.src32(y)?) };
                self.result(ins, 8 * width as u8, |d| StepOp::Sel32(d, a, b, p))
            }
        }
    }

    pub(super) fn mov(&mut self, ins: &Instruction) -> Decoded<()> {
        let (to, from) = (operand(ins, 0)?, operand(ins, 1)?);
        match (to, from) {
            (Operand::Vector(parts), _) => self.unpack(parts, from),
            (_, Operand::Vector(parts)) => self.pack(to, parts),
            _ if self.is_predicate(to) => {
                let a = self.srcp(from)?;
                let d = self.destp(to)?;
                self.step(StepOp::Pred(PredOp::Move, d, a, a))
            }
            _ => match self.slot(to)? {
                Slot::W64(_) => {
                    let a = self.src64(from)?;
                    self.write(to, 64, |d| StepOp::Mov64(d, a))
                }
                _ => {
                    let a = self.src32(from)?;
                    self.write(to, 32, |d| StepOp::Mov32(d, a))
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
    fn halves(&mut self, lo: &Operand, hi: &Operand, word: R) -> Decoded<()> {
        let copy = self.computed32(|copy| StepOp::Mov32(copy, word))?;
        let sixteen = self.build.const32(16)?;
        self.write(lo, 16, |d| StepOp::Mov32(d, copy))?;
        self.write(hi, 16, |d| StepOp::Bin32(Bin::ShrU, d, copy, sixteen))
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand]) -> Decoded<()> {
        let wide = matches!(self.slot(to)?, Slot::W64(_));
        match (parts, wide) {
            ([lo, hi], true) => {
                let (low, high) = (self.src32(lo)?, self.src32(hi)?);
                self.write(to, 64, |d| StepOp::Pack64(d, low, high))
            }
            ([lo, hi], false) => {
                let (low, high) = (self.src16(lo)?, self.src16(hi)?);
                self.write(to, 32, |d| StepOp::Pack32(d, low, high))
            }
            ([p, q, r, s], true) => {
                let [p, q, r, s] = [self.src16(p)?, self.src16(q)?, self.src16(r)?, self.src16(s)?];
                let low = self.computed32(|low| StepOp::Pack32(low, p, q))?;
                let high = self.computed32(|high| StepOp::Pack32(high, r, s))?;
                self.write(to, 64, |d| StepOp::Pack64(d, low, high))
            }
            _ => refuse("packing so many parts"),
        }
    }

    /// Translates `cvta` and `cvta.to`.
    ///
    /// The windows of the generic space are a constant apart from their spaces.
    pub(super) fn cvta(&mut self, ins: &Instruction) -> Decoded<()> {
        let a = self.src64(operand(ins, 1)?)?;
        let Window::Fixed(space) = window(ins)? else { return refuse("no state space") };
        let base = self.build.const64(window_base(space))?;
        let op = if ins.opcode.has("to") { Bin::Sub } else { Bin::Add };
        self.result(ins, 64, |d| StepOp::Bin64(op, d, a, base))
    }

    pub(super) fn isspacep(&mut self, ins: &Instruction) -> Decoded<()> {
        let a = self.src64(operand(ins, 1)?)?;
        let d = self.destp(operand(ins, 0)?)?;
        let Window::Fixed(space) = window(ins)? else { return refuse("no state space") };
        self.step(StepOp::IsSpace(space, d, a))
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
