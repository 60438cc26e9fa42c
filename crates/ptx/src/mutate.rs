//! Single faults in kernels, to test that the simulator reports them.

use crate::{
    ast::{AddressBase, Body, Function, Instruction, Module, Operand, Reg, Special, Symbol},
    flow::{Dominance, Graph, branch_targets},
    print_instruction,
    uniform::Collective,
};

/// The part that a mutation removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// A barrier of the block or of some warps.
    Barrier,
    /// `bar.warp.sync`.
    WarpBarrier,
    /// A memory fence.
    Fence,
    /// `cp.async.commit_group`.
    Commit,
    /// A wait for asynchronous copies.
    Wait,
    /// The test of a thread's index against a bound that the host passes.
    Guard,
}

/// One single fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The removed part.
    pub fault: Fault,
    /// Name of the function.
    pub function: String,
    /// Line of the instruction in the unchanged text.
    pub line: u32,
    /// The instruction it changes or removes.
    pub text: String,
    /// Index of the function in the module.
    function_index: usize,
    /// Index of the instruction in the body.
    instruction: usize,
    change: Change,
}

/// The change that a mutation makes to its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Remove,
    DropGuard,
}

/// Every mutation of `module`, in text order within each function.
#[must_use]
pub fn mutations(module: &Module) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (function_index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let guards = Guards::new(body);
        for (index, instruction) in body.instructions.iter().enumerate() {
            let fault = synchronisation(instruction).map(|fault| (fault, Change::Remove));
            let guard = || guards.of(index).map(|change| (Fault::Guard, change));
            if let Some((fault, change)) = fault.or_else(guard) {
                found.push(Mutation {
                    fault,
                    function: function.name.to_string(),
                    line: instruction.line,
                    text: print_instruction(function, body, instruction),
                    function_index,
                    instruction: index,
                    change,
                });
            }
        }
    }
    found
}

impl Mutation {
    /// `module` with the fault.
    ///
    /// # Panics
    /// If the mutation is of another module.
    #[must_use]
    pub fn apply(&self, module: &Module) -> Module {
        let mut mutant = module.clone();
        let function: &mut Function = &mut mutant.functions[self.function_index];
        if let Some(body) = &mut function.body {
            match self.change {
                Change::Remove => drop(body.remove(self.instruction)),
                Change::DropGuard => body.instructions[self.instruction].guard = None,
            }
        }
        mutant
    }
}

/// What kind of synchronisation `instruction` is, if any.
fn synchronisation(instruction: &Instruction) -> Option<Fault> {
    let opcode = &instruction.opcode;
    match opcode.base() {
        "bar" if opcode.has("warp") => Some(Fault::WarpBarrier),
        // A reduction is also a value; without it the text does not assemble.
        "bar" | "barrier" if !opcode.has("red") => Collective::of(instruction).map(|_| Fault::Barrier),
        "membar" | "fence" => Some(Fault::Fence),
        "cp" if opcode.has("commit_group") => Some(Fault::Commit),
        "cp" if opcode.has("wait_group") || opcode.has("wait_all") => Some(Fault::Wait),
        _ => None,
    }
}

/// Finds the bounds guards of a body.
struct Guards<'body> {
    body: &'body Body,
    graph: Graph,
    dominators: Dominance,
    post_dominators: Dominance,
    /// The instructions that define each register.
    definitions: Vec<Vec<usize>>,
}

/// The origin of a predicate's value.
#[derive(Default)]
struct Origin {
    index: bool,
    param: bool,
    ordered: bool,
}

impl<'body> Guards<'body> {
    fn new(body: &'body Body) -> Self {
        let graph = Graph::new(body);
        let mut definitions = vec![Vec::new(); body.registers.len()];
        for (index, instruction) in body.instructions.iter().enumerate() {
            for reg in instruction.destinations() {
                definitions[reg.0 as usize].push(index);
            }
        }
        let dominators = Dominance::dominators(&graph);
        let post_dominators = Dominance::post_dominators(&graph);
        Self { body, graph, dominators, post_dominators, definitions }
    }

    /// How to remove the bounds guard at `index`, if there is one.
    fn of(&self, index: usize) -> Option<Change> {
        let instruction = &self.body.instructions[index];
        let guard = instruction.guard?;
        let origin = self.origin(guard.register);
        if !(origin.index && origin.param && origin.ordered) {
            return None;
        }
        match instruction.opcode.base() {
            "bra" => self.of_branch(index),
            "ret" | "exit" => Some(Change::Remove),
            "ld" | "st" | "atom" | "red" => Some(Change::DropGuard),
            _ => None,
        }
    }

    /// A branch guards one side if its other side goes straight to where both meet again.
    fn of_branch(&self, index: usize) -> Option<Change> {
        let block = self.graph.block_of(index);
        let meeting = self.post_dominators.parent(block)?;
        let end = self.graph.blocks.len();
        let block_at = |at: usize| if at < self.body.instructions.len() { self.graph.block_of(at) } else { end };
        let target = block_at(*branch_targets(self.body, &self.body.instructions[index]).first()?);
        if target != end && self.dominators.dominates(target, block) {
            return None;
        }
        let next = block_at(index + 1);
        if self.forwarded(target, meeting) {
            Some(Change::Remove)
        } else if self.forwarded(next, meeting) {
            Some(Change::DropGuard)
        } else {
            None
        }
    }

    /// Whether `block` is `meeting`, or does nothing but go there.
    fn forwarded(&self, block: usize, meeting: usize) -> bool {
        if block == meeting {
            return true;
        }
        let Some(found) = self.graph.blocks.get(block) else { return false };
        let last = &self.body.instructions[found.instructions.end - 1];
        if found.instructions.len() > 1 || last.guard.is_some() {
            return false;
        }
        match last.opcode.base() {
            "bra" => found.successors == [meeting],
            "ret" | "exit" => meeting == self.graph.blocks.len(),
            _ => false,
        }
    }

    /// Follows the definitions of `reg` back to what they load.
    fn origin(&self, reg: Reg) -> Origin {
        let mut origin = Origin::default();
        let mut seen = vec![false; self.definitions.len()];
        let mut pending = vec![reg];
        while let Some(reg) = pending.pop() {
            if std::mem::replace(&mut seen[reg.0 as usize], true) {
                continue;
            }
            for definition in &self.definitions[reg.0 as usize] {
                let instruction = &self.body.instructions[*definition];
                let loads = matches!(instruction.opcode.base(), "ld" | "atom");
                origin.param |= loads && instruction.operands.iter().any(is_param);
                origin.index |= instruction.operands.iter().any(is_index);
                origin.ordered |= is_integer_order(instruction);
                if !loads {
                    pending.extend(instruction.sources());
                }
            }
        }
        origin
    }
}

fn is_param(operand: &Operand) -> bool {
    match operand {
        Operand::Address(address) => matches!(address.base, AddressBase::Symbol(Symbol::Param(_))),
        _ => false,
    }
}

fn is_index(operand: &Operand) -> bool {
    matches!(operand, Operand::Special(Special::Tid(_) | Special::Ctaid(_) | Special::Laneid))
}

/// Whether `instruction` compares integers by order.
fn is_integer_order(instruction: &Instruction) -> bool {
    let opcode = &instruction.opcode;
    let order = ["lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"].iter().any(|order| opcode.has(order));
    opcode.base() == "setp" && order && !["f16", "f32", "f64"].iter().any(|float| opcode.has(float))
}
