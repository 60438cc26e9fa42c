//! The shape of a statement: its trees, columns and layers, and their location in memory.

use core::ops::Range;

use core_types::{air::Tree, params::columns::ColumnAt};
use stark_air::MaskSource;
use stark_verifier::{FriConfig, MAX_LOG_SIZE, PcsConfig, StatementError};

use crate::{Component, plan::ranks::RankPlace, plan::truncation::Truncation};

/// The tree of the trace.
pub(crate) const TRACE: usize = Tree::TRACE.0 as usize;

/// The tree of interaction columns.
pub(crate) const INTERACTION: usize = Tree::INTERACTION.0 as usize;

/// Log of the number of parts that the composition polynomial is committed in.
const LOG_COMPOSITION_PARTS: u32 = 1;

/// Columns of the composition polynomial: the four coordinates of each part.
const COMPOSITION_COLUMNS: usize = 4 << LOG_COMPOSITION_PARTS;

/// A column of a tree.
#[derive(Clone, Debug)]
pub(crate) struct ColumnShape {
    /// Log of the number of its rows, and of its coefficients.
    pub(crate) log_rows: u32,
    /// Rows around the out-of-domain point at which it is sampled.
    pub(crate) offsets: Vec<i32>,
    /// Where its coefficients are.
    pub(crate) coefficients: ColumnAt,
    /// Where its committed values are.
    pub(crate) values: ColumnAt,
}

/// Columns of one size that follow each other in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnRun {
    pub(crate) log_rows: u32,
    pub(crate) columns: u32,
    pub(crate) coefficients: Range<usize>,
    pub(crate) values: Range<usize>,
    /// With column-partitioned ranks, the coefficients of this rank's columns.
    pub(crate) own_coefficients: Range<usize>,
}

impl ColumnRun {
    /// Words of the coefficients of some of its columns.
    pub(crate) const fn words(&self, columns: Range<usize>) -> Range<usize> {
        let first = self.coefficients.start;
        first + (columns.start << self.log_rows)..first + (columns.end << self.log_rows)
    }
}

/// A tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeShape {
    pub(crate) columns: Vec<ColumnShape>,
    /// Its columns in memory, from the smallest to the largest.
    pub(crate) runs: Vec<ColumnRun>,
    /// Log of the number of leaves; 0 without columns.
    pub(crate) height: u32,
    /// Its lowest levels that are not kept.
    pub(crate) truncated: u32,
}

impl TreeShape {
    /// The places of the committed values in memory, in the order of the leaves.
    ///
    /// The smallest columns come first.
    pub(crate) fn leaf_columns(&self, in_block: impl Fn(ColumnAt) -> ColumnAt) -> Vec<ColumnAt> {
        let mut columns: Vec<ColumnAt> = self.columns.iter().map(|column| in_block(column.values)).collect();
        columns.sort_by_key(|column| column.log_len);
        columns
    }

    /// Words of all its coefficients.
    pub(crate) fn coefficients(&self) -> Range<usize> {
        let bounds = self.runs.first().zip(self.runs.last());
        bounds.map_or(0..0, |(first, last)| first.coefficients.start..last.coefficients.end)
    }
}

/// A component's columns.
#[derive(Clone, Debug)]
pub(crate) struct ComponentShape {
    /// Its columns in each tree, none of them in the preprocessed one.
    pub(crate) columns: Vec<Range<usize>>,
    /// The index of its first constraint within the constraints of all components.
    pub(crate) first_constraint: usize,
}

