//! The trace of a proof: columns of the host, or their generators.

use core::fmt;

use core_types::{
    air::{Gather, Generator},
    field::M31,
};
use stark_air::RecordedGenerator;
use stark_airs::{TraceColumns, Witness, WitnessVisitor};

use super::{error::ProveError, inputs::slices};
use crate::plan::generated::Generated;

/// The trace of a proof: columns to upload, or a witness that the device generates them from.
///
/// One source serves any number of proofs. Generators are recorded once, by
/// [`witness`](Self::witness).
#[derive(Clone)]
pub struct TraceSource<'t> {
    pub(super) form: TraceForm<'t>,
}

/// The two forms of a trace.
#[derive(Clone)]
pub(super) enum TraceForm<'t> {
    /// The columns of each component.
    Columns(&'t [TraceColumns]),
    /// The generator of each component.
    Witness(Vec<ComponentSource<'t>>),
}

/// The generator of a component's trace.
#[derive(Clone)]
pub(super) enum ComponentSource<'t> {
    /// A recorded generator and the columns that it reads.
    Rows(RecordedGenerator, Vec<&'t [M31]>),
    /// Tables, and the source of each column.
    Gathered(Vec<&'t [M31]>, &'t [Gather]),
    /// Multiplicities, counted by the generators of other components.
    Counters,
}

/// Records the generators of a witness.
struct GeneratorRecorder<'t> {
    sources: Vec<ComponentSource<'t>>,
    /// The error of the first component whose generator cannot be recorded.
    error: Option<ProveError>,
}

impl<'t> TraceSource<'t> {
    /// The columns of each component, in stored order.
    #[must_use]
    pub const fn columns(trace: &'t [TraceColumns]) -> Self {
        Self { form: TraceForm::Columns(trace) }
    }

    /// Records the generators of `witness`, which the device of a proof runs.
    ///
    /// Only the inputs of the generators and the tables are uploaded.
    ///
    /// # Errors
    /// [`ProveError::Record`] for the first generator that cannot be recorded.
    pub fn witness<W: Witness>(witness: &'t W) -> Result<Self, ProveError> {
        let mut recorder = GeneratorRecorder { sources: Vec::new(), error: None };
        witness.generators(&mut recorder);
        match recorder.error {
            Some(error) => Err(error),
            None => Ok(Self { form: TraceForm::Witness(recorder.sources) }),
        }
    }

    /// The number of components.
    pub(super) fn components(&self) -> usize {
        match &self.form {
            TraceForm::Columns(trace) => trace.len(),
            TraceForm::Witness(sources) => sources.len(),
        }
    }
}

impl ComponentSource<'_> {
    /// The generator as a session takes it.
    pub(super) fn generated(&self) -> Generated<'_> {
        match self {
            Self::Rows(generator, inputs) => Generated::Rows { generator, inputs },
            Self::Gathered(tables, columns) => Generated::Gathered { tables, columns },
            Self::Counters => Generated::Counters,
        }
    }
}

impl<'t> WitnessVisitor<'t> for GeneratorRecorder<'t> {
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'t [Vec<M31>]) {
        match RecordedGenerator::new(generator) {
            Ok(recorded) => self.sources.push(ComponentSource::Rows(recorded, slices(inputs))),
            Err(source) => {
                let component = self.sources.len();
                self.error.get_or_insert(ProveError::Record { component, source });
            }
        }
    }

    fn gathered(&mut self, tables: &'t [Vec<M31>], columns: &'t [Gather]) {
        self.sources.push(ComponentSource::Gathered(slices(tables), columns));
    }

    fn counters(&mut self) {
        self.sources.push(ComponentSource::Counters);
    }
}

impl fmt::Debug for TraceSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSource").field("components", &self.components()).finish_non_exhaustive()
    }
}
