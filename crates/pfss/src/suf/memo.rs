//! What evaluating clustered points together would cost.
//!
//! Points within `2^w` of each other have at most two different prefixes of `n - w` bits, whatever the mask: those of
//! two neighbouring blocks. Walking both once, and from there only the lower levels for each point, takes `2 (n - w) +
//! m (w - leaf)` levels for `m` points, instead of `m (n - leaf)`. The schedule is the same for every mask.
//!
//! This is arithmetic for planning: the ops evaluate every point from the root.

use super::{PredProgram, SufProgram};
use crate::gate::Tree;

/// Levels for points at `x_hat` less each of `offsets`, in a tree of `n` levels that ends `leaf` levels early.
fn levels(n: u32, leaf: u32, offsets: &[u64]) -> u64 {
    let alone = u64::from(n.saturating_sub(leaf));
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    let mask = u64::MAX >> (64 - n);
    let distance = |from: u64, to: u64| to.wrapping_sub(from) & mask;
    // begin behind the greatest gap of the circle, so that no cluster is cut by its end
    let after_gap =
        (0..sorted.len()).max_by_key(|&i| distance(sorted[(i + sorted.len() - 1) % sorted.len()], sorted[i]));
    sorted.rotate_left(after_gap.unwrap_or(0));
    let cost = |cluster: &[u64]| {
        let span = cluster.iter().map(|&point| distance(cluster[0], point)).max().unwrap_or(0);
        let width = u64::from(leaf.max(64 - span.saturating_sub(1).leading_zeros()));
        let many = cluster.len() as u64;
        (many * alone).min(2 * u64::from(n).saturating_sub(width) + many * (width - u64::from(leaf)))
    };
    let with_width = |w: u32| {
        let close = |from: u64, to: u64| distance(from, to) <= 1 << w;
        let (mut total, mut rest) = (0, &sorted[..]);
        while let Some(&first) = rest.first() {
            let many = rest.iter().take_while(|&&point| close(first, point)).count();
            let (cluster, others) = rest.split_at(many);
            total += cost(cluster);
            rest = others;
        }
        total
    };
    (leaf..n).map(with_width).min().unwrap_or(alone * offsets.len() as u64)
}

impl SufProgram {
    /// AES blocks of one element if clustered points shared their prefixes, to compare with
    /// [`Gate::cost`](crate::Gate::cost). For programs with [`PredProgram::StepDcf`] every key has one point, and
    /// nothing is shared.
    #[must_use]
    pub fn memo_aes(&self) -> u64 {
        let n = self.domain().bits();
        let words = self.payload_words();
        let shared = self.modes().preds == PredProgram::SharedAlpha;
        let classes = self.classes().iter().map(|class| {
            let alone = Tree::Cmp { bits: class.bits }.aes_per_point() * class.thresholds.len() as u64;
            if shared && class.bits > 7 { levels(class.bits, 7, &class.thresholds) } else { alone }
        });
        let payload = match (words, self.payload_keys()) {
            (0, _) => 0,
            (_, 1) => {
                let (blocks, offsets) = (u64::from(words.div_ceil(2)), self.payload_offsets());
                (1 + blocks) * levels(n, 0, &offsets) + blocks * offsets.len() as u64
            }
            (_, keys) => keys as u64 * Tree::Dcf { bits: n, words }.aes_per_point(),
        };
        classes.sum::<u64>() + payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Gate,
        functions::{Accuracy, gelu},
        suf::{CoeffMode, SufModes},
    };

    #[test]
    fn a_cluster_costs_two_prefixes_and_its_lower_levels() {
        let window: Vec<u64> = (0..33).map(|i| (i * 1024u64).wrapping_sub(16_384)).collect();
        assert_eq!(levels(64, 7, &window), 2 * 49 + 33 * 8);
        assert_eq!(levels(64, 0, &window), 2 * 49 + 33 * 15);
        assert_eq!(levels(64, 7, &[0]), 57);
        assert_eq!(levels(64, 7, &[0, 1 << 40]), 2 * 57, "far points gain nothing");
        assert_eq!(levels(12, 7, &[0, 1, 2, 3]), 2 * 5, "neighbours share all but the leaves");
        assert_eq!(levels(64, 7, &[]), 0);
    }

    #[test]
    fn the_gelu_spline_costs_what_the_design_says() {
        let desc = gelu(Accuracy::QUADRATIC_32).unwrap().desc().clone();
        let program = |coeffs| SufProgram::new(desc.clone(), SufModes { coeffs, ..SufModes::default() }).unwrap();
        let select = program(CoeffMode::MaskedSelect);
        assert_eq!(select.memo_aes(), 2 * 49 + 33 * 8 + 57);
        assert_eq!(Gate::suf(select).cost().aes, 34 * 57);
        let lut = program(CoeffMode::IntervalLut);
        assert_eq!(lut.memo_aes(), 3 * (2 * 49 + 33 * 15 + 64) + 2 * 34);
        assert_eq!(Gate::suf(lut).cost().aes, 34 * 194);
        let step = program(CoeffMode::StepDcf);
        assert_eq!(step.memo_aes(), 34 * 194);
        // the function looks at the 25 bits that hold its inputs
        let narrow = |coeffs| {
            let gates =
                gelu(Accuracy::QUADRATIC_32).unwrap().gates(SufModes { coeffs, ..SufModes::default() }).unwrap();
            (gates.suf.key_bits_per_element() / 8, gates.suf.cost().aes)
        };
        assert_eq!(narrow(CoeffMode::MaskedSelect), (320 + (2 + 33 * 3) * 8 + 4, 34 * 18));
        assert_eq!(narrow(CoeffMode::IntervalLut), (1040 + 2 * 8, 34 * 77));
        // bytes of keys: trees, and the words of masks, powers, products or coefficients
        let bytes = |coeffs| Gate::suf(program(coeffs)).key_bits_per_element() / 8;
        assert_eq!(bytes(CoeffMode::StepDcf), 34 * 2600 + 4 * 8);
        assert_eq!(bytes(CoeffMode::IntervalLut), 2600 + 2 * 8);
        assert_eq!(bytes(CoeffMode::MaskedSelect), 944 + (2 + 33 * 3) * 8 + 4);
    }
}
