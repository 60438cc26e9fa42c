//! Control flow of a decoded kernel.
//!
//! It consists of blocks of steps, and the steps that every thread passes after a block.

use std::collections::HashSet;
use std::ops::Range;

use super::code::{Code, NO_GUARD, StepOp};

/// The blocks of a kernel and its functions.
pub(super) struct Flow {
    pub(super) blocks: Vec<BasicBlock>,
    block_of: Vec<usize>,
    /// Blocks at which the kernel and its functions begin.
    pub(super) roots: Vec<usize>,
}

/// Steps that run one after the other.
pub(super) struct BasicBlock {
    pub(super) steps: Range<usize>,
    pub(super) successors: Vec<usize>,
    /// Whether a thread may end or return at its last step. A `trap` ends the launch.
    leaves: bool,
}

/// The places where control goes after a step.
///
/// `None` for a step that only goes on, as calls do, which come back.
fn targets(code: &Code, pc: usize) -> Option<Vec<usize>> {
    let step = &code.steps[pc];
    let mut targets: Vec<usize> = match step.op {
        StepOp::Bra(target) | StepOp::Fork { target, .. } => vec![target as usize],
        StepOp::BraTable(_, table) => code.tables[table as usize].iter().map(|&target| target as usize).collect(),
        StepOp::Return(_) | StepOp::Exit | StepOp::Trap | StepOp::TooDeep => Vec::new(),
        _ => return None,
    };
    if step.guard != NO_GUARD {
        targets.push(pc + 1);
    }
    Some(targets)
}

impl Flow {
    pub(super) fn new(code: &Code) -> Self {
        let count = code.steps.len();
        let mut starts = vec![code.start as usize];
        let mut leader = vec![false; count + 1];
        for (pc, step) in code.steps.iter().enumerate() {
            match step.op {
                StepOp::Call { target, .. } => starts.push(target as usize),
                StepOp::CallTable { table, .. } => {
                    starts.extend(code.calls[table as usize].iter().map(|&(_, target, _)| target as usize));
                }
                _ => {}
            }
            if let Some(targets) = targets(code, pc) {
                targets.into_iter().for_each(|target| leader[target] = true);
                leader[pc + 1] = true;
            }
        }
        starts.iter().for_each(|&start| leader[start] = true);
        let first: Vec<usize> = (0..count).filter(|&pc| pc == 0 || leader[pc]).collect();
        let mut block_of = vec![0; count];
        let mut blocks = Vec::with_capacity(first.len());
        for (index, &start) in first.iter().enumerate() {
            let end = first.get(index + 1).copied().unwrap_or(count);
            block_of[start..end].fill(index);
            let leaves = matches!(code.steps[end - 1].op, StepOp::Exit | StepOp::Return(_));
            blocks.push(BasicBlock { steps: start..end, successors: Vec::new(), leaves });
        }
        for block in &mut blocks {
            let next = targets(code, block.steps.end - 1).unwrap_or_else(|| vec![block.steps.end]);
            block.successors = next.into_iter().filter(|&pc| pc < count).map(|pc| block_of[pc]).collect();
        }
        Self { blocks, roots: starts.into_iter().map(|start| block_of[start]).collect(), block_of }
    }

    /// The block of a step.
    pub(super) fn block_of(&self, pc: usize) -> usize {
        self.block_of[pc]
    }

    /// The blocks that a thread can reach from `from` without entering `without`.
    ///
    /// `from` is included.
    pub(super) fn reach(&self, from: usize, without: usize) -> HashSet<usize> {
        let mut reached = HashSet::new();
        let mut left = vec![from];
        while let Some(block) = left.pop() {
            if block != without && reached.insert(block) {
                left.extend(&self.blocks[block].successors);
            }
        }
        reached
    }

    /// For each block, whether a thread can come from it to a block that `goal` picks.
    ///
    /// A block may be its own goal.
    pub(super) fn leads_to(&self, goal: impl Fn(usize) -> bool) -> Vec<bool> {
        let before = self.before();
        let mut leads = vec![false; self.blocks.len()];
        let mut left: Vec<usize> = (0..self.blocks.len()).filter(|&block| goal(block)).collect();
        while let Some(block) = left.pop() {
            if !std::mem::replace(&mut leads[block], true) {
                left.extend(&before[block]);
            }
        }
        leads
    }

    /// For each block, its predecessors.
    ///
    /// After them come the blocks where a thread may end.
    fn before(&self) -> Vec<Vec<usize>> {
        let end = self.blocks.len();
        let mut before = vec![Vec::new(); end + 1];
        for (index, block) in self.blocks.iter().enumerate() {
            block.successors.iter().for_each(|&next| before[next].push(index));
            if block.leaves {
                before[end].push(index);
            }
        }
        before
    }

