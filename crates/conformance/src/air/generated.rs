//! Traces generated on the device equal the host's traces, word for word.

use backend_api::{
    Buffer as _, Queue,
    ops::air::{AirColumns, AirOps, CounterColumns, GatherColumn, RowNumbers},
};
use core_types::{
    air::{Gather, Generator, NewRow},
    field::M31,
    params::air::{AirColumnsParams, AirParams, CounterColumnsParams, GatherColumnParams, RowNumbersParams},
};
use stark_air::RecordedGenerator;
use stark_airs::{
    Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, Statement as _, TraceColumns, WideFibonacci, Witness,
    WitnessVisitor,
};

use super::model::positions;
use crate::{Buf, Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _};

/// Generates the columns of one component from its inputs, both in stored order.
fn made<G: Generator>(
    q: &Conditioned,
    generator: &G,
    inputs: &[Vec<M31>],
    counters: &mut Buf<u32>,
) -> Result<TraceColumns, Failure> {
    let recorded = RecordedGenerator::new(generator).map_err(|error| Failure::Broken(error.to_string()))?;
    let (log_rows, rows) = (recorded.log_rows(), 1usize << recorded.log_rows());
    if inputs.len() != recorded.inputs() {
        return Err(Failure::Broken(format!("{} inputs, {} are read", inputs.len(), recorded.inputs())));
    }
    let mut values = q.zeros::<M31>((inputs.len() + 1) * rows)?;
    for (k, input) in inputs.iter().enumerate() {
        q.write(input, values.slice_mut(k * rows..(k + 1) * rows)?)?;
    }
    if recorded.reads_numbers() {
        let column = values.slice_mut(inputs.len() * rows..(inputs.len() + 1) * rows)?;
        q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column })?;
    }
    let mut columns = q.zeros(recorded.columns() * rows)?;
    let program = recorded.program();
    q.air_columns(AirColumns {
        params: &AirParams { log_rows, log_size: log_rows, registers: program.registers(), outputs: program.outputs() },
        outputs: &AirColumnsParams { columns: recorded.columns() as u32, counters: counters.len() as u32 },
        instructions: program.instructions(),
        masks: &recorded.masks(),
        constants: program.constants(),
        inputs: values.view(),
        columns: columns.view_mut(),
        counters: counters.view_mut(),
    })?;
    Ok(q.download(&columns)?.chunks(rows).map(<[M31]>::to_vec).list())
}

/// The columns that are gathered from tables by preprocessed columns.
fn gathered(
    q: &Conditioned,
    preprocessed: &[Vec<M31>],
    tables: &[Vec<M31>],
    columns: &[Gather],
) -> Result<TraceColumns, Failure> {
    let gather = |column: &Gather| {
        let (keys, table) = (q.upload(&preprocessed[column.keys])?, q.upload(&tables[column.table])?);
        let params = GatherColumnParams { log_rows: keys.len().ilog2(), words: table.len() as u32 };
        let mut column = q.zeros(keys.len())?;
        let (keys, table) = (keys.view(), table.view());
        q.gather_column(GatherColumn { params: &params, keys, table, column: column.view_mut() })?;
        Ok(q.download(&column)?)
    };
    columns.iter().map(gather).collect()
}

/// Makes the traces of all components.
struct TraceMaker<'q> {
    q: &'q Conditioned,
    /// By slot of any component.
    preprocessed: &'q [Vec<M31>],
    counters: Buf<u32>,
    /// `None` for tables.
    components: Result<Vec<Option<TraceColumns>>, Failure>,
}

impl<'w> WitnessVisitor<'w> for TraceMaker<'_> {
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]) {
        let Ok(components) = &mut self.components else { return };
        match made(self.q, generator, inputs, &mut self.counters) {
            Ok(columns) => components.push(Some(columns)),
            Err(failure) => self.components = Err(failure),
        }
    }

    fn gathered(&mut self, tables: &'w [Vec<M31>], columns: &'w [Gather]) {
        let Ok(components) = &mut self.components else { return };
        match gathered(self.q, self.preprocessed, tables, columns) {
            Ok(columns) => components.push(Some(columns)),
            Err(failure) => self.components = Err(failure),
        }
    }

    fn counters(&mut self) {
        if let Ok(components) = &mut self.components {
            components.push(None);
        }
    }
}

/// Compares the traces of all components; preprocessed columns are by slot of any component.
fn expect_made(
    q: &Conditioned,
    preprocessed: &[Vec<M31>],
    witness: &impl Witness,
    trace: &[TraceColumns],
) -> Result<(), Failure> {
    // The counters of all Blake2s lookup tables together.
    let mut making = TraceMaker { q, preprocessed, counters: q.zeros(0x1_4500)?, components: Ok(Vec::new()) };
    witness.generators(&mut making);
    let TraceMaker { counters, components, .. } = making;
    let components = components?;
    Failure::unless_equal(&[trace.len() as u32], &[components.len() as u32])?;
    let mut first = 0;
    for (expected, made) in trace.iter().zip(components) {
        let columns = match made {
            Some(columns) => columns.concat(),
            None => {
                let (log_rows, words) = (expected[0].len().ilog2(), expected.concat().len());
                let mut columns = q.zeros(words)?;
                q.counter_columns(CounterColumns {
                    params: &CounterColumnsParams { log_rows, columns: expected.len() as u32 },
                    counters: counters.slice(first..first + words)?,
                    columns: columns.view_mut(),
                })?;
                first += words;
                q.download(&columns)?
            }
        };
        Failure::unless_equal(&expected.concat(), &columns)?;
    }
    Ok(())
}

