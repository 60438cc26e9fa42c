//! Launches of the kernels of constraints and look-ups.

use backend_api::{
    BackendError, BufferRef as _,
    ops::air::{
        AirColumns, AirEvaluate, AirFractions, CounterColumns, GatherColumn, RowNumbers, SecureAddLifted, SecurePowers,
    },
};
use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, LogUpColumnsParams, MaskAt},
};

use crate::{CudaMut, CudaQueue, CudaRef, launch::builder::Launch};

/// Threads of a block that runs a program.
const THREADS: u32 = 128;

/// The most words of registers in global memory: 64 MiB.
const MOST_WORDS: u64 = 1 << 24;

/// Configures one thread for each of `items`.
///
/// Threads stride if that would be more than the device holds at once.
fn cover(launch: Launch<'_>, items: u64) -> Launch<'_> {
    let blocks = items.div_ceil(launch.block()[0].into()).min(launch.at_once());
    launch.grid([blocks, 1, 1])
}

/// A program in device memory.
#[derive(Clone, Copy)]
pub(crate) struct DeviceProgram<'a> {
    pub(crate) params: &'a AirParams,
    pub(crate) instructions: CudaRef<'a, Instruction>,
    pub(crate) masks: CudaRef<'a, MaskAt>,
    pub(crate) constants: CudaRef<'a, M31>,
}

impl<'a> DeviceProgram<'a> {
    /// Whether blocks keep the registers in shared memory.
    pub(crate) const fn is_narrow(&self) -> bool {
        self.params.registers <= AirParams::SHARED_REGISTERS
    }

    /// Words of registers in global memory for all threads of a launch.
    pub(crate) fn global_words(&self, queue: &CudaQueue, kernel: &str) -> Result<usize, BackendError> {
        Ok((self.blocks(&queue.kernel(kernel)?) * u64::from(THREADS)) as usize * self.params.registers as usize)
    }

    /// Blocks of a launch that has its registers in global memory.
    fn blocks(&self, launch: &Launch<'_>) -> u64 {
        let most = (MOST_WORDS / u64::from(THREADS * self.params.registers.max(1))).max(1);
        (1u64 << self.params.log_size).div_ceil(THREADS.into()).min(launch.at_once()).min(most)
    }

