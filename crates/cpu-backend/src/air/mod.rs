//! The air op set: programs of traces, constraints and look-ups on tiles of positions.

mod logup;
mod program;
mod tiles;

use core::sync::atomic::AtomicU32;

use backend_api::{
    BackendError,
    ops::air::{
        AirColumns, AirEvaluate, AirFractions, CounterColumns, GatherColumn, LogUpColumns, RowNumbers, SecureAddLifted,
        SecurePowers,
    },
};
use core_types::{
    air::stored_row,
    field::{M31, QM31},
    params::air::{LogUpColumnsParams, MaskAt},
};

use self::{
    logup::LastColumn,
    program::{CheckedProgram, Outputs, TileProgram},
    tiles::ProgramRun,
};
use crate::checked::AirOps;
use crate::{CpuQueue, columns::cut_columns, simd::dispatch};

/// Positions of a task.
const JOB: usize = 1 << 14;

/// Counters that several tasks add to.
fn shared(counters: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: the words are borrowed for as long as the atomics are, which have the same size, alignment and values.
    unsafe { core::slice::from_raw_parts(counters.as_mut_ptr().cast(), counters.len()) }
}

/// Where the outputs of a program go.
struct AirOutputs<'a> {
    planes: &'a mut [M31],
    /// What sums are multiplied by.
    factors: Option<&'a [M31]>,
    counters: &'a [AtomicU32],
}

impl CpuQueue {
    /// Runs a program whose op was checked at all positions.
    fn run_program(
        &self,
        [log_rows, log_size]: [u32; 2],
        program: &TileProgram,
        masks: &[MaskAt],
        values: &[M31],
        target: AirOutputs<'_>,
    ) -> Result<(), BackendError> {
        let AirOutputs { planes, factors, counters } = target;
        let jobs = cut_columns(planes, 1 << log_size, JOB);
        let _scratch = self.reserve_scratch::<u32>(jobs.len(), ProgramRun::scratch(program))?;
        self.for_jobs(jobs, |i, outputs| {
            let first = i * JOB;
            let positions = JOB.min((1 << log_size) - first);
            let run =
                ProgramRun { program, masks, values, log_rows, log_size, first, positions, outputs, counters, factors };
            dispatch(self.simd(), run);
        });
        Ok(())
    }
}

impl AirOps for CpuQueue {
    fn air_columns(&self, op: AirColumns<'_, Self>) -> Result<(), BackendError> {
        let AirColumns { params, outputs, instructions, masks, constants, .. } = op;
        let source = CheckedProgram::new(params, instructions, masks, constants, &[]);
        let program = TileProgram::new(&source, Outputs::Table(outputs.columns as usize));
        let target = AirOutputs { planes: op.columns, factors: None, counters: shared(op.counters) };
        self.run_program([params.log_rows, params.log_size], &program, masks, op.inputs, target)
    }

    fn air_evaluate(&self, op: AirEvaluate<'_, Self>) -> Result<(), BackendError> {
        let AirEvaluate { params, instructions, masks, constants, challenges, .. } = op;
        let source = CheckedProgram::new(params, instructions, masks, constants, challenges);
        let program = TileProgram::new(&source, Outputs::Sum(op.powers));
        let logs = [params.log_rows, params.log_size];
        let target = AirOutputs { planes: op.sums, factors: Some(op.vanishing_inverses), counters: &[] };
        self.run_program(logs, &program, masks, op.values, target)
    }

    fn air_fractions(&self, op: AirFractions<'_, Self>) -> Result<(), BackendError> {
        let AirFractions { params, instructions, masks, constants, challenges, .. } = op;
        let source = CheckedProgram::new(params, instructions, masks, constants, challenges);
        let program = TileProgram::new(&source, Outputs::Write);
        let target = AirOutputs { planes: op.fractions, factors: None, counters: &[] };
        self.run_program([params.log_rows, params.log_size], &program, masks, op.values, target)
    }

    fn logup_columns(&self, op: LogUpColumns<'_, Self>) -> Result<(), BackendError> {
        let LogUpColumns { params, fractions, columns, sums } = op;
        let log_rows = params.log_rows;
        let tiles = cut_columns(columns, 1 << log_rows, logup::TILE);
        let _scratch = self.reserve_scratch::<u32>(tiles.len(), logup::SCRATCH)?;
        self.for_jobs(tiles, |i, columns| {
            let (len, first) = (1 << log_rows, i * logup::TILE);
            dispatch(self.simd(), logup::LogupSums { fractions, len, first, columns });
        });
        self.add_up(*params, LastColumn::new(*params, columns), sums);
        Ok(())
    }