fn fibonacci(q: &Conditioned, log_rows: u32, columns: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(columns << 8 | log_rows));
    let seeds: Vec<[M31; 2]> = stream.column(2 << log_rows).as_chunks().0.to_vec();
    let air = WideFibonacci::new(log_rows, columns)?;
    expect_made(q, &[], &air.seeds(&seeds)?, &air.trace(&seeds)?)
}

fn machine(q: &Conditioned, log_steps: [u32; 2]) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(log_steps[0] << 8 | log_steps[1]));
    let [x, y] = [stream.word(), stream.word()].map(M31::from_u64);
    // The first coordinate passes the end of the field as well.
    for first in [[x, y], [-M31::ONE, M31::ZERO]] {
        let machine = StateMachine::new(log_steps, first)?;
        expect_made(q, &[], &machine, &machine.trace())?;
    }
    Ok(())
}

fn poseidon2(q: &Conditioned, log_rows: u32) -> Result<(), Failure> {
    let words = ElementStream::new(u64::from(log_rows)).column(16);
    let first = core::array::from_fn(|k| words[k]);
    let ((chain, trace), (same, states)) =
        (Poseidon2Chain::run(log_rows, first)?, Poseidon2Chain::states(log_rows, first)?);
    if chain != same {
        return Err(Failure::Broken("the chain leads elsewhere".into()));
    }
    expect_made(q, &[], &states, &trace)
}

fn blake2s(q: &Conditioned, log_blocks: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(log_blocks));
    let blocks: Vec<_> = (0..1 << log_blocks).map(|_| core::array::from_fn(|_| stream.word() as u32)).list();
    let ((hash, trace), (same, states)) = (Blake2s::run(&blocks)?, Blake2s::states(&blocks)?);
    if hash != same {
        return Err(Failure::Broken("the digest is another".into()));
    }
    expect_made(q, &[], &states, &trace)
}

fn plonk(q: &Conditioned, gates: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(gates));
    let plonk = Plonk::evaluate(Circuit::sample(gates)?, stream.column(2))?;
    expect_made(q, &plonk.preprocessed_values(), &plonk.wires(), &plonk.trace())
}

/// Sums of neighbours, and numbers of rows that are counted modulo 4.
struct Neighbours(u32);

impl Generator for Neighbours {
    fn log_rows(&self) -> u32 {
        self.0
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let ([before, far], x, number) = (row.mask([-1, 3]), row.input(), row.number());
        row.write(R::F::from(M31::from_u32(7)));
        row.write(before * far - x);
        row.write(number * number + before);
        row.write(-x);
        let modulo = row.bits(number, 0, 2);
        row.count(modulo);
    }
}

fn neighbours(q: &Conditioned, log_rows: u32) -> Result<(), Failure> {
    let rows = 1usize << log_rows;
    let mut stream = ElementStream::new(u64::from(log_rows));
    let inputs = [stream.column(rows), stream.column(rows)];
    let positions = positions(log_rows);
    let mut expected = vec![vec![M31::ZERO; rows]; 4];
    for row in 0..rows {
        let at = |offset: usize| positions[(row + offset) % rows];
        let (before, far, x) = (inputs[0][at(rows - 1)], inputs[0][at(3)], inputs[1][at(0)]);
        let number = M31::from_u32(row as u32);
        let values = [M31::from_u32(7), before * far - x, number * number + before, -x];
        expected.iter_mut().zip(values).for_each(|(column, value)| column[at(0)] = value);
    }
    let mut counters = q.zeros(3)?;
    let made = made(q, &Neighbours(log_rows), &inputs, &mut counters)?;
    Failure::unless_equal(&expected.concat(), &made.concat())?;
    let counted = [0, 1, 2].map(|counter| (0..rows).filter(|row| row % 4 == counter).count() as u32);
    Failure::unless_equal(&counted, &q.download(&counters)?)
}

pub(super) fn traces() -> OpSpec {
    let cases = vec![
        Case::new("wide Fibonacci", |q| {
            [(1, 3), (2, 4), (5, 17), (9, 100), (10, 5)]
                .into_iter()
                .try_for_each(|(log, width)| fibonacci(q, log, width))
        })
        .on_elements(1 << 16),
        Case::new("state machines", |q| {
            [[1, 1], [4, 4], [3, 9], [11, 2]].into_iter().try_for_each(|log_steps| machine(q, log_steps))
        }),
        Case::new("chains of Poseidon2 permutations", |q| {
            [1, 2, 5, 9].into_iter().try_for_each(|log_rows| poseidon2(q, log_rows))
        })
        .on_elements(1 << 18),
        Case::new("circuits", |q| [0, 1, 5, 64, 200, 1024].into_iter().try_for_each(|gates| plonk(q, gates))),
        Case::new("messages of Blake2s", |q| [1, 2, 4].into_iter().try_for_each(|log| blake2s(q, log)))
            .on_elements(1 << 18),
        Case::new("neighbours and numbers of rows", |q| {
            [1, 2, 3, 8, 10].into_iter().try_for_each(|log_rows| neighbours(q, log_rows))
        }),
    ];
    OpSpec { op: "air.traces", cases }
}
