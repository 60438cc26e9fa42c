//! The inputs of a prover, taken from a statement.

use core_types::{air::Air, field::M31};
use stark_airs::{PreprocessedColumn, Statement, Visitor};

use super::{error::ProveError, relations::misplaced};
use crate::plan::component::Component;

/// The inputs of a prover: recorded components and the values of preprocessed columns.
pub(super) struct ProverInputs {
    pub(super) components: Vec<Component>,
    pub(super) preprocessed: Vec<Vec<M31>>,
}

impl ProverInputs {
    /// Records the components of `statement` and checks its relations and preprocessed columns.
    pub(super) fn of<S: Statement>(statement: &S) -> Result<Self, ProveError> {
        if let Some((expected, got)) = misplaced(statement.relations()) {
            return Err(ProveError::Relations { expected, got });
        }
        let components = recorded(statement)?;
        let preprocessed = statement.preprocessed_values();
        let columns = statement.preprocessed();
        if columns.len() != preprocessed.len() {
            return Err(ProveError::PreprocessedColumns { expected: columns.len(), got: preprocessed.len() });
        }
        let wrong = columns
            .into_iter()
            .zip(&preprocessed)
            .find(|(column, values)| 1usize.checked_shl(column.log_rows) != Some(values.len()));
        if let Some((PreprocessedColumn { name, log_rows }, values)) = wrong {
            return Err(ProveError::PreprocessedRows { name, log_rows, got: values.len() });
        }
        Ok(Self { components, preprocessed })
    }
}

/// Records the AIRs of a statement.
struct AirRecorder(Result<Vec<Component>, ProveError>);

impl<'s> Visitor<'s> for AirRecorder {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        let Ok(components) = &mut self.0 else { return };
        let component = components.len();
        match Component::new(air, preprocessed) {
            Ok(recorded) => components.push(recorded),
            Err(source) => self.0 = Err(ProveError::Record { component, source }),
        }
    }
}

/// The components of a statement, recorded.
pub(super) fn recorded<S: Statement>(statement: &S) -> Result<Vec<Component>, ProveError> {
    let mut components = AirRecorder(Ok(Vec::new()));
    statement.visit(&mut components);
    components.0
}

/// Columns as slices.
pub(crate) fn slices(columns: &[Vec<M31>]) -> Vec<&[M31]> {
    columns.iter().map(|column| &column[..]).collect()
}
