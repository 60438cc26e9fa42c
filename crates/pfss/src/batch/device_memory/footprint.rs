//! The device memory of a job.
//!
//! It is a function of the gate, its public points and its number of elements.

use core_types::cmp::cmp_blocks;

use super::{
    bytes::{granules, padded},
    combining::Combining,
};
use crate::{
    Gate,
    gates::{plan::TaskPlan, tasks::table::elements_at_once, walk::comparison::Comparison},
    lanes::LANES,
    tree::{KeyTree, cluster::TreePoints},
};

/// The trees of a gate, each with the points at which it is evaluated.
#[derive(Debug)]
pub(in crate::batch) struct Footprint {
    trees: Vec<(KeyTree, Asked)>,
    /// What turns the shares of each tree into what leaves the device.
    walking: Combining,
    /// What turns opened bits into shares.
    closing: Combining,
    aes: u64,
}

/// Where a tree is evaluated.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// At this number of public points.
    Points(u64),
    /// At every point of a domain of this many bits, for a few elements at a time.
    All(u32),
}

/// Bytes after the entries of a small table, for whole vectors.
const TABLE_END_BYTES: u64 = 512;

impl Footprint {
    pub(in crate::batch) fn of(gate: &Gate, plan: &TaskPlan) -> Self {
        let at = |points: &TreePoints| Asked::Points(points.offsets().len() as u64);
        let (asked, aes): (Vec<Asked>, _) = match plan {
            TaskPlan::Look(_) => (vec![Asked::All(gate.n())], gate.cost().aes),
            TaskPlan::Compare(_) | TaskPlan::Bits(_) => {
                let points = plan.comparisons().iter().map(Comparison::points);
                let aes = points.clone().map(TreePoints::aes).sum();
                (points.map(at).collect(), aes)
            }
            TaskPlan::Payload(plan) => (vec![at(plan.points())], plan.points().aes()),
            TaskPlan::Product => (Vec::new(), 0),
            TaskPlan::Suf(plan) => (plan.points().into_iter().map(at).collect(), gate.cost().aes),
        };
        let points = asked.iter().map(|asked| if let Asked::Points(points) = asked { *points } else { 0 }).sum();
        let trees = gate.trees().into_iter().zip(asked).collect();
        Self { trees, walking: Combining::walking(gate, plan, points), closing: Combining::closing(gate), aes }
    }

    /// AES blocks for one element: analytic, not counted.
    pub(in crate::batch) fn aes(&self) -> u64 {
        self.aes
    }

    /// Bytes of the keys of `count` elements, rounded up buffer by buffer.
    pub(in crate::batch) fn keys(&self, count: usize) -> u64 {
        let padded = padded(count);
        let tree = |(tree, _): &(KeyTree, Asked)| {
            let rows = tree.rows();
            let blocks = [rows.root.max(1), rows.cw, rows.leaf].map(|rows| granules(16 * rows * padded));
            let words = [rows.vcw, rows.last].map(|rows| granules(8 * rows * padded));
            blocks.iter().chain(&words).sum::<u64>()
        };
        self.trees.iter().map(tree).sum()
    }

    /// Bytes of masked inputs, offsets, results and intermediates for `count` elements.
    ///
    /// Trees are walked one after the other, so the largest tree counts, with the sums of all.
    pub(super) fn scratch(&self, count: usize) -> u64 {
        let combined = self.walking.bytes(count);
        let tree = |&(tree, asked): &(KeyTree, Asked)| match asked {
            Asked::Points(_) => granules(asked.result_bytes(tree, count)) + combined,
            Asked::All(bits) => {
                let (at_once, table) = (count.min(elements_at_once(bits)) as u64, 8u64 << bits);
                // unit vectors and the results of the sums over them; the masked inputs and the table
                let rows = granules(16 * cmp_blocks(bits) * at_once) + granules(16 * at_once);
                let points = granules(8 * count as u64 + table);
                // the entries of the table twice, in the order in which a processor reads them
                rows + points + granules(2 * table + TABLE_END_BYTES)
            }
        };
        self.trees.iter().map(tree).max().unwrap_or(combined)
    }

    /// Bytes of the points of `count` elements: masked inputs, and offsets for each tree.
    pub(in crate::batch) fn points(&self, count: usize) -> u64 {
        let points = self.trees.iter().map(|&(_, asked)| match asked {
            Asked::Points(points) => points,
            Asked::All(bits) => 1 << bits, // it has no offsets, but a table
        });
        if points.clone().next().is_none() { 0 } else { 8 * (count as u64 + points.sum::<u64>()) }
    }

    /// Bytes of all results of `count` elements.
    pub(in crate::batch) fn results(&self, count: usize) -> u64 {
        self.trees.iter().map(|&(tree, asked)| asked.result_bytes(tree, count)).sum()
    }

    /// Bytes for `count` elements at once.
    ///
    /// They are the maximum of the walk of the trees and of the later steps, without keys.
    pub(in crate::batch) fn total(&self, count: usize) -> u64 {
        let walked = self.keys(count) + self.scratch(count);
        walked.max(self.closing.bytes(count.min(self.closing.at_once())))
    }

