//! Uniformity: values that are the same for all threads of a warp or block.
//!
//! It also finds the code that all threads run together.
//!
//! The analysis may call a uniform value varying, never the other way round, provided that
//! collectives with a full mask are run by whole warps; that is what [`divergent_collectives`]
//! checks.

mod join;
mod threads;

use std::cell::OnceCell;

use threads::Threads;

use crate::{
    ast::{AddressBase, Body, Function, FunctionKind, Instruction, Operand, Reg, Symbol},
    flow::{Dominance, Graph, is_terminator},
};

/// Among which threads a value may differ, or which threads may diverge at a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spread {
    /// The same for the whole block.
    #[default]
    Uniform,
    /// The same within each warp.
    Warps,
    /// It may differ from lane to lane.
    Lanes,
}

/// The threads that a collective instruction joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// The lanes of a warp: `shfl.sync`, `mma.sync`.
    Warp,
    /// A stated number of a block's threads, whole warps: `bar.sync 1, 128`.
    Warps,
    /// All threads of a block: `bar.sync 0`.
    Block,
}

impl Collective {
    /// What `instruction` joins, if it is a collective.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Option<Self> {
        let opcode = &instruction.opcode;
        let barrier = matches!(opcode.base(), "bar" | "barrier") && !opcode.has("warp");
        if barrier {
            let counted = if opcode.has("red") { 4 } else { 2 };
            return Some(if instruction.operands.len() >= counted { Self::Warps } else { Self::Block });
        }
        (opcode.has("sync") || opcode.has("aligned")).then_some(Self::Warp)
    }

    /// The most that control may differ where such a collective is sound.
    #[must_use]
    pub const fn tolerates(self) -> Spread {
        match self {
            Self::Block => Spread::Uniform,
            Self::Warp | Self::Warps => Spread::Warps,
        }
    }
}

/// The spread of every register and of the control of every block.
#[derive(Clone, Debug)]
pub struct Uniformity {
    registers: Vec<Spread>,
    blocks: Vec<Spread>,
    /// The spread of the carry flag, all its definitions together.
    carry: Spread,
}

/// A collective that threads may reach separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the instruction.
    pub instruction: usize,
    /// The joining collective.
    pub collective: Collective,
    /// Which threads may reach it separately.
    pub spread: Spread,
}

/// The collectives of `body` that are control dependent on a varying value.
///
/// The value differs among the threads that the collective joins.
#[must_use]
pub fn divergent_collectives(function: &Function, body: &Body) -> Vec<Divergence> {
    let graph = Graph::new(body);
    let uniformity = Uniformity::new(function, body, &graph);
    let reachable = graph.reachable();
    let collectives = body.instructions.iter().enumerate().filter_map(|(index, instruction)| {
        let collective = Collective::of(instruction)?;
        let block = graph.block_of(index);
        let spread = uniformity.control(block).max(uniformity.guard(instruction));
        let found = reachable[block] && spread > collective.tolerates();
        found.then_some(Divergence { instruction: index, collective, spread })
    });
    collectives.collect()
}

impl Uniformity {
    /// Follows data and control to a fixed point.
    #[must_use]
    pub fn new(function: &Function, body: &Body, graph: &Graph) -> Self {
        let mut definitions = vec![0_u32; body.registers.len()];
        for reg in body.instructions.iter().flat_map(Instruction::destinations) {
            definitions[reg.0 as usize] += 1;
        }
        let post_dominators = Dominance::post_dominators(graph);
        let several: Vec<bool> = definitions.iter().map(|count| *count > 1).collect();
        let flow = Flow {
            function,
            threads: Threads::new(function, body, &several),
            body,
            graph,
            controllers: controllers(graph, &post_dominators),
            post_dominators,
            several,
            varied: graph.blocks.iter().map(|_| OnceCell::new()).collect(),
        };
        let mut uniformity = Self {
            registers: vec![Spread::Uniform; body.registers.len()],
            blocks: vec![Spread::Uniform; graph.blocks.len()],
            carry: Spread::Uniform,
        };
        while uniformity.step(&flow) {}
        uniformity
    }

    /// The spread of a register's value.
    #[must_use]
    pub fn register(&self, reg: Reg) -> Spread {
        self.registers[reg.0 as usize]
    }

    /// Which threads may run a block separately.
    #[must_use]
    pub fn control(&self, block: usize) -> Spread {
        self.blocks[block]
    }

    /// The spread of an instruction's guard.
    #[must_use]
    pub fn guard(&self, instruction: &Instruction) -> Spread {
        instruction.guard.map_or(Spread::Uniform, |guard| self.register(guard.register))
    }

    /// One pass; whether anything changed.
    fn step(&mut self, flow: &Flow<'_>) -> bool {
        let mut changed = false;
        for (index, block) in flow.graph.blocks.iter().enumerate() {
            let branches = flow.controllers[index].iter();
            let control = branches.map(|branch| self.branch(flow, *branch).max(self.blocks[*branch])).max();
            changed |= raise(&mut self.blocks[index], control.unwrap_or_default());
            for instruction in &flow.body.instructions[block.instructions.clone()] {
                let value = self.value(flow, instruction);
                if instruction.opcode.has("cc") {
                    changed |= raise(&mut self.carry, value);
                }
                let guard = self.guard(instruction);
                for reg in instruction.destinations() {
                    let slot = reg.0 as usize;
                    // Under a guard a register with several definitions tells whether the guard held.
                    let way = if flow.several[slot] { guard } else { Spread::Uniform };
                    changed |= raise(&mut self.registers[slot], value.max(way));
                }
            }
            let parted = self.branch(flow, index);
            if parted > Spread::Uniform {
                for reg in flow.varied(index) {
                    changed |= raise(&mut self.registers[reg.0 as usize], parted);
                }
            }
        }
        changed
    }

