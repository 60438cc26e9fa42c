//! The rows of a statement.

use stwo::core::fields::m31::BaseField;

/// Rows of the preprocessed columns and of the trace, component by component.
pub struct Rows {
    pub preprocessed: Vec<Vec<BaseField>>,
    pub trace: Vec<Vec<Vec<BaseField>>>,
}
