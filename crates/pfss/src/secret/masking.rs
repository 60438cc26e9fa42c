//! Sums of shares and of shares of their masks, in host memory.

use core_types::Ring;

/// Adds shares of masks in `ring` to the shares, in their place.
///
/// The sums are sent, and are no secrets. All rows of masks together have a mask for each share.
pub(crate) fn add_masks<'a>(
    ring: Ring,
    shares: impl Into<Vec<u64>>,
    rows: impl IntoIterator<Item = &'a [u64]>,
) -> Vec<u64> {
    let mut shares = shares.into();
    let mut rest = &mut shares[..];
    for row in rows {
        let (masked, after) = rest.split_at_mut(row.len());
        masked.iter_mut().zip(row).for_each(|(share, &mask)| *share = ring.add(*share, mask));
        rest = after;
    }
    // Without this, a share would be sent without a mask.
    assert!(rest.is_empty(), "a mask for each share");
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_masks_are_added_in_their_ring() {
        let ring = Ring::new(4).unwrap();
        let (shares, rows) = ([1, 15, 0x123, 7], [&[9, 2][..], &[], &[14, 0]]);
        assert_eq!(add_masks(ring, shares, rows), [10, 1, 1, 7]);
    }

    #[test]
    #[should_panic(expected = "a mask for each share")]
    fn a_share_without_a_mask_is_not_returned() {
        add_masks(Ring::new(4).unwrap(), [1, 2, 3], [&[4, 5][..]]);
    }
}
