//! Speed lines of the `air` op set: constraints, and columns of look-ups.
//!
//! The AIR is wide Fibonacci. A unit of work is a constraint at a point, or a fraction.

use backend_api::{
    Buffer, Queue as _,
    ops::air::{AirEvaluate, AirOps as _, LogUpColumns},
};
use core_types::{
    air::{Air, Row, Tree},
    field::{M31, QM31},
    params::air::{AirParams, LogUpColumnsParams, MaskAt},
};
use cpu_backend::SimdLevel;
use stark_air::{MaskRead, MaskSource, Recorded};
use stark_airs::WideFibonacci;

use crate::{
    Contender, Extent, Goal, Line,
    host::{M31_BYTES, SECURE_BYTES, elements, nonzero_elements, secure_elements},
    line::RunSize,
};

/// Constraints at points per second.
///
/// At this rate, work that takes stwo's vector backend 85 ms on a machine with AVX-512 takes 60 ms.
const GOAL_RATE: f64 = 98.0 * (1 << 19) as f64 / 60e-3;

const LOG_SIZE: u32 = 19;
const COLUMNS: u32 = 100;

fn fibonacci(log_rows: u32, columns: u32) -> WideFibonacci {
    WideFibonacci::new(log_rows, columns).expect("an AIR of this size")
}

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let line = evaluate(LOG_SIZE, COLUMNS).in_nanoseconds().peer(compiled).level("trefoil, avx2 path", SimdLevel::Avx2);
    vec![line.portable().goal(Goal::Rate(GOAL_RATE), "avx-512")]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (log_size, columns, log_rows) = match extent {
        Extent::Full => (LOG_SIZE, COLUMNS, 20),
        Extent::Small => (8, 6, 7),
    };
    vec![evaluate(log_size, columns), logup_columns(log_rows, 8)]
}

/// The recorded program at `2^log_size` positions.
///
/// The columns follow each other in one buffer.
fn evaluate(log_size: u32, columns: u32) -> Line {
    let len = 1usize << log_size;
    let work = f64::from(columns - 2) * len as f64;
    let size = RunSize::streaming("constraint-point", work, M31_BYTES * (f64::from(columns) + 8.0) * len as f64);
    Line::new(&format!("air.evaluate/{columns}x2^{log_size}"), size, move |q| {
        let air = Recorded::new(&fibonacci(log_size - 1, columns))?;
        let program = air.constraint_program();
        let place = |read: &MaskRead| {
            let (MaskSource::Preprocessed { slot: column } | MaskSource::Column { column, .. }) = read.source;
            MaskAt { first: u64::from(column) << log_size, offset: read.offset, reserved: 0 }
        };
        let masks: Vec<_> = program.masks().iter().map(place).collect();
        let (registers, outputs) = (program.registers(), program.outputs());
        let params = AirParams { log_rows: log_size - 1, log_size, registers, outputs };
        let (values, powers) =
            (q.upload(&elements(columns as usize * len))?, q.upload(&secure_elements(columns as usize - 2))?);
        let (challenges, mut sums) = (q.zeros::<QM31>(0)?, q.zeros::<M31>(4 * len)?);
        Ok(Box::new(move |q| {
            let program = air.constraint_program();
            Ok(q.air_evaluate(AirEvaluate {
                params: &params,
                instructions: program.instructions(),
                masks: &masks,
                constants: program.constants(),
                vanishing_inverses: &[M31::ONE; 2],
                values: values.view(),
                challenges: challenges.view(),
                powers: powers.view(),
                sums: sums.view_mut(),
            })?)
        }))
    })
}

fn logup_columns(log_rows: u32, columns: u32) -> Line {
    let work = f64::from(columns) * f64::from(1u32 << log_rows);
    let len = (columns as usize) << (log_rows + 2);
    let size = RunSize::streaming("fraction", work, SECURE_BYTES * 3.0 * work);
    Line::new(&format!("air.logup_columns/{columns}x2^{log_rows}"), size, move |q| {
        let fractions = q.upload(&nonzero_elements(2 * len))?;
        let (mut made, mut sums) = (q.zeros::<M31>(len)?, q.zeros::<QM31>(2)?);
        let params = LogUpColumnsParams { log_rows, columns };
        Ok(Box::new(move |q| {
            let (fractions, columns, sums) = (fractions.view(), made.view_mut(), sums.view_mut());
            Ok(q.logup_columns(LogUpColumns { params: &params, fractions, columns, sums })?)
        }))
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
    let air = fibonacci(LOG_SIZE - 1, COLUMNS);
    let (values, powers) = (elements((COLUMNS as usize) << LOG_SIZE), secure_elements(COLUMNS as usize - 2));
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
