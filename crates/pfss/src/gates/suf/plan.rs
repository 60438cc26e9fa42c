//! The planned evaluation of a descriptor.
//!
//! It has the points of each tree, and the sums before and after each exchange.

use core::slice;
use std::sync::Arc;

use core_types::params::share::WordTerm;

use super::{
    super::{
        shares::sums::BundleSums,
        walk::comparison::{BitSums, Comparison},
    },
    coeffs::{self, Reached},
};
use crate::{
    Gate, Ring,
    answers::ComparisonProgram,
    suf::{CoeffMode, CoefficientSelection, PredProgram, StepClass, SufProgram},
    tree::{KeyTree, cluster::TreePoints},
};

/// The plan of a descriptor's evaluation.
#[derive(Debug)]
pub(crate) struct SufPlan {
    pub(super) program: Arc<SufProgram>,
    /// The classes of the program, in their order.
    pub(super) classes: Vec<ClassPlan>,
    /// Where the payload key is evaluated.
    pub(super) payload: Option<TreePoints>,
    pub(super) words: WordsPlan,
    /// Output bits from the payload key.
    pub(super) steps: Option<BundleSums>,
    /// Words from opened selectors.
    pub(super) selected: Option<BundleSums>,
    /// Output bits from opened bits.
    pub(super) opened_bits: BundleSums,
}

/// How the step functions of a class are evaluated.
#[derive(Debug)]
pub(super) enum ClassPlan {
    /// From one key of the mask.
    Shared(Comparison),
    /// From a key for each hidden threshold, at the masked input.
    Hidden { at_input: TreePoints, sums: BitSums },
}

/// Output words before the first exchange.
#[derive(Debug)]
pub(super) enum WordsPlan {
    /// There are none, or they come after it.
    Nothing,
    /// Public polynomials of shared powers.
    OnePiece(BundleSums),
    /// Sums over the payload key's shares.
    Payload(BundleSums),
    /// The sums of each piece, over the shares of its key at the masked input.
    Hidden(TreePoints, Vec<BundleSums>),
}

impl SufPlan {
    /// Plans `gate`, which is the descriptor of `program`.
    pub(crate) fn new(gate: &Gate, program: &Arc<SufProgram>) -> Self {
        let program = Arc::clone(program);
        let (ring, rows) = (program.desc().ring(), program.rows());
        // Where the payload key is evaluated.
        let tree = KeyTree::Dcf { bits: program.domain().bits(), words: program.payload_words() };
        let hidden = program.selection() == CoefficientSelection::By(CoeffMode::StepDcf);
        let offsets = program.payload_offsets();
        let payload = (!hidden && program.payload_words() > 0).then(|| TreePoints::new(tree, &offsets));
        let reached = payload.as_ref().map(|points| Reached { gate, program: &program, offsets: &offsets, points });
        // Output words before the first exchange, by the way of selecting pieces.
        let words = match (program.selection(), &reached) {
            (CoefficientSelection::By(CoeffMode::MaskedSelect), _) => WordsPlan::Nothing, // after the first exchange
            (CoefficientSelection::By(CoeffMode::StepDcf), _) => {
                let base_row = 1 + rows.powers + rows.products;
                WordsPlan::Hidden(TreePoints::new(tree, &[0]), coeffs::hidden_pieces(gate, &program, base_row))
            }
            (CoefficientSelection::By(CoeffMode::IntervalLut), Some(reached)) => WordsPlan::Payload(reached.words()),
            (CoefficientSelection::None, _) if program.desc().words().is_empty() => WordsPlan::Nothing,
            // one piece
            _ => WordsPlan::OnePiece(coeffs::words(gate, &program, |_, _| Vec::new())),
        };
        // Output bits before the first exchange.
        let has_bools = program.local_bools() && !program.desc().bools().is_empty();
        let steps = reached.filter(|_| has_bools).map(|reached| reached.steps());
        // Sums after an exchange, over opened selectors and output bits.
        let powers = program.desc().degree() as usize + 1;
        let product = |i: usize, j: usize| 1 + rows.powers + i * powers + j;
        let selected =
            (rows.selectors > 0).then(|| coeffs::words(gate, &program, |i, j| coeffs::selected(i, j, product(i, j))));
        let opened_bits = opened_bits(&program, ring);
        let classes = program.classes().iter().map(|class| ClassPlan::new(&program, class)).collect();
        Self { classes, payload, words, steps, selected, opened_bits, program }
    }

    /// The points at which each tree is evaluated, in the order of the trees.
    pub(crate) fn points(&self) -> Vec<&TreePoints> {
        let mut points = Vec::new();
        for (plan, class) in self.classes.iter().zip(self.program.classes()) {
            match plan {
                ClassPlan::Shared(comparison) => points.push(comparison.points()),
                ClassPlan::Hidden { at_input, .. } => points.extend(class.thresholds.iter().map(|_| at_input)),
            }
        }
        match (&self.payload, &self.words) {
            (Some(payload), _) => points.push(payload),
            (None, WordsPlan::Hidden(at_input, pieces)) => points.extend(pieces.iter().map(|_| at_input)),
            (None, _) => {}
        }
        points
    }

    /// The lists of all sums of the walk, sums of words first.
    pub(crate) fn lists(&self) -> Vec<&[u64]> {
        let words: &[BundleSums] = match &self.words {
            WordsPlan::Nothing => &[],
            WordsPlan::OnePiece(sums) | WordsPlan::Payload(sums) => slice::from_ref(sums),
            WordsPlan::Hidden(_, pieces) => pieces,
        };
        let words = words.iter().chain(&self.steps).map(BundleSums::list);
        words.chain(self.bit_sums().map(|(sums, _)| sums.list())).collect()
    }

    /// The sums of bits of each class, and the rows that they are over.
    pub(crate) fn bit_sums(&self) -> impl Iterator<Item = (&BitSums, usize)> {
        self.classes.iter().zip(self.program.classes()).map(|(plan, class)| match plan {
            ClassPlan::Shared(comparison) => comparison.over(),
            ClassPlan::Hidden { sums, .. } => (sums, class.thresholds.len()),
        })
    }

    /// Whether words are summed in the walk.
    pub(crate) fn sums_words(&self) -> bool {
        !matches!(self.words, WordsPlan::Nothing) || self.steps.is_some()
    }
}

impl ClassPlan {
    fn new(program: &SufProgram, class: &StepClass) -> Self {
        let plan = program.class_program(class);
        match program.modes().preds {
            PredProgram::SharedAlpha => Self::Shared(Comparison::new(&plan)),
            PredProgram::StepDcf => {
                let at_input = ComparisonProgram::carry(plan.domain(), program.desc().ring());
                let order: Vec<usize> = (0..plan.offsets().len()).collect();
                Self::Hidden {
                    at_input: TreePoints::new(KeyTree::Cmp { bits: class.bits }, at_input.offsets()),
                    sums: BitSums::new(plan.sums(&order)),
                }
            }
        }
    }
}

/// Sums of additive shares of output bits from the last opened rows, `[elements][bits]`.
///
/// Selectors of the same round come before these rows.
fn opened_bits(program: &SufProgram, ring: Ring) -> BundleSums {
    let rows = program.rows();
    let first = if program.bools().rounds.is_empty() { rows.selectors } else { 0 };
    let mask = 1 + rows.powers + rows.products + rows.base;
    let bit = |bit: usize| [WordTerm::bit((first + bit) as u32, (mask + bit) as u32)];
    (0..rows.bools).fold(BundleSums::new(ring, ring).interleaved(), |sums, at| sums.sum(bit(at)))
}
