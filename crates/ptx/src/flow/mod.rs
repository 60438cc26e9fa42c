//! Control flow of a body: basic blocks and dominance.

mod dominance;

use std::ops::Range;

pub use dominance::Dominance;

use crate::ast::{Body, Instruction, Operand};

/// The basic blocks of a body, in text order; the first one is the entry.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The blocks; none if the body has no instructions.
    pub blocks: Vec<Block>,
    block_of: Vec<usize>,
}

/// Instructions that run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its instructions, at least one.
    pub instructions: Range<usize>,
    /// Blocks that may run next, ascending and distinct.
    pub successors: Vec<usize>,
    /// Blocks that may have run before, ascending and distinct.
    pub predecessors: Vec<usize>,
    /// Whether a thread may end or return here.
    pub leaves: bool,
    /// Whether it ends in an unconditional `trap`, which ends the whole launch.
    pub traps: bool,
}

/// Whether control may go anywhere other than to the next instruction after `instruction`.
///
/// Calls are not among them: they come back.
#[must_use]
pub fn is_terminator(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.base(), "bra" | "brx" | "ret" | "exit" | "trap")
}

impl Graph {
    /// Splits `body` into blocks.
    #[must_use]
    pub fn new(body: &Body) -> Self {
        let count = body.instructions.len();
        let mut leader = vec![false; count + 1];
        leader[0] = true;
        for label in &body.labels {
            leader[label.at] = true;
        }
        for (index, instruction) in body.instructions.iter().enumerate() {
            leader[index + 1] |= is_terminator(instruction);
        }
        let mut graph = Self { blocks: Vec::new(), block_of: Vec::with_capacity(count) };
        for (index, starts) in leader[..count].iter().enumerate() {
            if *starts {
                graph.blocks.push(Block { instructions: index..index, ..Block::default() });
            }
            let last = graph.blocks.len() - 1;
            graph.blocks[last].instructions.end = index + 1;
            graph.block_of.push(last);
        }
        for index in 0..graph.blocks.len() {
            graph.connect(body, index);
        }
        for index in 0..graph.blocks.len() {
            for successor in graph.blocks[index].successors.clone() {
                graph.blocks[successor].predecessors.push(index);
            }
        }
        graph
    }

    /// The block that holds the instruction at `index`.
    ///
    /// # Panics
    /// If the body has no such instruction.
    #[must_use]
    pub fn block_of(&self, index: usize) -> usize {
        self.block_of[index]
    }

    /// Whether each block can be reached from the entry.
    #[must_use]
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut stack: Vec<usize> = (0..self.blocks.len().min(1)).collect();
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                stack.extend(&self.blocks[block].successors);
            }
        }
        reached
    }

    /// Finds the successors of one block.
    fn connect(&mut self, body: &Body, index: usize) {
        let next = self.blocks[index].instructions.end;
        let last = &body.instructions[next - 1];
        let mut targets = Vec::new();
        let (mut leaves, mut traps) = (false, false);
        match last.opcode.base() {
            "bra" | "brx" => targets = branch_targets(body, last),
            "ret" | "exit" => leaves = true,
            "trap" => traps = last.guard.is_none(),
            _ => targets.push(next),
        }
        if last.guard.is_some() && is_terminator(last) {
            targets.push(next);
        }
        let mut successors: Vec<usize> =
            targets.iter().filter_map(|target| self.block_of.get(*target).copied()).collect();
        // Past the last instruction a function returns.
        leaves |= targets.iter().any(|target| *target >= self.block_of.len());
        successors.sort_unstable();
        successors.dedup();
        let block = &mut self.blocks[index];
        (block.successors, block.leaves, block.traps) = (successors, leaves, traps);
    }
}

/// The instructions that a taken branch may go to.
#[must_use]
pub fn branch_targets(body: &Body, branch: &Instruction) -> Vec<usize> {
    let label = |operand: &Operand| match operand {
        Operand::Label(label) => Some(body.target(*label)),
        _ => None,
    };
    let mut targets = Vec::new();
    for operand in &branch.operands {
        match operand {
            Operand::Targets(list) => targets.extend(body.targets[list.0 as usize].targets.iter().filter_map(label)),
            operand => targets.extend(label(operand)),
        }
    }
    targets
}
