//! Traces made on the device, in the place of their coefficients.

use core::ops::Range;

use backend_api::{
    Buffer as _, BufferRef as _,
    ops::air::{AirColumns, CounterColumns, GatherColumn, RowNumbers},
};
use core_types::{
    air::{Gather, Tree},
    field::M31,
    params::air::{AirColumnsParams, AirParams, CounterColumnsParams, GatherColumnParams, RowNumbersParams},
};
use stark_air::RecordedGenerator;

use crate::{
    Component, Generated, Prover, ProverError, StarkOps, placement::rows::evaluate, trace::inputs::TraceInputs,
};

impl<Q: StarkOps> Prover<Q> {
    /// Makes the trace of every component, with what one reads in memory at a time.
    pub(crate) fn generate(&mut self, q: &Q, components: &[Generated<'_>]) -> Result<(), ProverError> {
        self.check_generated(components)?;
        let mut counted = self.begin_counting(q, components)?;
        for (component, generated) in components.iter().enumerate() {
            let mut inputs = TraceInputs::new(q, generated)?;
            inputs.write(q, generated)?;
            self.make(q, component, generated, &mut inputs, &mut counted)?;
        }
        self.write_counters(q, components, &counted)
    }

    /// Makes the trace of every component from inputs that are on the device.
    ///
    /// The components were checked before.
    pub(crate) fn generate_from(
        &mut self,
        q: &Q,
        components: &[Generated<'_>],
        inputs: &mut [TraceInputs<Q>],
    ) -> Result<(), ProverError> {
        let mut counted = self.begin_counting(q, components)?;
        for (component, (generated, inputs)) in components.iter().zip(inputs).enumerate() {
            self.make(q, component, generated, inputs, &mut counted)?;
        }
        self.write_counters(q, components, &counted)
    }

    /// Refuses what makes another trace than one of the statement.
    pub(crate) fn check_generated(&self, components: &[Generated<'_>]) -> Result<(), ProverError> {
        let (expected, got) = (self.components.len(), components.len());
        if expected != got {
            return Err(ProverError::Generators { expected, got });
        }
        for (component, generated) in components.iter().enumerate() {
            match *generated {
                Generated::Rows { generator, inputs } => self.check_generator(component, generator, inputs)?,
                Generated::Gathered { tables, columns } => self.check_gathered(component, tables.len(), columns)?,
                Generated::Counters => {}
            }
        }
        Ok(())
    }

    /// The tables whose columns are counters, and where their counters are.
    fn counters(&self, components: &[Generated<'_>]) -> (Vec<(usize, Range<usize>)>, usize) {
        let (mut tables, mut end) = (Vec::new(), 0);
        for component in (0..components.len()).filter(|&component| matches!(components[component], Generated::Counters))
        {
            let first = end;
            end += self.columns(component).1.len();
            tables.push((component, first..end));
        }
        (tables, end)
    }

    fn begin_counting(&self, q: &Q, components: &[Generated<'_>]) -> Result<Q::Buf<u32>, ProverError> {
        let mut counted = q.alloc::<u32>(self.counters(components).1)?;
        q.clear(counted.view_mut())?;
        Ok(counted)
    }

    fn write_counters(
        &mut self,
        q: &Q,
        components: &[Generated<'_>],
        counted: &Q::Buf<u32>,
    ) -> Result<(), ProverError> {
        for (component, counters) in self.counters(components).0 {
            let (columns, words) = self.columns(component);
            let log_rows = self.components[component].air.log_rows();
            let mut made = self.trace_room(q, &words, false)?;
            q.counter_columns(CounterColumns {
                params: &CounterColumnsParams { log_rows, columns: columns as u32 },
                counters: counted.slice(counters)?,
                columns: self.trace_place(&mut made, words.clone())?,
            })?;
            self.keep_trace(q, log_rows, made, words)?;
        }
        Ok(())
    }

    /// Makes the columns of a component, which was checked, but for counters.
    fn make(
        &mut self,
        q: &Q,
        component: usize,
        generated: &Generated<'_>,
        inputs: &mut TraceInputs<Q>,
        counted: &mut Q::Buf<u32>,
    ) -> Result<(), ProverError> {
        match *generated {
            Generated::Rows { generator, .. } => self.make_rows(q, component, generator, inputs, counted),
            Generated::Gathered { columns, .. } => self.gather(q, component, inputs, columns),
            Generated::Counters => Ok(()),
        }
    }

    /// The number of columns that a component has in the trace, and where they are.
    fn columns(&self, component: usize) -> (usize, Range<usize>) {
        let tree = Tree::TRACE.0 as usize;
        let columns = self.shape.components[component].columns.get(tree).cloned().unwrap_or(0..0);
        // A component's columns are of one size, so they follow each other.
        let first = self.shape.trees[tree].columns[columns.clone()].first();
        let first = first.map_or(0, |column| column.coefficients.first as usize);
        let words = columns.len() << self.components[component].air.log_rows();
        (columns.len(), first..first + words)
    }

    /// Refuses a generator of another trace, and other inputs than it reads.
    fn check_generator(
        &self,
        component: usize,
        generator: &RecordedGenerator,
        inputs: &[&[M31]],
    ) -> Result<(), ProverError> {
        let rows = 1 << self.components[component].air.log_rows();
        let sizes = [
            ("rows", rows, 1 << generator.log_rows()),
            ("columns", self.columns(component).0, generator.columns()),
            ("inputs", generator.inputs(), inputs.len()),
        ];
        let lengths = inputs.iter().map(|input| ("rows of each input", rows, input.len()));
        match sizes.into_iter().chain(lengths).find(|(_, expected, got)| expected != got) {
            Some((what, expected, got)) => Err(ProverError::Generator { component, what, expected, got }),
            None => Ok(()),
        }
    }

    /// Refuses columns that the component cannot gather.
    ///
    /// Their number must be the component's, and the tables and keys that they name must exist.
    /// Keys always have the component's rows: a statement with others has no prover.
    fn check_gathered(&self, component: usize, tables: usize, columns: &[Gather]) -> Result<(), ProverError> {
        let refused = |what, expected, got| Err(ProverError::Generator { component, what, expected, got });
        let (expected, got) = (self.columns(component).0, columns.len());
        if expected != got {
            return refused("columns", expected, got);
        }
        if self.memory.look_ups.is_none() {
            return Err(ProverError::Keys { component });
        }
        let slots = self.components[component].preprocessed.len();
        for column in columns {
            if column.table >= tables {
                return refused("tables", column.table + 1, tables);
            }
            if column.keys >= slots {
                return refused("slots of keys", column.keys + 1, slots);
            }
        }
        Ok(())
    }

    /// Gathers the columns of a component, which were checked.
    fn gather(
        &mut self,
        q: &Q,
        component: usize,
        inputs: &TraceInputs<Q>,
        columns: &[Gather],
    ) -> Result<(), ProverError> {
        let Some(look_ups) = &self.memory.look_ups else {
            return Err(ProverError::Keys { component });
        };
        let Component { air, preprocessed } = &self.components[component];
        let (log_rows, rows) = (air.log_rows(), 1 << air.log_rows());
        let (_, words) = self.columns(component);
        let mut made = self.trace_room(q, &words, true)?;
        let mut again = self.host.as_ref().map(|_| q.alloc(rows)).transpose()?;
        for (number, column) in columns.iter().enumerate() {
            let table = inputs.table(column.table)?;
            let keys = self.shape.trees[0].columns[preprocessed[column.keys]].coefficients.first as usize;
            let keys = match (&self.host, &mut again) {
                (Some(host), Some(again)) => {
                    host.bring(keys, again.view_mut())?;
                    evaluate(q, &self.twiddles, log_rows, again.view_mut())?;
                    again.view()
                }
                _ => look_ups.rows.slice(keys..keys + rows)?,
            };
            let (first, end) = (number * rows, (number + 1) * rows);
            q.gather_column(GatherColumn {
                // The op refuses a table that is longer than its words can say.
                params: &GatherColumnParams { log_rows, words: table.len() as u32 },
                keys,
                table,
                column: match &mut made {
                    Some(made) => made.slice_mut(first..end)?,
                    None => self.memory.coefficients.slice_mut(words.start + first..words.start + end)?,
                },
            })?;
        }
        self.keep_trace(q, log_rows, made, words)
    }

    /// Makes the columns of a component, whose generator was checked.
    fn make_rows(
        &mut self,
        q: &Q,
        component: usize,
        generator: &RecordedGenerator,
        inputs: &mut TraceInputs<Q>,
        counted: &mut Q::Buf<u32>,
    ) -> Result<(), ProverError> {
        let log_rows = generator.log_rows();
        if generator.reads_numbers() {
            q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column: inputs.numbers()? })?;
        }
        let (columns, words) = self.columns(component);
        let mut made = self.trace_room(q, &words, false)?;
        let program = generator.program();
        let (registers, outputs) = (program.registers(), program.outputs());
        q.air_columns(AirColumns {
            params: &AirParams { log_rows, log_size: log_rows, registers, outputs },
            outputs: &AirColumnsParams { columns: columns as u32, counters: counted.len() as u32 },
            instructions: program.instructions(),
            masks: &generator.masks(),
            constants: program.constants(),
            inputs: inputs.all(),
            columns: self.trace_place(&mut made, words.clone())?,
            counters: counted.view_mut(),
        })?;
        self.keep_trace(q, log_rows, made, words)
    }
}
