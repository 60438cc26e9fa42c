//! From nodes to programs: an order of steps, and registers for their results.
//!
//! Outputs are computed one after another, each node once, and an output is written as soon as it
//! is known. What only loads (masks, constants, challenges, and values put together of those) is
//! loaded where it is used, and again if the next use is far away: loads are cheap, registers are
//! not.

use std::collections::{HashMap, VecDeque};

use core_types::{
    field::M31,
    params::air::{Instruction, Opcode},
};

use crate::{
    MaskRead, Program, RecordError,
    arena::{ExpressionArena, NodeOp},
    recorder::Reads,
    registers::FreeRegisters,
};

/// Distance in steps to the next use of a loaded value above which it is loaded again.
const FAR: usize = 16;

/// The most of anything that an instruction can name.
const MOST: usize = 1 << 16;

/// A step: a node to compute, or an output to write.
#[derive(Clone, Copy, Debug)]
enum ScheduleStep {
    Compute(u32),
    Write { output: usize, node: u32 },
}

/// The program whose output `k` is node `outputs[k]`.
pub(crate) fn compile(arena: &ExpressionArena, outputs: &[u32], reads: &Reads<'_>) -> Result<Program, RecordError> {
    within("outputs", outputs.len())?;
    within("challenges", reads.challenges as usize + 1)?;
    let steps = order(arena, outputs);
    let mut uses: Vec<VecDeque<usize>> = vec![VecDeque::new(); arena.len()];
    for (at, &step) in steps.iter().enumerate() {
        visit_operands(arena, step, |operand| uses[operand as usize].push_back(at));
    }
    let mut compiler = Compiler {
        arena,
        reads,
        uses,
        places: HashMap::new(),
        registers: FreeRegisters::default(),
        constants: HashMap::new(),
        masks: HashMap::new(),
        program: Program { outputs: outputs.len() as u32, ..Program::default() },
    };
    for (at, &step) in steps.iter().enumerate() {
        compiler.step(at, step);
    }
    let Compiler { mut program, registers, .. } = compiler;
    program.registers = registers.count();
    within("registers", program.registers as usize)?;
    within("masks", program.masks.len())?;
    within("constants", program.constants.len())?;
    Ok(program)
}

fn within(what: &'static str, got: usize) -> Result<(), RecordError> {
    if got <= MOST { Ok(()) } else { Err(RecordError::TooMany { what, most: MOST, got }) }
}

/// Whether a node only loads.
fn loads(arena: &ExpressionArena, id: u32) -> bool {
    match arena.get(id).op {
        NodeOp::Constant(_) | NodeOp::Mask(_) | NodeOp::Challenge(_) | NodeOp::Mean | NodeOp::Missing => true,
        NodeOp::Join(coordinates) => {
            coordinates.iter().all(|&id| !matches!(arena.get(id).op, NodeOp::Join(_)) && loads(arena, id))
        }
        NodeOp::Neg(_) | NodeOp::Add(_) | NodeOp::Sub(_) | NodeOp::Mul(_) | NodeOp::Bits(..) | NodeOp::Xor(_) => false,
    }
}

/// Visits each node that a step needs in a register, once.
///
/// Coordinates that only load are loaded in place.
fn visit_operands(arena: &ExpressionArena, step: ScheduleStep, mut visit: impl FnMut(u32)) {
    match step {
        ScheduleStep::Write { node, .. } => visit(node),
        ScheduleStep::Compute(id) => {
            let op = arena.get(id).op;
            let operands = op.operands();
            for (k, &operand) in operands.iter().enumerate() {
                let in_place = matches!(op, NodeOp::Join(_)) && loads(arena, operand);
                if !in_place && !operands[..k].contains(&operand) {
                    visit(operand);
                }
            }
        }
    }
}

