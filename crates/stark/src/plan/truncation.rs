//! Limits of truncated trees, by where the committed values are.

/// How trees are truncated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truncation {
    /// The most bottom levels that are not stored.
    ///
    /// `2^levels` leaves around each query are gathered and hashed again.
    pub(crate) levels: u32,
    /// Log of the leaves that are hashed at a time.
    ///
    /// It is more if a part would have fewer than two values of a column.
    pub(crate) log_part: u32,
    /// Log of the most leaves of a tree that is stored whole.
    log_whole: u32,
    /// The most columns of a tree that is truncated.
    ///
    /// The nodes of more columns are small next to their values.
    most_columns: usize,
    /// Whether FRI layers are truncated too. Their parts are copied before they are hashed.
    pub(crate) with_layers: bool,
}

impl Truncation {
    /// If blocks of the values are in memory: little memory is more important than time.
    pub(crate) const IN_BLOCKS: Self =
        Self { levels: 4, log_part: 20, log_whole: 0, most_columns: usize::MAX, with_layers: true };
    /// Limits if all values are in memory.
    ///
    /// Later proofs take 3 % longer at most. The nodes of a part stay in a processor's cache.
    pub(crate) const IN_MEMORY: Self =
        Self { levels: 2, log_part: 14, log_whole: 14, most_columns: 32, with_layers: false };

    /// The most bottom levels of a tree that are not stored.
    ///
    /// The tree has `2^log_leaves` leaves, of `columns` columns.
    pub(crate) const fn of(self, log_leaves: u32, columns: usize) -> u32 {
        let is_whole = log_leaves <= self.log_whole || columns > self.most_columns;
        if is_whole { 0 } else { self.levels }
    }
}
