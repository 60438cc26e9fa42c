//! The proof that quotients are of low degree.
//!
//! `f'(h) = (f(2h) + f(2h+1)) + a (f(2h) - f(2h+1)) / t`, where `t` is the y-coordinate at position
//! `2h` in the first fold, on the circle, and the x-coordinate in all others, on lines. Fold `j` of
//! a layer with challenge `alpha` takes `a = alpha^(2^j)`, down to a polynomial that is sent whole
//! (Ben-Sasson et al., FRI, ICALP 2018; on the circle <https://eprint.iacr.org/2024/278>; stwo 2.3,
//! `core/fri.rs`).

use alloc::vec::Vec;

use core_types::{
    circle::double_x,
    field::{M31, QM31},
};

use crate::{
    commitment::{
        domain::{circle_point, half_coset_point},
        merkle,
    },
    error::FriError,
    proof::{FriLayerProof, FriProof, LinePoly},
    statement::shape::StatementShape,
    transcript::{
        channel::Channel,
        digest::{Digest, Hasher},
    },
};

/// Log of how many values share a leaf, in layers that fold more than two to one.
const LOG_PACKED: u32 = 2;

/// The folding of a layer by its challenge.
struct LayerFolding<'p> {
    index: usize,
    /// Log size of its domain: the circle for the first, lines for the others.
    log_size: u32,
    /// Log of how many values fold to one.
    fold: u32,
    alpha: QM31,
    proof: &'p FriLayerProof,
}

/// A proof whose challenges are drawn.
pub(crate) struct Fri<'p> {
    layers: Vec<LayerFolding<'p>>,
    last: &'p LinePoly,
    /// Log size of the last domain.
    log_last: u32,
}

impl<'p> Fri<'p> {
    /// Reads the roots and the last layer into the transcript.
    ///
    /// It draws the challenge of each layer.
    pub(crate) fn commit(
        shape: &StatementShape,
        log_last_bound: u32,
        proof: &'p FriProof,
        channel: &mut Channel,
    ) -> Result<Self, FriError> {
        // Lengths are compared before they are used.
        let (expected, got) = (shape.folds.len() - 1, proof.inner_layers.len());
        if got != expected {
            return Err(FriError::Layers { expected, got });
        }
        let LinePoly { coeffs, log_size: log_coeffs } = &proof.last_layer_poly;
        // Some log sizes of a hostile proof are above what can be shifted by.
        if *log_coeffs > log_last_bound || coeffs.len() != 1 << log_coeffs {
            return Err(FriError::LastLayerLength { bound: 1 << log_last_bound, got: coeffs.len() });
        }
        // Each root is absorbed, then the challenge of its layer is drawn.
        let mut log_size = shape.log_size;
        let mut layers = Vec::with_capacity(shape.folds.len());
        let proofs = core::iter::once(&proof.first_layer).chain(&proof.inner_layers);
        for (index, (proof, &fold)) in proofs.zip(&shape.folds).enumerate() {
            channel.mix_root(proof.commitment);
            layers.push(LayerFolding { index, log_size, fold, alpha: channel.draw_felt(), proof });
            log_size -= fold;
        }
        channel.mix_felts(coeffs);
        Ok(Self { layers, last: &proof.last_layer_poly, log_last: log_size })
    }

    /// Checks that `values`, at `positions` in ascending order, fold to the last layer.
    pub(crate) fn verify(self, positions: Vec<u32>, values: Vec<QM31>) -> Result<(), FriError> {
        let (mut positions, mut values) = (positions, values);
        for layer in &self.layers {
            (positions, values) = layer.fold(&positions, &values)?;
        }
        for (position, value) in positions.into_iter().zip(values) {
            let x = half_coset_point(position, self.log_last).x;
            if evaluate(self.last, x) != value {
                return Err(FriError::LastLayer { position });
            }
        }
        Ok(())
    }
}

