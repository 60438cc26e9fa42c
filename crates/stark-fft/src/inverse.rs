//! Inverses of batches of field elements, and the flag that reports a zero among them.
//!
//! `1 / x_i = (x_0 .. x_(i-1)) / (x_0 .. x_i)`: running products, and one inversion for all.

use core::fmt;

use backend_api::{
    BackendError, Buffer, Element, Mut, Queue, Ref,
    ops::circle::{BatchInverseM31, BatchInverseQm31, CircleOps},
};
use core_types::field::{M31, QM31};

use crate::FftError;

/// Fields whose batches a device can invert: [`M31`] and [`QM31`].
pub trait Invertible: Element {
    /// Submits the op that inverts a batch of this field.
    ///
    /// It lowers `first_zero`, one word, to the index of the first zero.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ.
    fn invert<Q: CircleOps>(
        q: &Q,
        elements: Ref<'_, Q, Self>,
        inverses: Mut<'_, Q, Self>,
        first_zero: Mut<'_, Q, u64>,
    ) -> Result<(), BackendError>;
}

/// Makes a field invertible by the op for its batches.
macro_rules! invertible {
    ($field:ty, $op:ident, $record:ident) => {
        impl Invertible for $field {
            fn invert<Q: CircleOps>(
                q: &Q,
                elements: Ref<'_, Q, Self>,
                inverses: Mut<'_, Q, Self>,
                first_zero: Mut<'_, Q, u64>,
            ) -> Result<(), BackendError> {
                let (elements, inverses) = (q.shorten(elements), q.shorten_mut(inverses));
                q.$op($record { elements, inverses, first_zero: q.shorten_mut(first_zero) })
            }
        }
    };
}

invertible!(M31, batch_inverse_m31, BatchInverseM31);
invertible!(QM31, batch_inverse_qm31, BatchInverseQm31);

/// Where an inversion notes on its device that an element is zero; ask it later.
pub struct ZeroFlag<Q: Queue> {
    first_zero: Q::Buf<u64>,
}

impl<Q: Queue> ZeroFlag<Q> {
    /// A flag that has seen no zero.
    ///
    /// # Errors
    /// [`FftError::Backend`] if memory is short.
    pub fn new(q: &Q) -> Result<Self, FftError> {
        Ok(Self { first_zero: q.upload(&[u64::MAX])? })
    }

    /// Waits for the last inversion that was given the flag.
    ///
    /// # Errors
    /// [`FftError::ZeroInverse`] with the first zero; [`FftError::Backend`] if the device failed.
    pub fn check(&self, q: &Q) -> Result<(), FftError> {
        match q.download(&self.first_zero)?.first() {
            None | Some(&u64::MAX) => Ok(()),
            Some(&index) => Err(FftError::ZeroInverse { index: index as usize }), // of an element in memory
        }
    }
}

impl<Q: Queue> fmt::Debug for ZeroFlag<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZeroFlag").finish_non_exhaustive()
    }
}

/// Inverts all elements of a buffer.
///
/// It computes running products: three products per element.
///
/// ```
/// use backend_api::Queue;
/// use core_types::field::M31;
///
/// let q = runtime::cpu()?;
/// let elements = q.upload(&[1, 2, 3].map(M31::from_u32))?;
/// let inverses = q.download(&stark_fft::batch_inverse(&q, &elements)?)?;
/// assert_eq!(inverses[1], M31::from_u32(1 << 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FftError::ZeroInverse`] with the first zero; [`FftError::Backend`] if memory is short or the
/// device failed.
pub fn batch_inverse<Q: CircleOps, T: Invertible>(q: &Q, elements: &Q::Buf<T>) -> Result<Q::Buf<T>, FftError> {
    let (mut inverses, mut zeros) = (q.alloc(elements.len())?, ZeroFlag::new(q)?);
    batch_inverse_into(q, elements.view(), inverses.view_mut(), &mut zeros)?;
    zeros.check(q)?;
    Ok(inverses)
}

/// Writes the inverses of `elements` without waiting, so that it can be recorded.
///
/// It records in `zeros` whether an element is zero. The inverses are valid only if
/// [`ZeroFlag::check`] finds no zero.
///
/// # Errors
/// [`FftError::Backend`] if the lengths differ or the device failed.
pub fn batch_inverse_into<Q: CircleOps, T: Invertible>(
    q: &Q,
    elements: Ref<'_, Q, T>,
    inverses: Mut<'_, Q, T>,
    zeros: &mut ZeroFlag<Q>,
) -> Result<(), FftError> {
    q.write(&[u64::MAX], zeros.first_zero.view_mut())?;
    Ok(T::invert(q, elements, inverses, zeros.first_zero.view_mut())?)
}
