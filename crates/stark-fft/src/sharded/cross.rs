//! The highest layers of a transform, which pair whole blocks of positions.
//!
//! They are programs that run on words of all blocks at once.

use backend_api::{
    Buffer as _, Mut, Ref,
    ops::air::{AirColumns, AirOps},
};
use core_types::{
    circle::double_x,
    field::M31,
    params::air::{AirColumnsParams, AirParams, Instruction, MaskAt, Opcode},
};

use crate::{CanonicDomain, FftError, Shard};

/// The cross layers of one column on one rank.
///
/// They read a run of each of the `G` blocks of a column, and write `G` runs for each copy. A
/// register holds a word of each block; two more hold a twiddle and a saved operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CrossLayers {
    log_run: u32,
    ranks: u16,
    outputs: u32,
    steps: Vec<Instruction>,
    constants: Vec<M31>,
}

impl CrossLayers {
    /// Combines separately interpolated blocks into coefficients.
    ///
    /// Run `r` is from block `r`.
    pub(super) fn interpolating(shard: &Shard) -> Self {
        let mut program = Self::new(shard, 0);
        program.load();
        for bit in 0..shard.log_ranks() {
            for pair in 0..shard.ranks() >> (bit + 1) {
                let t = twiddle(shard.domain(), shard.log_len() + bit, pair);
                program.constant(t.inverse().unwrap_or_default()); // no x-coordinate of a domain is zero
                program.butterflies(bit, pair, |[low, high, t, kept]| {
                    [(Opcode::Sub, kept, low, high), (Opcode::Add, low, low, high), (Opcode::Mul, high, kept, t)]
                });
            }
        }
        program.constant(M31::ONE.div_power_of_two(shard.log_ranks()));
        for block in 0..program.ranks {
            program.step(Opcode::Mul, block, block, program.ranks);
            program.write(u32::from(block), block);
        }
        program
    }

    /// From coefficients to the values that the lower layers of `2^log_blowup` copies begin with.
    ///
    /// There are fewer copies than ranks, so each rank has `2^log_blowup` blocks in the end: run
    /// `j G + r` is of block `j` of rank `r`.
    pub(super) fn evaluating(shard: &Shard, extended: CanonicDomain) -> Self {
        let log_blowup = extended.log_size() - shard.domain().log_size();
        let mut program = Self::new(shard, log_blowup);
        let (log_ranks, blocks) = (shard.log_ranks(), (1 << log_blowup) - 1);
        for copy in 0..1 << log_blowup {
            program.load();
            for bit in (0..log_ranks).rev() {
                for pair in 0..shard.ranks() >> (bit + 1) {
                    let above = copy << (log_ranks - bit - 1) | pair;
                    program.constant(twiddle(extended, shard.log_len() + bit, above));
                    program.butterflies(bit, pair, |[low, high, t, kept]| {
                        [(Opcode::Mul, kept, high, t), (Opcode::Sub, high, low, kept), (Opcode::Add, low, low, kept)]
                    });
                }
            }
            for block in 0..program.ranks {
                let number = (copy as u32) << log_ranks | u32::from(block);
                program.write((number & blocks) << log_ranks | number >> log_blowup, block);
            }
        }
        program
    }

    fn new(shard: &Shard, log_copies: u32) -> Self {
        let ranks = shard.ranks() as u16; // at most 2^8
        let outputs = u32::from(ranks) << log_copies;
        Self { log_run: shard.log_run(), ranks, outputs, steps: Vec::new(), constants: Vec::new() }
    }

    fn step(&mut self, opcode: Opcode, target: u16, left: u16, right: u16) {
        self.steps.push(Instruction { opcode: opcode as u16, target, left, right });
    }

    /// Reads a word of each block.
    fn load(&mut self) {
        for block in 0..self.ranks {
            self.step(Opcode::Mask, block, block, 0);
        }
    }

    /// Loads a constant into the twiddle register.
    fn constant(&mut self, constant: M31) {
        let number = self.constants.len() as u16; // copies are fewer than ranks, and each has fewer twiddles
        self.constants.push(constant);
        self.step(Opcode::Constant, self.ranks, number, 0);
    }

    /// Writes a register to an output; there are fewer than 2^16 outputs.
    fn write(&mut self, output: u32, block: u16) {
        self.step(Opcode::Out, output as u16, block, 0);
    }

    /// Emits all butterflies of the blocks that differ in bit `bit`.
    ///
    /// The blocks have `pair` above that bit. Each butterfly has the same steps.
    fn butterflies(&mut self, bit: u32, pair: usize, steps: impl Fn([u16; 4]) -> [(Opcode, u16, u16, u16); 3]) {
        let first = (pair as u16) << (bit + 1);
        for low in first..first + (1 << bit) {
            for (opcode, target, left, right) in steps([low, low + (1 << bit), self.ranks, self.ranks + 1]) {
                self.step(opcode, target, left, right);
            }
        }
    }

    /// Words that the program writes.
    pub(super) fn words(&self) -> usize {
        (self.outputs as usize) << self.log_run
    }

    /// Runs the program on what one rank has of one column.
    pub(super) fn run<Q: AirOps>(&self, q: &Q, runs: Ref<'_, Q, M31>, target: Mut<'_, Q, M31>) -> Result<(), FftError> {
        let run = |number: u16| MaskAt { first: u64::from(number) << self.log_run, offset: 0, reserved: 0 };
        let mut counters = q.alloc::<u32>(0)?;
        let (log_rows, outputs) = (self.log_run, self.outputs);
        Ok(q.air_columns(AirColumns {
            params: &AirParams { log_rows, log_size: log_rows, registers: u32::from(self.ranks) + 2, outputs },
            outputs: &AirColumnsParams { columns: outputs, counters: 0 },
            instructions: &self.steps,
            masks: &(0..self.ranks).map(run).collect::<Vec<_>>(),
            constants: &self.constants,
            inputs: q.shorten(runs),
            columns: q.shorten_mut(target),
            counters: counters.view_mut(),
        })?)
    }
}

/// Twiddle `h` of layer `layer`, at least 1, of a domain.
///
/// It is the x-coordinate of its positions, doubled once for each layer between.
fn twiddle(domain: CanonicDomain, layer: u32, h: usize) -> M31 {
    (1..layer).fold(domain.stored_point(h << (layer + 1)).x, |x, _| double_x(x))
}
