//! What a job takes of device memory: a function of its gate, its public points and its number of elements.

use core_types::{Ring, cmp::cmp_blocks};

use crate::{
    Gate, GateKind, Task,
    bundle::LANES,
    cluster::Clusters,
    gate::Tree,
    gates::elements_at_once,
    predicate::Program,
    suf::{CoeffMode, PredProgram, Selection, SufProgram},
    wire::PACKED_AT_ONCE,
};

use super::{
    Work,
    bytes::{granules, padded},
    combining::Combining,
};

/// The trees of a gate, each with what it is asked.
#[derive(Debug)]
pub(super) struct Footprint {
    trees: Vec<(Tree, Asked)>,
    /// What turns the shares of each tree into what leaves the device.
    walking: Combining,
    /// What turns opened bits into shares.
    closing: Combining,
    /// Bytes for packing what the whole job opens besides bits.
    packing: u64,
    aes: u64,
}

/// Where a tree is evaluated.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// At so many public points.
    Points(u64),
    /// At every point of so many bits, for a few elements at a time.
    All(u32),
}

impl Footprint {
    pub(super) fn of(gate: &Gate, work: &Work<'_>, count: usize) -> Self {
        if gate.kind() == GateKind::Lut {
            let packing = packing_bytes(gate.out_ring(), count);
            let trees = gate.trees().into_iter().map(|tree| (tree, Asked::All(gate.n()))).collect();
            let (walking, closing) = (Combining::default(), Combining::closing(gate));
            return Self { trees, walking, closing, packing, aes: gate.cost().aes };
        }
        let (points, aes) = points(gate, work);
        let trees = gate.trees().into_iter().zip(points.into_iter().map(Asked::Points)).collect();
        Self { trees, walking: Combining::walking(gate, work), closing: Combining::closing(gate), packing: 0, aes }
    }

    /// AES blocks for one element: analytic, not counted.
    pub(super) fn aes(&self) -> u64 {
        self.aes
    }

    /// Bytes of the keys of `count` elements, rounded up buffer by buffer.
    pub(super) fn keys(&self, count: usize) -> u64 {
        let padded = padded(count);
        let tree = |(tree, _): &(Tree, Asked)| {
            let rows = tree.rows();
            let blocks = [rows.root.max(1), rows.cw, rows.leaf].map(|rows| granules(16 * rows * padded));
            let words = [rows.vcw, rows.last].map(|rows| granules(8 * rows * padded));
            blocks.iter().chain(&words).sum::<u64>()
        };
        self.trees.iter().map(tree).sum()
    }

    /// Bytes of the masked inputs and offsets, of the result and of all that lies between, for `count` elements: those of
    /// the tree that takes most, as trees are walked one after the other.
    pub(super) fn scratch(&self, count: usize) -> u64 {
        let combined = self.walking.bytes(count);
        let tree = |&(tree, asked): &(Tree, Asked)| match asked {
            Asked::Points(points) => {
                let placed = granules(8 * count as u64) + granules(8 * points);
                granules(asked.result_bytes(tree, count)) + placed.max(combined)
            }
            Asked::All(bits) => granules(asked.result_bytes(tree, count.min(elements_at_once(bits)))),
        };
        self.trees.iter().map(tree).max().unwrap_or(combined)
    }

    /// Bytes that say where `count` elements are evaluated: masked inputs and offsets, for each tree.
    pub(super) fn points(&self, count: usize) -> u64 {
        let bytes = |(_, asked): &(Tree, Asked)| match asked {
            Asked::Points(points) => 8 * (count as u64 + points),
            Asked::All(_) => 0, // those of a whole tree need not be told
        };
        self.trees.iter().map(bytes).sum()
    }

    /// Bytes of all results of `count` elements.
    pub(super) fn results(&self, count: usize) -> u64 {
        self.trees.iter().map(|&(tree, asked)| asked.result_bytes(tree, count)).sum()
    }

    /// Bytes for `count` elements at once: while trees are walked, or after that, when the keys are gone.
    pub(super) fn total(&self, count: usize) -> u64 {
        let walked = self.keys(count) + self.scratch(count);
        walked.max(self.closing.bytes(count.min(self.closing.at_once()))).max(self.packing)
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

impl Asked {
    /// Bytes of the results for `count` elements: bits of comparison keys, words of payload keys.
    fn result_bytes(self, tree: Tree, count: usize) -> u64 {
        match (self, tree) {
            (Self::All(bits), _) => 16 * cmp_blocks(bits) * count as u64,
            (Self::Points(points), Tree::Cmp { .. }) => 4 * points * padded(count) / LANES,
            (Self::Points(points), Tree::Dcf { words, .. }) => 8 * points * u64::from(words) * count as u64,
        }
    }
}

/// Points of each tree, and the AES blocks that they take together.
fn points(gate: &Gate, work: &Work<'_>) -> (Vec<u64>, u64) {
    let trees = gate.trees();
    match (work.task(), gate.program()) {
        (_, Some(program)) => (suf_points(program), gate.cost().aes),
        (Some(Task::Predicates(predicates)), _) => {
            let program = Program::new(gate, predicates);
            let offsets = program.as_ref().map_or(&[][..], Program::offsets);
            let aes = trees.iter().map(|&tree| Clusters::new(tree, offsets).aes()).sum();
            (vec![offsets.len() as u64; trees.len()], aes)
        }
        _ => (vec![1; trees.len()], gate.cost().aes),
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

/// Bytes for packing a word of each of `count` elements, some at a time.
fn packing_bytes(ring: Ring, count: usize) -> u64 {
    let words = count.min(PACKED_AT_ONCE) as u64;
    // words of all 64 bits are sent as they are
    if ring.bits() == 64 { 0 } else { granules(8 * words) + granules((words * u64::from(ring.bits())).div_ceil(8)) }
}