/// The shape of a statement.
#[derive(Clone, Debug)]
pub(crate) struct StatementShape {
    /// All trees, the composition polynomial's last.
    pub(crate) trees: Vec<TreeShape>,
    pub(crate) components: Vec<ComponentShape>,
    pub(crate) constraints: usize,
    /// Slots of challenges.
    pub(crate) challenges: usize,
    pub(crate) log_blowup: u32,
    /// Log of the number of rows of the largest component.
    pub(crate) log_rows: u32,
    /// Log size of the domain that queries are drawn from and quotients are on.
    pub(crate) log_size: u32,
    /// Log of the degree bound of the quotients.
    pub(crate) log_degree: u32,
    /// Folds of the first layer and of each inner layer.
    pub(crate) folds: Vec<u32>,
    /// Number of queries.
    pub(crate) queries: usize,
    /// Words of the coefficients and of the committed values of all columns.
    pub(crate) coefficients: usize,
    pub(crate) values: usize,
    /// Log of the number of blocks; 0 if all values are in memory.
    ///
    /// One block is in memory at a time, or the blocks of this rank.
    pub(crate) log_blocks: u32,
    /// How trees are truncated, if they are.
    pub(crate) truncation: Option<Truncation>,
    /// Words of the values of a block and their gathered neighbours.
    pub(crate) slot_words: usize,
    /// Whether coefficients are on the host.
    pub(crate) on_host: bool,
    /// Which of the provers that make a proof together it is for.
    pub(crate) place: RankPlace,
}

impl StatementShape {
    pub(crate) fn new(
        config: &PcsConfig,
        preprocessed: &[u32],
        components: &[Component],
    ) -> Result<Self, StatementError> {
        config.validate().map_err(StatementError::Config)?;
        let log_blowup = config.fri_config.log_blowup_factor;
        let mut trees = vec![tree(preprocessed.iter().map(|&log_rows| (log_rows, Vec::new()))), TreeShape::default()];
        let mut shapes = Vec::with_capacity(components.len());
        let mut constraints = 0;
        for (index, component) in components.iter().enumerate() {
            let columns = add(index, component, log_blowup, &mut trees)?;
            shapes.push(ComponentShape { columns, first_constraint: constraints });
            constraints += component.air.constraints();
        }
        let log_rows = components.iter().map(|component| component.air.log_rows()).max();
        let log_rows = log_rows.ok_or(StatementError::NoComponent)?;
        trees.push(tree((0..COMPOSITION_COLUMNS).map(|_| (log_rows, vec![0]))));

        let height = |largest: u32| {
            let height = config.lifting_log_size.unwrap_or(largest);
            if largest <= height { Ok(height) } else { Err(StatementError::Lifting { log_size: largest }) }
        };
        let log_size = height(log_rows + log_blowup)?;
        for (index, tree) in trees.iter_mut().enumerate() {
            let Some(largest) = tree.columns.iter().map(|column| column.log_rows).max() else { continue };
            tree.height = height(largest + log_blowup)?;
            if index != Tree::PREPROCESSED.0 as usize && tree.height != log_size {
                return Err(StatementError::Height { tree: index, got: tree.height, expected: log_size });
            }
        }
        let log_degree = log_size - log_blowup;
        let folds = folds(config, log_degree).ok_or(StatementError::Folds { log_degree })?;
        let (coefficients, values) = place(&mut trees, log_blowup);
        let challenges = components.iter().map(|component| component.air.challenges() as usize).max().unwrap_or(0);
        Ok(Self {
            trees,
            components: shapes,
            constraints,
            challenges,
            log_blowup,
            log_rows,
            log_size,
            log_degree,
            folds,
            queries: config.fri_config.n_queries,
            coefficients,
            values,
            log_blocks: 0,
            truncation: None,
            slot_words: values,
            on_host: false,
            place: RankPlace::default(),
        })
    }

    /// What ranks have to have alike to make a proof together.
    pub(crate) fn facts(&self, config: &PcsConfig) -> Vec<u32> {
        let PcsConfig { pow_bits, fri_config, lifting_log_size } = *config;
        let FriConfig { log_blowup_factor, log_last_layer_degree_bound, n_queries, fold_step } = fri_config;
        let config = [pow_bits, log_blowup_factor, n_queries as u32, log_last_layer_degree_bound, fold_step];
        let sizes = [self.log_size, self.constraints as u32, self.challenges as u32, lifting_log_size.unwrap_or(0)];
        let runs = self.trees.iter().flat_map(|tree| tree.runs.iter().flat_map(|run| [run.log_rows, run.columns]));
        config.into_iter().chain(sizes).chain(runs).collect()
    }

