//! Registers that a thread may read before it has written them.
//!
//! A register counts if this happens on some path through the kernel.

use super::code::{Code, NO_GUARD};
use super::flow::Flow;
use super::operands::{Use, operands};
use super::register::{FileRegister, R};

/// A set of registers of all files.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    fn contains(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }
}

impl Code {
    /// The number of a register, counted over all files.
    pub(super) fn number_of(&self, register: FileRegister) -> usize {
        match register {
            FileRegister::W32(reg) => reg.into(),
            FileRegister::W64(reg) => self.words32 + usize::from(reg),
            FileRegister::Predicate(reg) => self.words32 + self.words64 + usize::from(reg),
        }
    }

    /// Registers of all files.
    pub(super) fn registers(&self) -> usize {
        self.words32 + self.words64 + self.predicates
    }

    /// Registers that a thread may read before writing them.
    pub(super) fn unassigned(&self) -> &[FileRegister] {
        self.unassigned.get_or_init(|| find(self))
    }
}

fn find(code: &Code) -> Vec<FileRegister> {
    let flow = Flow::new(code);
    let (mut before, written): (Vec<Set>, Vec<Set>) =
        flow.blocks.iter().map(|block| summary(code, block.steps.clone())).unzip();
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in flow.blocks.iter().enumerate().rev() {
            for word in 0..before[index].0.len() {
                let after = block.successors.iter().fold(0, |after, &next| after | before[next].0[word]);
                let known = before[index].0[word];
                before[index].0[word] |= after & !written[index].0[word];
                changed |= before[index].0[word] != known;
            }
        }
    }
    let mut preset = Set(vec![0; code.registers().div_ceil(64)]);
    let words = code.presets32.iter().map(|&(reg, _)| FileRegister::W32(reg));
    let words = words.chain(code.presets64.iter().map(|&(reg, _)| FileRegister::W64(reg)));
    let always = code.true_predicate.map(FileRegister::Predicate);
    words.chain(always).for_each(|register| preset.insert(code.number_of(register)));
    let unassigned = |&register: &FileRegister| {
        let number = code.number_of(register);
        !preset.contains(number) && flow.roots.iter().any(|&root| before[root].contains(number))
    };
    let registers = (0..code.words32).map(|reg| FileRegister::W32(reg as R));
    let registers = registers.chain((0..code.words64).map(|reg| FileRegister::W64(reg as R)));
    registers.chain((0..code.predicates).map(|reg| FileRegister::Predicate(reg as R))).filter(unassigned).collect()
}

/// What steps read before they write it, and what they write in every thread.
fn summary(code: &Code, steps: std::ops::Range<usize>) -> (Set, Set) {
    let empty = || Set(vec![0; code.registers().div_ceil(64)]);
    let (mut read, mut written) = (empty(), empty());
    // Registers written under a guard, while the guard keeps its value.
    let mut under: Vec<(usize, R, bool)> = Vec::new();
    for step in &code.steps[steps] {
        let guard = (step.guard, step.negated);
        if step.guard != NO_GUARD {
            let number = code.number_of(FileRegister::Predicate(step.guard));
            if !written.contains(number) {
                read.insert(number);
            }
        }
        operands(code, step.op, &mut |register, what| {
            let number = code.number_of(register);
            match what {
                Use::Read => {
                    if !written.contains(number) && !under.contains(&(number, guard.0, guard.1)) {
                        read.insert(number);
                    }
                }
                Use::Write => {
                    if let FileRegister::Predicate(reg) = register {
                        under.retain(|&(_, guard, _)| guard != reg);
                    }
                    if guard.0 == NO_GUARD {
                        written.insert(number);
                    } else {
                        let other = (number, guard.0, !guard.1);
                        if under.contains(&other) {
                            written.insert(number);
                        }
                        under.push((number, guard.0, guard.1));
                    }
                }
            }
        });
    }
    (read, written)
}

#[cfg(test)]
mod tests {
    use super::super::flow::tests::{after, random_code};
    use super::*;
    use crate::exec::code::{Cmp, Preset, StepOp};
    use crate::exec::decode::decode;

    /// The registers of a kernel that may be read before they are written.
    fn unassigned(body: &str) -> Vec<FileRegister> {
        let head = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k()";
        let text = format!("{head} {{ .reg .pred %p<2>; .reg .b32 %r<100>; {body} ret; }}");
        let module = ptx::parse(&text).unwrap();
        decode(&module, 0).map_err(|refused| refused.reason).unwrap().unassigned().to_vec()
    }

    #[test]
    fn registers_are_those_of_paths_through_the_steps() {
        let mut rng = fastrand::Rng::with_seed(1);
        let other = |rng: &mut fastrand::Rng| {
            let mut reg = || [0, 1, 2, 64, 65][rng.usize(..5)];
            match (reg(), reg(), reg() % 3) {
                (a, b, 0) => StepOp::Mov32(a, b),
                (a, b, 1) => StepOp::Zext64(a % 3, b),
                (a, b, _) => StepOp::Setp64(Cmp::Eq, a % 3, b % 3, a % 2),
            }
        };
        for round in 0..500 {
            let mut code = random_code(&mut rng, 3 + round % 20, other);
            (code.words32, code.words64, code.predicates) = (66, 3, 3);
            code.presets32.push((2, Preset::Const(0)));
            code.true_predicate = Some(2);
            let is_unassigned = |register: FileRegister| {
                let (mut seen, mut left) = (vec![false; code.steps.len()], vec![0]);
                while let Some(pc) = left.pop() {
                    let (step, mut reads, mut writes) = (code.steps[pc], false, false);
                    operands(&code, step.op, &mut |used, what| match what {
                        Use::Read => reads |= used == register,
                        Use::Write => writes |= used == register,
                    });
                    if reads || step.guard != NO_GUARD && register == FileRegister::Predicate(step.guard) {
                        return true;
                    }
                    if !writes && !std::mem::replace(&mut seen[pc], true) {
                        left.extend(after(&code, pc));
                    }
                }
                false
            };
            let all = (0..66).map(FileRegister::W32).chain((0..3).map(FileRegister::W64));
            let all = all.chain((0..3).map(FileRegister::Predicate));
            let preset = [FileRegister::W32(2), FileRegister::Predicate(2)];
            let expected = all.filter(|&register| !preset.contains(&register) && is_unassigned(register));
            assert_eq!(code.unassigned(), expected.collect::<Vec<_>>(), "{:?}", code.steps);
        }
    }

    #[test]
    fn registers_count_only_if_some_path_reads_them_before_it_writes_them() {
        // A hundred registers in the second block, each written and then read.
        let moves: String = (1..100).map(|i| format!("mov.b32 %r{i}, %r{};", i - 1)).collect();
        assert_eq!(unassigned(&format!("bra.uni $next; $next: mov.b32 %r0, 7; {moves}")), []);
        assert_eq!(unassigned(&format!("bra.uni $next; $next: {moves}")).len(), 1);
        // A write on one of two ways.
        let skipped = "setp.eq.u32 %p0, 1, 2; @%p0 bra $end; mov.b32 %r0, 7; $end: mov.b32 %r1, %r0;";
        assert_eq!(unassigned(skipped).len(), 1);
    }
}
