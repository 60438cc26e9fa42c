//! Which registers a step reads and writes.

use super::code::{Code, Op};
use super::collective::{BarRed, Collective, CollectiveKind, Members, Mma, Role, Vote};
use super::register::{Register, Slot, Target};

/// How a step uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// Calls `f` with each register that an operation reads, and then with each that it writes.
///
/// The way back of a call is left out, and so are guards.
pub(super) fn operands(code: &Code, op: Op, f: &mut impl FnMut(Register, Use)) {
    use Register::{Predicate, W32, W64};
    let mut visit = |reads: &[Register], writes: &[Register]| {
        reads.iter().for_each(|&reg| f(reg, Use::Read));
        writes.iter().for_each(|&reg| f(reg, Use::Write));
    };
    match op {
        Op::Mov32(d, a) | Op::Ext32 { d, a, .. } | Op::Un32(_, d, a) | Op::FUn32(_, d, a) | Op::Approx(_, d, a) => {
            visit(&[W32(a)], &[W32(d)]);
        }
        Op::Mov64(d, a) | Op::Un64(_, d, a) | Op::FUn64(_, d, a) => visit(&[W64(a)], &[W64(d)]),
        Op::Pack64(d, lo, hi) | Op::MulWide(_, d, lo, hi) => visit(&[W32(lo), W32(hi)], &[W64(d)]),
        Op::Unpack64(lo, hi, a) => visit(&[W64(a)], &[W32(lo), W32(hi)]),
        Op::Zext64(d, a) | Op::Sext64(d, a) => visit(&[W32(a)], &[W64(d)]),
        Op::Trunc32(d, a) | Op::Count64(_, d, a) => visit(&[W64(a)], &[W32(d)]),
        Op::Pack32(d, a, b)
        | Op::Bin32(_, d, a, b)
        | Op::F32(_, d, a, b)
        | Op::DivApprox(d, a, b)
        | Op::CvtPack { d, a, b, .. } => visit(&[W32(a), W32(b)], &[W32(d)]),
        Op::Bin64(_, d, a, b) | Op::F64(_, d, a, b) => visit(&[W64(a), W64(b)], &[W64(d)]),
        Op::Tri32(_, d, a, b, c)
        | Op::Lop3 { d, a, b, c, .. }
        | Op::Fma32(d, a, b, c)
        | Op::Half { d, a, b, c, .. } => {
            visit(&[W32(a), W32(b), W32(c)], &[W32(d)]);
        }
        Op::Mad64(d, a, b, c) | Op::Fma64(d, a, b, c) => visit(&[W64(a), W64(b), W64(c)], &[W64(d)]),
        Op::Bfe64(_, d, a, b, c) => visit(&[W64(a), W32(b), W32(c)], &[W64(d)]),
        Op::Carry { wide, carry_in, cc, d, a, b, .. } => {
            let word = |reg| if wide { W64(reg) } else { W32(reg) };
            let reads = [word(a), word(b), Predicate(cc)];
            visit(if carry_in { &reads } else { &reads[..2] }, &[word(d), Predicate(cc)]);
        }
        Op::Cvt(cvt, d, a) => {
            let (from, to) = super::lanes::convert::widths(cvt);
            let word = |wide, reg| if wide { W64(reg) } else { W32(reg) };
            visit(&[word(from, a)], &[word(to, d)]);
        }
        Op::Setp32(_, d, a, b) | Op::SetpF32(_, d, a, b) | Op::SetpHalf(_, _, d, a, b) => {
            visit(&[W32(a), W32(b)], &[Predicate(d)]);
        }
        Op::Setp64(_, d, a, b) | Op::SetpF64(_, d, a, b) => visit(&[W64(a), W64(b)], &[Predicate(d)]),
        Op::Testp32(_, d, a) => visit(&[W32(a)], &[Predicate(d)]),
        Op::Testp64(_, d, a) | Op::IsSpace(_, d, a) => visit(&[W64(a)], &[Predicate(d)]),
        Op::Sel32(d, a, b, p) => visit(&[W32(a), W32(b), Predicate(p)], &[W32(d)]),
        Op::Sel64(d, a, b, p) => visit(&[W64(a), W64(b), Predicate(p)], &[W64(d)]),
        Op::Pred(_, d, a, b) => visit(&[Predicate(a), Predicate(b)], &[Predicate(d)]),
        Op::Clock(_, d) | Op::ActiveMask(d) => visit(&[], &[W32(d)]),
        Op::Clock64(d) => visit(&[], &[W64(d)]),
        Op::Load(index) => {
            let access = &code.accesses[index as usize];
            address(access.target, f);
            slots(&access.regs, Use::Write, f);
        }
        Op::Store(index) => {
            let access = &code.accesses[index as usize];
            address(access.target, f);
            slots(&access.regs[..access.count.into()], Use::Read, f);
        }
        Op::Atomic(index) => {
            let atomic = &code.atomics[index as usize];
            address(atomic.target, f);
            slots(&[atomic.b, atomic.c], Use::Read, f);
            slots(&[atomic.old], Use::Write, f);
        }
        Op::CopyAsync(index) => {
            let copy = &code.copies[index as usize];
            address(copy.target, f);
            address(copy.source, f);
            copy.read.into_iter().for_each(|reg| f(W32(reg), Use::Read));
        }
        Op::BraTable(index, _) => visit(&[W32(index)], &[]),
        Op::CallTable { handle, .. } => visit(&[W64(handle)], &[]),
        Op::Collective(index) => collective(&code.collectives[index as usize], f),
        Op::CommitGroup
        | Op::WaitGroup(_)
        | Op::WaitAll
        | Op::Fence { .. }
        | Op::MoveLocal(_)
        | Op::Bra(_)
        | Op::Fork { .. } => {}
        Op::Call { .. } | Op::Return(_) | Op::Exit | Op::Trap | Op::TooDeep | Op::Nop => {}
    }
}

/// The register that an address is based on.
fn address(target: Target, f: &mut impl FnMut(Register, Use)) {
    slots(&[target.base], Use::Read, f);
}

fn slots(slots: &[Slot], what: Use, f: &mut impl FnMut(Register, Use)) {
    slots.iter().filter_map(|&slot| Register::of(slot)).for_each(|reg| f(reg, what));
}

/// As [`operands`], for a collective.
pub(super) fn collective(collective: &Collective, f: &mut impl FnMut(Register, Use)) {
    use Register::{Predicate, W32, W64};
    if let Members::Mask(mask) = collective.members {
        f(W32(mask), Use::Read);
    }
    let mut visit = |reads: &[Register], writes: &[Option<Register>]| {
        reads.iter().for_each(|&reg| f(reg, Use::Read));
        writes.iter().flatten().for_each(|&reg| f(reg, Use::Write));
    };
    match collective.kind {
        CollectiveKind::Barrier { id, threads, role } => {
            visit(&[W32(id)], &[]);
            threads.into_iter().for_each(|threads| visit(&[W32(threads)], &[]));
            if let Role::Reduce { op, d, a } = role {
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
        CollectiveKind::Elect { d, chosen } => visit(&[], &[Some(W32(d)), Some(Predicate(chosen))]),
        CollectiveKind::LoadMatrix { count, d, target, .. } => {
            Register::of(target.base).into_iter().for_each(|base| visit(&[base], &[]));
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
            Self::M16N8K16(_) | Self::M16N8K8Tf32 | Self::Bytes { depth: 32, .. } => (4, 2),
            Self::M16N8K8(_) | Self::M16N8K4Tf32 | Self::Bytes { .. } => (2, 1),
        }
    }
}
