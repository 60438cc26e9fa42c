//! The programs of every AIR that ships: as text that the driver compiles, by the kernel that interprets them, on the
//! processor, and row by row.

use backend_api::{
    BackendError, Buffer as _,
    ops::air::{AirEvaluate, AirFractions, AirOps},
};
use core_types::{
    air::{Air, stored_position},
    field::{M31, QM31},
    params::air::{AirParams, MaskAt},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{AirKernel, CudaConfig, CudaQueue, ProgramKind, ProgramSource};
use cuda_sim::driver::{Simulation, simulate};
use ptx::{KernelSpec, Table, lint};
use stark_air::{HostTrace, MaskSource, Program, Recorded, ScalarRow};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, Statement, Visitor, WideFibonacci};

/// Log of the rows that programs run on here, whatever the AIR's own height is.
const LOG_ROWS: u32 = 4;

/// Log of the rows, and of the positions of a domain of twice the size.
const LOG_SIZES: [u32; 2] = [LOG_ROWS, LOG_ROWS + 1];

/// Elements that include both ends of the range.
fn elements(len: usize, salt: u64) -> Vec<M31> {
    let word = |i: u64| (i + 1 + (salt << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ i;
    let element = |i: u64| match i % 97 {
        13 => M31::ZERO,
        14 => -M31::ONE,
        _ => M31::from_u64(word(i)),
    };
    (0..len as u64).map(element).collect()
}

fn secure(len: usize, salt: u64) -> Vec<QM31> {
    elements(4 * len, salt).chunks_exact(4).map(|w| QM31::from_coordinates([w[0], w[1], w[2], w[3]])).collect()
}

/// Columns of an AIR, in the order of their rows.
struct AnyTrace {
    columns: Vec<Vec<Vec<M31>>>,
    preprocessed: Vec<Vec<M31>>,
    challenges: Vec<QM31>,
    claimed_sum: QM31,
}

impl AnyTrace {
    /// Columns of any values: no constraint is satisfied.
    fn any(recorded: &Recorded, log_size: u32) -> Self {
        let mut salt = 0;
        let mut column = || {
            salt += 1;
            elements(1 << log_size, salt)
        };
        let columns = recorded.columns().iter().map(|tree| tree.iter().map(|_| column()).collect()).collect();
        let preprocessed = (0..recorded.preprocessed_slots()).map(|_| column()).collect();
        let challenges = secure(recorded.challenges() as usize, 2000);
        Self { columns, preprocessed, challenges, claimed_sum: secure(1, 3000)[0] }
    }

    /// The challenges, and the mean after them.
    fn slots(&self) -> Vec<QM31> {
        let mean = self.claimed_sum.coordinates().map(|word| word.div_power_of_two(LOG_ROWS));
        self.challenges.iter().copied().chain([QM31::from_coordinates(mean)]).collect()
    }

    /// All columns as they are stored, and where each mask of a program is.
    fn stored(&self, program: &Program, log_size: u32) -> (Vec<M31>, Vec<MaskAt>) {
        let (mut values, mut trees) = (Vec::new(), Vec::new());
        let mut store = |column: &Vec<M31>| {
            let first = values.len();
            values.resize(first + column.len(), M31::ZERO);
            for (row, &value) in (0..).zip(column) {
                values[first + stored_position(row, log_size) as usize] = value;
            }
            first as u64
        };
        for tree in &self.columns {
            trees.push(tree.iter().map(&mut store).collect::<Vec<u64>>());
        }
        let preprocessed: Vec<u64> = self.preprocessed.iter().map(&mut store).collect();
        let place = |source| match source {
            MaskSource::Preprocessed { slot } => preprocessed[slot as usize],
            MaskSource::Column { tree, column } => trees[tree.0 as usize][column as usize],
        };
        let mask = |mask: &stark_air::MaskRead| MaskAt { first: place(mask.source), offset: mask.offset, reserved: 0 };
        (values, program.masks().iter().map(mask).collect())
    }
}

/// A program on a trace.
struct ProgramRun<'a> {
    program: &'a Program,
    params: AirParams,
    masks: Vec<MaskAt>,
    values: Vec<M31>,
    slots: Vec<QM31>,
    powers: Vec<QM31>,
}

impl<'a> ProgramRun<'a> {
    fn new(program: &'a Program, trace: &AnyTrace, log_size: u32) -> Self {
        let (values, masks) = trace.stored(program, log_size);
        let (registers, outputs) = (program.registers(), program.outputs());
        let params = AirParams { log_rows: LOG_ROWS, log_size, registers, outputs };
        Self { program, params, masks, values, slots: trace.slots(), powers: secure(outputs as usize, 4000) }
    }

    fn evaluate<Q: AirOps>(&self, q: &Q) -> Result<Vec<M31>, BackendError> {
        let (values, challenges) = (q.upload(&self.values)?, q.upload(&self.slots)?);
        let (powers, mut sums) = (q.upload(&self.powers)?, q.zeros(4 << self.params.log_size)?);
        q.air_evaluate(AirEvaluate {
            params: &self.params,
            instructions: self.program.instructions(),
            masks: &self.masks,
            constants: self.program.constants(),
            vanishing_inverses: &vec![M31::ONE; 1 << (self.params.log_size - LOG_ROWS)],
            values: values.view(),
            challenges: challenges.view(),
            powers: powers.view(),
            sums: sums.view_mut(),
        })?;
        q.download(&sums)
    }

    fn fractions<Q: AirOps>(&self, q: &Q) -> Result<Vec<M31>, BackendError> {
        let (values, challenges) = (q.upload(&self.values)?, q.upload(&self.slots)?);
        let mut fractions = q.zeros((4 * self.params.outputs as usize) << self.params.log_size)?;
        q.air_fractions(AirFractions {
            params: &self.params,
            instructions: self.program.instructions(),
            masks: &self.masks,
            constants: self.program.constants(),
            values: values.view(),
            challenges: challenges.view(),
            fractions: fractions.view_mut(),
        })?;
        q.download(&fractions)
    }

    /// The text parses, types and passes the lints of kernels that ship.
    fn expect_text(&self, kind: ProgramKind) {
        let (instructions, constants) = (self.program.instructions(), self.program.constants());
        let text = ProgramSource { kind, instructions, masks: &self.masks, constants }.text();
        let kernel = KernelSpec { name: kind.kernel().to_owned(), block: [128, 1, 1], min_blocks: 0, barriers: 0 };
        let findings = lint::check(&ptx::parse(&text.ptx).unwrap(), &Table { kernels: vec![kernel] });
        assert_eq!(findings, []);
    }
}

/// Holds AIRs on a machine, and on the processor.
struct Holder {
    session: Simulation,
    processor: CpuQueue,
    compiled: CudaQueue,
    interpreted: CudaQueue,
    held: usize,
}

impl Holder {
    fn new(machine: &str) -> Self {
        let session = simulate(machine).unwrap();
        let open = |air| {
            let budget_bytes = Some(64 << 20);
            CudaQueue::open(CudaConfig { air, budget_bytes, ..CudaConfig::default() }).unwrap()
        };
        let (compiled, interpreted) = (open(AirKernel::Compiled), open(AirKernel::Interpreted));
        Self { session, processor: CpuQueue::open(CpuConfig::default()).unwrap(), compiled, interpreted, held: 0 }
    }

    fn hold<A: Air>(&mut self, air: &A) {
        self.held += 1;
        let recorded = Recorded::new(air).unwrap();
        for log_size in LOG_SIZES {
            let trace = AnyTrace::any(&recorded, log_size);
            let run = ProgramRun::new(recorded.constraint_program(), &trace, log_size);
            run.expect_text(ProgramKind::Evaluate);
            let expected = run.evaluate(&self.processor).unwrap();
            assert_eq!(run.evaluate(&self.compiled).unwrap(), expected);
            assert_eq!(run.evaluate(&self.interpreted).unwrap(), expected);
            if log_size == LOG_ROWS {
                assert_eq!(sums_row_by_row(air, &trace, &run.powers), expected);
            }
        }
        if let Some(program) = recorded.fraction_program() {
            let run = ProgramRun::new(program, &AnyTrace::any(&recorded, LOG_ROWS), LOG_ROWS);
            run.expect_text(ProgramKind::Fractions);
            let expected = run.fractions(&self.processor).unwrap();
            assert_eq!(run.fractions(&self.compiled).unwrap(), expected);
            assert_eq!(run.fractions(&self.interpreted).unwrap(), expected);
        }
    }
}

/// The constraints of every row times their powers, added up, as they are stored.
fn sums_row_by_row<A: Air>(air: &A, trace: &AnyTrace, powers: &[QM31]) -> Vec<M31> {
    let len = 1usize << LOG_ROWS;
    let mut sums = vec![M31::ZERO; 4 * len];
    let host = HostTrace {
        columns: &trace.columns,
        preprocessed: &trace.preprocessed,
        challenges: &trace.challenges,
        claimed_sum: trace.claimed_sum,
    };
    for row in 0..len {
        let mut values = ScalarRow::new(host, LOG_ROWS, row);
        air.eval(&mut values);
        let sum = values.constraints().iter().zip(powers).fold(QM31::ZERO, |sum, (&value, &power)| sum + value * power);
        let position = stored_position(row as u32, LOG_ROWS) as usize;
        (0..4).for_each(|k| sums[k * len + position] = sum.coordinates()[k]);
    }
    sums
}

impl<'s> Visitor<'s> for Holder {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, _: &[usize]) {
        self.hold(air);
    }
}

