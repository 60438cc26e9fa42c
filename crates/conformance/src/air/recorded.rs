//! Recorded AIRs satisfy their own constraints.
//!
//! Each is recorded, run, and turned into columns of look-ups.

use backend_api::{
    Buffer as _, Queue,
    ops::air::{AirFractions, AirOps, LogUpColumns},
};
use core_types::{
    air::{Air, LogUp, Relation, Row, Tree},
    field::{M31, QM31},
    params::air::{AirParams, LogUpColumnsParams, MaskAt},
};
use stark_air::{HostTrace, MaskSource, Recorded, check_trace};

use super::model::positions;
use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _};

const PAIR: Relation = Relation::new(0, 2);
const ALONE: Relation = Relation::new(PAIR.slots(), 1);

/// A lookup AIR: multiplicities in a column, pairs of neighbours, and a preprocessed column.
struct LookupAir {
    log_rows: u32,
    per_column: u32,
}

impl Air for LookupAir {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn log_degree_bound(&self) -> u32 {
        self.log_rows + 3
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let ([before, x], times) = (row.mask(Tree::TRACE, [-1, 0]), row.column());
        let constant = row.preprocessed(0);
        let mut sums = LogUp::new(self.per_column);
        sums.entry(row, PAIR, R::E::from(times), &[x, before]);
        sums.entry(row, PAIR, -R::E::from(R::F::from(M31::ONE)), &[x + constant, times]);
        sums.entry(row, ALONE, R::E::from(times * constant), &[before * x]);
        sums.finish(row);
    }
}

fn expect_satisfied(q: &Conditioned, log_rows: u32, per_column: u32) -> Result<(), Failure> {
    let air = LookupAir { log_rows, per_column };
    let recorded = Recorded::new(&air).map_err(|error| Failure::Broken(error.to_string()))?;
    let Some(program) = recorded.fraction_program() else { return Err(Failure::Broken("no look-ups".into())) };
    let len = 1usize << log_rows;
    let mut stream = ElementStream::new(u64::from(log_rows * 8 + per_column));
    // Two columns of the trace and the preprocessed one, as they are stored.
    let values = stream.column(3 * len);
    let challenges: Vec<QM31> = (0..recorded.challenges()).map(|_| stream.qm31()).list();
    let masks: Vec<MaskAt> = program
        .masks()
        .iter()
        .map(|mask| {
            let column = match mask.source {
                MaskSource::Preprocessed { .. } => 2,
                MaskSource::Column { column, .. } => u64::from(column),
            };
            MaskAt { first: column * len as u64, offset: mask.offset, reserved: 0 }
        })
        .list();
    let columns = program.outputs() / 2;
    let (device_values, device_challenges) = (q.upload(&values)?, q.upload(&challenges)?);
    let (mut fractions, mut made) = (q.zeros(8 * len * columns as usize)?, q.zeros(4 * len * columns as usize)?);
    let mut sums = q.zeros(2)?;
    q.air_fractions(AirFractions {
        params: &AirParams { log_rows, log_size: log_rows, registers: program.registers(), outputs: program.outputs() },
        instructions: program.instructions(),
        masks: &masks,
        constants: program.constants(),
        values: device_values.view(),
        challenges: device_challenges.view(),
        fractions: fractions.view_mut(),
    })?;
    q.logup_columns(LogUpColumns {
        params: &LogUpColumnsParams { log_rows, columns },
        fractions: fractions.view(),
        columns: made.view_mut(),
        sums: sums.view_mut(),
    })?;
    let (made, sums) = (q.download(&made)?, q.download(&sums)?);
    let positions = positions(log_rows);
    let rows = |stored: &[M31]| positions.iter().map(|&position| stored[position]).list();
    let mut stored = values.chunks(len).map(rows);
    let trace: Vec<Vec<M31>> = stored.by_ref().take(2).list();
    let preprocessed: Vec<Vec<M31>> = stored.list();
    let columns = [vec![], trace, made.chunks(len).map(rows).list()];
    let trace =
        HostTrace { columns: &columns, preprocessed: &preprocessed, challenges: &challenges, claimed_sum: sums[0] };
    check_trace(&air, &trace).map_err(|error| Failure::Broken(error.to_string()))
}

pub(super) fn look_ups() -> OpSpec {
    let mut cases = Vec::new();
    for per_column in 1..=3 {
        cases.push(Case::new(format!("{per_column} fractions in a column"), move |q| {
            [1, 2, 5, 10].into_iter().try_for_each(|log_rows| expect_satisfied(q, log_rows, per_column))
        }));
    }
    OpSpec { op: "air.look_ups", cases }
}
