//! Which types may live in device memory.

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

/// A plain value that may live in device memory.
///
/// Uploading needs no padding bytes ([`NoUninit`]), `zeros` needs an all-zero value ([`Zeroable`]), and downloading
/// checks each bit pattern ([`CheckedBitPattern`]): a word that is not a canonical field element comes back as
/// [`BackendError::Corrupt`](crate::BackendError::Corrupt), so a faulty kernel shows up as an error and not as a wrong
/// proof.
pub trait Element: NoUninit + Zeroable + CheckedBitPattern + Send + Sync {}

impl<T: NoUninit + Zeroable + CheckedBitPattern + Send + Sync> Element for T {}
