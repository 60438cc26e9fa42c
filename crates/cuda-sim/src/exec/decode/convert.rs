//! `cvt`, by way of a few canonical conversions.

use ptx::ast::{Instruction, Type};

use super::super::code::{Bin, Cvt, FUn, StepOp};
use super::super::register::{HalfKind, R};
use super::body::{Body, operand};
use super::build::{Decoded, Refusal, refuse};
use super::float::{half_kind, is_float};
use super::integer::shape;

/// A value on its way through a conversion: its register and whether that is 64 bits wide.
type SizedRegister = (R, bool);

impl Body<'_> {
    pub(super) fn cvt(&mut self, ins: &Instruction) -> Decoded<()> {
        let parts: Vec<&str> = ins.opcode.modifiers().collect();
        let types: Vec<Type> = parts.iter().filter_map(|part| Type::from_name(part)).collect();
        let [to, from] = types[..] else { return refuse("expected two types") };
        match (is_float(from), is_float(to)) {
            (false, false) => self.int_to_int(ins, from, to),
            (false, true) => self.int_to_float(ins, from, to),
            (true, false) => self.float_to_int(ins, from, to),
            (true, true) => self.float_to_float(ins, from, to),
        }
    }

    /// An integer source extended to 32 or 64 bits by its own signedness.
    fn extended_source(&mut self, ins: &Instruction, from: Type) -> Decoded<SizedRegister> {
        let (bits, signed) = shape(from)?;
        let source = operand(ins, 1)?;
        if bits == 64 {
            return Ok((self.src64(source)?, true));
        }
        let reg = self.src32(source)?;
        Ok((if bits < 32 { self.extended(reg, bits, signed)? } else { reg }, false))
    }

    /// The source as 64 bits.
    fn wide_source(&mut self, ins: &Instruction, from: Type) -> Decoded<R> {
        let (reg, wide) = self.extended_source(ins, from)?;
        if wide {
            return Ok(reg);
        }
        let signed = shape(from)?.1;
        self.computed64(|temp| if signed { StepOp::Sext64(temp, reg) } else { StepOp::Zext64(temp, reg) })
    }

    /// Where an integer result of at most 32 bits goes.
    ///
    /// A wider register is filled by the signedness of the type.
    fn integer_dest(&mut self, ins: &Instruction, signed: bool) -> Decoded<(R, Option<StepOp>)> {
        Ok(match self.dest(operand(ins, 0)?, 32)? {
            (d, Some(StepOp::Zext64(wide, narrow))) if signed => (d, Some(StepOp::Sext64(wide, narrow))),
            dest => dest,
        })
    }

    fn int_to_int(&mut self, ins: &Instruction, from: Type, to: Type) -> Decoded<()> {
        let (to_bits, to_signed) = shape(to)?;
        let from_signed = shape(from)?.1;
        if ins.opcode.has("sat") && to_bits < 64 {
            let a = self.wide_source(ins, from)?;
            let (d, finish) = self.integer_dest(ins, to_signed)?;
            self.emit(StepOp::Cvt(Cvt::Narrow(from_signed, to_bits, to_signed), d, a));
            if to_signed {
                self.emit(StepOp::Ext32 { signed: true, bits: to_bits, d, a: d });
            }
            self.finish(finish);
            return Ok(());
        }
        if to_bits == 64 {
            let a = self.wide_source(ins, from)?;
            if !ins.opcode.has("sat") {
                return self.result(ins, 64, |d| StepOp::Mov64(d, a));
            }
            // Of the other signedness, only negative values or those above the largest do not fit.
            let (op, bound) = if to_signed { (Bin::MinU, i64::MAX.cast_unsigned()) } else { (Bin::MaxS, 0) };
            let bound = self.build.const64(bound)?;
            return self.result(ins, 64, |d| StepOp::Bin64(op, d, a, bound));
        }
        let (a, wide) = self.extended_source(ins, from)?;
        let (d, finish) = self.integer_dest(ins, to_signed)?;
        self.emit(if wide { StepOp::Trunc32(d, a) } else { StepOp::Mov32(d, a) });
        if to_bits < 32 {
            self.emit(StepOp::Ext32 { signed: to_signed, bits: to_bits, d, a: d });
        }
        self.finish(finish);
        Ok(())
    }

    fn int_to_float(&mut self, ins: &Instruction, from: Type, to: Type) -> Decoded<()> {
        let signed = shape(from)?.1;
        if half_kind(to).is_some() {
            let a = self.wide_source(ins, from)?;
            return self.result(ins, 16, |d| StepOp::Cvt(if signed { Cvt::S64F16 } else { Cvt::U64F16 }, d, a));
        }
        let (a, wide) = self.extended_source(ins, from)?;
        let (op, bits) = match (wide, signed, to) {
            (false, false, Type::F32) => (Cvt::U32F32, 32),
            (false, true, Type::F32) => (Cvt::S32F32, 32),
            (true, false, Type::F32) => (Cvt::U64F32, 32),
            (true, true, Type::F32) => (Cvt::S64F32, 32),
            (false, false, _) => (Cvt::U32F64, 64),
            (false, true, _) => (Cvt::S32F64, 64),
            (true, false, _) => (Cvt::U64F64, 64),
            (true, true, _) => (Cvt::S64F64, 64),
        };
        self.result(ins, bits, |d| StepOp::Cvt(op, d, a))
    }

    fn float_to_int(&mut self, ins: &Instruction, from: Type, to: Type) -> Decoded<()> {
        let (bits, signed) = shape(to)?;
        let round = ins.opcode.modifiers().find_map(rounding_to_integer);
        let round = round.ok_or(Refusal("no rounding to an integer".to_owned()))?;
        let (a, wide) = self.float_source(ins, from)?;
        let rounded = if wide {
            self.computed64(|rounded| StepOp::FUn64(round, rounded, a))?
        } else {
            self.computed32(|rounded| StepOp::FUn32(round, rounded, a))?
        };
        let op = match (wide, bits) {
            (false, 64) => Cvt::F32Int64(signed),
            (true, 64) => Cvt::F64Int64(signed),
            (false, _) => Cvt::F32Int(bits, signed),
            (true, _) => Cvt::F64Int(bits, signed),
        };
        let to = if bits == 64 { self.dest(operand(ins, 0)?, bits) } else { self.integer_dest(ins, signed) };
        let (d, finish) = to?;
        self.emit(StepOp::Cvt(op, d, rounded));
        if bits < 32 && signed {
            self.emit(StepOp::Ext32 { signed: true, bits, d, a: d });
        }
        self.finish(finish);
        Ok(())
    }

    /// A float source as `f32` or `f64`.
    fn float_source(&mut self, ins: &Instruction, from: Type) -> Decoded<SizedRegister> {
        let source = operand(ins, 1)?;
        if from == Type::F64 {
            return Ok((self.src64(source)?, true));
        }
        let reg = self.src32(source)?;
        let single = match half_kind(from) {
            Some(HalfKind::F16) => self.computed32(|temp| StepOp::Cvt(Cvt::F16F32, temp, reg))?,
            Some(HalfKind::Bf16) => self.computed32(|temp| StepOp::Cvt(Cvt::Bf16F32, temp, reg))?,
            Some(_) => return refuse("packed source"),
            None if ins.opcode.has("ftz") => self.computed32(|temp| StepOp::FUn32(FUn::Flush, temp, reg))?,
            None => reg,
        };
        Ok((single, false))
    }

    fn float_to_float(&mut self, ins: &Instruction, from: Type, to: Type) -> Decoded<()> {
        let kind = half_kind(to);
        if let Some(pair @ (HalfKind::F16x2 | HalfKind::Bf16x2)) = kind {
            let (a, b) = (self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?);
            let (toward_zero, relu) = (ins.opcode.has("rz"), ins.opcode.has("relu"));
            return self.result(ins, 32, |d| StepOp::CvtPack { kind: pair, toward_zero, relu, d, a, b });
        }
        let (source, wide) = self.float_source(ins, from)?;
        let a = match ins.opcode.modifiers().find_map(rounding_to_integer) {
            Some(round) if wide => self.computed64(|rounded| StepOp::FUn64(round, rounded, source))?,
            Some(round) => self.computed32(|rounded| StepOp::FUn32(round, rounded, source))?,
            None => source,
        };
        let (d, finish) = self.dest(operand(ins, 0)?, 8 * to.bytes() as u8)?;
        let cvt = |op| StepOp::Cvt(op, d, a);
        let op = match (wide, kind, to) {
            (false, Some(kind), _) => {
                let (toward_zero, relu) = (ins.opcode.has("rz"), ins.opcode.has("relu"));
                StepOp::CvtPack { kind, toward_zero, relu, d, a: self.build.const32(0)?, b: a }
            }
            (true, Some(_), _) => return refuse("f64 to a 16-bit float"),
            (false, None, Type::Tf32) => cvt(Cvt::F32Tf32),
            (false, None, Type::F64) => cvt(Cvt::F32F64),
            (true, None, Type::F32) => cvt(Cvt::F64F32),
            (false, None, _) => StepOp::Mov32(d, a),
            (true, None, _) => StepOp::Mov64(d, a),
        };
        self.emit(op);
        if to == Type::F32 {
            self.flush_and_saturate(ins, d);
        }
        self.finish(finish);
        Ok(())
    }
}

fn rounding_to_integer(mode: &str) -> Option<FUn> {
    Some(match mode {
        "rni" => FUn::Nearest,
        "rzi" => FUn::Truncate,
        "rmi" => FUn::Floor,
        "rpi" => FUn::Ceil,
        _ => return None,
    })
}
