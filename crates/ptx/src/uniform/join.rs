//! Where paths from one branch meet again with different values in a register.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ast::{Body, Instruction, Operand, Reg},
    flow::{Dominance, Graph},
};

/// The content of a register at the end of a path from the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Its value before the branch, other than a known copy.
    Old,
    /// The value of the definition at this index.
    Definition(usize),
    /// The value of another register that no path changes, or a constant; numbered.
    Copy(usize),
    /// It depends on the path.
    Varied,
}

/// One branch and the blocks from it to where all its paths meet.
struct Region<'body> {
    body: &'body Body,
    graph: &'body Graph,
    branch: usize,
    /// The block where all paths meet, or the number of blocks if that is the end of the thread.
    meeting: usize,
    /// The blocks on the way; the branch itself if it lies in a loop.
    blocks: BTreeSet<usize>,
    /// Registers that some path defines.
    defined: BTreeSet<Reg>,
    /// The subset of `defined` with several definitions, ascending.
    tracked: Vec<Reg>,
    /// The copied operands by number.
    copies: Vec<Operand>,
}

/// Registers that may differ by path alone at the join of the branch in block `branch`.
///
/// The join is where paths from the end of that block meet.
///
/// Only registers with `several` definitions count: one with a single definition varies no more
/// than its operands. Two paths that copy the same unchanged register or constant agree.
pub(super) fn varied(
    body: &Body,
    graph: &Graph,
    post_dominators: &Dominance,
    several: &[bool],
    branch: usize,
) -> Vec<Reg> {
    let Some(meeting) = post_dominators.parent(branch) else {
        return Vec::new();
    };
    let mut blocks = BTreeSet::new();
    let mut pending = graph.blocks[branch].successors.clone();
    while let Some(block) = pending.pop() {
        if block != meeting && post_dominators.contains(block) && blocks.insert(block) {
            pending.extend(&graph.blocks[block].successors);
        }
    }
    let instructions = blocks.iter().flat_map(|block| &body.instructions[graph.blocks[*block].instructions.clone()]);
    let defined: BTreeSet<Reg> = instructions.flat_map(Instruction::destinations).collect();
    let tracked: Vec<Reg> = defined.iter().copied().filter(|reg| several[reg.0 as usize]).collect();
    if tracked.is_empty() {
        return Vec::new();
    }
    Region { body, graph, branch, meeting, blocks, defined, tracked, copies: Vec::new() }.solve()
}

impl Region<'_> {
    /// Follows all paths to a fixed point, blocks in text order as far as loops allow.
    fn solve(&mut self) -> Vec<Reg> {
        let mut entries: BTreeMap<usize, Vec<Held>> = BTreeMap::new();
        let mut pending = BTreeSet::new();
        let start = self.at_branch();
        self.enter_successors(self.branch, &start, &mut entries, &mut pending);
        while let Some(block) = pending.pop_first() {
            if self.blocks.contains(&block) {
                let mut held = entries[&block].clone();
                self.run(block, &mut held);
                self.enter_successors(block, &held, &mut entries, &mut pending);
            }
        }
        let different = |slot: usize| entries.values().any(|held| held[slot] == Held::Varied);
        self.tracked.iter().enumerate().filter(|(slot, _)| different(*slot)).map(|(_, reg)| *reg).collect()
    }

    /// Joins the state of a path after `block` into the entries of its successors.
    ///
    /// Changed entries are `pending`.
    fn enter_successors(
        &self,
        block: usize,
        held: &[Held],
        entries: &mut BTreeMap<usize, Vec<Held>>,
        pending: &mut BTreeSet<usize>,
    ) {
        for next in &self.graph.blocks[block].successors {
            if *next != self.meeting && !self.blocks.contains(next) {
                continue;
            }
            let changed = match entries.get_mut(next) {
                Some(known) => merge(known, held),
                None => entries.insert(*next, held.to_vec()).is_none(),
            };
            if changed {
                pending.insert(*next);
            }
        }
    }

    /// The contents of the registers when the branch is taken.
    ///
    /// They are determined as far as the branch's own block allows.
    fn at_branch(&mut self) -> Vec<Held> {
        let mut held = vec![Held::Old; self.tracked.len()];
        self.run(self.branch, &mut held);
        for held in &mut held {
            if matches!(held, Held::Definition(_)) {
                *held = Held::Old;
            }
        }
        held
    }

    /// Applies the definitions of `block`.
    fn run(&mut self, block: usize, held: &mut [Held]) {
        for index in self.graph.blocks[block].instructions.clone() {
            let instruction = &self.body.instructions[index];
            for reg in instruction.destinations() {
                let Ok(slot) = self.tracked.binary_search(&reg) else { continue };
                held[slot] = match self.copied(instruction) {
                    Some(copy) => Held::Copy(copy),
                    None if instruction.guard.is_some() && held[slot] == Held::Varied => Held::Varied,
                    None => Held::Definition(index),
                };
            }
        }
    }

    /// The number of the operand that an unguarded `mov` copies, if no path changes it.
    fn copied(&mut self, instruction: &Instruction) -> Option<usize> {
        let [Operand::Reg(_), source] = instruction.operands.as_slice() else { return None };
        let steady = source.registers().all(|reg| !self.defined.contains(&reg));
        if instruction.guard.is_some() || instruction.opcode.base() != "mov" || !steady {
            return None;
        }
        let known = self.copies.iter().position(|known| known == source);
        Some(known.unwrap_or_else(|| {
            self.copies.push(source.clone());
            self.copies.len() - 1
        }))
    }
}

/// Joins what another path holds into `known`; whether anything changed.
fn merge(known: &mut [Held], other: &[Held]) -> bool {
    let mut changed = false;
    for (known, other) in known.iter_mut().zip(other) {
        if *known != *other && *known != Held::Varied {
            *known = Held::Varied;
            changed = true;
        }
    }
    changed
}