/// The steps in an order in which operands come first.
fn order(arena: &ExpressionArena, outputs: &[u32]) -> Vec<ScheduleStep> {
    let mut steps = Vec::new();
    let mut known = vec![false; arena.len()];
    let mut open: Vec<(u32, usize)> = Vec::new();
    for (output, &node) in outputs.iter().enumerate() {
        open.push((node, 0));
        while let Some((id, operand)) = open.pop() {
            if known[id as usize] || loads(arena, id) {
                continue;
            }
            if let Some(&next) = arena.get(id).op.operands().get(operand) {
                open.push((id, operand + 1));
                open.push((next, 0));
            } else {
                known[id as usize] = true;
                steps.push(ScheduleStep::Compute(id));
            }
        }
        steps.push(ScheduleStep::Write { output, node });
    }
    steps
}

/// A program in the making.
struct Compiler<'a> {
    arena: &'a ExpressionArena,
    reads: &'a Reads<'a>,
    /// Steps to come that use each node.
    uses: Vec<VecDeque<usize>>,
    /// Registers of the nodes that are in some.
    places: HashMap<u32, u32>,
    registers: FreeRegisters,
    constants: HashMap<M31, usize>,
    /// Numbers in the program of the masks that nodes name.
    masks: HashMap<u32, usize>,
    program: Program,
}

