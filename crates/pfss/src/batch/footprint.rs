//! What a job takes of device memory: a function of its gate, its public points and its number of elements.

use crate::{
    Gate, GateKind, Task,
    bundle::LANES,
    gate::Tree,
    gates::POINTS_AT_ONCE,
    predicate::Program,
    suf::{CoeffMode, PredProgram, Selection, SufProgram},
};

use super::Work;

/// Device allocators give whole granules.
const GRANULE_BYTES: u64 = 512;
/// What an allocator may lose to alignment in front of a buffer.
const SLACK_BYTES: u64 = 64;

/// The trees of a gate, each with the number of its points.
#[derive(Debug)]
pub(super) struct Footprint {
    trees: Vec<(Tree, u64)>,
    /// Whether points are walked a few at a time.
    blocks: bool,
    aes: u64,
}

impl Footprint {
    pub(super) fn of(gate: &Gate, work: &Work<'_>) -> Self {
        let points = points(gate, work);
        let trees: Vec<_> = gate.trees().into_iter().zip(points).collect();
        let aes = match gate.program() {
            Some(_) => gate.cost().aes,
            None => trees.iter().map(|(tree, points)| points * tree.aes_per_point()).sum(),
        };
        Self { trees, blocks: gate.kind() == GateKind::Lut, aes }
    }

    /// AES blocks for one element: analytic, not counted.
    pub(super) fn aes(&self) -> u64 {
        self.aes
    }

    /// Bytes of the keys of `count` elements, rounded up buffer by buffer.
    pub(super) fn keys(&self, count: usize) -> u64 {
        let padded = padded(count);
        let tree = |(tree, _): &(Tree, u64)| {
            let rows = tree.rows();
            let blocks = [rows.root.max(1), rows.cw, rows.leaf].map(|rows| granules(16 * rows * padded));
            let words = [rows.vcw, rows.last].map(|rows| granules(8 * rows * padded));
            blocks.iter().chain(&words).sum::<u64>()
        };
        self.trees.iter().map(tree).sum()
    }

    /// Bytes of the masked inputs as points, of the result and of all that lies between, for `count` elements: those of
    /// the tree that takes most, as trees are walked one after the other.
    pub(super) fn scratch(&self, count: usize) -> u64 {
        let elements = count as u64;
        let tree = |&(tree, points): &(Tree, u64)| {
            let points =
                if self.blocks { points.min((POINTS_AT_ONCE as u64 / elements.max(1)).max(1)) } else { points };
            granules(8 * points * elements) + granules(result_bytes(tree, points, count))
        };
        self.trees.iter().map(tree).max().unwrap_or(0)
    }

    /// Bytes of all points of `count` elements.
    pub(super) fn points(&self, count: usize) -> u64 {
        self.trees.iter().map(|(_, points)| 8 * points * count as u64).sum()
    }

    /// Bytes of all results of `count` elements.
    pub(super) fn results(&self, count: usize) -> u64 {
        self.trees.iter().map(|&(tree, points)| result_bytes(tree, points, count)).sum()
    }

    /// Bytes for `count` elements at once.
    pub(super) fn total(&self, count: usize) -> u64 {
        self.keys(count) + self.scratch(count)
    }

    /// The most elements, a multiple of 32, that take at most `bytes`; `None` if 32 take more.
    pub(super) fn fitting(&self, bytes: u64, most: usize) -> Option<usize> {
        let lanes = LANES as usize;
        let (mut fits, mut fails) = (0, most.div_ceil(lanes) + 1);
        while fits + 1 < fails {
            let middle = fits.midpoint(fails);
            if self.total(middle * lanes) <= bytes { fits = middle } else { fails = middle }
        }
        if fits == 0 { None } else { Some(fits * lanes) }
    }
}

/// Bytes of a walk's results: bits of comparison keys, words of payload keys.
fn result_bytes(tree: Tree, points: u64, count: usize) -> u64 {
    match tree {
        Tree::Cmp { .. } => 4 * points * padded(count) / LANES,
        Tree::Dcf { words, .. } => 8 * points * u64::from(words) * count as u64,
    }
}

/// Points of each tree.
fn points(gate: &Gate, work: &Work<'_>) -> Vec<u64> {
    let trees = gate.trees().len();
    match (work.task(), gate.program()) {
        (_, Some(program)) => suf_points(program),
        (Some(Task::Predicates(predicates)), _) => {
            let asked = Program::new(gate, predicates).map_or(0, |program| program.offsets().len());
            vec![asked as u64; trees]
        }
        _ if gate.kind() == GateKind::Lut => vec![1 << gate.n(); trees],
        _ => vec![1; trees],
    }
}

/// As the evaluation of descriptors walks them: those of the classes, then those of the coefficients.
fn suf_points(program: &SufProgram) -> Vec<u64> {
    let mut points = Vec::new();
    for class in program.classes() {
        match program.modes().preds {
            PredProgram::SharedAlpha => points.push(class.thresholds.len() as u64),
            PredProgram::StepDcf => points.extend(class.thresholds.iter().map(|_| 1)),
        }
    }
    let payload = match program.selection() {
        Selection::By(CoeffMode::StepDcf) => 1,
        _ => program.payload_offsets().len() as u64,
    };
    points.extend(vec![payload; program.payload_keys()]);
    points
}

fn padded(count: usize) -> u64 {
    (count as u64).next_multiple_of(LANES)
}

fn granules(bytes: u64) -> u64 {
    (bytes + SLACK_BYTES).next_multiple_of(GRANULE_BYTES)
}
