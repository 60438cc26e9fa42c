//! The weights of an ensemble of gated recurrent units, on a device.

use backend_api::{Buffer, Queue, ops::recurrent::GruLayer};
use core_types::params::recurrent::GruVariant;

use super::GruMember;
use crate::NnError;

const OP: &str = "gru_weights";

/// The weights of an ensemble of gated recurrent units of one size and variant, on a queue's device.
///
/// ```
/// use nn_ops::{GruMember, GruWeights};
///
/// let q = runtime::cpu()?;
/// let unit = GruMember::new(1, 1, vec![0.5, -0.5, 2.0], vec![1.0; 3], vec![0.0; 3], None)?;
/// let pair = GruWeights::new(&q, &[unit.clone(), unit.clone()])?;
/// assert_eq!(pair.members(&q)?, [unit.clone(), unit]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GruWeights<Q: Queue> {
    members: usize,
    input: usize,
    hidden: usize,
    w: Q::Buf<f32>,
    u: Q::Buf<f32>,
    b: Q::Buf<f32>,
    bu: Option<Q::Buf<f32>>,
}

impl<Q: Queue> GruWeights<Q> {
    /// Copies the weights of `members` to the device.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without members; [`NnError::ShapeMismatch`] for one of another size or variant than the first, whose
    /// shapes are `[input, hidden, biases within the reset]`; [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, members: &[GruMember]) -> Result<Self, NnError> {
        let shape = |unit: &GruMember| [unit.input(), unit.hidden(), unit.bu().map_or(0, <[f32]>::len)];
        let Some(first) = members.first() else {
            let (name, domain) = ("number of members", "1 or more");
            return Err(NnError::Parameter { op: OP, name, domain, value: 0.0 });
        };
        if let Some(other) = members.iter().find(|unit| shape(unit) != shape(first)) {
            let (expected, got) = (shape(first)[..].into(), shape(other)[..].into());
            return Err(NnError::ShapeMismatch { op: OP, tensor: "a member", expected, got });
        }
        let gathered = |part: fn(&GruMember) -> &[f32]| {
            let all: Vec<f32> = members.iter().flat_map(part).copied().collect();
            q.upload(&all)
        };
        Ok(Self {
            members: members.len(),
            input: first.input(),
            hidden: first.hidden(),
            w: gathered(GruMember::w)?,
            u: gathered(GruMember::u)?,
            b: gathered(GruMember::b)?,
            bu: first.bu().map(|_| gathered(|unit| unit.bu().unwrap_or_default())).transpose()?,
        })
    }

    /// Waits and copies the weights of all members to the host.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn members(&self, q: &Q) -> Result<Vec<GruMember>, NnError> {
        let (w, u, b) = (q.download(&self.w)?, q.download(&self.u)?, q.download(&self.b)?);
        let bu = self.bu.as_ref().map(|bu| q.download(bu)).transpose()?;
        let of = |all: &[f32], member: usize| {
            let len = all.len() / self.members;
            all[member * len..][..len].to_vec()
        };
        let unit = |i| {
            GruMember::new(self.input, self.hidden, of(&w, i), of(&u, i), of(&b, i), bu.as_ref().map(|bu| of(bu, i)))
        };
        (0..self.members).map(unit).collect()
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.members
    }

    /// Features of an input.
    #[must_use]
    pub fn input(&self) -> usize {
        self.input
    }

    /// Features of a state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Where states are reset.
    #[must_use]
    pub fn variant(&self) -> GruVariant {
        if self.bu.is_some() { GruVariant::ResetAfter } else { GruVariant::ResetBefore }
    }

    /// The views that ops take.
    pub(crate) fn layer(&self) -> GruLayer<'_, Q> {
        GruLayer { w: self.w.view(), u: self.u.view(), b: self.b.view(), bu: self.bu.as_ref().map(|bu| bu.view()) }
    }
}

impl<Q: Queue> core::fmt::Debug for GruWeights<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { members, input, hidden, .. } = self;
        f.debug_struct("GruWeights")
            .field("members", members)
            .field("input", input)
            .field("hidden", hidden)
            .field("variant", &self.variant())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ensemble_is_of_one_size_and_variant() {
        let q = runtime::cpu().unwrap();
        let unit = |input: usize, bu: Option<Vec<f32>>| {
            GruMember::new(input, 1, vec![0.0; 3 * input], vec![0.0; 3], vec![0.0; 3], bu).unwrap()
        };
        let made = |members: &[GruMember]| GruWeights::new(&q, members).map(drop);
        assert!(matches!(made(&[]), Err(NnError::Parameter { op: "gru_weights", .. })));
        for other in [unit(3, None), unit(2, Some(vec![0.0]))] {
            let refused = made(&[unit(2, None), other]);
            assert!(matches!(refused, Err(NnError::ShapeMismatch { tensor: "a member", .. })), "{refused:?}");
        }
        assert_eq!(made(&[unit(2, None), unit(2, None)]), Ok(()));
    }
}