impl Compiler<'_> {
    fn secure(&self, id: u32) -> bool {
        self.arena.get(id).secure
    }

    fn take(&mut self, secure: bool) -> u32 {
        if secure { self.registers.take_group() } else { self.registers.take_word() }
    }

    /// What does not fit is refused at the end, so a number that is cut short is never run.
    fn emit(&mut self, opcode: Opcode, target: u32, left: u32, right: u32) {
        let [target, left, right] = [target, left, right].map(|number| number as u16);
        self.program.instructions.push(Instruction { opcode: opcode as u16, target, left, right });
    }

    /// The register of a node, which is loaded if it is in none.
    fn place(&mut self, id: u32) -> u32 {
        if let Some(&place) = self.places.get(&id) {
            return place;
        }
        let place = self.take(self.secure(id));
        self.load(id, place);
        self.places.insert(id, place);
        place
    }

    fn load_constant(&mut self, value: M31, target: u32) {
        let constants = &mut self.program.constants;
        let number = *self.constants.entry(value).or_insert_with(|| {
            constants.push(value);
            constants.len() - 1
        });
        self.emit(Opcode::Constant, target, number as u32, 0);
    }

    /// Loads a node that only loads.
    fn load(&mut self, id: u32, target: u32) {
        match self.arena.get(id).op {
            NodeOp::Constant(value) => {
                let words = if self.secure(id) { 4 } else { 1 };
                for (k, word) in (0..).zip(value.coordinates().into_iter().take(words)) {
                    self.load_constant(word, target + k);
                }
            }
            NodeOp::Mask(mask) => {
                let masks: &mut Vec<MaskRead> = &mut self.program.masks;
                let number = *self.masks.entry(mask).or_insert_with(|| {
                    masks.push(self.reads.masks[mask as usize]);
                    masks.len() - 1
                });
                self.emit(Opcode::Mask, target, number as u32, 0);
            }
            NodeOp::Challenge(slot) => self.emit(Opcode::Challenge, target, slot, 0),
            NodeOp::Mean => self.emit(Opcode::Challenge, target, self.reads.challenges, 0),
            NodeOp::Join(coordinates) => {
                for (k, coordinate) in (0..).zip(coordinates) {
                    self.load(coordinate, target + k);
                }
            }
            NodeOp::Missing
            | NodeOp::Neg(_)
            | NodeOp::Add(_)
            | NodeOp::Sub(_)
            | NodeOp::Mul(_)
            | NodeOp::Bits(..)
            | NodeOp::Xor(_) => {}
        }
    }

    fn step(&mut self, at: usize, step: ScheduleStep) {
        let mut operands = Vec::new();
        visit_operands(self.arena, step, |operand| operands.push(operand));
        for &operand in &operands {
            self.place(operand);
        }
        match step {
            ScheduleStep::Write { output, node } => {
                let (place, opcode) = (self.place(node), if self.secure(node) { Opcode::OutExt } else { Opcode::Out });
                self.emit(opcode, output as u32, place, 0);
                self.release(at, &operands);
            }
            ScheduleStep::Compute(id) => {
                let places: Vec<u32> = self
                    .arena
                    .get(id)
                    .op
                    .operands()
                    .iter()
                    .map(|operand| self.places.get(operand).copied().unwrap_or(0))
                    .collect();
                let secure = self.secure(id);
                // What takes several steps must not overwrite its operands.
                let target = if self.takes_steps(id) {
                    let target = self.take(secure);
                    self.release(at, &operands);
                    target
                } else {
                    self.release(at, &operands);
                    self.take(secure)
                };
                self.compute(id, target, &places);
                self.places.insert(id, target);
            }
        }
    }

    /// Frees the registers of values that are not used again.
    ///
    /// Registers of loads are freed if the load is not used soon.
    fn release(&mut self, at: usize, operands: &[u32]) {
        for &operand in operands {
            let uses = &mut self.uses[operand as usize];
            uses.pop_front();
            let stays = uses.front().is_some_and(|&next| next - at <= FAR || !loads(self.arena, operand));
            if !stays && let Some(place) = self.places.remove(&operand) {
                if self.secure(operand) {
                    self.registers.free_group(place);
                } else {
                    self.registers.free_word(place);
                }
            }
        }
    }

    fn takes_steps(&self, id: u32) -> bool {
        match self.arena.get(id).op {
            NodeOp::Join(_) => true,
            NodeOp::Sub([a, b]) => !self.secure(a) && self.secure(b),
            _ => false,
        }
    }

    /// Computes a node whose operands are in `places`.
    fn compute(&mut self, id: u32, target: u32, places: &[u32]) {
        match (self.arena.get(id).op, places) {
            (NodeOp::Neg([x]), &[place]) => {
                let opcode = if self.secure(x) { Opcode::NegExt } else { Opcode::Neg };
                self.emit(opcode, target, place, 0);
            }
            (NodeOp::Add(pair), &[left, right]) => {
                self.commutative([Opcode::Add, Opcode::AddExtBase, Opcode::AddExt], pair, target, [left, right]);
            }
            (NodeOp::Mul(pair), &[left, right]) => {
                self.commutative([Opcode::Mul, Opcode::MulExtBase, Opcode::MulExt], pair, target, [left, right]);
            }
            (NodeOp::Sub(pair), &[left, right]) => match pair.map(|id| self.secure(id)) {
                [false, false] => self.emit(Opcode::Sub, target, left, right),
                [true, false] => self.emit(Opcode::SubExtBase, target, left, right),
                [true, true] => self.emit(Opcode::SubExt, target, left, right),
                [false, true] => {
                    self.emit(Opcode::Lift, target, left, 0);
                    self.emit(Opcode::SubExt, target, target, right);
                }
            },
            (NodeOp::Bits(_, bits), &[place]) => self.emit(Opcode::Bits, target, place, bits.into()),
            (NodeOp::Xor(_), &[left, right]) => self.emit(Opcode::Xor, target, left, right),
            (NodeOp::Join(coordinates), places) => {
                for ((k, coordinate), &place) in (0..).zip(coordinates).zip(places) {
                    if loads(self.arena, coordinate) {
                        self.load(coordinate, target + k);
                    } else {
                        self.emit(Opcode::Copy, target + k, place, 0);
                    }
                }
            }
            _ => {}
        }
    }

    /// Emits a commutative operation on a pair of values.
    ///
    /// `base` is for two values of the base field, `mixed` for one of each field, `secure` for two
    /// values of the secure field.
    fn commutative(
        &mut self,
        [base, mixed, secure]: [Opcode; 3],
        pair: [u32; 2],
        target: u32,
        [left, right]: [u32; 2],
    ) {
        match pair.map(|id| self.secure(id)) {
            [false, false] => self.emit(base, target, left, right),
            [true, false] => self.emit(mixed, target, left, right),
            [false, true] => self.emit(mixed, target, right, left),
            [true, true] => self.emit(secure, target, left, right),
        }
    }
}
