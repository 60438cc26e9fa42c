//! Which types may live in device memory.

use bytemuck::{AnyBitPattern, CheckedBitPattern, NoUninit, Zeroable, checked};

use crate::BackendError;

/// A plain value that may live in device memory.
///
/// Uploading needs no padding bytes ([`NoUninit`]), `zeros` needs an all-zero value ([`Zeroable`]),
/// and downloading checks each bit pattern ([`CheckedBitPattern`]): a word that is not a canonical
/// field element comes back as [`BackendError::Corrupt`](crate::BackendError::Corrupt), so a faulty
/// kernel shows up as an error and not as a wrong proof.
pub trait Element: NoUninit + Zeroable + CheckedBitPattern + Send + Sync {}

/// An element for which every bit pattern is a valid value.
pub trait PlainElement: Element + AnyBitPattern {}

/// Words of an element: its size in bytes, divided by four.
///
/// Fails to compile for a type that is not made of words.
#[must_use]
pub const fn words_of<T: Element>() -> usize {
    const {
        assert!(
            size_of::<T>() >= 4 && size_of::<T>().is_multiple_of(4) && align_of::<T>() >= 4,
            "a type of whole words"
        );
        size_of::<T>() / 4
    }
}

/// Elements as words, where they lie.
#[must_use]
pub fn as_words<T: Element>(elements: &[T]) -> &[u32] {
    const { assert!(words_of::<T>() > 0) }
    bytemuck::cast_slice(elements)
}

/// Words as elements, where they lie: [`Queue::elements`](crate::Queue::elements).
///
/// # Errors
/// [`BackendError::Unsupported`] for words that are no whole number of elements, or whose address
/// is not aligned for one.
pub fn as_elements<T: PlainElement>(words: &[u32]) -> Result<&[T], BackendError> {
    const { assert!(words_of::<T>() > 0) }
    if words.is_empty() {
        return Ok(&[]); // at any address
    }
    bytemuck::try_cast_slice(words).map_err(|_| not_elements())
}

/// The refusal of words that are no elements.
#[must_use]
pub const fn not_elements() -> BackendError {
    BackendError::Unsupported { op: "elements", why: "expected whole elements that start at a multiple of their size" }
}

/// The elements that [`Queue::words`](crate::Queue::words) showed as `words`.
///
/// Every bit pattern is checked; words beyond the last whole element are left out.
///
/// # Errors
/// [`BackendError::Corrupt`] if an element is not a valid value of `T`.
pub fn from_words<T: Element>(words: &[u32]) -> Result<Vec<T>, BackendError> {
    let elements = words.chunks_exact(words_of::<T>()).enumerate();
    let element = |(index, words): (usize, &[u32])| {
        checked::try_pod_read_unaligned(bytemuck::cast_slice(words))
            .map_err(|_| BackendError::Corrupt { index, type_name: core::any::type_name::<T>() })
    };
    elements.map(element).collect()
}

impl<T: NoUninit + Zeroable + CheckedBitPattern + Send + Sync> Element for T {}

impl<T: Element + AnyBitPattern> PlainElement for T {}

#[cfg(test)]
mod tests {
    use core_types::{
        blake2s::Digest,
        field::{M31, P, QM31},
    };

    use super::*;

    #[test]
    fn elements_become_words_and_elements_again() {
        let secure = [1, 5].map(|first| QM31::from_coordinates([0, 1, 2, 3].map(|k| M31::from_u32(first + k))));
        assert_eq!(as_words(&secure), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(from_words::<QM31>(as_words(&secure)).unwrap(), secure);
        let digests = [Digest([1, 2, 3, 4, 5, 6, 7, u32::MAX])];
        assert_eq!(from_words::<Digest>(as_words(&digests)).unwrap(), digests);
        assert_eq!(from_words::<u64>(&[1, 2, 3]).unwrap(), [1 | 2 << 32]);
    }

    #[test]
    fn whole_elements_are_read_where_their_words_lie() {
        let elements = [1u64 | 2 << 32, 3];
        assert_eq!(as_elements::<u64>(as_words(&elements)), Ok(&elements[..]));
        assert_eq!(as_elements::<u64>(&[]), Ok(&[][..]));
        for wrong in [0..3, 1..3] {
            assert_eq!(as_elements::<u64>(&as_words(&elements)[wrong]), Err(not_elements()));
        }
    }

    #[test]
    fn a_word_that_is_no_element_is_named() {
        let type_name = core::any::type_name::<M31>();
        assert_eq!(from_words::<M31>(&[0, 1, P]), Err(BackendError::Corrupt { index: 2, type_name }));
    }
}
