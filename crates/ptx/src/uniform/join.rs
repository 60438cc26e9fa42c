//! Where paths from one branch meet again with different values in a register.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use crate::{
    ast::{Body, Instruction, Operand, Reg},
    flow::{Dominance, Graph},
};

/// What a path from the branch has left in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// What it held before the branch, other than a known copy.
    Old,
    /// What the definition at this index gave it.
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
    /// The blocks on the way, ascending; the branch itself if it lies in a loop.
    blocks: Vec<usize>,
    /// Registers that some path defines, ascending.
    defined: Vec<Reg>,
    /// The copied operands by number.
    copies: Vec<Operand>,
}

/// The registers that may differ, where paths from the end of the block `branch` meet, by the path alone.
///
/// Two paths that copy the same unchanged register or constant agree.
pub(super) fn varied(body: &Body, graph: &Graph, post_dominators: &Dominance, branch: usize) -> Vec<Reg> {
    let Some(meeting) = post_dominators.parent(branch) else {
        return Vec::new();
    };
    let mut region =
        Region { body, graph, branch, meeting, blocks: Vec::new(), defined: Vec::new(), copies: Vec::new() };
    let mut blocks = BTreeSet::new();
    let mut pending = graph.blocks[branch].successors.clone();
    while let Some(block) = pending.pop() {
        if block != meeting && post_dominators.contains(block) && blocks.insert(block) {
            pending.extend(&graph.blocks[block].successors);
        }
    }
    region.blocks = blocks.into_iter().collect();
    let instructions =
        region.blocks.iter().flat_map(|block| &body.instructions[graph.blocks[*block].instructions.clone()]);
    let defined: BTreeSet<Reg> = instructions.flat_map(Instruction::destinations).collect();
    region.defined = defined.into_iter().collect();
    region.solve()
}

impl Region<'_> {
    /// Follows all paths to a fixed point.
    fn solve(&mut self) -> Vec<Reg> {
        let start = self.at_branch();
        let mut entries: HashMap<usize, Vec<Held>> = HashMap::new();
        let mut varied = BTreeSet::new();
        let mut pending: Vec<(usize, Vec<Held>)> = self.onward(self.branch, &start);
        while let Some((block, held)) = pending.pop() {
            let inside = self.blocks.binary_search(&block).is_ok();
            if !inside && block != self.meeting {
                continue;
            }
            let known = match entries.entry(block) {
                Entry::Vacant(vacant) => vacant.insert(held),
                Entry::Occupied(occupied) => {
                    let known = occupied.into_mut();
                    if !merge(known, &held) {
                        continue;
                    }
                    known
                }
            };
            let different = known.iter().zip(&self.defined).filter(|(held, _)| **held == Held::Varied);
            varied.extend(different.map(|(_, reg)| *reg));
            if inside {
                let mut held = known.clone();
                for index in self.graph.blocks[block].instructions.clone() {
                    define(self.body, &self.defined, &mut self.copies, index, &mut held);
                }
                pending.extend(self.onward(block, &held));
            }
        }
        varied.into_iter().collect()
    }

    /// What each successor of `block` is entered with.
    fn onward(&self, block: usize, held: &[Held]) -> Vec<(usize, Vec<Held>)> {
        self.graph.blocks[block].successors.iter().map(|next| (*next, held.to_vec())).collect()
    }

    /// What the registers hold when the branch is taken, as far as its own block tells.
    fn at_branch(&mut self) -> Vec<Held> {
        let mut held = vec![Held::Old; self.defined.len()];
        for index in self.graph.blocks[self.branch].instructions.clone() {
            define(self.body, &self.defined, &mut self.copies, index, &mut held);
        }
        for held in &mut held {
            if matches!(held, Held::Definition(_)) {
                *held = Held::Old;
            }
        }
        held
    }
}

/// Applies the instruction at `index` to what the registers hold.
fn define(body: &Body, defined: &[Reg], copies: &mut Vec<Operand>, index: usize, held: &mut [Held]) {
    let instruction = &body.instructions[index];
    for reg in instruction.destinations() {
        let Ok(slot) = defined.binary_search(&reg) else { continue };
        held[slot] = match copied(instruction, defined) {
            Some(operand) => Held::Copy(number(copies, operand)),
            None if instruction.guard.is_some() && held[slot] == Held::Varied => Held::Varied,
            None => Held::Definition(index),
        };
    }
}

/// The operand that an unguarded `mov` copies, if no path changes it.
fn copied<'tree>(instruction: &'tree Instruction, defined: &[Reg]) -> Option<&'tree Operand> {
    let [Operand::Reg(_), source] = instruction.operands.as_slice() else { return None };
    let steady = source.registers().all(|reg| defined.binary_search(&reg).is_err());
    (instruction.guard.is_none() && instruction.opcode.base() == "mov" && steady).then_some(source)
}

/// The number of `operand` among the copies.
fn number(copies: &mut Vec<Operand>, operand: &Operand) -> usize {
    copies.iter().position(|known| known == operand).unwrap_or_else(|| {
        copies.push(operand.clone());
        copies.len() - 1
    })
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
