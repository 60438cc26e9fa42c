//! Speed of trace generation, by recorded generators and by the host, in trace cells.

use std::num::NonZeroUsize;

use backend_api::ops::air::{AirColumns, AirOps, GatherColumn, RowNumbers};
use core_types::{
    air::{Gather, Generator},
    field::M31,
    params::air::{AirColumnsParams, AirParams, GatherColumnParams, MaskAt, RowNumbersParams},
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};
use stark_air::RecordedGenerator;
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, Statement as _, WideFibonacci, Witness, WitnessVisitor};

use super::{Contender, Contest, Show};

/// Every contest of traces, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![
        line("air.columns/fibonacci-100x2^18", fibonacci),
        line("air.columns/poseidon2-300x2^16", poseidon2),
        line("air.columns/blake2s-2^10", blake2s),
        line("air.columns/plonk-4x2^18", plonk),
    ]
}

fn line(id: &str, contest: fn(String) -> Contest) -> (String, Box<dyn FnOnce() -> Contest>) {
    let name = id.to_owned();
    (id.to_owned(), Box::new(move || contest(name)))
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
    fn run(&mut self, q: &CpuQueue) {
        for ComponentTrace { generator, masks, inputs, columns } in &mut self.components {
            let (program, log_rows) = (generator.program(), generator.log_rows());
            let numbers = inputs.len() - (1 << log_rows);
            if generator.reads_numbers() {
                q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column: &mut inputs[numbers..] })
                    .expect("lengths match");
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
                inputs,
                columns,
                counters: &mut self.counters,
            })
            .expect("lengths match");
        }
        for Gathered { keys, table, column } in &mut self.gathered {
            let params = &GatherColumnParams { log_rows: keys.len().ilog2(), words: table.len() as u32 };
            q.gather_column(GatherColumn { params, keys, table, column }).expect("lengths match");
        }
    }
}

/// Compares recorded generators of `witness` with `host`, which generates the whole trace.
fn contest<W: Witness>(
    id: String,
    cells: usize,
    witness: impl Fn() -> W + Copy + 'static,
    host: impl FnMut() + 'static,
) -> Contest {
    contest_with(id, cells, Vec::new(), witness, host)
}

/// [`contest`], with preprocessed columns, by slot of any component.
fn contest_with<W: Witness>(
    id: String,
    cells: usize,
    preprocessed: Vec<Vec<M31>>,
    witness: impl Fn() -> W + Copy + 'static,
    host: impl FnMut() + 'static,
) -> Contest {
    let ours = |name: &str, simd| {
        let q = CpuQueue::open(CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() })
            .expect("one thread needs no pool");
        let mut making = WitnessTraces { preprocessed: preprocessed.clone(), ..WitnessTraces::default() };
        witness().generators(&mut making);
        Contender::new(name, move || making.run(&q))
    };
    Contest {
        id,
        unit: "cell",
        work: cells as f64,
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512),
            Contender::new("the host, row by row", host),
            Contender::new("what is left to the host", move || drop(core::hint::black_box(witness()))),
            ours("trefoil, avx2 path", SimdLevel::Avx2),
            ours("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: vec![],
    }
}

fn fibonacci(id: String) -> Contest {
    let air = || WideFibonacci::new(18, 100).expect("an AIR of this size");
    let seeds = || (0..1 << 18).map(|row| [M31::ONE, M31::from_u32(row)]).collect::<Vec<_>>();
    let host = move || drop(core::hint::black_box(air().trace(&seeds()).expect("a seed for each row")));
    contest(id, 100 << 18, move || air().seeds(&seeds()).expect("a seed for each row"), host)
}

fn poseidon2(id: String) -> Contest {
    let first = [M31::ONE; 16];
    let host = move || drop(core::hint::black_box(Poseidon2Chain::run(16, first).expect("a chain of this length")));
    contest(id, 300 << 16, move || Poseidon2Chain::states(16, first).expect("a chain of this length").1, host)
}

fn blake2s(id: String) -> Contest {
    let blocks = || (0..1 << 10).map(|k: u32| core::array::from_fn(|word| k * 16 + word as u32)).collect::<Vec<_>>();
    let host = move || drop(core::hint::black_box(Blake2s::run(&blocks()).expect("whole blocks")));
    let cells = (192 + 10 * 481) << 10;
    contest(id, cells, move || Blake2s::states(&blocks()).expect("whole blocks").1, host)
}

fn plonk(id: String) -> Contest {
    let circuit = Circuit::sample(1 << 18).expect("a circuit of 2^18 gates");
    let plonk = Plonk::evaluate(circuit, vec![M31::ONE; 2]).expect("two inputs");
    // A line is measured once; its contenders borrow the statement for as long as it lasts.
    let statement: &'static Plonk = Box::leak(Box::new(plonk));
    let host = move || drop(core::hint::black_box(statement.trace()));
    contest_with(id, 4 << 18, statement.preprocessed_values(), move || statement.wires(), host)
}
