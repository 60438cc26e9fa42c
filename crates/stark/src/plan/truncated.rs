//! Merkle trees stored without their bottom levels.
//!
//! The bottom levels are rehashed when a query is opened.
//!
//! The leaves are hashed subtree by subtree, and each subtree keeps its levels from some height on.
//! The part of an authentication path below that height is hashed on the host, from the values of
//! the leaves around the query, which are gathered instead of the query's own values. The columns
//! of a run are contiguous, so four of them are four planes to the op that gathers groups of
//! values.

use core::ops::Range;

use core_types::params::columns::ColumnAt;

use crate::plan::shape::{ColumnRun, StatementShape, TreeShape, nodes};

/// Columns that are gathered at once.
const PLANES: usize = 4;

impl ColumnRun {
    /// How often columns are gathered, four at a time.
    pub(crate) const fn chunks(&self) -> usize {
        (self.columns as usize).div_ceil(PLANES)
    }

    /// In which of these turns a column is gathered, and which of the four planes it is then.
    ///
    /// In the last turn they are the last four columns; of a run with fewer, what lies behind them
    /// is gathered too and not read.
    pub(crate) fn chunk_of(&self, column: usize) -> (usize, usize) {
        let chunk = column / PLANES;
        (chunk, column - self.chunk_start(chunk))
    }

    /// The first column of a turn.
    fn chunk_start(&self, chunk: usize) -> usize {
        (chunk * PLANES).min((self.columns as usize).saturating_sub(PLANES))
    }
}

impl StatementShape {
    /// Chooses the number of bottom levels of each tree that are not stored.
    ///
    /// It minimizes the memory of the stored levels plus the openings.
    pub(crate) fn truncate(&mut self) {
        for index in 0..self.trees.len() {
            let bytes = |truncated: u32| {
                let tree = TreeShape { truncated, ..self.trees[index].clone() };
                // Gathered values exist twice: as gathered, and among all answers.
                32 * self.own_parts(&tree).len() * nodes(self.log_kept(&tree)) + 8 * self.opened_words(&tree)
            };
            let least = (0..=self.most_truncated(&self.trees[index])).min_by_key(|&truncated| bytes(truncated));
            self.trees[index].truncated = least.unwrap_or(0);
        }
    }

    /// The most levels of a tree that may be missing.
    fn most_truncated(&self, tree: &TreeShape) -> u32 {
        // Positions lead to the nodes of a level by a shift, unless there are more leaves than positions.
        let is_kept = tree.columns.is_empty() || tree.height > self.log_size;
        let truncation = self.truncation.filter(|_| !is_kept);
        truncation
            .map_or(0, |truncation| truncation.of(tree.height, tree.columns.len()).min(tree.height - self.log_blocks))
    }

    /// Words that are gathered of a tree for all queries, in all blocks.
    fn opened_words(&self, tree: &TreeShape) -> usize {
        let of_query = match tree.truncated {
            0 => tree.columns.len(),
            _ => PLANES * self.grouped_values(tree),
        };
        self.blocks() * self.queries * of_query
    }

    /// Values of the secure field that are gathered of a tree for a query in a block.
    ///
    /// Nothing where all levels are kept.
    pub(crate) fn grouped_values(&self, tree: &TreeShape) -> usize {
        let values = tree.runs.iter().map(|run| run.chunks() << self.log_group(tree, run));
        if tree.truncated == 0 { 0 } else { values.sum() }
    }

    /// Log of the number of rows of a run that are gathered for a query.
    ///
    /// They are the leaves around it, at least a pair.
    pub(crate) fn log_group(&self, tree: &TreeShape, run: &ColumnRun) -> u32 {
        let doublings = tree.height - (run.log_rows + self.log_blowup);
        tree.truncated.saturating_sub(doublings).max(1)
    }

    /// Where the values in memory are that are gathered in a turn.
    pub(crate) fn chunk_in_block(&self, run: &ColumnRun, chunk: usize) -> Range<usize> {
        let log_block = self.log_block(run.log_rows);
        let first = self.run_in_block(run).start + (run.chunk_start(chunk) << log_block);
        first..first + (PLANES << log_block)
    }

    /// Words of the values in memory, with those that are gathered but not read.
    ///
    /// Runs of fewer than four columns are gathered along with the words behind them.
    pub(crate) fn values_with_planes(&self) -> usize {
        let trees = self.trees.iter().filter(|tree| tree.truncated > 0);
        let chunks = trees.flat_map(|tree| &tree.runs).map(|run| self.chunk_in_block(run, 0).end);
        chunks.fold(self.values_in_block(), usize::max)
    }

    /// Log of the nodes of the lowest level that is kept of a tree, in a part of it.
    pub(crate) fn log_kept(&self, tree: &TreeShape) -> u32 {
        tree.height - self.log_parts(tree) - tree.truncated
    }

    /// Log of the leaves of a tree that are hashed at a time.
    pub(crate) fn log_part(&self, tree: &TreeShape) -> u32 {
        let log_block = tree.height - self.log_blocks;
        let smallest = tree.runs.first().map_or(0, |run| run.log_rows + self.log_blowup);
        let log_part = self.truncation.map_or(log_block, |truncation| truncation.log_part);
        log_block.min(log_part.max(tree.height + 1 - smallest))
    }

    /// Where the values of a column are that lie in a part of the block in memory.
    pub(crate) fn in_part(&self, tree: &TreeShape, column: ColumnAt, part: usize) -> ColumnAt {
        let log_parts = tree.height - self.log_blocks - self.log_part(tree);
        let ColumnAt { first, log_len, .. } = self.in_block(column);
        let log_len = log_len - log_parts;
        ColumnAt::new(first + ((part as u64) << log_len), log_len)
    }
}
