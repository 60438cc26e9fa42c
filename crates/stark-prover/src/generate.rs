//! Traces made on the device, in the place of their coefficients.

use backend_api::{
    Buffer as _,
    ops::air::{AirColumns, RowNumbers},
};
use core_types::{
    air::Tree,
    field::M31,
    params::air::{AirParams, RowNumbersParams},
};
use stark_air::RecordedGenerator;

use crate::{Prover, ProverError, StarkOps};

/// What the trace of a component is made from.
#[derive(Clone, Copy, Debug)]
pub struct Generated<'a> {
    /// Makes its columns.
    pub generator: &'a RecordedGenerator,
    /// The columns that the generator reads, in stored order.
    pub inputs: &'a [&'a [M31]],
}

impl<Q: StarkOps> Prover<Q> {
    /// Makes the trace of every component.
    pub(crate) fn generate(&mut self, q: &Q, components: &[Generated<'_>]) -> Result<(), ProverError> {
        let (expected, got) = (self.components.len(), components.len());
        if expected != got {
            return Err(ProverError::Generators { expected, got });
        }
        for (component, generated) in components.iter().enumerate() {
            self.check_generator(component, generated)?;
        }
        components.iter().enumerate().try_for_each(|(component, generated)| self.make_columns(q, component, generated))
    }

    /// Refuses a generator of another trace, and other inputs than it reads.
    fn check_generator(&self, component: usize, generated: &Generated<'_>) -> Result<(), ProverError> {
        let Generated { generator, inputs } = *generated;
        let air = &self.components[component].air;
        let rows = 1 << air.log_rows();
        let columns = air.columns().get(Tree::TRACE.0 as usize).map_or(0, Vec::len);
        let sizes = [
            ("rows", rows, 1 << generator.log_rows()),
            ("columns", columns, generator.columns()),
            ("inputs", generator.inputs(), inputs.len()),
        ];
        let lengths = inputs.iter().map(|input| ("rows of each input", rows, input.len()));
        match sizes.into_iter().chain(lengths).find(|(_, expected, got)| expected != got) {
            Some((what, expected, got)) => Err(ProverError::Generator { component, what, expected, got }),
            None => Ok(()),
        }
    }

    /// Makes the columns of a component, whose generator was checked.
    fn make_columns(&mut self, q: &Q, component: usize, generated: &Generated<'_>) -> Result<(), ProverError> {
        let Generated { generator, inputs } = *generated;
        let log_rows = generator.log_rows();
        let rows = 1 << log_rows;
        let mut values = q.alloc::<M31>((inputs.len() + usize::from(generator.reads_numbers())) << log_rows)?;
        for (k, input) in inputs.iter().enumerate() {
            q.write(input, values.slice_mut(k * rows..(k + 1) * rows)?)?;
        }
        if generator.reads_numbers() {
            let column = values.slice_mut(inputs.len() * rows..(inputs.len() + 1) * rows)?;
            q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column })?;
        }
        // A component's columns are of one size, so they follow each other.
        let tree = Tree::TRACE.0 as usize;
        let first = self.shape.components[component].columns[tree].start;
        let first = self.shape.trees[tree].columns[first].coefficients.first as usize;
        let program = generator.program();
        q.air_columns(AirColumns {
            params: &AirParams {
                log_rows,
                log_size: log_rows,
                registers: program.registers(),
                outputs: program.outputs(),
            },
            instructions: program.instructions(),
            masks: &generator.masks(),
            constants: program.constants(),
            inputs: values.view(),
            columns: self.memory.coefficients.slice_mut(first..first + generator.columns() * rows)?,
        })?;
        Ok(())
    }
}
