//! Which public points of one key are evaluated together.
//!
//! Points at most `2^w` apart have at most two prefixes of `n - w` bits, whatever the masked input:
//! the prefixes of two neighbouring blocks. The ops walk to both once, and from there walk only the
//! lower levels to each point, which takes `2 (n - w) + m (w - leaf)` levels for `m` points instead
//! of `m (n - leaf)`. The plan is made from the offsets alone, so the schedule is the same for
//! every mask.

use core::ops::Range;

use super::KeyTree;

/// Points of one tree that are evaluated in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// The width of the window that holds the points.
    ///
    /// It is the width of all points if they share nothing.
    pub(crate) window: u32,
    /// Positions of their offsets in the tree's list of offsets, the first of the window first.
    pub(crate) points: Vec<usize>,
}

/// The way of evaluating one tree at several points that takes the fewest levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clusters {
    /// At most one of them has a window of all points, the last.
    pub(crate) clusters: Vec<Cluster>,
    tree: KeyTree,
}

impl Clusters {
    /// Plans the evaluation of `tree` at a masked input less each of `offsets`.
    pub(crate) fn new(tree: KeyTree, offsets: &[u64]) -> Self {
        let (bits, leaf) = (tree.bits(), tree.leaf());
        let circle = Circle::new(bits, offsets);
        let plans = (leaf..bits).map(|most| Self { clusters: circle.cut(leaf, most), tree });
        // among plans of equal work, the plan with the fewest calls
        let best = plans.min_by_key(|plan| (plan.levels(), plan.clusters.len()));
        best.unwrap_or_else(|| Self { clusters: apart(bits, circle.order), tree })
    }

    /// AES blocks of one element.
    pub(crate) fn aes(&self) -> u64 {
        let points: usize = self.clusters.iter().map(|cluster| cluster.points.len()).sum();
        match self.tree {
            KeyTree::Cmp { .. } => self.levels(),
            KeyTree::Dcf { words, .. } => {
                let blocks = u64::from(words.div_ceil(2));
                (1 + blocks) * self.levels() + blocks * points as u64
            }
        }
    }

    /// Levels that are walked for one element.
    fn levels(&self) -> u64 {
        let levels =
            |cluster: &Cluster| levels(self.tree.bits(), self.tree.leaf(), cluster.window, cluster.points.len());
        self.clusters.iter().map(levels).sum()
    }
}

/// The public points of a tree, in the order of the calls that evaluate them.
#[derive(Clone, Debug)]
pub(crate) struct TreePoints {
    tree: KeyTree,
    offsets: Vec<u64>,
    /// The width of the window of each call, and its part of the offsets.
    calls: Vec<(u32, Range<usize>)>,
    rows: Vec<usize>,
    aes: u64,
}

impl TreePoints {
    /// Plans the evaluation of `tree` at a masked input less each of `offsets`.
    pub(crate) fn new(tree: KeyTree, offsets: &[u64]) -> Self {
        let plan = Clusters::new(tree, offsets);
        let mut points =
            Self { tree, offsets: Vec::new(), calls: Vec::new(), rows: vec![0; offsets.len()], aes: plan.aes() };
        for cluster in plan.clusters {
            let first = points.offsets.len();
            for point in cluster.points {
                points.rows[point] = points.offsets.len();
                points.offsets.push(offsets[point]);
            }
            points.calls.push((cluster.window, first..points.offsets.len()));
        }
        points
    }

    /// The tree.
    pub(crate) fn tree(&self) -> KeyTree {
        self.tree
    }

    /// The offset subtracted from the masked input at each point, in the order of evaluation.
    pub(crate) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The width of the window of each call, and its part of the [`offsets`](Self::offsets).
    pub(crate) fn calls(&self) -> &[(u32, Range<usize>)] {
        &self.calls
    }

    /// Position of each point in the order of evaluation.
    ///
    /// Points are in the order in which they were given.
    pub(crate) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// AES blocks of one element.
    pub(crate) fn aes(&self) -> u64 {
        self.aes
    }
}

/// Number of levels for `points` points in a window of `2^window` points.
///
/// The tree has `bits` levels and ends `leaf` levels early.
fn levels(bits: u32, leaf: u32, window: u32, points: usize) -> u64 {
    2 * u64::from(bits - window) + points as u64 * u64::from(window.saturating_sub(leaf))
}

/// The cluster of points that share nothing; none for no points.
fn apart(bits: u32, points: Vec<usize>) -> Vec<Cluster> {
    if points.is_empty() { Vec::new() } else { vec![Cluster { window: bits, points }] }
}

/// Points on the circle of a ring.
struct Circle<'a> {
    bits: u32,
    offsets: &'a [u64],
    /// Positions in ascending order, from the point after the greatest gap on.
    ///
    /// No cluster is then cut at the end of the circle.
    order: Vec<usize>,
}

