//! Barriers, warp collectives, tensor instructions.

use ptx::ast::{Instruction, Operand, Type};

use super::super::code::StepOp;
use super::super::collective::{
    BarRed, BarrierRole, CollectiveKind, CollectiveOp, Members, Mma, Reduction, Shuffle, Vote,
};
use super::super::register::{HalfKind, R};
use super::body::{Body, operand, type_of};
use super::build::{Decoded, push, refuse};
use super::integer::shape;

impl Body<'_> {
    fn collective(&mut self, members: Members, kind: CollectiveKind) {
        let index = push(&mut self.build.code.collectives, CollectiveOp { members, kind });
        self.emit(StepOp::Collective(index));
    }

    /// A collective that leaves 32 bits in operand `to`; `kind` gets the register to write.
    fn collective_to(&mut self, to: &Operand, members: Members, kind: impl FnOnce(R) -> CollectiveKind) -> Decoded<()> {
        let (d, finish) = self.dest(to, 32)?;
        self.collective(members, kind(d));
        self.finish(finish);
        Ok(())
    }

    /// Where a result goes, and the second destination, a predicate, if there is one.
    fn destinations(&mut self, ins: &Instruction) -> Decoded<(Operand, Option<R>)> {
        let (to, predicate) = match operand(ins, 0)? {
            Operand::Pair(d, p) => (d.map_or(Operand::Sink, Operand::Reg), *p),
            other => (other.clone(), None),
        };
        Ok((to, predicate.map(|reg| self.predicate_home(reg)).transpose()?))
    }

    fn mask(&mut self, ins: &Instruction, index: usize) -> Decoded<Members> {
        Ok(Members::Mask(self.src32(operand(ins, index)?)?))
    }

    /// `bar` and `barrier`.
    pub(super) fn barrier(&mut self, ins: &Instruction) -> Decoded<()> {
        let has = |part| ins.opcode.has(part);
        if has("warp") {
            let members = self.mask(ins, 0)?;
            self.collective(members, CollectiveKind::WarpBarrier);
            return Ok(());
        }
        if has("cluster") {
            return refuse("cluster barrier");
        }
        let aligned = ins.opcode.base() == "bar" || has("aligned");
        let members = if aligned { Members::Live } else { Members::Arriving };
        self.branch_around();
        if has("red") {
            let (op, d, finish) = if has("popc") {
                let (d, finish) = self.dest(operand(ins, 0)?, 32)?;
                (BarRed::Popc, d, finish)
            } else {
                (if has("and") { BarRed::And } else { BarRed::Or }, self.destp(operand(ins, 0)?)?, None)
            };
            let id = self.src32(operand(ins, 1)?)?;
            let threads = if ins.operands.len() > 3 { Some(self.src32(operand(ins, 2)?)?) } else { None };
            let a = self.srcp(operand(ins, ins.operands.len() - 1)?)?;
            self.collective(members, CollectiveKind::Barrier { id, threads, role: BarrierRole::Reduce { op, d, a } });
            self.finish(finish);
            return Ok(());
        }
        let role = if has("arrive") { BarrierRole::Arrive } else { BarrierRole::Sync };
        let id = self.src32(operand(ins, 0)?)?;
        let threads = match ins.operands.get(1) {
            Some(threads) => Some(self.src32(threads)?),
            None if role == BarrierRole::Arrive => return refuse("arrive needs a thread count"),
            None => None,
        };
        self.collective(members, CollectiveKind::Barrier { id, threads, role });
        Ok(())
    }

    pub(super) fn shuffle(&mut self, ins: &Instruction) -> Decoded<()> {
        let mode = match ins.opcode.modifiers().nth(1) {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Butterfly,
            Some("idx") => Shuffle::Index,
            _ => return refuse("expected .sync and a mode"),
        };
        let (to, valid) = self.destinations(ins)?;
        let [a, lane, clamp] =
            [self.src32(operand(ins, 1)?)?, self.src32(operand(ins, 2)?)?, self.src32(operand(ins, 3)?)?];
        let members = self.mask(ins, 4)?;
        self.collective_to(&to, members, |d| CollectiveKind::Shuffle { mode, d, valid, a, lane, clamp })
    }

    pub(super) fn vote(&mut self, ins: &Instruction) -> Decoded<()> {
        let vote = match ins.opcode.modifiers().nth(1) {
            Some("all") => Vote::All,
            Some("any") => Vote::Any,
            Some("uni") => Vote::Uniform,
            Some("ballot") => Vote::Ballot,
            _ => return refuse("expected .sync and a mode"),
        };
        let a = self.srcp(operand(ins, 1)?)?;
        let members = self.mask(ins, 2)?;
        let to = operand(ins, 0)?;
        if vote == Vote::Ballot {
            return self.collective_to(to, members, |d| CollectiveKind::Vote { vote, d, a });
        }
        let d = self.destp(to)?;
        self.collective(members, CollectiveKind::Vote { vote, d, a });
        Ok(())
    }

    pub(super) fn match_sync(&mut self, ins: &Instruction) -> Decoded<()> {
        let all = ins.opcode.has("all");
        let wide = shape(type_of(ins)?)?.0 == 64;
        let (to, valid) = self.destinations(ins)?;
        let source = operand(ins, 1)?;
        let a = if wide { self.src64(source)? } else { self.src32(source)? };
        let members = self.mask(ins, 2)?;
        self.collective_to(&to, members, |d| CollectiveKind::Match { all, wide, d, valid, a })
    }

    pub(super) fn redux(&mut self, ins: &Instruction) -> Decoded<()> {
        let signed = match type_of(ins)? {
            Type::S32 => true,
            Type::U32 | Type::B32 => false,
            _ => return refuse("type"),
        };
        let Some(op) = ins.opcode.modifiers().nth(1).and_then(|name| Reduction::named(name, signed)) else {
            return refuse("expected .sync and an operation");
        };
        let a = self.src32(operand(ins, 1)?)?;
        let members = self.mask(ins, 2)?;
        self.collective_to(operand(ins, 0)?, members, |d| CollectiveKind::Redux { op, d, a })
    }

    pub(super) fn activemask(&mut self, ins: &Instruction) -> Decoded<()> {
        self.build.code.active_mask = true;
        self.result(ins, 32, StepOp::ActiveMask)
    }

    pub(super) fn load_matrix(&mut self, ins: &Instruction) -> Decoded<()> {
        let has = |part| ins.opcode.has(part);
        if !(has("sync") && has("aligned") && has("m8n8") && (has("shared") || has("shared::cta")) && has("b16")) {
            return refuse("expected ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16");
        }
        let count = match (has("x1"), has("x2"), has("x4")) {
            (true, ..) => 1,
            (_, true, _) => 2,
            (.., true) => 4,
            _ => return refuse("number of matrices"),
        };
        let to = operand(ins, 0)?;
        if Self::fragment_len(to) != usize::from(count) {
            return refuse(format!("expected {count} destination registers"));
        }
        let d = self.fragment(to)?;
        let (target, _) = self.target(operand(ins, 1)?)?;
        self.collective(Members::Live, CollectiveKind::LoadMatrix { transposed: has("trans"), count, d, target });
        Ok(())
    }

    pub(super) fn mma(&mut self, ins: &Instruction) -> Decoded<()> {
        let parts: Vec<&str> = ins.opcode.modifiers().collect();
        let saturate = parts.contains(&"satfinite");
        let parts: Vec<&str> = parts.into_iter().filter(|part| *part != "satfinite").collect();
        let (shape, d, a, b, c) = match parts[..] {
            ["sync", "aligned", shape, "row", "col", d, a, b, c] => (shape, d, a, b, c),
            _ => return refuse("expected mma.sync.aligned.SHAPE.row.col with four types"),
        };
        let byte = |ty| match ty {
            "s8" => Some(true),
            "u8" => Some(false),
            _ => None,
        };
        let half = |ty| match ty {
            "f16" => Some(HalfKind::F16),
            "bf16" => Some(HalfKind::Bf16),
            _ => None,
        };
        let shape = match (shape, half(a), (d, c)) {
            ("m16n8k16", Some(kind), ("f32", "f32")) if a == b => Mma::M16N8K16(kind),
            ("m16n8k8", Some(kind), ("f32", "f32")) if a == b => Mma::M16N8K8(kind),
            ("m16n8k8", None, ("f32", "f32")) if (a, b) == ("tf32", "tf32") => Mma::M16N8K8Tf32,
            ("m16n8k4", None, ("f32", "f32")) if (a, b) == ("tf32", "tf32") => Mma::M16N8K4Tf32,
            ("m16n8k32" | "m16n8k16", None, ("s32", "s32")) => match (byte(a), byte(b)) {
                (Some(a_signed), Some(b_signed)) => {
                    let depth = if shape == "m16n8k32" { 32 } else { 16 };
                    Mma::Bytes { depth, a_signed, b_signed, saturate }
                }
                _ => return refuse("types"),
            },
            _ => return refuse("shape and types"),
        };
        let (a_words, b_words) = shape.words();
        let sizes = [4, a_words, b_words, 4];
        for (index, size) in sizes.into_iter().enumerate() {
            if Self::fragment_len(operand(ins, index)?) != size {
                return refuse(format!("expected {size} registers in operand {}", index + 1));
            }
        }
        let d: [R; 4] = self.fragment(operand(ins, 0)?)?;
        let a: [R; 4] = self.fragment(operand(ins, 1)?)?;
        let b: [R; 2] = self.fragment(operand(ins, 2)?)?;
        let c: [R; 4] = self.fragment(operand(ins, 3)?)?;
        self.collective(Members::Live, CollectiveKind::Mma { shape, d, a, b, c });
        Ok(())
    }
}
