//! The shape of a statement: the trees, columns, sample points and layers of its proofs.
//!
//! A column of `2^n` rows has `2^(n+b)` committed values, where `b` is the log blowup. Quotients
//! have `2^log_size` values and the log degree `log_size - b`. The folds of all layers sum to
//! `log_degree - log_last`, each `fold_step` but the last, which takes the rest.

use alloc::{vec, vec::Vec};
use core::{fmt, ops::Range};

use core_types::air::Tree;

use crate::{
    statement::{
        census::MOST_TREES,
        component::Component,
        config::{ConfigError, MAX_LOG_SIZE, PcsConfig},
        protocol::Protocol,
    },
    transcript::digest::Digest,
};

/// Log of the number of parts that the composition polynomial is committed in.
const LOG_COMPOSITION_PARTS: u32 = 1;

/// Columns of the composition polynomial: the four coordinates of each part.
const COMPOSITION_COLUMNS: usize = 4 << LOG_COMPOSITION_PARTS;

/// The columns that belong to a statement, not to a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preprocessed {
    /// Root of their tree. A proof with another one proves another statement.
    pub root: Digest,
    /// Log of the number of rows of each.
    pub log_rows: Vec<u32>,
}

impl Default for Preprocessed {
    /// No columns.
    fn default() -> Self {
        Self { root: Digest::of_nothing(), log_rows: Vec::new() }
    }
}

/// A column of a tree.
#[derive(Debug)]
pub(crate) struct ColumnShape {
    /// Log of the number of committed values.
    pub(crate) log_size: u32,
    /// Rows around the out-of-domain point at which it is sampled.
    pub(crate) offsets: Vec<i32>,
}

/// A tree.
#[derive(Debug, Default)]
pub(crate) struct TreeShape {
    pub(crate) columns: Vec<ColumnShape>,
    /// Log of the number of leaves, none without columns.
    pub(crate) height: Option<u32>,
}

/// The columns of a component.
#[derive(Debug)]
pub(crate) struct ComponentShape {
    /// Its columns in each tree, none of them in the preprocessed one.
    pub(crate) columns: Vec<Range<usize>>,
    /// The number of challenges that it reads.
    pub(crate) challenges: usize,
}

/// The shape of a statement.
#[derive(Debug)]
pub(crate) struct StatementShape {
    /// All trees, the composition polynomial's last.
    pub(crate) trees: Vec<TreeShape>,
    pub(crate) components: Vec<ComponentShape>,
    /// Log size of the domain that queries are drawn from and quotients are on.
    pub(crate) log_size: u32,
    /// Log of the degree bound of the quotients.
    pub(crate) log_degree: u32,
    /// Folds of the first layer and of each inner layer.
    pub(crate) folds: Vec<u32>,
}