    /// Log of the number of subtrees that the ranks hash separately, an equal number each.
    ///
    /// A tree without columns has one.
    pub(crate) const fn log_parts(&self, tree: &TreeShape) -> u32 {
        let log_copies = if self.place.partitioned { self.log_blowup } else { 0 };
        if tree.columns.is_empty() { 0 } else { self.place.log_ranks + log_copies }
    }

    /// Number of blocks of a domain. One is in memory at a time, or the blocks of this rank.
    pub(crate) const fn blocks(&self) -> usize {
        1 << self.log_blocks
    }

    /// Log of the number of values that a column of `2^log_rows` rows has in a block.
    pub(crate) const fn log_block(&self, log_rows: u32) -> u32 {
        log_rows + self.log_blowup - self.log_blocks
    }

    /// Where the values of a column are that lie in a block in memory.
    pub(crate) const fn in_block(&self, column: ColumnAt) -> ColumnAt {
        ColumnAt::new(column.first >> self.log_blocks, column.log_len - self.log_blocks)
    }

    /// Where the values of a run are that lie in a block in memory.
    pub(crate) const fn run_in_block(&self, run: &ColumnRun) -> Range<usize> {
        run.values.start >> self.log_blocks..run.values.end >> self.log_blocks
    }

    /// Words of the values of a block; of all, if all are in memory.
    pub(crate) const fn values_in_block(&self) -> usize {
        self.values >> self.log_blocks
    }

    /// The column that component `index` names.
    pub(crate) fn column(&self, index: usize, component: &Component, source: &MaskSource) -> &ColumnShape {
        match *source {
            MaskSource::Preprocessed { slot } => &self.trees[0].columns[component.preprocessed[slot as usize]],
            MaskSource::Column { tree, column } => {
                let tree = tree.0 as usize;
                &self.trees[tree].columns[self.components[index].columns[tree].start + column as usize]
            }
        }
    }

    /// Trees before the composition polynomial's.
    pub(crate) fn trace_trees(&self) -> usize {
        self.trees.len() - 1
    }

    /// Log size of the largest domain: preprocessed columns may be larger than all others.
    pub(crate) fn largest_domain(&self) -> u32 {
        let columns = self.trees.iter().flat_map(|tree| &tree.columns);
        columns.map(|column| column.values.log_len).fold(self.log_size, u32::max)
    }

    /// The composition polynomial's tree.
    pub(crate) fn composition(&self) -> &TreeShape {
        &self.trees[self.trace_trees()]
    }

    /// Where the committed values in memory of all columns of all trees are.
    pub(crate) fn all_values(&self) -> Vec<ColumnAt> {
        self.trees.iter().flat_map(|tree| &tree.columns).map(|column| self.in_block(column.values)).collect()
    }

    /// Where the coefficients of all columns of all trees are.
    pub(crate) fn all_coefficients(&self) -> Vec<ColumnAt> {
        self.trees.iter().flat_map(|tree| &tree.columns).map(|column| column.coefficients).collect()
    }

    /// Log size of each layer of FRI, and of the last one.
    pub(crate) fn layers(&self) -> Vec<u32> {
        let mut log_size = self.log_size;
        let inner = self.folds.iter().map(|fold| {
            log_size -= fold;
            log_size
        });
        core::iter::once(self.log_size).chain(inner).collect()
    }
}

/// Nodes of a tree of `2^log_leaves` leaves.
pub(crate) const fn nodes(log_leaves: u32) -> usize {
    (2 << log_leaves) - 1
}

fn tree(columns: impl Iterator<Item = (u32, Vec<i32>)>) -> TreeShape {
    let nowhere = ColumnAt::new(0, 0);
    let columns =
        columns.map(|(log_rows, offsets)| ColumnShape { log_rows, offsets, coefficients: nowhere, values: nowhere });
    TreeShape { columns: columns.collect(), ..TreeShape::default() }
}