    fn counter_columns(&self, op: CounterColumns<'_, Self>) -> Result<(), BackendError> {
        let CounterColumns { params, counters, columns } = op;
        let log_rows = params.log_rows;
        let rows = counters.chunks(1 << log_rows);
        self.for_jobs(columns.chunks_mut(1 << log_rows).zip(rows).collect(), |_, (column, counters)| {
            for (position, value) in (0..).zip(column) {
                *value = M31::from_u32(counters[stored_row(position, log_rows) as usize]);
            }
        });
        Ok(())
    }

    fn gather_column(&self, op: GatherColumn<'_, Self>) -> Result<(), BackendError> {
        let GatherColumn { keys, table, column, .. } = op;
        self.for_jobs(column.chunks_mut(JOB).zip(keys.chunks(JOB)).collect(), |_, (column, keys)| {
            for (word, key) in column.iter_mut().zip(keys) {
                *word = table.get(key.word() as usize).copied().unwrap_or(M31::ZERO);
            }
        });
        Ok(())
    }

    fn row_numbers(&self, op: RowNumbers<'_, Self>) -> Result<(), BackendError> {
        let log_rows = op.params.log_rows;
        self.for_chunks(op.column, JOB, |i, column| {
            for (position, number) in ((i * JOB) as u32..).zip(column) {
                *number = M31::from_u32(stored_row(position, log_rows));
            }
        });
        Ok(())
    }

    fn secure_add_lifted(&self, op: SecureAddLifted<'_, Self>) -> Result<(), BackendError> {
        let SecureAddLifted { params, small, large } = op;
        // Positions of a pair of the small column: pairs of the large one, side by side.
        let pairs = 2 << (params.log_large - params.log_small);
        let parts = JOB.max(pairs);
        self.for_chunks(large, parts, |i, large| {
            let small = small[2 * (i * parts / pairs)..].chunks(2);
            for (large, small) in large.chunks_mut(pairs).zip(small) {
                for value in large.chunks_mut(2) {
                    value.iter_mut().zip(small).for_each(|(value, &term)| *value += term);
                }
            }
        });
        Ok(())
    }

    fn secure_powers(&self, op: SecurePowers<'_, Self>) -> Result<(), BackendError> {
        let base = op.base[0];
        let fill = |power: QM31, place: &mut QM31| {
            *place = power;
            power * base
        };
        if op.params.descending == 1 {
            op.powers.iter_mut().rev().fold(QM31::ONE, fill);
        } else {
            op.powers.iter_mut().fold(QM31::ONE, fill);
        }
        Ok(())
    }
}

impl CpuQueue {
    /// Adds up the last column of lookups along the rows.
    ///
    /// It writes the total and the mean of the column to `sums`.
    fn add_up(&self, params: LogUpColumnsParams, column: LastColumn, sums: &mut [QM31]) {
        // Sums of the parts of each run.
        let (runs, pairs) = (params.runs() as usize, params.pairs() as usize);
        let job = (JOB / runs).min(pairs);
        let mut parts = vec![[QM31::ZERO; logup::RUNS]; pairs / job];
        self.for_chunks(&mut parts, 1, |i, part| {
            // SAFETY: the column is borrowed for the whole op, and no task writes it here.
            part[0] = unsafe { column.sums(i * job, (i + 1) * job) };
        });
        // What comes before each part of each run.
        let mut total = QM31::ZERO;
        for run in 0..runs {
            for part in &mut parts {
                total += core::mem::replace(&mut part[run], total);
            }
        }
        // Less the mean for each row, the last running sum is zero.
        let mean = QM31::from_coordinates(total.coordinates().map(|word| word.div_power_of_two(params.log_rows)));
        sums.copy_from_slice(&[total, mean]);
        // Each part starts from the rows before it, less their means.
        for run in 0..runs {
            for (i, part) in parts.iter_mut().enumerate() {
                let rows = 2 * (run * pairs + i * job);
                part[run] -= mean.scale(M31::from_u32(rows as u32));
            }
        }
        // Running sums within each part.
        self.for_chunks(&mut parts, 1, |i, part| {
            // SAFETY: parts are disjoint pairs of the column, which is borrowed for the whole op.
            unsafe { column.add_up(i * job, (i + 1) * job, &part[0], mean) };
        });
    }
}
