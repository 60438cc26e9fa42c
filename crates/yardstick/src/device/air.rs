//! Device speed of constraints and of columns of look-ups.

use backend_api::{
    Buffer, Queue,
    ops::air::{AirEvaluate, AirOps, LogUpColumns},
};
use core_types::{
    field::{M31, QM31},
    params::air::LogUpColumnsParams,
};

use super::{DeviceLine, Extent, RunSize, words};
use crate::air::PlacedAir;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (log_size, columns, log_rows) = match extent {
        Extent::Full => (19, 100, 20),
        Extent::Small => (8, 6, 7),
    };
    vec![evaluate(log_size, columns), logup_columns(log_rows, 8)]
}

fn column(len: usize) -> Vec<M31> {
    words(len, 2).into_iter().map(|word| M31::from_u32(word as u32 | 1)).collect()
}

/// Wide Fibonacci by its recorded program.
fn evaluate(log_size: u32, columns: u32) -> DeviceLine {
    let len = 1usize << log_size;
    let work = f64::from(columns - 2) * len as f64;
    let bytes = 4.0 * (f64::from(columns) + 8.0) * len as f64;
    let size = RunSize { unit: "constraint-point", work, bytes, resident: bytes };
    DeviceLine::new(format!("air.evaluate/{columns}x2^{log_size}"), size, move |q| {
        let recording = PlacedAir::new(log_size - 1, log_size, columns);
        let values = q.upload(&column(columns as usize * len))?;
        let (challenges, powers) = (q.zeros(0)?, q.zeros::<QM31>(columns as usize - 2)?);
        let mut sums = q.zeros(4 * len)?;
        Ok(Box::new(move |q| {
            let program = recording.air.constraint_program();
            q.air_evaluate(AirEvaluate {
                params: &recording.params,
                instructions: program.instructions(),
                masks: &recording.masks,
                constants: program.constants(),
                vanishing_inverses: &[M31::ONE; 2],
                values: values.view(),
                challenges: challenges.view(),
                powers: powers.view(),
                sums: sums.view_mut(),
            })?;
            Ok(())
        }))
    })
}

fn logup_columns(log_rows: u32, columns: u32) -> DeviceLine {
    let elements = f64::from(columns) * f64::from(1u32 << log_rows);
    let len = (columns as usize) << (log_rows + 2);
    let bytes = 16.0 * 3.0 * elements;
    let size = RunSize { unit: "fraction", work: elements, bytes, resident: bytes };
    DeviceLine::new(format!("air.logup_columns/{columns}x2^{log_rows}"), size, move |q| {
        let fractions = q.upload(&column(2 * len))?;
        let (mut made, mut sums) = (q.zeros::<M31>(len)?, q.zeros::<QM31>(2)?);
        let params = LogUpColumnsParams { log_rows, columns };
        Ok(Box::new(move |q| {
            q.logup_columns(LogUpColumns {
                params: &params,
                fractions: fractions.view(),
                columns: made.view_mut(),
                sums: sums.view_mut(),
            })?;
            Ok(())
        }))
    })
}