impl LayerFolding<'_> {
    /// Checks that `values` at `positions` are in the layer's tree, and folds them.
    ///
    /// They are folded with the proof's witness values.
    fn fold(&self, positions: &[u32], values: &[QM31]) -> Result<(Vec<u32>, Vec<QM31>), FriError> {
        // The witness completes each queried group.
        let witness = &self.proof.fri_witness;
        let groups = positions.chunk_by(|a, b| a >> self.fold == b >> self.fold);
        let expected = ((groups.clone().count() as u64) << self.fold).saturating_sub(positions.len() as u64);
        if witness.len() as u64 != expected {
            return Err(FriError::Witness { layer: self.index, expected, got: witness.len() });
        }
        // From here on the number of values is bounded by the proof's, however large the fold.
        let (mut values, mut witness) = (values.iter().copied(), witness.iter().copied());
        // Groups are hashed to leaves and folded to one value each.
        let log_leaf = if self.fold > 1 && self.log_size >= LOG_PACKED { LOG_PACKED } else { 0 };
        let (mut leaves, mut folded_positions, mut folded) = (Vec::new(), Vec::new(), Vec::new());
        for queried in groups {
            let start = queried[0] >> self.fold << self.fold;
            let mut queried = queried.iter().peekable();
            let group: Vec<QM31> = (start..start + (1 << self.fold))
                .filter_map(
                    |position| {
                        if queried.next_if_eq(&&position).is_some() { values.next() } else { witness.next() }
                    },
                )
                .collect();
            for (leaf, rows) in (start >> log_leaf..).zip(group.chunks(1 << log_leaf)) {
                leaves.push((leaf, leaf_digest(rows)));
            }
            folded_positions.push(start >> self.fold);
            folded.push(self.fold_group(start, group));
        }
        // The leaves are in the tree that was committed to.
        merkle::verify(self.proof.commitment, self.log_size - log_leaf, leaves, &self.proof.decommitment.hash_witness)
            .map_err(|error| FriError::Tree { layer: self.index, error })?;
        Ok((folded_positions, folded))
    }

    /// Folds the values from position `start` on to one.
    ///
    /// There is no factor of a half in a fold: the last layer has it.
    fn fold_group(&self, start: u32, mut values: Vec<QM31>) -> QM31 {
        let mut alpha = self.alpha;
        for level in 0..self.fold {
            let (log_size, first) = (self.log_size - level, start >> level);
            let on_circle = self.index == 0 && level == 0;
            let pairs = (first..).step_by(2).zip(values.as_chunks::<2>().0);
            values = pairs
                .map(|(position, &[left, right])| {
                    let factor = if on_circle {
                        circle_point(position, log_size).y
                    } else {
                        half_coset_point(position, log_size).x
                    };
                    (left + right) + alpha * (left - right).scale(inverse(factor))
                })
                .collect();
            alpha = alpha * alpha;
        }
        values.first().copied().unwrap_or(QM31::ZERO)
    }
}

/// The inverse of a coordinate. None of the domains that are folded has a point on an axis.
fn inverse(coordinate: M31) -> M31 {
    coordinate.inverse().unwrap_or(M31::ZERO)
}

/// The digest of a leaf with these values.
fn leaf_digest(rows: &[QM31]) -> Digest {
    let mut hasher = Hasher::new();
    rows.iter().flat_map(|row| row.coordinates()).for_each(|word| hasher.element(word));
    hasher.finish()
}

/// Evaluates a polynomial on the line at `x`, for its declared number of coefficients.
fn evaluate(polynomial: &LinePoly, x: M31) -> QM31 {
    let mut doublings = Vec::new();
    let mut factor = x;
    for _ in 0..polynomial.log_size {
        doublings.push(factor);
        factor = double_x(factor);
    }
    let mut values = polynomial.coeffs.clone();
    for &factor in doublings.iter().rev() {
        values = values.as_chunks::<2>().0.iter().map(|&[low, high]| low + high.scale(factor)).collect();
    }
    values.first().copied().unwrap_or(QM31::ZERO)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::proof::Decommitment;

    fn felt(words: [u32; 4]) -> QM31 {
        QM31::from_coordinates(words.map(M31::from_u32))
    }

    fn layer(index: usize, log_size: u32, fold: u32, alpha: [u32; 4], proof: &FriLayerProof) -> LayerFolding<'_> {
        LayerFolding { index, log_size, fold, alpha: felt(alpha), proof }
    }

    #[test]
    fn folds_are_those_published() {
        let proof =
            FriLayerProof { fri_witness: vec![], decommitment: Decommitment::default(), commitment: Digest::default() };
        let values: Vec<QM31> = (0..8).map(|k| felt([k, k + 1, 2 * k, 5])).collect();
        let circle = layer(0, 3, 1, [1, 2, 3, 4], &proof);
        let folded: Vec<QM31> =
            (0..4).map(|h| circle.fold_group(2 * h, values[2 * h as usize..][..2].to_vec())).collect();
        let expected = [
            [1_968_023_181, 2_083_635_523, 1_371_835_611, 57_806_180],
            [179_460_472, 63_848_134, 775_648_048, 2_089_677_487],
            [826_229_783, 1_158_625_069, 991_237_825, 166_197_652],
            [1_321_253_886, 988_858_604, 1_156_245_866, 1_981_286_015],
        ];
        assert_eq!(folded, expected.map(felt));
        let line = layer(1, 2, 1, [5, 6, 7, 8], &proof);
        let folded: Vec<QM31> =
            (0..2).map(|h| line.fold_group(2 * h, folded[2 * h as usize..][..2].to_vec())).collect();
        let expected = [
            [1_382_554_077, 1_691_864_004, 759_746_399, 388_656_654],
            [331_363_710, 1_332_572_655, 56_872_647, 2_061_200_356],
        ];
        assert_eq!(folded, expected.map(felt));
    }
}
