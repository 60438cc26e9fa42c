//! What makes the rows of a trace.

use super::BaseValue;

/// A row of a trace during trace generation: its inputs are read, its columns are written.
///
/// Inputs and columns come in order, once each: the `k`-th call of [`mask`](Self::mask) reads input
/// `k`, the `k`-th call of [`write`](Self::write) writes column `k` of the component in the trace.
pub trait NewRow {
    /// Values of inputs and columns.
    type F: BaseValue;

    /// The next input, at the rows with these offsets from the one at hand. Rows wrap around.
    fn mask<const K: usize>(&mut self, offsets: [i32; K]) -> [Self::F; K];

    /// The number of the row at hand, from zero.
    fn number(&mut self) -> Self::F;

    /// Writes the next column.
    fn write(&mut self, value: Self::F);

    /// Bits `from..to` of a value, an integer below P; `from < to <= 31`.
    fn bits(&mut self, value: Self::F, from: u32, to: u32) -> Self::F;

    /// The exclusive or of two values, integers below P, modulo P.
    fn xor(&mut self, a: Self::F, b: Self::F) -> Self::F;

    /// Adds one to counter `key`, if that counter exists.
    ///
    /// Counters are the columns of tables: each counted component in order, column by column and
    /// row by row.
    fn count(&mut self, key: Self::F);

    /// The next input, at the row at hand.
    #[inline]
    fn input(&mut self) -> Self::F {
        let [value] = self.mask([0]);
        value
    }
}

/// A trace column gathered from a table.
///
/// The key on each row is the number, from zero, of the table word on that row. If the table has no
/// such word, the value is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// Which of the tables that a trace is gathered from.
    pub table: usize,
    /// The slot of the preprocessed column that holds the keys.
    pub keys: usize,
}

/// Generates the trace of a component, row by row, from columns of inputs.
///
/// The counterpart of an [`Air`](super::Air).
///
/// The same steps generate every row, so that they can run wherever the trace is needed. A value
/// that a row takes from the row before is an input.
pub trait Generator {
    /// Log of the number of rows, at least 1.
    fn log_rows(&self) -> u32;

    /// Makes a row. Which inputs and columns there are depends on `self` alone.
    fn generate<R: NewRow>(&self, row: &mut R);
}
