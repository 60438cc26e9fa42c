//! The air op set. Programs are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::air::{
        AirColumns, AirEvaluate, AirFractions, CounterColumns, GatherColumn, LogUpColumns, RowNumbers, SecureAddLifted,
        SecurePowers,
    },
};
use core_types::{field::QM31, params::air::LogUpColumnsParams};

use crate::checked::AirOps;
use crate::{
    CudaQueue, ProgramKind, ProgramSource,
    launch::stark::air::{self, DeviceProgram},
};

/// Refuses more steps than a kernel counts.
fn check_steps(op: &'static str, steps: usize) -> Result<(), BackendError> {
    match u32::try_from(steps) {
        Ok(_) => Ok(()),
        Err(_) => Err(BackendError::Unsupported { op, why: "expected fewer than 2^32 steps" }),
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
        if program.is_narrow() {
            return air::columns(self, &op, &program, None);
        }
        let mut registers = self.alloc(program.global_words(self, "air_columns_wide")?)?;
        air::columns(self, &op, &program, Some(&registers.view_mut()))
    }

    fn air_evaluate(&self, op: AirEvaluate<'_, Self>) -> Result<(), BackendError> {
        check_steps("air_evaluate", op.instructions.len())?;
        if op.instructions.is_empty() {
            return Ok(());
        }
        let AirEvaluate { instructions, masks, constants, .. } = op;
        let source = ProgramSource { kind: ProgramKind::Evaluate, instructions, masks, constants };
        let (masks, inverses) = (self.upload(masks)?, self.upload(op.vanishing_inverses)?);
        if let Some(launches) = self.program(&source)? {
            let mut launches = launches.into_iter();
            return launches.try_for_each(|launch| air::evaluate_compiled(launch, &op, masks.view(), inverses.view()));
        }
        let (instructions, constants) = (self.upload(instructions)?, self.upload(constants)?);
        let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
        let program = DeviceProgram { params: op.params, instructions, masks, constants };
        if program.is_narrow() {
            return air::evaluate(self, &op, &program, inverses.view(), None);
        }
        let mut registers = self.alloc(program.global_words(self, "air_evaluate_wide")?)?;
        air::evaluate(self, &op, &program, inverses.view(), Some(&registers.view_mut()))
    }

    fn air_fractions(&self, op: AirFractions<'_, Self>) -> Result<(), BackendError> {
        check_steps("air_fractions", op.instructions.len())?;
        if op.instructions.is_empty() {
            return Ok(());
        }
        let AirFractions { instructions, masks, constants, .. } = op;
        let source = ProgramSource { kind: ProgramKind::Fractions, instructions, masks, constants };
        let masks = self.upload(masks)?;
        if let Some(launches) = self.program(&source)? {
            return launches.into_iter().try_for_each(|launch| air::fractions_compiled(launch, &op, masks.view()));
        }
        let (instructions, constants) = (self.upload(instructions)?, self.upload(constants)?);
        let (instructions, masks, constants) = (instructions.view(), masks.view(), constants.view());
        let program = DeviceProgram { params: op.params, instructions, masks, constants };
        if program.is_narrow() {
            return air::fractions(self, &op, &program, None);
        }
        let mut registers = self.alloc(program.global_words(self, "air_fractions_wide")?)?;
        air::fractions(self, &op, &program, Some(&registers.view_mut()))
    }

    fn logup_columns(&self, op: LogUpColumns<'_, Self>) -> Result<(), BackendError> {
        let LogUpColumns { params, fractions, columns, sums } = op;
        air::logup_terms(self, params, fractions, &columns)?;
        let end = columns.len();
        let column = columns.slice(end - (4 << params.log_rows)..end)?;
        let mut parts = self.alloc::<QM31>((LogUpColumnsParams::MOST_RUNS * params.parts()) as usize)?;
        air::logup_sums(self, params, column.as_ref(), &parts.view_mut())?;
        air::logup_totals(self, params, &parts.view_mut(), &sums)?;
        air::logup_rows(self, params, &column, parts.view(), sums.as_ref())
    }

    fn counter_columns(&self, op: CounterColumns<'_, Self>) -> Result<(), BackendError> {
        if op.params.columns == 0 {
            return Ok(());
        }
        air::counter_columns(self, &op)
    }

    fn gather_column(&self, op: GatherColumn<'_, Self>) -> Result<(), BackendError> {
        air::gather_column(self, &op)
    }

    fn row_numbers(&self, op: RowNumbers<'_, Self>) -> Result<(), BackendError> {
        air::row_numbers(self, &op)
    }

    fn secure_add_lifted(&self, op: SecureAddLifted<'_, Self>) -> Result<(), BackendError> {
        air::add_lifted(self, &op)
    }

    fn secure_powers(&self, op: SecurePowers<'_, Self>) -> Result<(), BackendError> {
        if op.params.count == 0 {
            return Ok(());
        }
        air::powers(self, &op)
    }
}
