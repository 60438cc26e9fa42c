//! Values of a tree gathered around the queries, on the host.
//!
//! A query at position `p` opens leaf `j`, which is `p` lifted to the height `h` of the tree. A
//! column of `2^l` values has value `((j >> (h-l+1)) << 1) + (j & 1)` in leaf `j` (stwo 2.3,
//! `core/vcs_lifted`).

use core_types::{
    air::lifted,
    blake2s::{BLOCK_BYTES, BLOCK_WORDS, Digest, START, compress, node},
    field::{M31, QM31},
};

use crate::plan::shape::{StatementShape, TreeShape};

/// Where a column is among what was gathered.
struct GatheredColumn {
    /// Log of its committed values.
    log_len: u32,
    /// Its first value within a block, or the first group of its four gathered columns.
    first: usize,
    /// Which of the four columns it is.
    plane: usize,
    /// Log of the values of a group.
    log_group: u32,
}

/// The values of a tree's columns around the queries.
pub(crate) struct OpenedColumns<'a> {
    shape: &'a StatementShape,
    tree: &'a TreeShape,
    elements: &'a [M31],
    groups: &'a [QM31],
    columns: Vec<GatheredColumn>,
    /// The columns, the smallest first, as the leaves take them.
    in_leaves: Vec<usize>,
}

impl<'a> OpenedColumns<'a> {
    /// Of `elements` where all levels of the tree are kept, and else of `groups`.
    pub(crate) fn new(shape: &'a StatementShape, tree: &'a TreeShape, elements: &'a [M31], groups: &'a [QM31]) -> Self {
        let columns = tree.columns.iter().enumerate().map(|(index, column)| {
            let log_len = column.values.log_len;
            let mut place = GatheredColumn { log_len, first: index * shape.queries, plane: 0, log_group: 0 };
            if tree.truncated > 0 {
                place.first = 0;
                for run in &tree.runs {
                    place.log_group = shape.log_group(tree, run);
                    let words = column.values.first as usize;
                    if run.values.contains(&words) {
                        let (chunk, plane) = run.chunk_of((words - run.values.start) >> log_len);
                        place.plane = plane;
                        place.first += (chunk * shape.queries) << place.log_group;
                        break;
                    }
                    place.first += (run.chunks() * shape.queries) << place.log_group;
                }
            }
            place
        });
        let mut in_leaves: Vec<usize> = (0..tree.columns.len()).collect();
        in_leaves.sort_by_key(|&column| tree.columns[column].values.log_len);
        Self { shape, tree, elements, groups, columns: columns.collect(), in_leaves }
    }

    /// The value of a column at a query, which is at `position`.
    pub(crate) fn value(&self, column: usize, position: u32, query: usize) -> M31 {
        self.value_at(column, self.leaf(position), position, query)
    }

    /// The leaf that a position belongs to.
    pub(crate) const fn leaf(&self, position: u32) -> u32 {
        lifted(position, self.shape.log_size, self.tree.height)
    }

    /// The value of a column at a leaf around a query.
    fn value_at(&self, column: usize, leaf: u32, position: u32, query: usize) -> M31 {
        let GatheredColumn { log_len, first, plane, log_group } = self.columns[column];
        let (shape, tree) = (self.shape, self.tree);
        let block = (position >> (shape.log_size - shape.log_blocks)) as usize;
        if tree.truncated == 0 {
            return self.elements[block * tree.columns.len() * shape.queries + first + query];
        }
        let row = lifted(leaf, tree.height, log_len) as usize & ((1 << log_group) - 1);
        let first = block * shape.grouped_values(tree) * shape.queries + first;
        self.groups[first + (query << log_group) + row].coordinates()[plane]
    }

    /// Returns the sibling digest on the path of a query at a level that is not stored.
    pub(crate) fn beside(&self, position: u32, query: usize, level: u32) -> Digest {
        let first = (self.leaf(position) >> level ^ 1) << level;
        let hash = |leaf| {
            let words = self.in_leaves.iter().map(|&column| self.value_at(column, leaf, position, query).word());
            digest(&words.collect::<Vec<_>>())
        };
        let mut nodes: Vec<Digest> = (first..first + (1 << level)).map(hash).collect();
        while nodes.len() > 1 {
            nodes = nodes.as_chunks().0.iter().map(|&[left, right]| node(left, right)).collect();
        }
        nodes[0]
    }
}

/// The digest of a leaf of some words.
fn digest(words: &[u32]) -> Digest {
    let (last, mut chain) = (words.len().saturating_sub(1) / BLOCK_WORDS, START);
    for (index, words) in words.chunks(BLOCK_WORDS).enumerate() {
        let mut block = [0; BLOCK_WORDS];
        block[..words.len()].copy_from_slice(words);
        let bytes = index as u64 * BLOCK_BYTES + 4 * words.len() as u64;
        chain = compress(chain, &block, bytes, index == last);
    }
    Digest(chain)
}
