//! Float, comparison and conversion instructions.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::{Approx, Cmp, FBin, FUn, FloatClass, HalfOp, PredOp, StepOp};
use super::super::register::{HalfKind, R};
use super::body::{Body, operand, type_of};
use super::build::{Decoded, refuse};
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
        if ins.opcode.has("ftz") { self.computed32(|temp| StepOp::FUn32(FUn::Flush, temp, reg)) } else { Ok(reg) }
    }

    /// Emits an operation with an `f32` result, flushed and saturated as the opcode demands.
    fn result_f32(&mut self, ins: &Instruction, op: impl FnOnce(R) -> StepOp) -> Decoded<()> {
        let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
        self.emit(op(d));
        self.flush_and_saturate(ins, d);
        self.finish(finish);
        Ok(())
    }

    /// Applies `.ftz` and `.sat` to an `f32`.
    pub(super) fn flush_and_saturate(&mut self, ins: &Instruction, d: R) {
        if ins.opcode.has("ftz") {
            self.emit(StepOp::FUn32(FUn::Flush, d, d));
        }
        if ins.opcode.has("sat") {
            self.emit(StepOp::FUn32(FUn::Saturate, d, d));
        }
    }

    /// Two-operand arithmetic, which the table of opcodes admits in round-to-nearest only.
    pub(super) fn float_binary(&mut self, ins: &Instruction, op: FBin, half: Option<HalfOp>) -> Decoded<()> {
        let ty = type_of(ins)?;
        let op = match op {
            FBin::Min if ins.opcode.has("NaN") => FBin::MinNan,
            FBin::Max if ins.opcode.has("NaN") => FBin::MaxNan,
            op => op,
        };
        match ty {
            Type::F32 => {
                let (a, b) = (self.float32(ins, 1)?, self.float32(ins, 2)?);
                let approximate = op == FBin::Div && (ins.opcode.has("approx") || ins.opcode.has("full"));
                let op = |d| if approximate { StepOp::DivApprox(d, a, b) } else { StepOp::F32(op, d, a, b) };
                self.result_f32(ins, op)
            }
            Type::F64 => {
                let (a, b) = (self.src64(operand(ins, 1)?)?, self.src64(operand(ins, 2)?)?);
                self.result(ins, 64, |d| StepOp::F64(op, d, a, b))
            }
            _ => match (half_kind(ty), half) {
                (Some(kind), Some(half)) => self.half(ins, half, kind, 2),
                _ => refuse("type"),
            },
        }
    }

    fn half(&mut self, ins: &Instruction, op: HalfOp, kind: HalfKind, count: usize) -> Decoded<()> {
        let mut regs = [0; 3];
        let single = matches!(kind, HalfKind::F16 | HalfKind::Bf16);
        for (index, reg) in regs.iter_mut().enumerate().take(count) {
            let source = operand(ins, index + 1)?;
            *reg = if single { self.src16(source)? } else { self.src32(source)? };
        }
        let [a, b, c] = regs;
        self.result(ins, if single { 16 } else { 32 }, |d| StepOp::Half { op, kind, d, a, b, c })
    }

    pub(super) fn fma(&mut self, ins: &Instruction) -> Decoded<()> {
        let ty = type_of(ins)?;
        match ty {
            Type::F32 => {
                let (a, b, c) = (self.float32(ins, 1)?, self.float32(ins, 2)?, self.float32(ins, 3)?);
                self.result_f32(ins, |d| StepOp::Fma32(d, a, b, c))
            }
            Type::F64 => {
                let [a, b, c] =
                    [self.src64(operand(ins, 1)?)?, self.src64(operand(ins, 2)?)?, self.src64(operand(ins, 3)?)?];
                self.result(ins, 64, |d| StepOp::Fma64(d, a, b, c))
            }
            _ => match half_kind(ty) {
                Some(kind) => self.half(ins, HalfOp::Fma, kind, 3),
                None => refuse("type"),
            },
        }
    }

    /// `neg` and `abs` of floats, `sqrt`, `rcp` and the approximate functions.
    pub(super) fn float_unary(&mut self, ins: &Instruction, exact: Option<FUn>, approx: Option<Approx>) -> Decoded<()> {
        let ty = type_of(ins)?;
        match (ty, exact) {
            (Type::F32, _) => {
                let a = self.float32(ins, 1)?;
                match (approx.filter(|_| ins.opcode.has("approx")), exact) {
                    (Some(approx), _) => self.result_f32(ins, |d| StepOp::Approx(approx, d, a)),
                    (None, Some(exact)) => self.result_f32(ins, |d| StepOp::FUn32(exact, d, a)),
                    (None, None) => refuse("no exact form"),
                }
            }
            (Type::F64, Some(exact)) if !ins.opcode.has("approx") => {
                let a = self.src64(operand(ins, 1)?)?;
                self.result(ins, 64, |d| StepOp::FUn64(exact, d, a))
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
            return self.step(StepOp::Testp64(class, d, a));
        }
        let a = self.src32(operand(ins, 1)?)?;
        self.step(StepOp::Testp32(class, d, a))
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
            return match ty {
                Type::F32 => {
                    let (a, b) = (self.float32(ins, 1)?, self.float32(ins, 2)?);
                    self.step(StepOp::SetpF32(op, d, a, b))
                }
                Type::F64 => {
                    let (a, b) = (self.src64(x)?, self.src64(y)?);
                    self.step(StepOp::SetpF64(op, d, a, b))
                }
                Type::F16 | Type::Bf16 => {
                    let (a, b) = (self.src16(x)?, self.src16(y)?);
                    self.step(StepOp::SetpHalf(half_kind(ty).unwrap_or(HalfKind::F16), op, d, a, b))
                }
                _ => refuse("type"),
            };
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
        let (a, b) = (self.source(ins, 1, (bits, signed))?, self.source(ins, 2, (bits, signed))?);
        self.step(if bits == 64 { StepOp::Setp64(op, d, a, b) } else { StepOp::Setp32(op, d, a, b) })
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
        let complement = self.computed_predicate(|complement| StepOp::Pred(PredOp::Not, complement, result, result))?;
        if let (Some(op), Some(with)) = (combine, with) {
            self.emit(StepOp::Pred(op, result, result, with));
            self.emit(StepOp::Pred(op, complement, complement, with));
        }
        let (p, q) = (target(self, first)?, target(self, second)?);
        self.emit(StepOp::Pred(PredOp::Move, p, result, result));
        self.step(StepOp::Pred(PredOp::Move, q, complement, complement))
    }
}