impl StatementShape {
    pub(crate) fn new(
        protocol: Protocol,
        config: &PcsConfig,
        preprocessed: &Preprocessed,
        components: &[Component<'_>],
    ) -> Result<Self, StatementError> {
        // Parameters are in range, and every column has a domain.
        config.validate().map_err(StatementError::Config)?;
        let blowup = config.fri_config.log_blowup_factor;
        let committed = |log_rows: u32| match log_rows.checked_add(blowup) {
            Some(log_size) if log_rows > 0 && log_size <= MAX_LOG_SIZE => Ok(log_size),
            _ => Err(StatementError::Rows { log_rows }),
        };
        // Trees: the preprocessed columns, then the columns of each component.
        let mut fixed = TreeShape::default();
        for &log_rows in &preprocessed.log_rows {
            fixed.columns.push(ColumnShape { log_size: committed(log_rows)?, offsets: Vec::new() });
        }
        let mut trees = vec![fixed, TreeShape::default()];
        let mut shapes = Vec::with_capacity(components.len());
        for (index, component) in components.iter().enumerate() {
            let log_rows = component.log_rows();
            let log_size = committed(log_rows)?;
            let bound = component.log_degree_bound();
            if bound != log_rows + LOG_COMPOSITION_PARTS {
                return Err(StatementError::Degree { component: index, log_rows, bound });
            }
            shapes.push(add(index, component, log_size, &mut trees)?);
        }
        // Each part of the composition polynomial is as high as the largest component.
        let log_rows = components.iter().map(Component::log_rows).max().ok_or(StatementError::NoComponent)?;
        let log_size = committed(log_rows)?;
        let log_size = protocol.height(config, log_size).ok_or(StatementError::Lifting { log_size })?;
        trees.push(composition(log_size));
        // All trees but the preprocessed one have the height of the composition.
        for (index, tree) in trees.iter_mut().enumerate() {
            let Some(largest) = tree.columns.iter().map(|column| column.log_size).max() else { continue };
            let height = protocol.height(config, largest).ok_or(StatementError::Lifting { log_size: largest })?;
            if index != Tree::PREPROCESSED.0 as usize && height != log_size {
                return Err(StatementError::Height { tree: index, got: height, expected: log_size });
            }
            tree.height = Some(height);
        }
        // The folds lead from the degree of the quotients to the last layer.
        let log_degree = log_size - blowup;
        let folds = folds(config, log_degree).ok_or(StatementError::Folds { log_degree })?;
        Ok(Self { trees, components: shapes, log_size, log_degree, folds })
    }

    /// Trees before the composition polynomial's.
    pub(crate) fn trace_trees(&self) -> usize {
        self.trees.len() - 1
    }
}

/// The tree of the composition polynomial.
///
/// Its parts are assumed to be as high as the domain of the queries.
fn composition(log_size: u32) -> TreeShape {
    let column = || ColumnShape { log_size, offsets: vec![0] };
    TreeShape { columns: (0..COMPOSITION_COLUMNS).map(|_| column()).collect(), height: None }
}

/// Appends the columns of a component to the trees.
fn add(
    index: usize,
    component: &Component<'_>,
    log_size: u32,
    trees: &mut Vec<TreeShape>,
) -> Result<ComponentShape, StatementError> {
    // The AIR reads only trees and slots that a proof has.
    let census = component.census();
    if census.preprocessed_mask {
        return Err(StatementError::PreprocessedMask { component: index });
    }
    if let Some(Tree(tree)) = census.no_tree {
        return Err(StatementError::Tree { component: index, tree });
    }
    let slots = component.preprocessed();
    if census.preprocessed as usize != slots.len() {
        return Err(StatementError::Slots { component: index, expected: census.preprocessed, got: slots.len() });
    }
    // Its preprocessed columns have its height and are sampled at the point.
    for &slot in slots {
        match trees[0].columns.get_mut(slot) {
            Some(column) if column.log_size == log_size => column.offsets = vec![0],
            _ => return Err(StatementError::Preprocessed { component: index, column: slot }),
        }
    }
    // Its columns follow the columns of earlier components in each tree.
    if trees.len() < census.masks.len() {
        trees.resize_with(census.masks.len(), TreeShape::default);
    }
    let mut columns = Vec::with_capacity(census.masks.len());
    for (tree, masks) in trees.iter_mut().zip(census.masks) {
        let first = tree.columns.len();
        let mut taken = 0;
        for offsets in masks {
            tree.columns.push(ColumnShape { log_size, offsets });
            taken += 1;
        }
        columns.push(first..first + taken);
    }
    Ok(ComponentShape { columns, challenges: census.challenges as usize })
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

/// Why there are no proofs of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementError {
    /// A parameter is out of its range.
    Config(ConfigError),
    /// No domain has this number of rows, or this number times the blowup factor.
    Rows {
        /// Log of the number of rows.
        log_rows: u32,
    },
    /// There is no component.
    NoComponent,
    /// A component has a degree bound that is not twice its number of rows.
    ///
    /// Only with that bound does stwo 2.3 sample the composition polynomial and the columns at
    /// points that belong together.
    Degree {
        /// The component.
        component: usize,
        /// Log of its number of rows.
        log_rows: u32,
        /// Log of its degree bound.
        bound: u32,
    },
    /// A component asks for a mask of the preprocessed columns, which are read by slot.
    PreprocessedMask {
        /// The component.
        component: usize,
    },
    /// A component reads a tree beyond those that a proof has.
    Tree {
        /// The component.
        component: usize,
        /// The tree.
        tree: u32,
    },
    /// A component reads another number of slots than it has preprocessed columns.
    Slots {
        /// The component.
        component: usize,
        /// Slots that it reads.
        expected: u32,
        /// Columns that it has.
        got: usize,
    },
    /// A preprocessed column of a component is not there, or not of its height.
    Preprocessed {
        /// The component.
        component: usize,
        /// The column.
        column: usize,
    },
    /// A column is larger than the lifting size.
    Lifting {
        /// Its log size.
        log_size: u32,
    },
    /// A tree and the composition polynomial have different heights.
    ///
    /// The parameters need a lifting size.
    Height {
        /// The tree.
        tree: usize,
        /// Its height.
        got: u32,
        /// The height of the composition polynomial.
        expected: u32,
    },
    /// The degree is too low for one fold and the last layer.
    Folds {
        /// Log of the degree bound of the quotients.
        log_degree: u32,
    },
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(_) => write!(f, "a parameter is out of its range"),
            Self::Rows { log_rows } => write!(f, "no domain for 2^{log_rows} rows"),
            Self::NoComponent => write!(f, "expected at least one component, got none"),
            Self::Degree { component, log_rows, bound } => {
                write!(
                    f,
                    "component {component} has 2^{log_rows} rows and a degree bound of 2^{bound}, expected twice the rows"
                )
            }
            Self::PreprocessedMask { component } => {
                write!(f, "component {component} reads preprocessed columns by `mask`; read them by slot")
            }
            Self::Tree { component, tree } => {
                write!(f, "component {component} reads tree {tree}, expected one below {MOST_TREES}")
            }
            Self::Slots { component, expected, got } => {
                write!(f, "component {component} reads {expected} preprocessed columns, got {got}")
            }
            Self::Preprocessed { component, column } => {
                write!(f, "preprocessed column {column} of component {component} is missing or has a different height")
            }
            Self::Lifting { log_size } => write!(f, "a column of log size {log_size} is above the lifting size"),
            Self::Height { tree, got, expected } => {
                write!(f, "tree {tree} has height {got}, the composition polynomial {expected}: set a lifting size")
            }
            Self::Folds { log_degree } => {
                write!(f, "a log degree of {log_degree} is below the fold step plus the last layer's log degree bound")
            }
        }
    }
}

impl core::error::Error for StatementError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            _ => None,
        }
    }
}
