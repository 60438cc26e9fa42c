//! Barriers in branches: where a thread decides to go past a barrier that others may come to.

use super::code::{Code, NO_GUARD, StepOp};
use super::collective::{CollectiveKind, Members};
use super::flow::{BasicBlock, Flow};

/// Barriers of a kernel that are told apart.
const MOST: usize = 64;

impl StepOp {
    /// Whether a thread does more than to end or to compute in registers.
    fn has_effect(self) -> bool {
        matches!(
            self,
            Self::Load(_)
                | Self::Store(_)
                | Self::Atomic(_)
                | Self::CopyAsync(_)
                | Self::Collective(_)
                | Self::Call { .. }
                | Self::CallTable { .. }
        )
    }
}

/// Turns each branch that can skip a barrier into a [`StepOp::Fork`].
///
/// Such a branch has a side from which a thread goes past a barrier of the whole block to a place
/// that it would have reached from the barrier too, and still does something there. A thread that
/// only ends leaves the barrier to the others, which is allowed.
pub(super) fn mark(code: &mut Code) {
    let is_barrier = |op: StepOp| match op {
        StepOp::Collective(index) => {
            let collective = &code.collectives[index as usize];
            collective.members == Members::Live
                && matches!(collective.kind, CollectiveKind::Barrier { threads: None, .. })
        }
        _ => false,
    };
    let barriers: Vec<usize> = (0..code.steps.len()).filter(|&pc| is_barrier(code.steps[pc].op)).take(MOST).collect();
    if barriers.is_empty() {
        return;
    }
    let flow = Flow::new(code);
    let joins = flow.joins();
    let effect = |block: &BasicBlock| code.steps[block.steps.clone()].iter().any(|step| step.op.has_effect());
    let matters = flow.leads_to(|block| effect(&flow.blocks[block]));
    let of_barriers: Vec<usize> = barriers.iter().map(|&pc| flow.block_of(pc)).collect();
    let near = flow.leads_to(|block| of_barriers.contains(&block));
    let mut forks = Vec::new();
    for (index, block) in flow.blocks.iter().enumerate() {
        let pc = block.steps.end - 1;
        let step = &code.steps[pc];
        let (StepOp::Bra(target), Some(join)) = (step.op, joins[index]) else { continue };
        if step.guard == NO_GUARD || pc + 1 >= code.steps.len() || !matters[join] || !near[index] {
            continue;
        }
        let sides = [target as usize, pc + 1].map(|pc| {
            let reached = flow.reach(flow.block_of(pc), join);
            let bit = |(bit, &barrier): (usize, &usize)| u64::from(reached.contains(&barrier)) << bit;
            of_barriers.iter().enumerate().map(bit).sum::<u64>()
        });
        if sides[0] == sides[1] {
            continue;
        }
        let passes = |&bit: &usize| flow.reach(of_barriers[bit], index).contains(&join);
        let both = sides[0] ^ sides[1];
        let inside = (0..barriers.len()).filter(|bit| both >> bit & 1 == 1).filter(passes);
        let inside = inside.fold(0, |mask, bit| mask | 1_u64 << bit);
        if inside != 0 {
            forks.push((pc, target, sides.map(|side| inside & !side)));
        }
    }
    for (pc, target, skips) in forks {
        code.steps[pc].op = StepOp::Fork { target, fork: code.forks.len() as u32 };
        code.forks.push(skips);
    }
    code.barriers = barriers.into_iter().map(|pc| pc as u32).collect();
}