    /// The most elements, a multiple of 32, that take at most `bytes`; `None` if 32 take more.
    pub(in crate::batch) fn fitting(&self, bytes: u64, most: usize) -> Option<usize> {
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
    /// Bytes of the results for `count` elements.
    ///
    /// They are bits of comparison keys, words of payload keys, or sums over all points.
    fn result_bytes(self, tree: KeyTree, count: usize) -> u64 {
        match (self, tree) {
            (Self::All(_), _) => 8 * 2 * count as u64, // a sum and a number of ones
            (Self::Points(points), KeyTree::Cmp { .. }) => 4 * points * padded(count) / LANES,
            (Self::Points(points), KeyTree::Dcf { words, .. }) => 8 * points * u64::from(words) * count as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Interval, Predicate, Task,
        suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufModes, SufProgram, SufSpec},
    };

    /// More elements than are read from tables of 13 bits at once.
    const COUNT: usize = 99_990;

    /// Two pieces: a step at two points of 20 bits, and its conjunction with one of 9 bits.
    fn suf(preds: PredProgram, coeffs: CoeffMode, bools: BoolMode) -> Gate {
        let (first, second) = (BoolExpr::Var(0), BoolExpr::Var(0) & BoolExpr::Var(1));
        let piece = |start| Piece { start, polys: vec![vec![1, 2, 3]; 2], bools: vec![first.clone(), second.clone()] };
        let desc = SufDesc::new(SufSpec {
            n: 20,
            degree: 2,
            words: vec!["y".into(), "z".into()],
            bools: vec!["a".into(), "b".into()],
            preds: vec![Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }],
            pieces: vec![piece(0), piece(70_000)],
        });
        Gate::suf(SufProgram::new(desc.unwrap(), SufModes { preds, coeffs, bools }).unwrap())
    }

    #[test]
    fn bytes_are_those_worked_out_buffer_by_buffer() {
        let below = [Predicate::Lt { beta: 12_345 }, Predicate::Wrap, Predicate::Lt { beta: 1 }];
        let intervals = [Interval { start: 3, end: Some(900) }, Interval { start: 900, end: None }];
        let (short, long) = (vec![0; 1 << 8], vec![0; 1 << 13]);
        let hidden = suf(PredProgram::StepDcf, CoeffMode::StepDcf, BoolMode::Additive);
        let payload = suf(PredProgram::SharedAlpha, CoeffMode::IntervalLut, BoolMode::XorPacked);
        let predicates = Gate::full_predicates(33).unwrap().with_masks(3);
        // keys, scratch of the walk, buffers after the exchange, points and results
        for (gate, task, expected) in [
            (Gate::relu(64), Task::Relu, [92_802_560, 840_704, 4_016_128, 799_928, 12_500]),
            (Gate::ars(64, 12), Task::Ars, [104_005_120, 853_504, 6_428_672, 799_936, 25_000]),
            (predicates, Task::Predicates(&below), [44_802_560, 915_968, 6_443_520, 799_944, 37_500]),
            (Gate::lut(8, 40), Task::Lut(&short), [4_802_560, 5_607_424, 4_816_384, 801_968, 1_599_840]),
            (Gate::lut(13, 64), Task::Lut(&long), [12_802_560, 5_258_752, 4_816_384, 865_456, 1_599_840]),
            (
                Gate::interval_powers(20, 2),
                Task::IntervalPowers(&intervals),
                [84_002_304, 14_403_584, 3_204_096, 799_944, 7_199_280],
            ),
            (Gate::product(40), Task::Product, [0, 803_328, 4_003_840, 0, 0]),
            (Ok(hidden), Task::Suf, [329_615_360, 14_457_344, 9_707_520, 799_968, 9_649_040]),
            (Ok(payload), Task::Suf, [114_407_424, 8_857_600, 4_045_312, 799_968, 4_849_520]),
        ] {
            let gate = gate.unwrap();
            let of = Footprint::of(&gate, &task.plan(&gate).unwrap());
            let closing = of.closing.bytes(COUNT.min(of.closing.at_once()));
            let got = [of.keys(COUNT), of.scratch(COUNT), closing, of.points(COUNT), of.results(COUNT)];
            assert_eq!(got, expected, "{}", gate.kind());
            assert_eq!(of.total(COUNT), (got[0] + got[1]).max(closing), "{}", gate.kind());
        }
    }

    #[test]
    fn parts_fit_to_the_byte_in_multiples_of_32() {
        let gate = Gate::relu(64).unwrap();
        let of = Footprint::of(&gate, &Task::Relu.plan(&gate).unwrap());
        assert_eq!([32, 64, 96, 300].map(|count| of.total(count)), [36_352, 66_560, 96_256, 305_664]);
        assert_eq!(of.aes(), 56);
        for (bytes, most, expected) in [
            (36_351, 1000, None),
            (36_352, 1000, Some(32)),
            (66_559, 1000, Some(32)),
            (66_560, 1000, Some(64)),
            (u64::MAX, 64, Some(64)),
            (u64::MAX, 65, Some(96)),
        ] {
            assert_eq!(of.fitting(bytes, most), expected, "{bytes} bytes for {most}");
        }
    }
}
