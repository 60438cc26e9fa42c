//! The air op set. Programs are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue as _,
    ops::air::{
        AirColumns, AirEvaluate, AirFractions, CounterColumns, GatherColumn, LogUpColumns, RowNumbers, SecureAddLifted,
        SecurePowers,
    },
};
use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, LogUpColumnsParams, MaskAt},
};

use crate::{CudaBuf, CudaQueue, CudaRef, ProgramKind, ProgramSource, checked::AirOps, submit::Launch};

/// Threads of a block that runs a program.
const THREADS: u32 = 128;

/// The most words of registers in global memory: 64 MiB.
const MOST_WORDS: u64 = 1 << 24;

/// Refuses more steps than a kernel counts.
fn check_steps(op: &'static str, steps: usize) -> Result<(), BackendError> {
    match u32::try_from(steps) {
        Ok(_) => Ok(()),
        Err(_) => Err(BackendError::Unsupported { op, why: "expected fewer than 2^32 steps" }),
    }
}

/// A program in device memory.
struct DeviceProgram<'a> {
    params: &'a AirParams,
    instructions: CudaRef<'a, Instruction>,
    masks: CudaRef<'a, MaskAt>,
    constants: CudaRef<'a, M31>,
}

impl<'a> DeviceProgram<'a> {
    /// Whether the registers exceed the shared memory of a block.
    const fn is_wide(&self) -> bool {
        self.params.registers > AirParams::SHARED_REGISTERS
    }

    /// Room for the registers of all threads of a launch of `wide`, if they are in global memory.
    fn registers(&self, queue: &CudaQueue, [_, wide]: [&str; 2]) -> Result<Option<CudaBuf<M31>>, BackendError> {
        if !self.is_wide() {
            return Ok(None);
        }
        let threads = self.blocks(&queue.kernel(wide)?) * u64::from(THREADS);
        queue.alloc(threads as usize * self.params.registers as usize).map(Some)
    }

    /// Blocks of a launch that has its registers in global memory.
    fn blocks(&self, launch: &Launch<'_>) -> u64 {
        let most = (MOST_WORDS / u64::from(THREADS * self.params.registers.max(1))).max(1);
        (1u64 << self.params.log_size).div_ceil(THREADS.into()).min(launch.at_once()).min(most)
    }

