//! Speed of trace generation, by recorded generators and by the host, in trace cells.

use std::sync::LazyLock;

use backend_api::ops::air::{AirColumns, AirOps, GatherColumn, RowNumbers};
use core_types::{
    air::{Gather, Generator},
    field::M31,
    params::air::{AirColumnsParams, AirParams, GatherColumnParams, MaskAt, RowNumbersParams},
};
use cpu_backend::SimdLevel;
use runtime::{AnyMut, AnyQueue, AnyRef};
use stark_air::RecordedGenerator;
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, Statement as _, WideFibonacci, Witness, WitnessVisitor};

use crate::{
    Contender, Line, LineError,
    line::{LineRun, RunSize},
};

/// The circuit of the line of Plonk, which its contenders share.
static PLONK: LazyLock<Plonk> = LazyLock::new(|| {
    let circuit = Circuit::sample(1 << 18).expect("a circuit of 2^18 gates");
    Plonk::evaluate(circuit, vec![M31::ONE; 2]).expect("two inputs")
});

/// Every line of trace generation.
pub(crate) fn contests() -> Vec<Line> {
    vec![fibonacci(), poseidon2(), blake2s(), plonk()]
}

/// The trace generation of one component, with its memory.
struct ComponentTrace {
    generator: RecordedGenerator,
    masks: Vec<MaskAt>,
    inputs: Vec<M31>,
    columns: Vec<M31>,
}

/// A column that is gathered, with its memory.
struct Gathered {
    keys: Vec<M31>,
    table: Vec<M31>,
    column: Vec<M31>,
}

/// The traces of a witness.
#[derive(Default)]
struct WitnessTraces {
    /// By slot of any component.
    preprocessed: Vec<Vec<M31>>,
    components: Vec<ComponentTrace>,
    gathered: Vec<Gathered>,
    counters: Vec<u32>,
}

impl<'w> WitnessVisitor<'w> for WitnessTraces {
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]) {
        let generator = RecordedGenerator::new(generator).expect("the generators that ship can be recorded");
        let rows = 1 << generator.log_rows();
        let mut inputs = inputs.concat();
        inputs.resize(inputs.len() + rows, M31::ZERO);
        let (masks, columns) = (generator.masks(), vec![M31::ZERO; generator.columns() * rows]);
        self.components.push(ComponentTrace { generator, masks, inputs, columns });
    }

    fn gathered(&mut self, tables: &'w [Vec<M31>], columns: &'w [Gather]) {
        let gathered = columns.iter().map(|column| {
            let (keys, table) = (self.preprocessed[column.keys].clone(), tables[column.table].clone());
            Gathered { column: vec![M31::ZERO; keys.len()], keys, table }
        });
        self.gathered.extend(gathered);
    }

    fn counters(&mut self) {
        // The counters of all Blake2s lookup tables together.
        self.counters.resize(0x1_4500, 0);
    }
}

impl WitnessTraces {
    fn run(&mut self, q: &AnyQueue) -> Result<(), LineError> {
        for ComponentTrace { generator, masks, inputs, columns } in &mut self.components {
            let (program, log_rows) = (generator.program(), generator.log_rows());
            let numbers = inputs.len() - (1 << log_rows);
            if generator.reads_numbers() {
                let column = AnyMut::Cpu(&mut inputs[numbers..]);
                q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column })?;
            }
            let (registers, outputs) = (program.registers(), program.outputs());
            q.air_columns(AirColumns {
                params: &AirParams { log_rows, log_size: log_rows, registers, outputs },
                outputs: &AirColumnsParams {
                    columns: generator.columns() as u32,
                    counters: self.counters.len() as u32,
                },
                instructions: program.instructions(),
                masks,
                constants: program.constants(),
                inputs: AnyRef::Cpu(inputs),
                columns: AnyMut::Cpu(columns),
                counters: AnyMut::Cpu(&mut self.counters),
            })?;
        }
        for Gathered { keys, table, column } in &mut self.gathered {
            let params = &GatherColumnParams { log_rows: keys.len().ilog2(), words: table.len() as u32 };
            let (keys, table, column) = (AnyRef::Cpu(keys), AnyRef::Cpu(table), AnyMut::Cpu(column));
            q.gather_column(GatherColumn { params, keys, table, column })?;
        }
        Ok(())
    }
}

/// Compares recorded generators of `witness` with `host`, which generates the whole trace.
fn line<W: Witness>(
    id: &str,
    cells: usize,
    preprocessed: fn() -> Vec<Vec<M31>>,
    witness: impl Fn() -> W + Copy + 'static,
    host: impl FnMut() + 'static,
) -> Line {
    let ours = move |_: &AnyQueue| -> Result<LineRun, LineError> {
        let mut making = WitnessTraces { preprocessed: preprocessed(), ..WitnessTraces::default() };
        witness().generators(&mut making);
        Ok(Box::new(move |q| making.run(q)))
    };
    let line = Line::new(id, RunSize::computing("cell", cells as f64, 0.0), ours).in_nanoseconds();
    let line = line
        .peer(|| Contender::new("the host, row by row", host))
        .peer(move || Contender::new("the host's part alone", move || drop(core::hint::black_box(witness()))));
    line.level("trefoil, avx2 path", SimdLevel::Avx2).portable()
}

fn fibonacci() -> Line {
    let air = || WideFibonacci::new(18, 100).expect("an AIR of this size");
    let seeds = || (0..1 << 18).map(|row| [M31::ONE, M31::from_u32(row)]).collect::<Vec<_>>();
    let host = move || drop(core::hint::black_box(air().trace(&seeds()).expect("a seed for each row")));
    let witness = move || air().seeds(&seeds()).expect("a seed for each row");
    line("air.columns/fibonacci-100x2^18", 100 << 18, Vec::new, witness, host)
}

fn poseidon2() -> Line {
    let first = [M31::ONE; 16];
    let host = move || drop(core::hint::black_box(Poseidon2Chain::run(16, first).expect("a chain of this length")));
    let witness = move || Poseidon2Chain::states(16, first).expect("a chain of this length").1;
    line("air.columns/poseidon2-300x2^16", 300 << 16, Vec::new, witness, host)
}

fn blake2s() -> Line {
    let blocks = || (0..1 << 10).map(|k: u32| core::array::from_fn(|word| k * 16 + word as u32)).collect::<Vec<_>>();
    let host = move || drop(core::hint::black_box(Blake2s::run(&blocks()).expect("whole blocks")));
    let witness = move || Blake2s::states(&blocks()).expect("whole blocks").1;
    line("air.columns/blake2s-2^10", (192 + 10 * 481) << 10, Vec::new, witness, host)
}

fn plonk() -> Line {
    let host = || drop(core::hint::black_box(PLONK.trace()));
    line("air.columns/plonk-4x2^18", 4 << 18, || PLONK.preprocessed_values(), || PLONK.wires(), host)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Effort, line::one_thread};

    #[test]
    fn traces_with_counters_and_gathered_columns_run() {
        let (q, effort) = (one_thread(SimdLevel::Avx512), Effort { rounds: 1, batch: Duration::ZERO });
        for line in [blake2s(), plonk()] {
            assert!(line.measure(&q, effort).unwrap().median_s > 0.0);
        }
    }
}
