//! Which registers a step reads and writes.

use super::code::{Code, StepOp};
use super::collective::{BarRed, BarrierRole, CollectiveKind, CollectiveOp, Members, Mma, Vote};
use super::register::{AddressOperand, FileRegister, Slot};

/// How a step uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// Calls `f` with each register that an operation reads, and then with each that it writes.
///
/// The way back of a call is left out, and so are guards.
pub(super) fn operands(code: &Code, op: StepOp, f: &mut impl FnMut(FileRegister, Use)) {
    use FileRegister::{Predicate, W32, W64};
    let mut visit = |reads: &[FileRegister], writes: &[FileRegister]| {
        reads.iter().for_each(|&reg| f(reg, Use::Read));
        writes.iter().for_each(|&reg| f(reg, Use::Write));
    };
    match op {
        StepOp::Mov32(d, a)
        | StepOp::Ext32 { d, a, .. }
        | StepOp::Un32(_, d, a)
        | StepOp::FUn32(_, d, a)
        | StepOp::Approx(_, d, a) => {
            visit(&[W32(a)], &[W32(d)]);
        }
        StepOp::Mov64(d, a) | StepOp::Un64(_, d, a) | StepOp::FUn64(_, d, a) => visit(&[W64(a)], &[W64(d)]),
        StepOp::Pack64(d, lo, hi) | StepOp::MulWide(_, d, lo, hi) => visit(&[W32(lo), W32(hi)], &[W64(d)]),
        StepOp::Unpack64(lo, hi, a) => visit(&[W64(a)], &[W32(lo), W32(hi)]),
        StepOp::Zext64(d, a) | StepOp::Sext64(d, a) => visit(&[W32(a)], &[W64(d)]),
        StepOp::Trunc32(d, a) | StepOp::Count64(_, d, a) => visit(&[W64(a)], &[W32(d)]),
        StepOp::Pack32(d, a, b)
        | StepOp::Bin32(_, d, a, b)
        | StepOp::F32(_, d, a, b)
        | StepOp::DivApprox(d, a, b)
        | StepOp::CvtPack { d, a, b, .. } => visit(&[W32(a), W32(b)], &[W32(d)]),
        StepOp::Bin64(_, d, a, b) | StepOp::F64(_, d, a, b) => visit(&[W64(a), W64(b)], &[W64(d)]),
        StepOp::Tri32(_, d, a, b, c)
        | StepOp::Lop3 { d, a, b, c, .. }
        | StepOp::Fma32(d, a, b, c)
        | StepOp::Half { d, a, b, c, .. } => {
            visit(&[W32(a), W32(b), W32(c)], &[W32(d)]);
        }
        StepOp::Mad64(d, a, b, c) | StepOp::Fma64(d, a, b, c) => visit(&[W64(a), W64(b), W64(c)], &[W64(d)]),
        StepOp::Bfe64(_, d, a, b, c) => visit(&[W64(a), W32(b), W32(c)], &[W64(d)]),
        StepOp::Carry { wide, carry_in, cc, d, a, b, .. } => {
            let word = |reg| if wide { W64(reg) } else { W32(reg) };
            let reads = [word(a), word(b), Predicate(cc)];
            visit(if carry_in { &reads } else { &reads[..2] }, &[word(d), Predicate(cc)]);
        }
        StepOp::Cvt(cvt, d, a) => {
            let (from, to) = super::lanes::convert::widths(cvt);
            let word = |wide, reg| if wide { W64(reg) } else { W32(reg) };
            visit(&[word(from, a)], &[word(to, d)]);
        }
        StepOp::Setp32(_, d, a, b) | StepOp::SetpF32(_, d, a, b) | StepOp::SetpHalf(_, _, d, a, b) => {
            visit(&[W32(a), W32(b)], &[Predicate(d)]);
        }
        StepOp::Setp64(_, d, a, b) | StepOp::SetpF64(_, d, a, b) => visit(&[W64(a), W64(b)], &[Predicate(d)]),
        StepOp::Testp32(_, d, a) => visit(&[W32(a)], &[Predicate(d)]),
        StepOp::Testp64(_, d, a) | StepOp::IsSpace(_, d, a) => visit(&[W64(a)], &[Predicate(d)]),
        StepOp::Sel32(d, a, b, p) => visit(&[W32(a), W32(b), Predicate(p)], &[W32(d)]),
        StepOp::Sel64(d, a, b, p) => visit(&[W64(a), W64(b), Predicate(p)], &[W64(d)]),
        StepOp::Pred(_, d, a, b) => visit(&[Predicate(a), Predicate(b)], &[Predicate(d)]),
        StepOp::Clock(_, d) | StepOp::ActiveMask(d) => visit(&[], &[W32(d)]),
        StepOp::Clock64(d) => visit(&[], &[W64(d)]),
        StepOp::Load(index) => {
            let access = &code.accesses[index as usize];
            address(access.target, f);
            slots(&access.regs, Use::Write, f);
        }
        StepOp::Store(index) => {
            let access = &code.accesses[index as usize];
            address(access.target, f);
            slots(&access.regs[..access.count.into()], Use::Read, f);
        }
        StepOp::Atomic(index) => {
            let atomic = &code.atomics[index as usize];
            address(atomic.target, f);
            slots(&[atomic.b, atomic.c], Use::Read, f);
            slots(&[atomic.old], Use::Write, f);
        }
        StepOp::CopyAsync(index) => {
            let copy = &code.copies[index as usize];
            address(copy.target, f);
            address(copy.source, f);
            copy.read.into_iter().for_each(|reg| f(W32(reg), Use::Read));
        }
        StepOp::BraTable(index, _) => visit(&[W32(index)], &[]),
        StepOp::CallTable { handle, .. } => visit(&[W64(handle)], &[]),
        StepOp::Collective(index) => collective(&code.collectives[index as usize], f),
        StepOp::CommitGroup
        | StepOp::WaitGroup(_)
        | StepOp::WaitAll
        | StepOp::Fence { .. }
        | StepOp::MoveLocal(_)
        | StepOp::Bra(_)
        | StepOp::Fork { .. } => {}
        StepOp::Call { .. } | StepOp::Return(_) | StepOp::Exit | StepOp::Trap | StepOp::TooDeep => {}
    }
}

