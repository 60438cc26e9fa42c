//! Programs with all that they read, run on any backend.

use backend_api::{
    BackendError, Buffer,
    ops::air::{AirEvaluate, AirFractions, AirOps},
};
use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};
use cuda_backend::{ProgramKind, ProgramSource};

/// A program with its inputs and the previous content of its outputs.
pub(crate) struct Job {
    pub(crate) params: AirParams,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) masks: Vec<MaskAt>,
    pub(crate) constants: Vec<M31>,
    pub(crate) inverses: Vec<M31>,
    pub(crate) values: Vec<M31>,
    pub(crate) challenges: Vec<QM31>,
    pub(crate) powers: Vec<QM31>,
}

/// Elements that include both ends of the range.
pub(crate) fn elements(len: usize, salt: u64) -> Vec<M31> {
    let word = |i: u64| (i + 1 + (salt << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ i;
    let element = |i: u64| match i % 31 {
        13 => M31::ZERO,
        14 => -M31::ONE,
        _ => M31::from_u64(word(i)),
    };
    (0..len as u64).map(element).collect()
}

fn secure(len: usize, salt: u64) -> Vec<QM31> {
    elements(4 * len, salt).chunks_exact(4).map(|w| QM31::from_coordinates([w[0], w[1], w[2], w[3]])).collect()
}

/// Columns, and words before the first of them.
const COLUMNS: u64 = 3;
const BEFORE: u64 = 5;

impl Job {
    /// A program of `instructions`, with masks of three columns at the offsets -2 to 2, three constants and two
    /// challenges.
    pub(crate) fn new(instructions: Vec<Instruction>, [log_rows, log_size]: [u32; 2], outputs: u32) -> Self {
        let len = 1u64 << log_size;
        let mask = |offset| move |column| MaskAt { first: BEFORE + column * len, offset, reserved: 0 };
        Self {
            params: AirParams { log_rows, log_size, registers: 64, outputs },
            instructions,
            masks: (-2..=2).flat_map(|offset| (0..COLUMNS).map(mask(offset))).collect(),
            constants: elements(3, 1),
            inverses: elements(1 << (log_size - log_rows), 2),
            values: elements((BEFORE + COLUMNS * len) as usize, 3),
            challenges: secure(2, 4),
            powers: secure(outputs as usize, 5),
        }
    }

    /// A step of each kind, each with outputs that show its result.
    pub(crate) fn of_each_step([log_rows, log_size]: [u32; 2]) -> Self {
        let mut steps = Vec::new();
        let mut outputs = 0;
        let mut step = |opcode: Opcode, target: u16, left: u16, right: u16| {
            steps.push(Instruction { opcode: opcode as u16, target, left, right });
        };
        // Words in 0, 1 and 2, a constant in 3, values of the secure field from 4, 8 and 12 on.
        for (register, mask) in [(0, 7), (1, 2), (2, 12), (16, 9), (17, 3), (18, 8)] {
            step(Opcode::Mask, register, mask, 0);
        }
        step(Opcode::Constant, 3, 1, 0);
        step(Opcode::Challenge, 4, 1, 0);
        step(Opcode::Challenge, 8, 0, 0);
        step(Opcode::Lift, 12, 2, 0);
        for (register, word) in [(13, 1), (14, 16), (15, 17)] {
            step(Opcode::Copy, register, word, 0);
        }
        let words = [(Opcode::Add, 0, 1), (Opcode::Sub, 1, 2), (Opcode::Mul, 2, 3), (Opcode::Neg, 0, 0)];
        for (opcode, left, right) in words.into_iter().chain([(Opcode::Mul, 16, 17), (Opcode::Sub, 3, 18)]) {
            step(opcode, 20, left, right);
            step(Opcode::Out, outputs, 20, 0);
            outputs += 1;
        }
        for (opcode, left, right) in [
            (Opcode::AddExt, 4, 12),
            (Opcode::SubExt, 12, 8),
            (Opcode::MulExt, 4, 12),
            (Opcode::MulExt, 12, 12),
            (Opcode::NegExt, 12, 0),
            (Opcode::AddExtBase, 12, 0),
            (Opcode::SubExtBase, 12, 1),
            (Opcode::MulExtBase, 12, 2),
        ] {
            step(opcode, 24, left, right);
            step(Opcode::OutExt, outputs, 24, 0);
            outputs += 1;
        }
        // Registers that nothing has set hold zero.
        step(Opcode::Add, 21, 40, 0);
        step(Opcode::Out, outputs, 21, 0);
        Self::new(steps, [log_rows, log_size], u32::from(outputs) + 1)
    }

    /// The same program on columns and challenges of numbers from -2 to 2, whose sums of products are multiples of the modulus now and then.
    pub(crate) fn on_few_words(mut self) -> Self {
        let few = |word: &mut M31| *word = M31::from_u32(word.word() % 5) - M31::from_u32(2);
        let lists = [&mut self.inverses, &mut self.values];
        lists.into_iter().for_each(|list| list.iter_mut().for_each(few));
        for value in self.challenges.iter_mut().chain(&mut self.powers) {
            let mut words = value.coordinates();
            words.iter_mut().for_each(few);
            *value = QM31::from_coordinates(words);
        }
        self
    }

    /// The first column, as it is stored.
    pub(crate) fn first_column(&self) -> &[M31] {
        &self.values[BEFORE as usize..][..1 << self.params.log_size]
    }

    pub(crate) fn source(&self, kind: ProgramKind) -> ProgramSource<'_> {
        let Self { instructions, masks, constants, .. } = self;
        ProgramSource { kind, instructions, masks, constants }
    }

    /// The previous content of the sums.
    pub(crate) fn before(&self, kind: ProgramKind) -> Vec<M31> {
        let columns = match kind {
            ProgramKind::Evaluate => 1,
            ProgramKind::Fractions => self.params.outputs as usize,
        };
        elements((4 * columns) << self.params.log_size, 6)
    }

    /// The result of the op on a backend.
    pub(crate) fn run<Q: AirOps>(&self, q: &Q, kind: ProgramKind) -> Result<Vec<M31>, BackendError> {
        let Self { params, instructions, masks, constants, .. } = self;
        let (values, challenges) = (q.upload(&self.values)?, q.upload(&self.challenges)?);
        let mut made = q.upload(&self.before(kind))?;
        match kind {
            ProgramKind::Evaluate => {
                let powers = q.upload(&self.powers)?;
                q.air_evaluate(AirEvaluate {
                    params,
                    instructions,
                    masks,
                    constants,
                    vanishing_inverses: &self.inverses,
                    values: values.view(),
                    challenges: challenges.view(),
                    powers: powers.view(),
                    sums: made.view_mut(),
                })?;
            }
            ProgramKind::Fractions => self.fractions(q, (&values, &challenges), &mut made)?,
        }
        q.download(&made)
    }

    /// Writes the fractions of the program on buffers of a backend.
    pub(crate) fn fractions<Q: AirOps>(
        &self,
        q: &Q,
        (values, challenges): (&Q::Buf<M31>, &Q::Buf<QM31>),
        made: &mut Q::Buf<M31>,
    ) -> Result<(), BackendError> {
        q.air_fractions(AirFractions {
            params: &self.params,
            instructions: &self.instructions,
            masks: &self.masks,
            constants: &self.constants,
            values: values.view(),
            challenges: challenges.view(),
            fractions: made.view_mut(),
        })
    }
}
