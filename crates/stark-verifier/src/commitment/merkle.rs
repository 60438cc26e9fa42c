//! Openings of Merkle trees.
//!
//! A node is `Blake2s(left || right)`. The witness has the siblings that are not known, level by
//! level from the leaves and from left to right (stwo 2.3, `core/vcs_lifted/verifier.rs`).

use alloc::vec::Vec;

use crate::{error::MerkleError, transcript::digest::Digest};

/// Checks that `leaves` are in the tree with this root.
///
/// Their positions are distinct, in ascending order and below `2^height`.
pub(crate) fn verify(
    root: Digest,
    height: u32,
    mut leaves: Vec<(u32, Digest)>,
    witness: &[Digest],
) -> Result<(), MerkleError> {
    let mut witness = witness.iter();
    // On each level, a sibling is known or next in the witness.
    for _ in 0..height {
        let mut parents = Vec::with_capacity(leaves.len());
        for siblings in leaves.chunk_by(|left, right| left.0 ^ 1 == right.0) {
            let (position, node) = siblings[0];
            let other = match siblings.get(1) {
                Some((_, other)) => other,
                None => witness.next().ok_or(MerkleError::WitnessTooShort)?,
            };
            let (left, right) = if position & 1 == 0 { (&node, other) } else { (other, &node) };
            parents.push((position >> 1, Digest::of(&[&left.0, &right.0])));
        }
        leaves = parents;
    }
    // The witness is used up, and one node is left.
    if witness.next().is_some() {
        return Err(MerkleError::WitnessTooLong);
    }
    match leaves[..] {
        [(_, node)] if node == root => Ok(()),
        _ => Err(MerkleError::Root),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use core_types::{air::lifted, field::M31};
    use hex_literal::hex;

    use super::*;
    use crate::transcript::digest::Hasher;

    #[test]
    fn a_lifted_tree_has_the_root_published() {
        let small = [0, 1, 2, 3];
        let large = [10, 11, 12, 13, 14, 15, 16, 17];
        let leaf = |position: u32| {
            let mut hasher = Hasher::new();
            hasher.element(M31::from_u32(small[lifted(position, 3, 2) as usize]));
            hasher.element(M31::from_u32(large[position as usize]));
            (position, hasher.finish())
        };
        let root = Digest(hex!("46b069794c73a1c9a67ec1cc609b434c81cb79e5c097ea6c262f8e37f41ab7d9"));
        assert_eq!(verify(root, 3, (0..8).map(leaf).collect(), &[]), Ok(()));
        assert_eq!(verify(root, 3, (0..8).map(leaf).collect(), &[root]), Err(MerkleError::WitnessTooLong));
        assert_eq!(verify(root, 3, (0..7).map(leaf).collect(), &[]), Err(MerkleError::WitnessTooShort));
        assert_eq!(verify(root, 3, (0..7).map(leaf).collect(), &[leaf(7).1]), Ok(()));
        assert_eq!(verify(root, 3, (0..7).map(leaf).collect(), &[leaf(6).1]), Err(MerkleError::Root));
        let swapped = vec![(0, leaf(1).1), (1, leaf(0).1)];
        assert_eq!(verify(root, 1, swapped, &[]), Err(MerkleError::Root));
    }

    #[test]
    fn a_tree_without_columns_has_the_root_published() {
        let root = hex!("69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9");
        assert_eq!(Digest::of_nothing(), Digest(root));
    }
}