/// Appends the columns of a component to the trees.
fn add(
    index: usize,
    component: &Component,
    log_blowup: u32,
    trees: &mut Vec<TreeShape>,
) -> Result<Vec<Range<usize>>, StatementError> {
    let air = &component.air;
    let log_rows = air.log_rows();
    let committed = |log_rows: u32| (1..=MAX_LOG_SIZE.saturating_sub(log_blowup)).contains(&log_rows);
    if !committed(log_rows) {
        return Err(StatementError::Rows { log_rows });
    }
    if let Some(column) = trees[0].columns.iter().find(|column| !committed(column.log_rows)) {
        return Err(StatementError::Rows { log_rows: column.log_rows });
    }
    let bound = air.log_degree_bound();
    if bound != log_rows + LOG_COMPOSITION_PARTS {
        return Err(StatementError::Degree { component: index, log_rows, bound });
    }
    let (expected, got) = (air.preprocessed_slots(), component.preprocessed.len());
    if expected as usize != got {
        return Err(StatementError::Slots { component: index, expected, got });
    }
    for &slot in &component.preprocessed {
        match trees[0].columns.get_mut(slot) {
            Some(column) if column.log_rows == log_rows => column.offsets = vec![0],
            _ => return Err(StatementError::Preprocessed { component: index, column: slot }),
        }
    }
    let masks = air.columns();
    if trees.len() < masks.len() {
        trees.resize_with(masks.len(), TreeShape::default);
    }
    let ranges = trees.iter_mut().zip(masks).map(|(shape, masks)| {
        let first = shape.columns.len();
        let added = tree(masks.iter().map(|offsets| (log_rows, offsets.clone())));
        shape.columns.extend(added.columns);
        first..shape.columns.len()
    });
    Ok(ranges.collect())
}

/// Assigns every column its place, tree by tree and size by size.
///
/// Returns the words of all coefficients and of all values. Both parts of a coordinate of the
/// composition polynomial follow each other, so that they are interpolated as one column.
fn place(trees: &mut [TreeShape], log_blowup: u32) -> (usize, usize) {
    let (mut coefficients, mut values) = (0, 0);
    let composition = trees.len() - 1;
    for (index, tree) in trees.iter_mut().enumerate() {
        let mut order: Vec<usize> = (0..tree.columns.len()).collect();
        if index == composition {
            let parts = tree.columns.len() / 2;
            order = (0..parts).flat_map(|coordinate| [coordinate, coordinate + parts]).collect();
        }
        order.sort_by_key(|&column| tree.columns[column].log_rows);
        for column in order {
            let column = &mut tree.columns[column];
            let log_rows = column.log_rows;
            let start = (coefficients, values);
            column.coefficients = ColumnAt::new(coefficients as u64, log_rows);
            column.values = ColumnAt::new(values as u64, log_rows + log_blowup);
            coefficients += 1 << log_rows;
            values += 1 << (log_rows + log_blowup);
            match tree.runs.last_mut() {
                Some(run) if run.log_rows == log_rows => {
                    run.columns += 1;
                    (run.coefficients.end, run.values.end) = (coefficients, values);
                }
                _ => tree.runs.push(ColumnRun {
                    log_rows,
                    columns: 1,
                    coefficients: start.0..coefficients,
                    values: start.1..values,
                    own_coefficients: 0..0,
                }),
            }
        }
    }
    (coefficients, values)
}

/// Folds of each layer from `2^log_degree` to the last layer.
///
/// They are whole steps, then the remainder.
fn folds(config: &PcsConfig, log_degree: u32) -> Option<Vec<u32>> {
    let step = config.fri_config.fold_step;
    let mut left = log_degree.checked_sub(step)?.checked_sub(config.fri_config.log_last_layer_degree_bound)?;
    let mut folds = vec![step];
    while left > 0 {
        folds.push(step.min(left));
        left -= step.min(left);
    }
    Some(folds)
}
