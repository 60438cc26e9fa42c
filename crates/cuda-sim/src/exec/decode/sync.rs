//! Barriers, warp collectives, tensor instructions.

use ptx::ast::{Instruction, Operand};

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
        let threads = ins.operands.get(1).map(|threads| self.src32(threads)).transpose()?;
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
        let (_, signed) = shape(type_of(ins)?)?;
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
        let to = operand(ins, 0)?;
        let (transposed, count) = (ins.opcode.has("trans"), Self::elements(to).len() as u8);
        let d = self.fragment(to)?;
        let (target, _) = self.target(operand(ins, 1)?)?;
        self.collective(Members::Live, CollectiveKind::LoadMatrix { transposed, count, d, target });
        Ok(())
    }

    pub(super) fn mma(&mut self, ins: &Instruction) -> Decoded<()> {
        let half = |name: &str| if name == "f16" { HalfKind::F16 } else { HalfKind::Bf16 };
        let parts: Vec<&str> = ins.opcode.modifiers().collect();
        let shape = match parts[..] {
            [.., "m16n8k16", "row", "col", "f32", a @ ("f16" | "bf16"), _, _] => Mma::M16N8K16(half(a)),
            [.., "m16n8k8", "row", "col", "f32", a @ ("f16" | "bf16"), _, _] => Mma::M16N8K8(half(a)),
            [.., "m16n8k8", "row", "col", "f32", "tf32", _, _] => Mma::M16N8K8Tf32,
            [_, _, "m16n8k32", ..] => Mma::Bytes { saturate: ins.opcode.has("satfinite") },
            _ => return refuse("shape and types"),
        };
        let d: [R; 4] = self.fragment(operand(ins, 0)?)?;
        let a: [R; 4] = self.fragment(operand(ins, 1)?)?;
        let b: [R; 2] = self.fragment(operand(ins, 2)?)?;
        let c: [R; 4] = self.fragment(operand(ins, 3)?)?;
        self.collective(Members::Live, CollectiveKind::Mma { shape, d, a, b, c });
        Ok(())
    }
}