    /// A launch of the kernel for the program's registers, with its first arguments.
    fn launch(&self, queue: &'a CudaQueue, [narrow, wide]: [&str; 2]) -> Result<Launch<'a>, BackendError> {
        let launch = if self.is_wide() {
            let launch = queue.kernel(wide)?;
            let blocks = self.blocks(&launch);
            launch.blocks(blocks)
        } else {
            let launch = queue.kernel(narrow)?.cover_striding(1 << self.params.log_size);
            launch.dynamic_shared(4 * THREADS * self.params.registers)
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

/// The registers of all threads, if they are in global memory.
fn with_registers<'a>(launch: Launch<'a>, registers: &'a mut Option<CudaBuf<M31>>) -> Launch<'a> {
    match registers {
        Some(registers) => launch.output("registers", &registers.view_mut()),
        None => launch,
    }
}

impl AirOps for CudaQueue {
    fn air_columns(&self, op: AirColumns<'_, Self>) -> Result<(), BackendError> {
        check_steps("air_columns", op.instructions.len())?;
        if op.instructions.is_empty() {
            return Ok(());
        }
        let (instructions, masks) = (self.upload(op.instructions)?, self.upload(op.masks)?);
        let constants = self.upload(op.constants)?;
        let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
        let program = DeviceProgram { params: op.params, instructions, masks, constants };
        let kernels = ["air_columns", "air_columns_wide"];
        let mut registers = program.registers(self, kernels)?;
        let launch = program.launch(self, kernels)?.input("inputs", op.inputs);
        let launch = with_registers(launch, &mut registers);
        let launch = launch.output("columns", &op.columns).output("counters", &op.counters);
        let launch = program.sizes(launch.value("outputs", op.outputs));
        // SAFETY: `AirColumns::check` verified all lengths, and that the opcodes and operands of the steps are in
        // range; there is a word for each register of each thread.
        unsafe { launch.launch() }
    }

    fn air_evaluate(&self, op: AirEvaluate<'_, Self>) -> Result<(), BackendError> {
        check_steps("air_evaluate", op.instructions.len())?;
        if op.instructions.is_empty() {
            return Ok(());
        }
        let AirEvaluate { params, instructions, masks, constants, .. } = op;
        let source = ProgramSource { kind: ProgramKind::Evaluate, instructions, masks, constants };
        let (masks, inverses) = (self.upload(masks)?, self.upload(op.vanishing_inverses)?);
        if let Some(launches) = self.program(&source)? {
            return launches.into_iter().try_for_each(|launch| {
                let launch = launch.cover(1 << params.log_size).input("masks", masks.view());
                let launch = launch.input("vanishing_inverses", inverses.view()).input("values", op.values);
                let launch = launch.input("challenges", op.challenges).input("powers", op.powers);
                let launch = launch.output("sums", &op.sums).value("params", params);
                // SAFETY: `AirEvaluate::check` verified all lengths, and that the opcodes and operands of the steps are
                // in range. The kernel is made of these steps, and has a thread for each position. Blocks begin at
                // multiples of 512 bytes, so that elements of 16 bytes lie at multiples of 16.
                unsafe { launch.launch() }
            });
        }
        let (instructions, constants) = (self.upload(instructions)?, self.upload(constants)?);
        let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
        let program = DeviceProgram { params, instructions, masks, constants };
        let kernels = ["air_evaluate", "air_evaluate_wide"];
        let mut registers = program.registers(self, kernels)?;
        let launch = program.launch(self, kernels)?;
        let launch = launch.input("vanishing_inverses", inverses.view()).input("values", op.values);
        let launch = launch.input("challenges", op.challenges).input("powers", op.powers);
        let launch = program.sizes(with_registers(launch, &mut registers).output("sums", &op.sums));
        // SAFETY: `AirEvaluate::check` verified all lengths, and that the opcodes and operands of the steps are in
        // range; there is a word for each register of each thread.
        unsafe { launch.launch() }
    }

    fn air_fractions(&self, op: AirFractions<'_, Self>) -> Result<(), BackendError> {
        check_steps("air_fractions", op.instructions.len())?;
        if op.instructions.is_empty() {
            return Ok(());
        }
        let AirFractions { params, instructions, masks, constants, .. } = op;
        let source = ProgramSource { kind: ProgramKind::Fractions, instructions, masks, constants };
        let masks = self.upload(masks)?;
        if let Some(launches) = self.program(&source)? {
            return launches.into_iter().try_for_each(|launch| {
                let launch = launch.cover(1 << params.log_size).input("masks", masks.view());
                let launch = launch.input("values", op.values).input("challenges", op.challenges);
                let launch = launch.output("fractions", &op.fractions).value("params", params);
                // SAFETY: `AirFractions::check` verified all lengths, and that the opcodes and operands of the steps
                // are in range. The kernel is made of these steps, and has a thread for each position. Blocks begin at
                // multiples of 512 bytes, so that elements of 16 bytes lie at multiples of 16.
                unsafe { launch.launch() }
            });
        }
        let (instructions, constants) = (self.upload(instructions)?, self.upload(constants)?);
        let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
        let program = DeviceProgram { params, instructions, masks, constants };
        let kernels = ["air_fractions", "air_fractions_wide"];
        let mut registers = program.registers(self, kernels)?;
        let launch = program.launch(self, kernels)?;
        let launch = launch.input("values", op.values).input("challenges", op.challenges);
        let launch = program.sizes(with_registers(launch, &mut registers).output("fractions", &op.fractions));
        // SAFETY: `AirFractions::check` verified all lengths, and that the opcodes and operands of the steps are in
        // range; there is a word for each register of each thread.
        unsafe { launch.launch() }
    }

    fn logup_columns(&self, op: LogUpColumns<'_, Self>) -> Result<(), BackendError> {
        let LogUpColumns { params: p, fractions, columns, sums } = op;
        let launch = self.kernel("air_logup_terms")?.cover_striding(1 << p.log_rows);
        let launch = launch.input("fractions", fractions).output("columns", &columns).value("params", p);
        // SAFETY: `LogUpColumns::check` verified all lengths.
        unsafe { launch.launch() }?;

        // Running sums of the last column: of each part, of the parts, of each row.
        let end = columns.len();
        let column = columns.slice(end - (4 << p.log_rows)..end)?;
        let mut parts = self.alloc::<QM31>((LogUpColumnsParams::MOST_RUNS * p.parts()) as usize)?;
        let launch = self.kernel("air_logup_sums")?.blocks(p.parts().into());
        let launch = launch.input("column", column.as_ref()).output("parts", &parts.view_mut()).value("params", p);
        // SAFETY: `column` is the last one, and `parts` has an element for each part of the maximum number of runs.
        unsafe { launch.launch() }?;
        let launch = self.kernel("air_logup_totals")?.output("parts", &parts.view_mut());
        let launch = launch.output("sums", &sums).value("params", p);
        // SAFETY: `parts` has an element for each part of the maximum number of runs; `LogUpColumns::check` verified
        // the length 2 of `sums`.
        unsafe { launch.launch() }?;
        let launch = self.kernel("air_logup_rows")?.blocks(p.parts().into());
        let launch = launch.output("column", &column).input("parts", parts.view());
        let launch = launch.input("sums", sums.as_ref()).value("params", p);
        // SAFETY: `column` is the last one, `parts` has an element for each part of the maximum number of runs, and
        // `sums` has two.
        unsafe { launch.launch() }
    }

    fn counter_columns(&self, op: CounterColumns<'_, Self>) -> Result<(), BackendError> {
        if op.params.columns == 0 {
            return Ok(());
        }
        let launch = self.kernel("air_counter_columns")?.cover_striding(op.counters.len() as u64);
        let launch = launch.input("counters", op.counters).output("columns", &op.columns).value("params", op.params);
        // SAFETY: `CounterColumns::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn gather_column(&self, op: GatherColumn<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("air_gather_column")?.cover_striding(op.column.len() as u64);
        let launch = launch.input("keys", op.keys).input("table", op.table).output("column", &op.column);
        let launch = launch.value("params", op.params);
        // SAFETY: `GatherColumn::check` verified all lengths; keys beyond the table read nothing.
        unsafe { launch.launch() }
    }

    fn row_numbers(&self, op: RowNumbers<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("air_row_numbers")?.cover_striding(op.column.len() as u64);
        let launch = launch.output("column", &op.column).value("params", op.params);
        // SAFETY: `RowNumbers::check` verified the length of the view.
        unsafe { launch.launch() }
    }

    fn secure_add_lifted(&self, op: SecureAddLifted<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("air_add_lifted")?.cover_striding(op.large.len() as u64);
        let launch = launch.input("small", op.small).output("large", &op.large).value("params", op.params);
        // SAFETY: `SecureAddLifted::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn secure_powers(&self, op: SecurePowers<'_, Self>) -> Result<(), BackendError> {
        if op.params.count == 0 {
            return Ok(());
        }
        let launch = self.kernel("air_powers")?.cover_striding(op.params.count.into());
        let launch = launch.input("base", op.base).output("powers", &op.powers).value("params", op.params);
        // SAFETY: `SecurePowers::check` verified all lengths.
        unsafe { launch.launch() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;

    #[test]
    fn registers_are_shared_up_to_96_and_else_in_global_memory() {
        let (_machine, queue) = rig::queue(3);
        let (instructions, masks) = (queue.zeros::<Instruction>(5).unwrap(), queue.zeros::<MaskAt>(1).unwrap());
        let constants = queue.zeros::<M31>(1).unwrap();
        // A device of three blocks of 128 threads; 2^24 words of registers are the most.
        for (registers, log_size, blocks, words, shared_bytes) in [
            (0, 1, 1, None, Some(0)),
            (96, 8, 2, None, Some(4 * 128 * 96)),
            (96, 9, 3, None, Some(4 * 128 * 96)),
            (97, 7, 1, Some(128 * 97), None),
            (97, 8, 2, Some(256 * 97), None),
            (97, 9, 3, Some(384 * 97), None),
            (1 << 16, 9, 2, Some(256 << 16), None),
        ] {
            let params = AirParams { log_rows: 1, log_size, registers, outputs: 0 };
            let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
            let program = DeviceProgram { params: &params, instructions, masks, constants };
            let launch = program.launch(&queue, rig::KERNELS).unwrap();
            assert_eq!(launch.geometry(), ([blocks, 1, 1], shared_bytes), "{params:?}");
            let room = program.registers(&queue, rig::KERNELS).unwrap();
            assert_eq!(room.map(|room| room.len()), words, "{params:?}");
        }
    }
}
