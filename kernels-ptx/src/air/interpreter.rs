//! A program at one position: all threads of the grid run the same step at the same time.
//!
//! # Safety
//! The program was checked: its steps name registers, masks, constants and challenges that there
//! are.

use core_types::{
    air::neighbour,
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use crate::dev::{
    idx::{bdim_x, tid_x},
    memory::smem::{SharedAddr, SharedSlice},
};

/// The registers of a thread.
pub(super) trait Registers: Copy {
    /// The word in a register.
    unsafe fn get(self, register: u32) -> M31;
    /// Sets a register.
    unsafe fn set(self, register: u32, word: M31);

    /// The value in four registers.
    #[inline(always)]
    unsafe fn secure(self, first: u32) -> QM31 {
        QM31::from_coordinates([self.get(first), self.get(first + 1), self.get(first + 2), self.get(first + 3)])
    }

    /// Sets four registers.
    #[inline(always)]
    unsafe fn set_secure(self, first: u32, value: QM31) {
        let [x0, x1, x2, x3] = value.coordinates();
        self.set(first, x0);
        self.set(first + 1, x1);
        self.set(first + 2, x2);
        self.set(first + 3, x3);
    }
}

/// Registers in shared memory; the same register of neighbouring threads is adjacent.
#[derive(Clone, Copy)]
pub(super) struct InShared(SharedSlice<M31>);

impl InShared {
    /// The registers of this thread of a block.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        Self(SharedSlice::at(SharedAddr::dynamic()))
    }
}

impl Registers for InShared {
    #[inline(always)]
    unsafe fn get(self, register: u32) -> M31 {
        self.0.get(register * bdim_x() + tid_x())
    }

    #[inline(always)]
    unsafe fn set(self, register: u32, word: M31) {
        self.0.set(register * bdim_x() + tid_x(), word);
    }
}

/// Registers in global memory; the same register of neighbouring threads is adjacent.
#[derive(Clone, Copy)]
pub(super) struct InGlobal {
    /// Register 0 of this thread.
    pub(super) first: *mut M31,
    /// Threads of the grid.
    pub(super) threads: u64,
}

impl Registers for InGlobal {
    #[inline(always)]
    unsafe fn get(self, register: u32) -> M31 {
        *self.first.add((u64::from(register) * self.threads) as usize)
    }

    #[inline(always)]
    unsafe fn set(self, register: u32, word: M31) {
        *self.first.add((u64::from(register) * self.threads) as usize) = word;
    }
}

/// Where outputs go.
pub(super) trait Sink {
    /// Whether programs with such outputs have steps on integers.
    const INTEGERS: bool = false;

    /// Takes an output of the base field.
    unsafe fn base(&mut self, output: u32, value: M31);
    /// Takes an output of the secure field.
    unsafe fn secure(&mut self, output: u32, value: QM31);
}

/// A program with its inputs.
#[derive(Clone, Copy)]
pub(super) struct Program {
    pub(super) instructions: *const Instruction,
    pub(super) len: u32,
    pub(super) masks: *const MaskAt,
    pub(super) constants: *const M31,
    pub(super) values: *const M31,
    pub(super) challenges: *const QM31,
    pub(super) params: AirParams,
}

/// Names numbers of steps, since a `match` needs constants.
macro_rules! opcodes {
    ($($name:ident = $opcode:ident;)*) => { $(const $name: u32 = Opcode::$opcode as u32;)* };
}

opcodes! {
    MASK = Mask;
    CONSTANT = Constant;
    CHALLENGE = Challenge;
    ADD = Add;
    SUB = Sub;
    MUL = Mul;
    NEG = Neg;
    ADD_EXT = AddExt;
    SUB_EXT = SubExt;
    MUL_EXT = MulExt;
    NEG_EXT = NegExt;
    ADD_EXT_BASE = AddExtBase;
    SUB_EXT_BASE = SubExtBase;
    MUL_EXT_BASE = MulExtBase;
    LIFT = Lift;
    COPY = Copy;
    OUT = Out;
    OUT_EXT = OutExt;
    BITS = Bits;
    XOR = Xor;
}

impl Program {
    /// Runs the program at `position`.
    #[inline(always)]
    pub(super) unsafe fn run<R: Registers, S: Sink>(&self, position: u32, r: R, sink: &mut S) {
        let AirParams { log_rows, log_size, registers, .. } = self.params;
        let mut register = 0;
        while register < registers {
            r.set(register, M31::ZERO);
            register += 1;
        }
        // A step is one load: the list begins a buffer, so it is aligned for words of 64 bits.
        let steps = self.instructions.cast::<u64>();
        let mut at = 0;
        while at < self.len {
            let step = *steps.add(at as usize);
            at += 1;
            let field = |k: u32| (step >> (16 * k)) as u32 & 0xffff;
            let (opcode, target, left, right) = (field(0), field(1), field(2), field(3));
            match opcode {
                MASK => {
                    let MaskAt { first, offset, .. } = *self.masks.add(left as usize);
                    let there = if offset == 0 { position } else { neighbour(position, log_size, log_rows, offset) };
                    r.set(target, *self.values.add((first + u64::from(there)) as usize));
                }
                CONSTANT => r.set(target, *self.constants.add(left as usize)),
                CHALLENGE => r.set_secure(target, *self.challenges.add(left as usize)),
                ADD => r.set(target, r.get(left) + r.get(right)),
                SUB => r.set(target, r.get(left) - r.get(right)),
                MUL => r.set(target, r.get(left) * r.get(right)),
                NEG => r.set(target, -r.get(left)),
                ADD_EXT => r.set_secure(target, r.secure(left) + r.secure(right)),
                SUB_EXT => r.set_secure(target, r.secure(left) - r.secure(right)),
                MUL_EXT => r.set_secure(target, r.secure(left) * r.secure(right)),
                NEG_EXT => r.set_secure(target, -r.secure(left)),
                ADD_EXT_BASE => r.set_secure(target, r.secure(left) + r.get(right)),
                SUB_EXT_BASE => r.set_secure(target, r.secure(left) - r.get(right)),
                MUL_EXT_BASE => r.set_secure(target, r.secure(left) * r.get(right)),
                LIFT => r.set_secure(target, QM31::from(r.get(left))),
                COPY => r.set(target, r.get(left)),
                OUT => sink.base(target, r.get(left)),
                OUT_EXT => sink.secure(target, r.secure(left)),
                BITS if S::INTEGERS => {
                    let [from, to] = Instruction::bounds(right as u16);
                    let word = r.get(left).word() & ((1u32 << to) - 1);
                    r.set(target, M31::from_u32(word >> from));
                }
                XOR if S::INTEGERS => r.set(target, M31::from_u32(r.get(left).word() ^ r.get(right).word())),
                _ => {}
            }
        }
    }
}
