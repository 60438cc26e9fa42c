//! The weights of an ensemble of gated recurrent units, on a device.

use backend_api::{Element, Queue, Real, ops::recurrent::GruLayer};

use super::member::{GruColumns, GruMember, size};
use crate::{
    GruVariant, TensorOps,
    error::{NnError, Result},
    movement::Overflow,
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable},
    tensor::{Init, TensorMut, TensorRef},
};

const OP: &str = "gru_weights";

/// The weights of an ensemble of gated recurrent units, on a queue's device.
///
/// All units have one size and variant.
///
/// ```
/// use nn_ops::{GruColumns, GruMember, GruWeights};
///
/// let q = runtime::cpu()?;
/// let columns = GruColumns { w: vec![0.5, -0.5, 2.0], u: vec![1.0; 3], b: vec![0.0; 3], bu: None };
/// let unit = GruMember::new(1, 1, columns)?;
/// let pair = GruWeights::new(&q, &[unit.clone(), unit.clone()])?;
/// assert_eq!(pair.members(&q)?, [unit.clone(), unit]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GruWeights<Q: Queue, T: Element = f32> {
    sizes: GruSizes,
    ids: GruIds,
    /// w, u, b and bu of all members, and what else is trained with them.
    arena: ParameterArena<Q, T>,
}

/// The sizes of an ensemble.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GruSizes {
    pub(crate) members: usize,
    pub(crate) input: usize,
    pub(crate) hidden: usize,
    pub(crate) variant: GruVariant,
}

/// The tensors of an ensemble in an arena.
///
/// Their shapes are `[members, input, 3 hidden]`, `[members, hidden, 3 hidden]`, `[members, 3
/// hidden]` and `[members, hidden]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GruIds {
    pub(crate) w: ParameterId,
    pub(crate) u: ParameterId,
    pub(crate) b: ParameterId,
    pub(crate) bu: Option<ParameterId>,
}

impl GruIds {
    /// The tensors of [`unit_specs`] in a table.
    pub(crate) fn find(table: &ParameterTable, prefix: &str) -> Result<Self> {
        let id = |part: &str| table.id(&format!("{prefix}{part}"));
        Ok(Self { w: id("w")?, u: id("u")?, b: id("b")?, bu: id("bu").ok() })
    }

    /// The views of an arena that ops take.
    pub(crate) fn layer<Q: Queue, T: Real>(self, arena: &ParameterArena<Q, T>) -> Result<GruLayer<'_, Q, T>> {
        let of = |id| Ok::<_, NnError>(arena.at(id)?.view());
        Ok(GruLayer { w: of(self.w)?, u: of(self.u)?, b: of(self.b)?, bu: self.bu.map(of).transpose()? })
    }
}

/// The tensors of [`GruIds`] for units of `[input, hidden]` features.
///
/// Names begin with `prefix`. Only a reset after the product has `bu`. Biases do not decay.
pub(crate) fn unit_specs(
    prefix: &str,
    members: usize,
    [input, hidden]: [usize; 2],
    variant: GruVariant,
) -> Vec<ParameterSpec> {
    let columns = hidden.saturating_mul(3);
    let spec = |part: &str, shape: &[usize]| ParameterSpec::new(format!("{prefix}{part}"), shape);
    let mut specs = vec![
        spec("w", &[members, input, columns]),
        spec("u", &[members, hidden, columns]),
        spec("b", &[members, columns]).without_decay(),
    ];
    if variant == GruVariant::ResetAfter {
        specs.push(spec("bu", &[members, hidden]).without_decay());
    }
    specs
}

