//! Facts about the index of a thread that follow from the shape of a block.

use super::Spread;
use crate::ast::{Axis, Body, Directive, Function, Instruction, Operand, Special};

const WARP_SIZE: u32 = 32;
/// Lanes of a warp as a power of two.
const LOG_WARP_SIZE: i64 = 5;

/// The spread of special registers, given the launch bounds.
pub(super) struct Threads {
    /// Threads of a block, from `.maxntid` or `.reqntid`.
    ///
    /// The kernel build launches with exactly these.
    block: Option<[u32; 3]>,
    /// Whether each register holds `%tid.x`.
    holds_x: Vec<bool>,
}

impl Threads {
    /// `several` states which registers have several definitions.
    pub(super) fn new(function: &Function, body: &Body, several: &[bool]) -> Self {
        let block = function.directives.iter().find_map(|directive| match directive {
            Directive::MaxThreads(extent) | Directive::RequiredThreads(extent) => Some(*extent),
            _ => None,
        });
        let mut holds_x = vec![false; body.registers.len()];
        for instruction in &body.instructions {
            let [Operand::Reg(result), source] = instruction.operands.as_slice() else { continue };
            let opcode = &instruction.opcode;
            let copies = opcode.base() == "mov" || opcode.text() == "cvt.u64.u32";
            let x = match source {
                Operand::Special(special) => *special == Special::Tid(Axis::X),
                Operand::Reg(reg) => holds_x[reg.0 as usize],
                _ => false,
            };
            let slot = result.0 as usize;
            holds_x[slot] = copies && x && instruction.guard.is_none() && !several[slot];
        }
        Self { block, holds_x }
    }

    /// Whether the lanes of a warp are neighbours along x, from a multiple of 32 on.
    fn warps_lie_along_x(&self) -> bool {
        self.block.is_some_and(|[x, y, z]| (y == 1 && z == 1) || x.is_multiple_of(WARP_SIZE))
    }

    /// Whether `instruction` takes the lane out of `%tid.x`.
    ///
    /// It is a right shift by 5 or more, or a mask without low bits.
    pub(super) fn is_warp_index(&self, instruction: &Instruction) -> bool {
        let [_, Operand::Reg(source), Operand::Int(amount), rest @ ..] = instruction.operands.as_slice() else {
            return false;
        };
        let drops_lane = match instruction.opcode.base() {
            "shr" => rest.is_empty() && *amount >= LOG_WARP_SIZE,
            "bfe" => *amount >= LOG_WARP_SIZE,
            "and" => *amount & i64::from(WARP_SIZE - 1) == 0,
            _ => false,
        };
        drops_lane && self.holds_x[source.0 as usize] && self.warps_lie_along_x()
    }

    /// The spread of a special register.
    pub(super) fn special(&self, special: Special) -> Spread {
        match special {
            Special::Tid(Axis::Y) => self.across(1),
            Special::Tid(Axis::Z) => self.across(2),
            Special::Tid(Axis::X)
            | Special::Laneid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt
            | Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::Globaltimer
            | Special::GlobaltimerLo
            | Special::GlobaltimerHi => Spread::Lanes,
            Special::Warpid => Spread::Warps,
            _ => Spread::Uniform,
        }
    }

    /// The spread of a thread's index along y or z.
    fn across(&self, axis: usize) -> Spread {
        match self.block {
            Some(block) if block[axis] == 1 => Spread::Uniform,
            Some([x, ..]) if x.is_multiple_of(WARP_SIZE) => Spread::Warps,
            _ => Spread::Lanes,
        }
    }
}