    fn launch(&self, queue: &'a CudaQueue, kernel: &str) -> Result<Launch<'a>, BackendError> {
        let launch = queue.kernel(kernel)?;
        let launch = if self.is_narrow() {
            cover(launch, 1 << self.params.log_size).dynamic_shared(4 * THREADS * self.params.registers)
        } else {
            let blocks = self.blocks(&launch);
            launch.grid([blocks, 1, 1])
        };
        let launch = launch.input("instructions", self.instructions).input("masks", self.masks);
        Ok(launch.input("constants", self.constants))
    }

    /// The last arguments.
    fn sizes(&self, launch: Launch<'a>) -> Launch<'a> {
        let len = self.instructions.len() as u32; // the op has checked that `u32` counts them
        launch.value("params", self.params).value("len", &len)
    }
}

/// `launch` is of the kernel that was compiled of the program of `op`.
pub(crate) fn evaluate_compiled(
    launch: Launch<'_>,
    op: &AirEvaluate<'_, CudaQueue>,
    masks: CudaRef<'_, MaskAt>,
    vanishing_inverses: CudaRef<'_, M31>,
) -> Result<(), BackendError> {
    let launch = launch.cover(1 << op.params.log_size).input("masks", masks);
    let launch = launch.input("vanishing_inverses", vanishing_inverses).input("values", op.values);
    let launch = launch.input("challenges", op.challenges).input("powers", op.powers);
    let launch = launch.output("sums", &op.sums).value("params", op.params);
    // SAFETY: `AirEvaluate::check` verified all lengths, and that the opcodes and operands of the
    // steps are in range. The kernel is made of these steps, and has a thread for each position.
    // Blocks begin at multiples of 512 bytes, so that elements of 16 bytes lie at multiples of 16.
    unsafe { launch.launch() }
}

/// `launch` is of the kernel that was compiled of the program of `op`.
pub(crate) fn fractions_compiled(
    launch: Launch<'_>,
    op: &AirFractions<'_, CudaQueue>,
    masks: CudaRef<'_, MaskAt>,
) -> Result<(), BackendError> {
    let launch = launch.cover(1 << op.params.log_size).input("masks", masks).input("values", op.values);
    let launch = launch.input("challenges", op.challenges).output("fractions", &op.fractions);
    let launch = launch.value("params", op.params);
    // SAFETY: `AirFractions::check` verified all lengths, and that the opcodes and operands of the
    // steps are in range. The kernel is made of these steps, and has a thread for each position.
    // Blocks begin at multiples of 512 bytes, so that elements of 16 bytes lie at multiples of 16.
    unsafe { launch.launch() }
}

/// `registers` holds the registers of all threads, for programs that are not narrow.
pub(crate) fn evaluate(
    queue: &CudaQueue,
    op: &AirEvaluate<'_, CudaQueue>,
    program: &DeviceProgram<'_>,
    vanishing_inverses: CudaRef<'_, M31>,
    registers: Option<&CudaMut<'_, M31>>,
) -> Result<(), BackendError> {
    let launch = program.launch(queue, if registers.is_some() { "air_evaluate_wide" } else { "air_evaluate" })?;
    let launch = launch.input("vanishing_inverses", vanishing_inverses).input("values", op.values);
    let launch = launch.input("challenges", op.challenges).input("powers", op.powers);
    let launch = match registers {
        Some(registers) => launch.output("registers", registers),
        None => launch,
    };
    let launch = program.sizes(launch.output("sums", &op.sums));
    // SAFETY: `AirEvaluate::check` verified all lengths, and that the opcodes and operands of the
    // steps are in range; there is a word for each register of each thread.
    unsafe { launch.launch() }
}

/// `registers` holds the registers of all threads, for programs that are not narrow.
pub(crate) fn fractions(
    queue: &CudaQueue,
    op: &AirFractions<'_, CudaQueue>,
    program: &DeviceProgram<'_>,
    registers: Option<&CudaMut<'_, M31>>,
) -> Result<(), BackendError> {
    let launch = program.launch(queue, if registers.is_some() { "air_fractions_wide" } else { "air_fractions" })?;
    let launch = launch.input("values", op.values).input("challenges", op.challenges);
    let launch = match registers {
        Some(registers) => launch.output("registers", registers),
        None => launch,
    };
    let launch = program.sizes(launch.output("fractions", &op.fractions));
    // SAFETY: `AirFractions::check` verified all lengths, and that the opcodes and operands of the
    // steps are in range; there is a word for each register of each thread.
    unsafe { launch.launch() }
}

/// `registers` holds the registers of all threads, for programs that are not narrow.
pub(crate) fn columns(
    queue: &CudaQueue,
    op: &AirColumns<'_, CudaQueue>,
    program: &DeviceProgram<'_>,
    registers: Option<&CudaMut<'_, M31>>,
) -> Result<(), BackendError> {
    let launch = program.launch(queue, if registers.is_some() { "air_columns_wide" } else { "air_columns" })?;
    let launch = launch.input("inputs", op.inputs);
    let launch = match registers {
        Some(registers) => launch.output("registers", registers),
        None => launch,
    };
    let launch = launch.output("columns", &op.columns).output("counters", &op.counters);
    let launch = program.sizes(launch.value("outputs", op.outputs));
    // SAFETY: `AirColumns::check` verified all lengths, and that the opcodes and operands of the
    // steps are in range; there is a word for each register of each thread.
    unsafe { launch.launch() }
}

pub(crate) fn counter_columns(queue: &CudaQueue, op: &CounterColumns<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_counter_columns")?, op.counters.len() as u64);
    let launch = launch.input("counters", op.counters).output("columns", &op.columns).value("params", op.params);
    // SAFETY: `CounterColumns::check` verified all lengths.
    unsafe { launch.launch() }
}

pub(crate) fn gather_column(queue: &CudaQueue, op: &GatherColumn<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_gather_column")?, 1 << op.params.log_rows);
    let launch = launch.input("keys", op.keys).input("table", op.table).output("column", &op.column);
    let launch = launch.value("params", op.params);
    // SAFETY: `GatherColumn::check` verified all lengths; keys beyond the table read nothing.
    unsafe { launch.launch() }
}

pub(crate) fn row_numbers(queue: &CudaQueue, op: &RowNumbers<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_row_numbers")?, 1 << op.params.log_rows);
    let launch = launch.output("column", &op.column).value("params", op.params);
    // SAFETY: `RowNumbers::check` verified the length of the view.
    unsafe { launch.launch() }
}

pub(crate) fn logup_terms(
    queue: &CudaQueue,
    p: &LogUpColumnsParams,
    fractions: CudaRef<'_, M31>,
    columns: &CudaMut<'_, M31>,
) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_logup_terms")?, 1 << p.log_rows);
    let launch = launch.input("fractions", fractions).output("columns", columns).value("params", p);
    // SAFETY: `LogUpColumns::check` verified all lengths.
    unsafe { launch.launch() }
}

pub(crate) fn logup_sums(
    queue: &CudaQueue,
    p: &LogUpColumnsParams,
    column: CudaRef<'_, M31>,
    parts: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("air_logup_sums")?.grid([p.parts().into(), 1, 1]);
    let launch = launch.input("column", column).output("parts", parts).value("params", p);
    // SAFETY: the op passes the last column, and `parts` has an element for each part of the
    // maximum number of runs.
    unsafe { launch.launch() }
}

pub(crate) fn logup_totals(
    queue: &CudaQueue,
    p: &LogUpColumnsParams,
    parts: &CudaMut<'_, QM31>,
    sums: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("air_logup_totals")?.grid([1, 1, 1]);
    let launch = launch.output("parts", parts).output("sums", sums).value("params", p);
    // SAFETY: the op allocates `parts` for each part of the maximum number of runs; its check
    // verified the length 2 of `sums`.
    unsafe { launch.launch() }
}

pub(crate) fn logup_rows(
    queue: &CudaQueue,
    p: &LogUpColumnsParams,
    column: &CudaMut<'_, M31>,
    parts: CudaRef<'_, QM31>,
    sums: CudaRef<'_, QM31>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("air_logup_rows")?.grid([p.parts().into(), 1, 1]);
    let launch = launch.output("column", column).input("parts", parts).input("sums", sums).value("params", p);
    // SAFETY: the op passes the last column, `parts` for each part of the maximum number of runs,
    // and the two sums.
    unsafe { launch.launch() }
}

pub(crate) fn add_lifted(queue: &CudaQueue, op: &SecureAddLifted<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_add_lifted")?, 4 << op.params.log_large);
    let launch = launch.input("small", op.small).output("large", &op.large).value("params", op.params);
    // SAFETY: `SecureAddLifted::check` verified all lengths.
    unsafe { launch.launch() }
}

pub(crate) fn powers(queue: &CudaQueue, op: &SecurePowers<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("air_powers")?, op.params.count.into());
    let launch = launch.input("base", op.base).output("powers", &op.powers).value("params", op.params);
    // SAFETY: `SecurePowers::check` verified all lengths.
    unsafe { launch.launch() }
}
