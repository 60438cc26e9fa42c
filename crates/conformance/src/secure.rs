//! Vectors of the secure field as planes of coordinates.

use core_types::field::{M31, QM31};

use crate::list::ListIterator as _;

/// The four planes of `values`.
pub(crate) fn planes(values: &[QM31]) -> Vec<M31> {
    (0..4).flat_map(|k| values.iter().map(move |value| value.coordinates()[k])).list()
}

/// The elements with these four planes.
pub(crate) fn elements(planes: &[M31]) -> Vec<QM31> {
    let len = planes.len() / 4;
    (0..len).map(|i| QM31::from_coordinates([0, 1, 2, 3].map(|k| planes[k * len + i]))).list()
}