impl<'a> Circle<'a> {
    fn new(bits: u32, offsets: &'a [u64]) -> Self {
        let mut circle = Self { bits, offsets, order: (0..offsets.len()).collect() };
        circle.order.sort_by_key(|&at| offsets[at] & u64::MAX >> (64 - bits));
        let before = |i: usize| circle.order[(i + offsets.len() - 1) % offsets.len()];
        let after_gap = (0..offsets.len()).max_by_key(|&i| circle.distance(before(i), circle.order[i]));
        circle.order.rotate_left(after_gap.unwrap_or(0));
        circle
    }

    /// The way from one point up to another.
    fn distance(&self, from: usize, to: usize) -> u64 {
        self.offsets[to].wrapping_sub(self.offsets[from]) & u64::MAX >> (64 - self.bits)
    }

    /// Clusters of points at most `2^most` apart, if they save levels.
    ///
    /// Each is in the smallest window that holds it.
    fn cut(&self, leaf: u32, most: u32) -> Vec<Cluster> {
        let (mut clusters, mut alone, mut rest) = (Vec::new(), Vec::new(), &self.order[..]);
        while let Some(&first) = rest.first() {
            let close = |&&point: &&usize| self.distance(first, point) <= 1 << most;
            let (points, others) = rest.split_at(rest.iter().take_while(close).count());
            let span = points.iter().map(|&point| self.distance(first, point)).max().unwrap_or_default();
            let window = leaf.max(64 - span.saturating_sub(1).leading_zeros());
            if levels(self.bits, leaf, window, points.len()) < levels(self.bits, leaf, self.bits, points.len()) {
                clusters.push(Cluster { window, points: points.to_vec() });
            } else {
                alone.extend_from_slice(points);
            }
            rest = others;
        }
        clusters.extend(apart(self.bits, alone));
        clusters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cmp(bits: u32, offsets: &[u64]) -> Clusters {
        Clusters::new(KeyTree::Cmp { bits }, offsets)
    }

    #[test]
    fn a_cluster_costs_two_prefixes_and_its_lower_levels() {
        let window: Vec<u64> = (0..33).map(|i| (i * 1024u64).wrapping_sub(16_384)).collect();
        assert_eq!(cmp(64, &window).aes(), 2 * 49 + 33 * 8);
        let payload = |words| Clusters::new(KeyTree::Dcf { bits: 64, words }, &window).aes();
        assert_eq!(payload(1), 2 * (2 * 49 + 33 * 15) + 33);
        assert_eq!(payload(4), 3 * (2 * 49 + 33 * 15) + 2 * 33);
        assert_eq!(cmp(64, &[0]).aes(), 57);
        assert_eq!(cmp(64, &[0, 1 << 40]).aes(), 2 * 57, "far points gain nothing");
        assert_eq!(cmp(12, &[0, 1, 2, 3]).aes(), 2 * 5, "neighbours share all but the leaves");
        let far = [0, 1 << 12, 1 << 18, (1 << 12) + 1, (1 << 18) + 1, 1];
        let sorted = [0, 1, 1 << 12, (1 << 12) + 1, 1 << 18, (1 << 18) + 1];
        assert_eq!(cmp(20, &far).aes(), cmp(20, &sorted).aes(), "in any order");
        assert_eq!(cmp(7, &[0, 1, 2, 3]).aes(), 0);
        assert_eq!(cmp(64, &[]).aes(), 0);
    }

    #[test]
    fn points_stay_in_their_window_and_each_is_evaluated_once() {
        let mut rng = fastrand::Rng::with_seed(1);
        for bits in [1, 5, 7, 8, 9, 13, 25, 63, 64] {
            let mask = u64::MAX >> (64 - bits);
            for _ in 0..50 {
                let spread = rng.u32(..bits);
                let base = [0, mask, rng.u64(..)][rng.usize(..3)];
                let mut offsets: Vec<u64> =
                    (0..rng.u32(..40)).map(|_| base.wrapping_add(rng.u64(..=1 << spread)) & mask).collect();
                offsets.extend((0..rng.u32(..4)).map(|_| rng.u64(..=mask)));
                for tree in [KeyTree::Cmp { bits }, KeyTree::Dcf { bits, words: 3 }] {
                    let plan = Clusters::new(tree, &offsets);
                    assert!(plan.aes() <= offsets.len() as u64 * tree.aes_per_point(), "{tree:?} {offsets:?}");
                    let mut seen: Vec<usize> = plan.clusters.iter().flat_map(|c| c.points.iter().copied()).collect();
                    seen.sort_unstable();
                    assert_eq!(seen, (0..offsets.len()).collect::<Vec<_>>());
                    for Cluster { window, points } in &plan.clusters {
                        assert!((tree.leaf().min(bits)..=bits).contains(window));
                        for &point in points {
                            let ahead = offsets[point].wrapping_sub(offsets[points[0]]) & mask;
                            assert!(*window == bits || ahead <= 1 << window, "{tree:?} {offsets:?}");
                        }
                    }
                    let last = plan.clusters.len().saturating_sub(1);
                    assert!(plan.clusters.iter().take(last).all(|cluster| cluster.window < bits));
                }
            }
        }
    }
}