impl<Q: Queue> GruWeights<Q> {
    /// Copies the weights of `members` to the device.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without members; [`NnError::ShapeMismatch`] for one of another size
    /// or variant than the first, whose shapes are `[input, hidden, biases within the reset]`;
    /// [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, members: &[GruMember]) -> Result<Self> {
        Self::beside(q, members, &[])
    }

    /// [`new`](Self::new) with `others`, which are zeros, in the same arena.
    pub(crate) fn beside(q: &Q, members: &[GruMember], others: &[ParameterSpec]) -> Result<Self> {
        // All members have the sizes of the first.
        let shape = |unit: &GruMember| [unit.input(), unit.hidden(), unit.bu().map_or(0, <[f32]>::len)];
        let Some(first) = members.first() else {
            return Err(NnError::parameter(OP, "number of members", "1 or more", 0.0));
        };
        if let Some(other) = members.iter().find(|unit| shape(unit) != shape(first)) {
            return Err(NnError::shape(OP, "a member", shape(first), shape(other)));
        }
        let (count, input, hidden, variant) = (members.len(), first.input(), first.hidden(), first.variant());
        let rows = if hidden == 0 { 0 } else { input }; // units without states have no weights, however many inputs
        // One arena holds the weights of all members.
        let specs = [&unit_specs("", count, [rows, hidden], variant)[..], others].concat();
        let table = ParameterTable::new(&specs)?;
        let ids = GruIds::find(&table, "")?;
        let mut arena = ParameterArena::zeros(q, &table)?;
        // Each tensor has the values of the members one after the other.
        let mut write = |id, part: fn(&GruMember) -> &[f32]| {
            let all: Vec<f32> = members.iter().flat_map(part).copied().collect();
            arena.write(q, id, &all)
        };
        write(ids.w, GruMember::w)?;
        write(ids.u, GruMember::u)?;
        write(ids.b, GruMember::b)?;
        if let Some(bu) = ids.bu {
            write(bu, |unit| unit.bu().unwrap_or_default())?;
        }
        Ok(Self { sizes: GruSizes { members: count, input, hidden, variant }, ids, arena })
    }

    /// Creates `members` random units of `[input, hidden]` features.
    ///
    /// Weights and biases are uniform in `+-1 / sqrt(hidden)`, as in PyTorch, and the same on every
    /// device.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`NnError::Overflow`] if the weights cannot be counted.
    pub fn random(q: &Q, members: usize, [input, hidden]: [usize; 2], variant: GruVariant, seed: u64) -> Result<Self> {
        let limit = 1.0 / (hidden.max(1) as f32).sqrt();
        let part = |shape: &[usize], site: u32| Init::Uniform { low: -limit, high: limit }.values(shape, seed, site);
        let columns = size(OP, hidden, 3)?;
        let unit = |first: u32| {
            let [w, u, b] = [(input, 0), (hidden, 1), (1, 2)].map(|(rows, at)| part(&[rows, columns], first + at));
            let bu = (variant == GruVariant::ResetAfter).then(|| part(&[hidden], first + 3)).transpose()?;
            GruMember::new(input, hidden, GruColumns { w: w?, u: u?, b: b?, bu })
        };
        let count =
            u32::try_from(members).ok().filter(|count| *count <= u32::MAX / 4).ok_or(NnError::Overflow { op: OP })?;
        let units = (0..count).map(|member| unit(4 * member)).collect::<Result<Vec<_>, _>>()?;
        Self::new(q, &units)
    }

    /// All weights as a row of numbers, for uses that treat them alike.
    ///
    /// An example is a step of an optimizer. Between tensors there may be zeros.
    ///
    /// # Errors
    /// None that [`new`](Self::new) would not have reported.
    pub fn at(&self) -> Result<TensorRef<'_, Q, f32>> {
        TensorRef::contiguous(self.arena.view(), &[self.arena.table().len()])
    }

    /// The same, to be written. Those zeros have to stay.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn at_mut(&mut self) -> Result<TensorMut<'_, Q, f32>> {
        let len = self.arena.table().len();
        TensorMut::contiguous(self.arena.view_mut(), &[len])
    }

    /// Zeros in the form of these weights, for their gradients.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn like(&self, q: &Q) -> Result<Self> {
        Ok(Self { sizes: self.sizes, ids: self.ids, arena: ParameterArena::zeros(q, self.arena.table())? })
    }

    /// The weights rounded to 16 bits, for inference only.
    ///
    /// They take half the memory and, on a GPU, half the time to read.
    ///
    /// # Errors
    /// [`NnError::Range`] for values beyond the range of `T` where they are refused;
    /// [`NnError::Backend`] from the device.
    pub fn narrowed<T: Real>(&self, q: &Q, overflow: Overflow) -> Result<GruWeights<Q, T>>
    where
        Q: TensorOps,
    {
        Ok(GruWeights { sizes: self.sizes, ids: self.ids, arena: self.arena.narrowed(q, overflow)? })
    }

    /// Waits and copies the weights of all members to the host.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn members(&self, q: &Q) -> Result<Vec<GruMember>> {
        let (GruSizes { members, input, hidden, .. }, ids) = (self.sizes, self.ids);
        let [w, u, b] = [ids.w, ids.u, ids.b].map(|id| self.arena.values(q, id));
        let (w, u, b) = (w?, u?, b?);
        let bu = ids.bu.map(|id| self.arena.values(q, id)).transpose()?;
        let of = |all: &[f32], member: usize| {
            let len = all.len() / members;
            all[member * len..][..len].to_vec()
        };
        let unit = |i| {
            let bu = bu.as_ref().map(|bu| of(bu, i));
            GruMember::new(input, hidden, GruColumns { w: of(&w, i), u: of(&u, i), b: of(&b, i), bu })
        };
        (0..members).map(unit).collect()
    }
}

impl<Q: Queue, T: Real> GruWeights<Q, T> {
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

    /// The sizes of the ensemble.
    pub(super) fn sizes(&self) -> GruSizes {
        self.sizes
    }

    /// The views that ops take.
    pub(crate) fn layer(&self) -> Result<GruLayer<'_, Q, T>> {
        self.ids.layer(&self.arena)
    }

    /// The weights among the tensors of the [`arena`](Self::arena).
    pub(super) fn ids(&self) -> GruIds {
        self.ids
    }

    /// The weights, and all parameters trained with them.
    pub(crate) fn arena(&self) -> &ParameterArena<Q, T> {
        &self.arena
    }

    /// The same, to be written.
    pub(crate) fn arena_mut(&mut self) -> &mut ParameterArena<Q, T> {
        &mut self.arena
    }
}

debug_fields!(GruWeights<Q: Queue, T: Element> sizes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ensemble_is_of_one_size_and_variant() {
        let q = runtime::cpu().unwrap();
        let unit = |input: usize, bu: Option<Vec<f32>>| {
            let columns = GruColumns { w: vec![0.0; 3 * input], u: vec![0.0; 3], b: vec![0.0; 3], bu };
            GruMember::new(input, 1, columns).unwrap()
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
        let unit = GruMember::new(usize::MAX, 0, GruColumns::default()).unwrap();
        let weights = GruWeights::new(&q, std::slice::from_ref(&unit)).unwrap();
        assert_eq!(weights.members(&q).unwrap(), [unit]);
    }
}
