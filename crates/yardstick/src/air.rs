//! Speed lines of the `air` op set.
//!
//! The AIR is wide Fibonacci of 100 columns. One unit is a constraint at a point.

use std::num::NonZeroUsize;

use backend_api::ops::air::{AirEvaluate, AirOps};
use core_types::{
    air::{Air, Row, Tree},
    field::{M31, QM31},
    params::air::{AirParams, MaskAt},
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};
use stark_air::{MaskSource, Recorded};
use stark_airs::WideFibonacci;

use super::{Contender, Contest, Goal, Show};

/// Constraints at points per second.
///
/// At this rate, work that takes stwo's vector backend 85 ms on a machine with AVX-512 takes 60 ms.
const GOAL_RATE: f64 = 98.0 * (1 << 19) as f64 / 60e-3;

const LOG_ROWS: u32 = 18;
const LOG_SIZE: u32 = 19;
const COLUMNS: u32 = 100;

fn fibonacci(log_rows: u32, columns: u32) -> WideFibonacci {
    WideFibonacci::new(log_rows, columns).expect("an AIR of this size")
}

/// A recorded AIR with its launch record and the places of its columns.
///
/// The columns follow each other in one buffer.
pub(super) struct PlacedAir {
    pub(super) air: Recorded,
    pub(super) params: AirParams,
    pub(super) masks: Vec<MaskAt>,
}

impl PlacedAir {
    /// Wide Fibonacci at `2^log_size` positions.
    pub(super) fn new(log_rows: u32, log_size: u32, columns: u32) -> Self {
        let air = Recorded::new(&fibonacci(log_rows, columns)).expect("the AIR can be recorded");
        let program = air.constraint_program();
        let place = |source| match source {
            MaskSource::Preprocessed { slot } => slot,
            MaskSource::Column { column, .. } => column,
        };
        let masks = program
            .masks()
            .iter()
            .map(|mask| MaskAt { first: u64::from(place(mask.source)) << log_size, offset: mask.offset, reserved: 0 })
            .collect();
        let params = AirParams { log_rows, log_size, registers: program.registers(), outputs: program.outputs() };
        Self { air, params, masks }
    }
}

/// Every contest of the op set, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let id = format!("air.evaluate/{COLUMNS}x2^{LOG_SIZE}");
    vec![(id.clone(), Box::new(move || evaluate(id)))]
}

fn evaluate(id: String) -> Contest {
    Contest {
        id,
        unit: "constraint-point",
        work: f64::from(COLUMNS - 2) * f64::from(1u32 << LOG_SIZE),
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512),
            compiled(),
            ours("trefoil, avx2 path", SimdLevel::Avx2),
            ours("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: vec![(Goal::Rate(GOAL_RATE), "avx-512")],
    }
}

fn values() -> Vec<M31> {
    (0..COLUMNS << LOG_SIZE).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect()
}

fn powers() -> Vec<QM31> {
    (0..COLUMNS - 2).map(|i| QM31::from_coordinates([1, 2, 3, 4].map(|k| M31::from_u32(i * 7919 + k)))).collect()
}

/// The recorded program on one thread.
fn ours(name: &str, simd: SimdLevel) -> Contender {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread needs no pool");
    let recording = PlacedAir::new(LOG_ROWS, LOG_SIZE, COLUMNS);
    let (values, powers) = (values(), powers());
    let mut sums = vec![M31::ZERO; 4 << LOG_SIZE];
    Contender::new(name, move || {
        let program = recording.air.constraint_program();
        q.air_evaluate(AirEvaluate {
            params: &recording.params,
            instructions: program.instructions(),
            masks: &recording.masks,
            constants: program.constants(),
            vanishing_inverses: &[M31::ONE; 2],
            values: &values,
            challenges: &[],
            powers: &powers,
            sums: &mut sums,
        })
        .expect("lengths match");
    })
}

/// A position, for the AIR as compiled code.
struct Position<'a> {
    values: &'a [M31],
    powers: &'a [QM31],
    at: usize,
    column: usize,
    constraint: usize,
    sum: QM31,
}

impl Row for Position<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, _: Tree, _: [i32; K]) -> [M31; K] {
        self.column += 1;
        [self.values[((self.column - 1) << LOG_SIZE) + self.at]; K]
    }

    fn preprocessed(&mut self, _: u32) -> M31 {
        M31::ZERO
    }

    fn challenge(&mut self, _: u32) -> QM31 {
        QM31::ZERO
    }

    fn mean(&mut self) -> QM31 {
        QM31::ZERO
    }

    fn constraint(&mut self, value: M31) {
        self.sum += self.powers[self.constraint] * value;
        self.constraint += 1;
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.sum += self.powers[self.constraint] * value;
        self.constraint += 1;
    }
}

/// The AIR compiled for one position at a time.
fn compiled() -> Contender {
    let air = fibonacci(LOG_ROWS, COLUMNS);
    let (values, powers) = (values(), powers());
    let mut sums = vec![M31::ZERO; 4 << LOG_SIZE];
    Contender::new("the AIR compiled, a position at a time", move || {
        for at in 0..1 << LOG_SIZE {
            let mut row = Position { values: &values, powers: &powers, at, column: 0, constraint: 0, sum: QM31::ZERO };
            air.eval(&mut row);
            for (c, word) in row.sum.coordinates().into_iter().enumerate() {
                sums[(c << LOG_SIZE) + at] += word;
            }
        }
    })
}
