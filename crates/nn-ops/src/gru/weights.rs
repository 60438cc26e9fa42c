//! The weights of an ensemble of gated recurrent units, on a device.

use core::ops::Range;

use backend_api::{Buffer, Queue, ops::recurrent::GruLayer};
use core_types::params::recurrent::GruVariant;

use super::{GruMember, member::size};
use crate::{Init, NnError, TensorMut, TensorRef};

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
    sizes: GruSizes,
    /// w, u, b and bu of all members, one after another, and what else is trained with them.
    values: Q::Buf<f32>,
}

impl<Q: Queue> GruWeights<Q> {
    /// Copies the weights of `members` to the device.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without members; [`NnError::ShapeMismatch`] for one of another size or variant than the first, whose
    /// shapes are `[input, hidden, biases within the reset]`; [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, members: &[GruMember]) -> Result<Self, NnError> {
        Self::followed_by(q, members, &[])
    }

    /// [`new`](Self::new) with `others` behind the weights, in the same buffer.
    pub(crate) fn followed_by(q: &Q, members: &[GruMember], others: &[f32]) -> Result<Self, NnError> {
        let shape = |unit: &GruMember| [unit.input(), unit.hidden(), unit.bu().map_or(0, <[f32]>::len)];
        let Some(first) = members.first() else {
            let (name, domain) = ("number of members", "1 or more");
            return Err(NnError::Parameter { op: OP, name, domain, value: 0.0 });
        };
        if let Some(other) = members.iter().find(|unit| shape(unit) != shape(first)) {
            let (expected, got) = (shape(first)[..].into(), shape(other)[..].into());
            return Err(NnError::ShapeMismatch { op: OP, tensor: "a member", expected, got });
        }
        let of = |part: fn(&GruMember) -> &[f32]| members.iter().flat_map(part).copied();
        let all = of(GruMember::w).chain(of(GruMember::u)).chain(of(GruMember::b));
        let all = all.chain(of(|unit| unit.bu().unwrap_or_default())).chain(others.iter().copied());
        let (members, input, hidden, variant) = (members.len(), first.input(), first.hidden(), first.variant());
        let sizes = GruSizes { members, input, hidden, variant };
        Ok(Self { sizes, values: q.upload(&all.collect::<Vec<_>>())? })
    }

    /// `members` units of `[input, hidden]` features with weights and biases that are uniform in `+-1 / sqrt(hidden)`, as PyTorch
    /// begins; the same on every device.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`NnError::Overflow`] if the weights cannot be counted.
    pub fn random(
        q: &Q,
        members: usize,
        [input, hidden]: [usize; 2],
        variant: GruVariant,
        seed: u64,
    ) -> Result<Self, NnError> {
        let limit = 1.0 / (hidden.max(1) as f32).sqrt();
        let part = |shape: &[usize], site: u32| Init::Uniform { low: -limit, high: limit }.values(shape, seed, site);
        let columns = size(OP, hidden, 3)?;
        let unit = |first: u32| {
            let [w, u, b] = [(input, 0), (hidden, 1), (1, 2)].map(|(rows, at)| part(&[rows, columns], first + at));
            let bu = (variant == GruVariant::ResetAfter).then(|| part(&[hidden], first + 3)).transpose()?;
            GruMember::new(input, hidden, w?, u?, b?, bu)
        };
        let count =
            u32::try_from(members).ok().filter(|count| *count <= u32::MAX / 4).ok_or(NnError::Overflow { op: OP })?;
        let units = (0..count).map(|member| unit(4 * member)).collect::<Result<Vec<_>, _>>()?;
        Self::new(q, &units)
    }

    /// All weights as a row of numbers, for what treats them alike, such as a step of an optimiser.
    ///
    /// # Errors
    /// None that [`new`](Self::new) would not have reported.
    pub fn at(&self) -> Result<TensorRef<'_, Q, f32>, NnError> {
        let len = self.sizes.len();
        TensorRef::contiguous(self.values().slice(0..len)?, &[len])
    }

    /// The same, to be written.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn at_mut(&mut self) -> Result<TensorMut<'_, Q, f32>, NnError> {
        let len = self.sizes.len();
        TensorMut::contiguous(self.values_mut().slice_mut(0..len)?, &[len])
    }

    /// Memory for as many numbers, such as the gradients of these weights, which have their form.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn like(&self, q: &Q) -> Result<Self, NnError> {
        Ok(Self { sizes: self.sizes, values: q.alloc(self.values.len())? })
    }

    /// Waits and copies the weights of all members to the host.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn members(&self, q: &Q) -> Result<Vec<GruMember>, NnError> {
        let all = q.read(self.values.slice(0..self.sizes.len())?)?;
        let GruSizes { members, input, hidden, variant } = self.sizes;
        let [w, u, b, bu] = self.sizes.parts();
        let of = |part: &Range<usize>, member: usize| {
            let len = part.len() / members;
            all[part.start + member * len..][..len].to_vec()
        };
        let unit = |i| {
            let bu = (variant == GruVariant::ResetAfter).then(|| of(&bu, i));
            GruMember::new(input, hidden, of(&w, i), of(&u, i), of(&b, i), bu)
        };
        (0..members).map(unit).collect()
    }

    /// Number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.members
    }

    /// Features of an input.
    #[must_use]
    pub fn input(&self) -> usize {
        self.sizes.input
    }

    /// Features of a state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.sizes.hidden
    }

    /// Where states are reset.
    #[must_use]
    pub fn variant(&self) -> GruVariant {
        self.sizes.variant
    }

    /// The views that ops take.
    pub(crate) fn layer(&self) -> Result<GruLayer<'_, Q>, NnError> {
        let [w, u, b, bu] = self.sizes.parts().map(|part| self.values.slice(part));
        let bu = if self.sizes.variant == GruVariant::ResetAfter { Some(bu?) } else { None };
        Ok(GruLayer { w: w?, u: u?, b: b?, bu })
    }

    /// Where w, u, b and bu lie among the [`values`](Self::values).
    pub(crate) fn parts(&self) -> [Range<usize>; 4] {
        self.sizes.parts()
    }

    /// All numbers: those of the weights, and those that follow them.
    pub(crate) fn values(&self) -> &Q::Buf<f32> {
        &self.values
    }

    /// The same, to be written.
    pub(crate) fn values_mut(&mut self) -> &mut Q::Buf<f32> {
        &mut self.values
    }
}

