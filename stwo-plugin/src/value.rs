//! Values of stwo and their form on a device.

use std::{borrow::Cow, fmt::Debug};

use bytemuck::checked;
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
};
use stwo::core::{
    fields::{m31::BaseField, qm31::SecureField},
    vcs::blake2_hash::Blake2sHash,
};

use crate::reads::ahead::ReadAhead;

/// A value of a column.
///
/// It is an element of the base field or of the secure field, or a hash.
pub trait Value: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Its form on a device.
    type Device: ReadAhead + Debug;

    /// Values for a device.
    fn to_device(values: &[Self]) -> Cow<'_, [Self::Device]>;

    /// A value from a device.
    fn from_device(value: Self::Device) -> Self;
}

impl Value for BaseField {
    type Device = M31;

    fn to_device(values: &[Self]) -> Cow<'_, [M31]> {
        // Packed columns of stwo may hold P in the place of zero.
        checked::try_cast_slice(values)
            .map_or_else(|_| values.iter().map(|&value| word(value)).collect(), Cow::Borrowed)
    }

    fn from_device(value: M31) -> Self {
        Self::from_u32_unchecked(value.word())
    }
}

impl Value for SecureField {
    type Device = QM31;

    fn to_device(values: &[Self]) -> Cow<'_, [QM31]> {
        values.iter().map(|&value| secure(value)).collect()
    }

    fn from_device(value: QM31) -> Self {
        Self::from_m31_array(value.coordinates().map(BaseField::from_device))
    }
}

impl Value for Blake2sHash {
    type Device = Digest;

    fn to_device(values: &[Self]) -> Cow<'_, [Digest]> {
        values.iter().map(|&value| digest(value)).collect()
    }

    fn from_device(value: Digest) -> Self {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(value.0) {
            *bytes = word.to_le_bytes();
        }
        Self(bytes)
    }
}

/// A word for the device.
pub(crate) const fn word(value: BaseField) -> M31 {
    M31::from_u32(value.0)
}

/// An element of the secure field for the device.
pub(crate) fn secure(value: SecureField) -> QM31 {
    QM31::from_coordinates(value.to_m31_array().map(word))
}

/// A hash for the device.
pub(crate) fn digest(value: Blake2sHash) -> Digest {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(value.0.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    Digest(words)
}
