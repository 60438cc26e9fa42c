use backend_api::{BackendError, Buffer, Element, Mut, Ref, ops::circle::CircleOps};
use core_types::field::{M31, QM31};

use crate::FftError;

/// Fields whose batches a device can invert: [`M31`] and [`QM31`].
pub trait Invertible: Element {
    /// The op that inverts a batch of this field.
    ///
    /// # Errors
    /// [`BackendError::Undefined`] with the index of the first zero; [`BackendError::Length`] if the lengths differ.
    fn invert<Q: CircleOps>(q: &Q, elements: Ref<'_, Q, Self>, inverses: Mut<'_, Q, Self>) -> Result<(), BackendError>;
}

impl Invertible for M31 {
    fn invert<Q: CircleOps>(q: &Q, elements: Ref<'_, Q, Self>, inverses: Mut<'_, Q, Self>) -> Result<(), BackendError> {
        q.batch_inverse_m31(elements, inverses)
    }
}

impl Invertible for QM31 {
    fn invert<Q: CircleOps>(q: &Q, elements: Ref<'_, Q, Self>, inverses: Mut<'_, Q, Self>) -> Result<(), BackendError> {
        q.batch_inverse_qm31(elements, inverses)
    }
}

/// The inverses of all elements of a buffer, by running products: three products per element.
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
/// [`FftError::ZeroInverse`] with the first zero; [`FftError::Backend`] if memory is short or the device failed.
pub fn batch_inverse<Q: CircleOps, T: Invertible>(q: &Q, elements: &Q::Buf<T>) -> Result<Q::Buf<T>, FftError> {
    let mut inverses = q.zeros(elements.len())?;
    match T::invert(q, elements.view(), inverses.view_mut()) {
        Ok(()) => Ok(inverses),
        Err(BackendError::Undefined { index, .. }) => Err(FftError::ZeroInverse { index }),
        Err(other) => Err(other.into()),
    }
}