/// The register that an address is based on.
fn address(target: AddressOperand, f: &mut impl FnMut(FileRegister, Use)) {
    slots(&[target.base], Use::Read, f);
}

fn slots(slots: &[Slot], what: Use, f: &mut impl FnMut(FileRegister, Use)) {
    slots.iter().filter_map(|&slot| FileRegister::of(slot)).for_each(|reg| f(reg, what));
}

/// As [`operands`], for a collective.
pub(super) fn collective(collective: &CollectiveOp, f: &mut impl FnMut(FileRegister, Use)) {
    use FileRegister::{Predicate, W32, W64};
    if let Members::Mask(mask) = collective.members {
        f(W32(mask), Use::Read);
    }
    let mut visit = |reads: &[FileRegister], writes: &[Option<FileRegister>]| {
        reads.iter().for_each(|&reg| f(reg, Use::Read));
        writes.iter().flatten().for_each(|&reg| f(reg, Use::Write));
    };
    match collective.kind {
        CollectiveKind::Barrier { id, threads, role } => {
            visit(&[W32(id)], &[]);
            threads.into_iter().for_each(|threads| visit(&[W32(threads)], &[]));
            if let BarrierRole::Reduce { op, d, a } = role {
                let d = if op == BarRed::Popc { W32(d) } else { Predicate(d) };
                visit(&[Predicate(a)], &[Some(d)]);
            }
        }
        CollectiveKind::WarpBarrier => {}
        CollectiveKind::Shuffle { d, valid, a, lane, clamp, .. } => {
            visit(&[W32(a), W32(lane), W32(clamp)], &[Some(W32(d)), valid.map(Predicate)]);
        }
        CollectiveKind::Vote { vote, d, a } => {
            let d = if vote == Vote::Ballot { W32(d) } else { Predicate(d) };
            visit(&[Predicate(a)], &[Some(d)]);
        }
        CollectiveKind::Match { wide, d, valid, a, .. } => {
            visit(&[if wide { W64(a) } else { W32(a) }], &[Some(W32(d)), valid.map(Predicate)]);
        }
        CollectiveKind::Redux { d, a, .. } => visit(&[W32(a)], &[Some(W32(d))]),
        CollectiveKind::LoadMatrix { count, d, target, .. } => {
            FileRegister::of(target.base).into_iter().for_each(|base| visit(&[base], &[]));
            d.iter().take(count.into()).for_each(|&d| visit(&[], &[Some(W32(d))]));
        }
        CollectiveKind::Mma { shape, d, a, b, c } => {
            let (a_words, b_words) = shape.words();
            a[..a_words].iter().chain(&b[..b_words]).chain(&c).for_each(|&reg| visit(&[W32(reg)], &[]));
            d.iter().for_each(|&d| visit(&[], &[Some(W32(d))]));
        }
    }
}

impl Mma {
    /// How many words of the first and of the second factor each lane holds.
    pub(super) fn words(self) -> (usize, usize) {
        match self {
            Self::M16N8K16(_) | Self::M16N8K8Tf32 | Self::Bytes { .. } => (4, 2),
            Self::M16N8K8(_) => (2, 1),
        }
    }
}
