//! What traces are made from.

use core_types::{air::Gather, field::M31};
use stark_air::RecordedGenerator;

/// The source of a component's trace.
#[derive(Clone, Copy, Debug)]
pub enum Generated<'a> {
    /// Columns of inputs.
    Rows {
        /// Makes its columns.
        generator: &'a RecordedGenerator,
        /// The columns that the generator reads, in stored order.
        inputs: &'a [&'a [M31]],
    },
    /// Tables whose words its columns are gathered from, by keys that the statement has.
    Gathered {
        /// The tables, of any lengths.
        tables: &'a [&'a [M31]],
        /// Where each column comes from.
        columns: &'a [Gather],
    },
    /// Multiplicities: the component is a table that the other components' generators count in.
    ///
    /// The counters are its columns and the columns of the other tables, in the order of the
    /// components, column by column and row by row.
    Counters,
}