#[test]
fn programs_of_every_air_that_ships_are_compiled_to_what_they_say() {
    let words = |first: u32| core::array::from_fn(|k| M31::from_u32(k as u32 + first));
    for machine in ["checks=sanitize", "order=seeded;seed=3;schedule=lazy"] {
        let mut holder = Holder::new(machine);
        WideFibonacci::new(4, 30).unwrap().visit(&mut holder);
        StateMachine::new([4, 4], [M31::from_u32(3), M31::from_u32(5)]).unwrap().visit(&mut holder);
        let gates = Circuit::sample(16).unwrap();
        Plonk::evaluate(gates, vec![M31::ONE; 2]).unwrap().visit(&mut holder);
        Poseidon2Chain::run(4, words(4)).unwrap().0.visit(&mut holder);
        Blake2s::new(4, Default::default()).unwrap().visit(&mut holder);
        let Holder { session, held, compiled, interpreted, .. } = holder;
        assert!(held >= 7, "{held} components");
        let facts = compiled.device().programs();
        assert_eq!((facts.refused, interpreted.device().programs().held), (vec![], 0));
        assert!(facts.compiled >= held as u64, "{} programs were compiled", facts.compiled);
        drop((compiled, interpreted));
        assert_eq!(session.reports(), []);
    }
}

/// Of wide Fibonacci with 100 columns, at a position.
#[test]
fn compiled_programs_take_a_fraction_of_the_instructions_of_interpreted_ones() {
    let holder = Holder::new("");
    let recorded = Recorded::new(&WideFibonacci::new(4, 100).unwrap()).unwrap();
    let log_size = 7;
    let run = ProgramRun::new(recorded.constraint_program(), &AnyTrace::any(&recorded, log_size), log_size);
    let count = |q: &CudaQueue| {
        let before = holder.session.counters().kernels.lane_instructions;
        run.evaluate(q).unwrap();
        (holder.session.counters().kernels.lane_instructions - before) >> log_size
    };
    let [compiled, interpreted] = [&holder.compiled, &holder.interpreted].map(count);
    assert!(5 * compiled < interpreted, "{compiled} compiled, {interpreted} interpreted");
}