    /// For each block the next one that every thread passes that ends at all, if there is one.
    pub(super) fn joins(&self) -> Vec<Option<usize>> {
        let (end, before) = (self.blocks.len(), self.before());
        // Post-order of the reversed graph: who comes to the end late has a low rank.
        let (mut rank, mut order) = (vec![usize::MAX; end + 1], Vec::new());
        let (mut seen, mut stack) = (vec![false; end + 1], vec![(end, 0)]);
        seen[end] = true;
        while let Some((block, next)) = stack.last_mut() {
            match before[*block].get(*next) {
                Some(&earlier) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[earlier], true) {
                        stack.push((earlier, 0));
                    }
                }
                None => {
                    rank[*block] = order.len();
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        let mut join: Vec<Option<usize>> = vec![None; end + 1];
        join[end] = Some(end);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|&&block| block != end) {
                let BasicBlock { successors, leaves, .. } = &self.blocks[block];
                let after = successors.iter().copied().chain(leaves.then_some(end));
                let known = after.filter(|&next| join[next].is_some());
                let meet = known.reduce(|mut a, mut b| {
                    while a != b {
                        let lower = if rank[a] < rank[b] { &mut a } else { &mut b };
                        *lower = join[*lower].unwrap_or(end);
                    }
                    a
                });
                changed |= join[block] != meet;
                join[block] = meet;
            }
        }
        join.truncate(end);
        join.into_iter().map(|join| join.filter(|&join| join != end)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::array;

    use super::*;
    use crate::exec::code::CodeStep;
    use crate::exec::register::R;

    /// The predicate register that guards steps of random code.
    const GUARD: R = 1;

    /// Code of `count` steps with random branches, tables and ends.
    ///
    /// `other` returns the steps between them.
    pub(in crate::exec) fn random_code(
        rng: &mut fastrand::Rng,
        count: usize,
        other: fn(&mut fastrand::Rng) -> StepOp,
    ) -> Code {
        let mut code = Code::default();
        for pc in 0..count {
            let mut target = || rng.u32(..count as u32);
            let (targets, choice) = (array::from_fn::<_, 3, _>(|_| target()), rng.u32(..12));
            let op = match choice {
                _ if pc + 1 == count => StepOp::Exit,
                0..4 => StepOp::Bra(targets[0]),
                4 => StepOp::BraTable(0, code.tables.len() as u32),
                5 => StepOp::Exit,
                6 => StepOp::Trap,
                _ => other(rng),
            };
            code.tables.extend(matches!(op, StepOp::BraTable(..)).then(|| targets.to_vec()));
            let guarded = pc + 1 < count && matches!(op, StepOp::Bra(_) | StepOp::Exit) && rng.u32(..3) > 0;
            code.steps.push(CodeStep { guard: if guarded { GUARD } else { NO_GUARD }, negated: false, op });
        }
        code
    }

    /// The steps that may come after one.
    pub(in crate::exec) fn after(code: &Code, pc: usize) -> Vec<usize> {
        let step = &code.steps[pc];
        let (mut next, ends) = match step.op {
            StepOp::Bra(target) => (vec![target as usize], true),
            StepOp::BraTable(_, table) => (code.tables[table as usize].iter().map(|&pc| pc as usize).collect(), true),
            StepOp::Exit | StepOp::Trap => (Vec::new(), true),
            _ => (Vec::new(), false),
        };
        next.extend((!ends || step.guard != NO_GUARD).then_some(pc + 1));
        next
    }

    /// The steps that can be reached from the beginning of a block without entering another.
    fn reached(code: &Code, from: usize, without: Option<usize>) -> Vec<bool> {
        let (mut seen, mut left) = (vec![false; code.steps.len()], vec![from]);
        while let Some(pc) = left.pop() {
            if Some(pc) != without && !std::mem::replace(&mut seen[pc], true) {
                left.extend(after(code, pc));
            }
        }
        seen
    }

    #[test]
    fn blocks_and_joins_are_those_of_paths_through_the_steps() {
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..500 {
            let count = 3 + round % 14;
            let code = random_code(&mut rng, count, |_| StepOp::CommitGroup);
            let (flow, ends) = (Flow::new(&code), |pc: usize| matches!(code.steps[pc].op, StepOp::Exit));
            let (firsts, joins): (Vec<_>, _) =
                (flow.blocks.iter().map(|block| block.steps.start).collect(), flow.joins());
            assert_eq!((firsts[0], flow.roots.as_slice()), (0, &[0][..]));
            for (index, block) in flow.blocks.iter().enumerate() {
                let (first, last) = (block.steps.start, block.steps.end - 1);
                assert_eq!(block.steps.end, firsts.get(index + 1).copied().unwrap_or(count));
                assert!(block.steps.clone().all(|pc| flow.block_of(pc) == index));
                // Only the last step of a block goes elsewhere, and only to the beginning of a block.
                assert!((first..last).all(|pc| after(&code, pc) == [pc + 1]), "{:?}", code.steps);
                let next: Vec<_> = after(&code, last).iter().map(|&pc| flow.block_of(pc)).collect();
                assert_eq!(block.successors, next);
                assert!(after(&code, last).iter().all(|pc| firsts.contains(pc)));
                for other in 0..firsts.len() {
                    let paths = reached(&code, first, Some(firsts[other]));
                    let expected: HashSet<_> = (0..firsts.len()).filter(|&block| paths[firsts[block]]).collect();
                    assert_eq!(flow.reach(index, other), expected);
                    assert_eq!(
                        flow.leads_to(|block| block == other)[index],
                        reached(&code, first, None)[firsts[other]]
                    );
                }
                // The next block is the one from which all others that every thread passes still come.
                let from =
                    |block: usize, without| (0..count).any(|pc| ends(pc) && reached(&code, firsts[block], without)[pc]);
                let passed: Vec<_> =
                    (0..firsts.len()).filter(|&other| other != index && !from(index, Some(firsts[other]))).collect();
                let is_next =
                    |&&block: &&usize| passed.iter().all(|&other| other == block || !from(block, Some(firsts[other])));
                if from(index, None) {
                    assert_eq!(joins[index].as_ref(), passed.iter().find(is_next), "block {index} of {:?}", code.steps);
                }
            }
        }
    }
}
