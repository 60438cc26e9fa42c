//! Float, comparison and conversion instructions.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::{Approx, Cmp, Cvt, FBin, FUn, FloatClass, HalfOp, PredOp, StepOp};
use super::super::register::{HalfKind, R};
use super::body::{Body, operand, type_of};
use super::build::{Decoded, Finish, refuse};
use super::integer::shape;

/// The 16-bit float format of a type.
pub(super) fn half_kind(ty: Type) -> Option<HalfKind> {
    Some(match ty {
        Type::F16 => HalfKind::F16,
        Type::F16x2 => HalfKind::F16x2,
        Type::Bf16 => HalfKind::Bf16,
        Type::Bf16x2 => HalfKind::Bf16x2,
        _ => return None,
    })
}

/// Whether a type is a float of any width.
pub(super) fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64 | Type::Tf32) || half_kind(ty).is_some()
}

impl Body<'_> {
    /// An `f32` source, subnormals flushed under `.ftz`.
    fn float32(&mut self, ins: &Instruction, index: usize) -> Decoded<R> {
        let reg = self.src32(operand(ins, index)?)?;
        if !ins.opcode.has("ftz") {
            return Ok(reg);
        }
        let temp = self.temp32()?;
        self.emit(StepOp::FUn32(FUn::Flush, temp, reg));
        Ok(temp)
    }

    /// Finishes an `f32` result: flush, saturate, move.
    fn finish32(&mut self, ins: &Instruction, d: R, finish: Finish) {
        if ins.opcode.has("ftz") {
            self.emit(StepOp::FUn32(FUn::Flush, d, d));
        }
        if ins.opcode.has("sat") {
            self.emit(StepOp::FUn32(FUn::Saturate, d, d));
        }
        self.finish(finish);
    }

    /// Only rounding to nearest is exact on the host.
    fn nearest_only(ins: &Instruction) -> Decoded<()> {
        match ins.opcode.modifiers().find(|part| matches!(*part, "rz" | "rm" | "rp" | "rna")) {
            Some(mode) => refuse(format!("rounding mode {mode}")),
            None => Ok(()),
        }
    }

    pub(super) fn float_binary(&mut self, ins: &Instruction, op: FBin, half: Option<HalfOp>) -> Decoded<()> {
        Self::nearest_only(ins)?;
        let ty = type_of(ins)?;
        let op = match op {
            FBin::Min if ins.opcode.has("NaN") => FBin::MinNan,
            FBin::Max if ins.opcode.has("NaN") => FBin::MaxNan,
            op => op,
        };
        match ty {
            Type::F32 => {
                let (a, b) = (self.float32(ins, 1)?, self.float32(ins, 2)?);
                let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
                if op == FBin::Div && (ins.opcode.has("approx") || ins.opcode.has("full")) {
                    self.emit(StepOp::DivApprox(d, a, b));
                } else {
                    self.emit(StepOp::F32(op, d, a, b));
                }
                self.finish32(ins, d, finish);
                Ok(())
            }
            Type::F64 => {
                let (a, b) = (self.src64(operand(ins, 1)?)?, self.src64(operand(ins, 2)?)?);
                let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
                self.emit(StepOp::F64(op, d, a, b));
                self.finish(finish);
                Ok(())
            }
            _ => match (half_kind(ty), half) {
                (Some(kind), Some(half)) => self.half(ins, half, kind, 2),
                _ => refuse("type"),
            },
        }
    }

    fn half(&mut self, ins: &Instruction, op: HalfOp, kind: HalfKind, count: usize) -> Decoded<()> {
        if ins.opcode.has("sat") || ins.opcode.has("NaN") || ins.opcode.has("xorsign") {
            return refuse("modifier of a 16-bit float operation");
        }
        let mut regs = [0; 3];
        let single = matches!(kind, HalfKind::F16 | HalfKind::Bf16);
        for (index, reg) in regs.iter_mut().enumerate().take(count) {
            let source = operand(ins, index + 1)?;
            *reg = if single { self.src16(source)? } else { self.src32(source)? };
        }
        let (d, finish) = self.dest(operand(ins, 0)?, if single { 16 } else { 32 })?;
        let [a, b, c] = regs;
        self.emit(StepOp::Half { op, kind, d, a, b, c });
        self.finish(finish);
        Ok(())
    }

    pub(super) fn fma(&mut self, ins: &Instruction) -> Decoded<()> {
        Self::nearest_only(ins)?;
        let ty = type_of(ins)?;
        match ty {
            Type::F32 => {
                let (a, b, c) = (self.float32(ins, 1)?, self.float32(ins, 2)?, self.float32(ins, 3)?);
                let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
                self.emit(StepOp::Fma32(d, a, b, c));
                self.finish32(ins, d, finish);
                Ok(())
            }
            Type::F64 => {
                let [a, b, c] =
                    [self.src64(operand(ins, 1)?)?, self.src64(operand(ins, 2)?)?, self.src64(operand(ins, 3)?)?];
                let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
                self.emit(StepOp::Fma64(d, a, b, c));
                self.finish(finish);
                Ok(())
            }
            _ => match half_kind(ty) {
                Some(kind) => {
                    let op = if ins.opcode.has("relu") { HalfOp::FmaRelu } else { HalfOp::Fma };
                    self.half(ins, op, kind, 3)
                }
                None => refuse("type"),
            },
        }
    }

    /// `neg` and `abs` of floats, `sqrt`, `rcp` and the approximate functions.
    pub(super) fn float_unary(&mut self, ins: &Instruction, exact: Option<FUn>, approx: Option<Approx>) -> Decoded<()> {
        Self::nearest_only(ins)?;
        let ty = type_of(ins)?;
        match (ty, exact) {
            (Type::F32, _) => {
                let a = self.float32(ins, 1)?;
                let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
                match (approx.filter(|_| ins.opcode.has("approx")), exact) {
                    (Some(approx), _) => self.emit(StepOp::Approx(approx, d, a)),
                    (None, Some(exact)) => self.emit(StepOp::FUn32(exact, d, a)),
                    (None, None) => return refuse("no exact form"),
                }
                self.finish32(ins, d, finish);
                Ok(())
            }
            (Type::F64, Some(exact)) if !ins.opcode.has("approx") => {
                let a = self.src64(operand(ins, 1)?)?;
                let (d, finish) = self.dest(operand(ins, 0)?, 64)?;
                self.emit(StepOp::FUn64(exact, d, a));
                self.finish(finish);
                Ok(())
            }
            (_, Some(FUn::Neg | FUn::Abs)) if half_kind(ty).is_some() => {
                let op = if exact == Some(FUn::Neg) { HalfOp::Neg } else { HalfOp::Abs };
                self.half(ins, op, half_kind(ty).unwrap_or(HalfKind::F16), 1)
            }
            _ => refuse("type"),
        }
    }

    pub(super) fn testp(&mut self, ins: &Instruction) -> Decoded<()> {
        let class = match ins.opcode.modifiers().next() {
            Some("finite") => FloatClass::Finite,
            Some("infinite") => FloatClass::Infinite,
            Some("number") => FloatClass::Number,
            Some("notanumber") => FloatClass::NotANumber,
            Some("normal") => FloatClass::Normal,
            Some("subnormal") => FloatClass::Subnormal,
            _ => return refuse("unknown class"),
        };
        let d = self.destp(operand(ins, 0)?)?;
        if type_of(ins)? == Type::F64 {
            let a = self.src64(operand(ins, 1)?)?;
            self.emit(StepOp::Testp64(class, d, a));
        } else {
            let a = self.src32(operand(ins, 1)?)?;
            self.emit(StepOp::Testp32(class, d, a));
        }
        Ok(())
    }

    /// The predicate `a op b` into a temporary or `d`.
    fn compare(&mut self, ins: &Instruction, name: &str, ty: Type, d: R) -> Decoded<()> {
        let (x, y) = (operand(ins, 1)?, operand(ins, 2)?);
        if is_float(ty) {
            let op = match name {
                "eq" => Cmp::Eq,
                "ne" => Cmp::Ne,
                "lt" => Cmp::Lt,
                "le" => Cmp::Le,
                "gt" => Cmp::Gt,
                "ge" => Cmp::Ge,
                "equ" => Cmp::EqU,
                "neu" => Cmp::NeU,
                "ltu" => Cmp::LtU,
                "leu" => Cmp::LeU,
                "gtu" => Cmp::GtU,
                "geu" => Cmp::GeU,
                "num" => Cmp::Num,
                "nan" => Cmp::Nan,
                _ => return refuse("unknown comparison"),
            };
            match ty {
                Type::F32 => {
                    let (a, b) = (self.float32(ins, 1)?, self.float32(ins, 2)?);
                    self.emit(StepOp::SetpF32(op, d, a, b));
                }
                Type::F64 => {
                    let (a, b) = (self.src64(x)?, self.src64(y)?);
                    self.emit(StepOp::SetpF64(op, d, a, b));
                }
                Type::F16 | Type::Bf16 => {
                    let (a, b) = (self.src16(x)?, self.src16(y)?);
                    self.emit(StepOp::SetpHalf(half_kind(ty).unwrap_or(HalfKind::F16), op, d, a, b));
                }
                _ => return refuse("type"),
            }
            return Ok(());
        }
        let (bits, signed) = shape(ty)?;
        let op = match (name, signed) {
            ("eq", _) => Cmp::Eq,
            ("ne", _) => Cmp::Ne,
            ("lt", true) => Cmp::Lt,
            ("le", true) => Cmp::Le,
            ("gt", true) => Cmp::Gt,
            ("ge", true) => Cmp::Ge,
            ("lt", false) | ("lo", _) => Cmp::LtU,
            ("le", false) | ("ls", _) => Cmp::LeU,
            ("gt", false) | ("hi", _) => Cmp::GtU,
            ("ge", false) | ("hs", _) => Cmp::GeU,
            _ => return refuse("unknown comparison"),
        };
        if bits == 64 {
            let (a, b) = (self.src64(x)?, self.src64(y)?);
            self.emit(StepOp::Setp64(op, d, a, b));
        } else {
            let (a, b) = if bits == 16 {
                (self.src16_as32(x, signed)?, self.src16_as32(y, signed)?)
            } else {
                (self.src32(x)?, self.src32(y)?)
            };
            self.emit(StepOp::Setp32(op, d, a, b));
        }
        Ok(())
    }

    /// `setp`, with a second destination for the complement and a predicate to combine with.
    pub(super) fn setp(&mut self, ins: &Instruction) -> Decoded<()> {
        let mut parts = ins.opcode.modifiers();
        let name = parts.next().unwrap_or_default().to_owned();
        let combine = match parts.next() {
            Some("and") => Some(PredOp::And),
            Some("or") => Some(PredOp::Or),
            Some("xor") => Some(PredOp::Xor),
            _ => None,
        };
        let (first, second) = match operand(ins, 0)? {
            Operand::Pair(p, q) => (*p, *q),
            Operand::Reg(p) => (Some(*p), None),
            _ => return refuse("expected a predicate register"),
        };
        let target = |body: &mut Self, reg: Option<_>| match reg {
            Some(reg) => body.predicate_home(reg),
            None => body.temp_predicate(),
        };
        let ty = type_of(ins)?;
        if combine.is_none() && second.is_none() {
            let d = target(self, first)?;
            return self.compare(ins, &name, ty, d);
        }
        let result = self.temp_predicate()?;
        self.compare(ins, &name, ty, result)?;
        let with = match combine {
            Some(_) => Some(self.srcp(operand(ins, 3)?)?),
            None => None,
        };
        let complement = self.temp_predicate()?;
        self.emit(StepOp::Pred(PredOp::Not, complement, result, result));
        if let (Some(op), Some(with)) = (combine, with) {
            self.emit(StepOp::Pred(op, result, result, with));
            self.emit(StepOp::Pred(op, complement, complement, with));
        }
        let (p, q) = (target(self, first)?, target(self, second)?);
        self.emit(StepOp::Pred(PredOp::Move, p, result, result));
        self.emit(StepOp::Pred(PredOp::Move, q, complement, complement));
        Ok(())
    }

    /// `set`: all ones or `1.0` where the comparison holds.
    pub(super) fn set(&mut self, ins: &Instruction) -> Decoded<()> {
        let parts: Vec<&str> = ins.opcode.modifiers().collect();
        let result = parts.iter().rev().nth(1).and_then(|part| Type::from_name(part));
        let yes = match result {
            Some(Type::F32) => 1.0_f32.to_bits(),
            Some(Type::U32 | Type::S32) => u32::MAX,
            _ => return refuse("result type"),
        };
        if parts.iter().any(|part| matches!(*part, "and" | "or" | "xor")) {
            return refuse("combination with a predicate");
        }
        let p = self.temp_predicate()?;
        self.compare(ins, parts.first().unwrap_or(&""), type_of(ins)?, p)?;
        let (one, zero) = (self.build.const32(yes)?, self.build.const32(0)?);
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        self.emit(StepOp::Sel32(d, one, zero, p));
        self.finish(finish);
        Ok(())
    }

    /// Emits a conversion between canonical registers.
    pub(super) fn convert(&mut self, op: Cvt, d: R, a: R) {
        self.emit(StepOp::Cvt(op, d, a));
    }
}