    /// Which threads diverge at the end of `block`.
    fn branch(&self, flow: &Flow<'_>, block: usize) -> Spread {
        let last = &flow.body.instructions[flow.graph.blocks[block].instructions.end - 1];
        let index = if last.opcode.base() == "brx" { self.inputs(flow, last) } else { Spread::Uniform };
        let guard = if is_terminator(last) { self.guard(last) } else { Spread::Uniform };
        guard.max(index)
    }

    /// The spread of all that `instruction` reads, apart from its guard.
    fn inputs(&self, flow: &Flow<'_>, instruction: &Instruction) -> Spread {
        let registers = instruction.sources().map(|reg| self.register(reg)).max();
        let special = |operand: &Operand| match operand {
            Operand::Special(special) => flow.threads.special(*special),
            _ => Spread::Uniform,
        };
        let specials = instruction.operands.iter().map(|operand| match operand {
            Operand::Vector(items) => items.iter().map(special).max().unwrap_or_default(),
            operand => special(operand),
        });
        let carry = matches!(instruction.opcode.base(), "addc" | "subc" | "madc");
        let carry = if carry { self.carry } else { Spread::Uniform };
        registers.unwrap_or_default().max(specials.max().unwrap_or_default()).max(carry)
    }

    /// The spread of what `instruction` produces.
    fn value(&self, flow: &Flow<'_>, instruction: &Instruction) -> Spread {
        let opcode = &instruction.opcode;
        let inputs = self.inputs(flow, instruction);
        match opcode.base() {
            "shr" | "bfe" | "and" if flow.threads.is_warp_index(instruction) => inputs.min(Spread::Warps),
            "ld" | "ldu" if is_kernel_param(flow.function, instruction) => inputs,
            "ld" | "ldu" if opcode.has("const") || opcode.has("nc") => inputs,
            "bar" | "barrier" if Collective::of(instruction) == Some(Collective::Block) => Spread::Uniform,
            "bar" | "barrier" => Spread::Warps,
            "vote" | "redux" | "shfl" if joins_warp(instruction) => self.joined(instruction),
            "ld" | "ldu" | "atom" | "vote" | "redux" | "shfl" | "match" | "activemask" | "elect" | "mma"
            | "ldmatrix" | "wgmma" | "mbarrier" | "call" => Spread::Lanes,
            _ => inputs,
        }
    }

    /// The spread of the result of a collective of a whole warp.
    fn joined(&self, instruction: &Instruction) -> Spread {
        if instruction.opcode.base() != "shfl" {
            return Spread::Warps;
        }
        // Only a broadcast from one lane of the whole warp gives all lanes the same.
        let whole = matches!(instruction.operands.get(3), Some(Operand::Int(31)));
        let lane = match instruction.operands.get(2) {
            Some(Operand::Int(_)) => Spread::Uniform,
            Some(Operand::Reg(reg)) => self.register(*reg),
            _ => Spread::Lanes,
        };
        let one = instruction.opcode.has("idx") && whole && lane <= Spread::Warps;
        if one { Spread::Warps } else { Spread::Lanes }
    }
}

/// Whether the last operand names all lanes of a warp.
fn joins_warp(instruction: &Instruction) -> bool {
    matches!(instruction.operands.last(), Some(Operand::Int(mask)) if *mask as u32 == u32::MAX)
}

/// Whether a load reads a parameter of a kernel, the same for all threads.
fn is_kernel_param(function: &Function, instruction: &Instruction) -> bool {
    let param = instruction.operands.iter().any(|operand| match operand {
        Operand::Address(address) => matches!(address.base, AddressBase::Symbol(Symbol::Param(_))),
        _ => false,
    });
    param && function.kind == FunctionKind::Entry && instruction.opcode.has("param")
}

/// The constant inputs of the fixed point.
struct Flow<'body> {
    function: &'body Function,
    threads: Threads,
    body: &'body Body,
    graph: &'body Graph,
    post_dominators: Dominance,
    controllers: Vec<Vec<usize>>,
    /// Whether each register has several definitions.
    several: Vec<bool>,
    /// For each block, the registers that reveal the path from its branch; computed on first use.
    varied: Vec<OnceCell<Vec<Reg>>>,
}

impl Flow<'_> {
    /// The registers that reveal which way a thread came from the branch of `block`.
    ///
    /// They are registers at the join of the branch's paths.
    fn varied(&self, block: usize) -> &[Reg] {
        let find = || join::varied(self.body, self.graph, &self.post_dominators, &self.several, block);
        self.varied[block].get_or_init(find)
    }
}

/// Raises `slot` to at least `spread`; whether that changed it.
fn raise(slot: &mut Spread, spread: Spread) -> bool {
    let raised = (*slot).max(spread);
    std::mem::replace(slot, raised) != raised
}

/// For each block, the blocks whose branch decides whether it runs.
///
/// These are its post-dominance frontier.
fn controllers(graph: &Graph, tree: &Dominance) -> Vec<Vec<usize>> {
    let mut controllers: Vec<Vec<usize>> = vec![Vec::new(); graph.blocks.len()];
    for (index, block) in graph.blocks.iter().enumerate() {
        if !tree.contains(index) {
            continue;
        }
        let stop = tree.parent(index);
        for successor in &block.successors {
            let mut at = Some(*successor).filter(|node| tree.contains(*node));
            while let Some(node) = at
                && at != stop
                && node < graph.blocks.len()
            {
                if controllers[node].last() != Some(&index) {
                    controllers[node].push(index);
                }
                at = tree.parent(node);
            }
        }
    }
    controllers
}