/// The sizes of an ensemble whose weights can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GruSizes {
    members: usize,
    input: usize,
    hidden: usize,
    variant: GruVariant,
}

impl GruSizes {
    /// Where w, u, b and bu lie.
    fn parts(&self) -> [Range<usize>; 4] {
        let &Self { members, input, hidden, variant } = self;
        let bu = if variant == GruVariant::ResetAfter { hidden } else { 0 };
        let mut end = 0;
        // What there is nothing of comes first, so that no product is beyond what was counted.
        [3 * hidden * input, 3 * hidden * hidden, 3 * hidden, bu].map(|len| {
            let start = end;
            end += members * len;
            start..end
        })
    }

    /// How many weights there are.
    fn len(&self) -> usize {
        self.parts()[3].end
    }
}

impl<Q: Queue> core::fmt::Debug for GruWeights<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let GruSizes { members, input, hidden, variant } = &self.sizes;
        f.debug_struct("GruWeights")
            .field("members", members)
            .field("input", input)
            .field("hidden", hidden)
            .field("variant", variant)
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

    #[test]
    fn random_weights_fill_their_interval_and_differ_by_member() {
        let q = runtime::cpu().unwrap();
        for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
            let weights = GruWeights::random(&q, 2, [30, 16], variant, 5).unwrap();
            let [one, other] = &weights.members(&q).unwrap()[..] else { panic!("two members") };
            assert_eq!((one.variant(), one.w().len(), one.u().len()), (variant, 30 * 48, 16 * 48));
            let all: Vec<f32> = q.read(weights.at().unwrap().view()).unwrap();
            let greatest = all.iter().fold(0.0f32, |greatest, value| greatest.max(value.abs()));
            assert!(greatest <= 0.25 && greatest > 0.249, "{greatest}");
            assert!(one != other && one.w()[..48] != one.u()[..48] && one.b()[..16] != one.b()[16..32]);
        }
        let too_many = GruWeights::random(&q, usize::MAX, [1, 1], GruVariant::ResetBefore, 0).err();
        assert_eq!(too_many, Some(NnError::Overflow { op: "gru_weights" }));
        let none = GruWeights::random(&q, 0, [1, 1], GruVariant::ResetBefore, 0).err();
        assert!(matches!(none, Some(NnError::Parameter { .. })));
    }

    #[test]
    fn units_without_states_have_no_weights_whatever_the_number_of_inputs() {
        let q = runtime::cpu().unwrap();
        let unit = GruMember::new(usize::MAX, 0, Vec::new(), Vec::new(), Vec::new(), None).unwrap();
        let weights = GruWeights::new(&q, std::slice::from_ref(&unit)).unwrap();
        assert_eq!(weights.members(&q).unwrap(), [unit]);
    }
}
