//! Transforms and extensions of a whole set, one size after the other.

use backend_api::{Buffer, BufferMut, BufferRef, Mut, Ref, ops::circle::CircleOps};
use core_types::field::M31;

use super::{ColumnSet, SetShape, shape::Group};
use crate::{BitReversed, CfftPlan, Coefficients, FftError, LdePlan, TwiddleTree};

/// A checked shape for transforms of a set between values and coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfftSetPlan {
    shape: SetShape,
    groups: Vec<CfftPlan>,
}

impl CfftSetPlan {
    /// A plan for sets of `shape`.
    ///
    /// # Errors
    /// As [`CfftPlan::new`].
    pub fn new(shape: &SetShape) -> Result<Self, FftError> {
        let plan = |group: &Group| CfftPlan::new(group.domain(), group.count());
        Ok(Self { shape: shape.clone(), groups: shape.groups().iter().map(plan).collect::<Result<_, _>>()? })
    }

    /// Values in stored order to coefficients, in place.
    ///
    /// # Errors
    /// [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    pub fn interpolate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: ColumnSet<Q, BitReversed>,
    ) -> Result<ColumnSet<Q, Coefficients>, FftError> {
        check_shape(&self.shape, values.shape())?;
        self.interpolate_in_place(q, tree, values.buf.view_mut())?;
        Ok(ColumnSet::labelled(values.shape, values.buf))
    }

    /// [`interpolate`](Self::interpolate) on a view of the plan's columns, one after the other, in a buffer of the caller's.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] or [`FftError::SetLength`] before any device work; [`FftError::Backend`] after.
    pub fn interpolate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        columns: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        self.in_place(tree, columns, |plan, own| plan.interpolate_in_place(q, tree, own))
    }

    /// Coefficients to values in stored order, in place.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn evaluate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut coefficients: ColumnSet<Q, Coefficients>,
    ) -> Result<ColumnSet<Q, BitReversed>, FftError> {
        check_shape(&self.shape, coefficients.shape())?;
        self.evaluate_in_place(q, tree, coefficients.buf.view_mut())?;
        Ok(ColumnSet::labelled(coefficients.shape, coefficients.buf))
    }

    /// [`evaluate`](Self::evaluate) on a view of the plan's columns, one after the other, in a buffer of the caller's.
    ///
    /// # Errors
    /// As [`interpolate_in_place`](Self::interpolate_in_place).
    pub fn evaluate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        columns: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        self.in_place(tree, columns, |plan, own| plan.evaluate_in_place(q, tree, own))
    }

    /// Gives `transform` the plan and the columns of each group.
    fn in_place<Q: CircleOps>(
        &self,
        tree: &TwiddleTree<Q>,
        columns: Mut<'_, Q, M31>,
        transform: impl Fn(&CfftPlan, Mut<'_, Q, M31>) -> Result<(), FftError>,
    ) -> Result<(), FftError> {
        check_tree(&self.shape, tree)?;
        check_len(&self.shape, columns.len())?;
        let mut rest = columns;
        for (plan, group) in self.groups.iter().zip(self.shape.groups()) {
            let (own, later) = rest.split_at(group.len())?;
            transform(plan, own)?;
            rest = later;
        }
        Ok(())
    }
}

/// A checked shape for low-degree extension of a set, every column by the same factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdeSetPlan {
    shape: SetShape,
    extended: SetShape,
    groups: Vec<LdePlan>,
}

impl LdeSetPlan {
    /// A plan for evaluating the polynomials of sets of `shape` on domains `2^log_blowup` times as big as theirs.
    ///
    /// # Errors
    /// As [`SetShape::extended`].
    pub fn new(shape: &SetShape, log_blowup: u32) -> Result<Self, FftError> {
        let extended = shape.extended(log_blowup)?;
        let pairs = shape.groups().iter().zip(extended.groups());
        let plan = |(from, to): (&Group, &Group)| LdePlan::new(from.domain(), to.domain(), from.count());
        Ok(Self { groups: pairs.map(plan).collect::<Result<_, _>>()?, shape: shape.clone(), extended })
    }

    /// The shape of the values.
    #[must_use]
    pub fn extended(&self) -> &SetShape {
        &self.extended
    }

    /// The values of every polynomial, in stored order. The coefficients stay.
    ///
    /// # Errors
    /// [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    pub fn extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: &ColumnSet<Q, Coefficients>,
    ) -> Result<ColumnSet<Q, BitReversed>, FftError> {
        check_shape(&self.shape, coefficients.shape())?;
        let mut buf = q.alloc(self.extended.len())?;
        self.extend_into(q, tree, coefficients.buf.view(), buf.view_mut())?;
        Ok(ColumnSet::labelled(self.extended.clone(), buf))
    }

    /// [`extend`](Self::extend) between views of the plan's columns, one after the other, in buffers of the caller's.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] or [`FftError::SetLength`] before any device work; [`FftError::Backend`] after.
    pub fn extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: Ref<'_, Q, M31>,
        values: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        self.check(tree, coefficients.len(), values.len())?;
        let mut rest = values;
        for (i, plan) in self.groups.iter().enumerate() {
            let (own, later) = rest.split_at(self.extended.groups()[i].len())?;
            plan.extend_into(q, tree, coefficients.slice(self.shape.groups()[i].elements())?, own)?;
            rest = later;
        }
        Ok(())
    }

    /// Interpolates `values` and extends: the coefficients, and the values on the bigger domains, in stored order.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    #[expect(clippy::type_complexity, reason = "both representations of one set")]
    pub fn interpolate_and_extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: ColumnSet<Q, BitReversed>,
    ) -> Result<(ColumnSet<Q, Coefficients>, ColumnSet<Q, BitReversed>), FftError> {
        check_shape(&self.shape, values.shape())?;
        let mut buf = q.alloc(self.extended.len())?;
        self.interpolate_and_extend_into(q, tree, values.buf.view_mut(), buf.view_mut())?;
        let polynomials = ColumnSet::labelled(values.shape, values.buf);
        Ok((polynomials, ColumnSet::labelled(self.extended.clone(), buf)))
    }

    /// [`interpolate_and_extend`](Self::interpolate_and_extend) of a view of the plan's columns, one after the other, whose
    /// values become coefficients, into another view, both in buffers of the caller's.
    ///
    /// # Errors
    /// As [`extend_into`](Self::extend_into).
    pub fn interpolate_and_extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        columns: Mut<'_, Q, M31>,
        values: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        self.check(tree, columns.len(), values.len())?;
        let (mut columns, mut values) = (columns, values);
        for (i, plan) in self.groups.iter().enumerate() {
            let (own, later) = columns.split_at(self.shape.groups()[i].len())?;
            let (own_values, later_values) = values.split_at(self.extended.groups()[i].len())?;
            plan.interpolate_and_extend_into(q, tree, own, own_values)?;
            (columns, values) = (later, later_values);
        }
        Ok(())
    }

    /// Refuses, before the first group is touched, what would fail at some group.
    fn check<Q: CircleOps>(&self, tree: &TwiddleTree<Q>, columns: usize, values: usize) -> Result<(), FftError> {
        check_tree(&self.extended, tree)?;
        check_len(&self.shape, columns)?;
        check_len(&self.extended, values)
    }
}

fn check_shape(expected: &SetShape, got: &SetShape) -> Result<(), FftError> {
    if expected == got {
        return Ok(());
    }
    Err(FftError::SetShape { expected: expected.clone(), got: got.clone() })
}

fn check_len(shape: &SetShape, got: usize) -> Result<(), FftError> {
    if got == shape.len() {
        return Ok(());
    }
    Err(FftError::SetLength { expected: shape.len(), got })
}

fn check_tree<Q: CircleOps>(shape: &SetShape, tree: &TwiddleTree<Q>) -> Result<(), FftError> {
    match shape.domain() {
        Some(domain) if domain > tree.domain() => {
            let (expected, got) = (domain.log_size(), tree.domain().log_size());
            Err(FftError::TwiddlesTooSmall { expected, got })
        }
        _ => Ok(()),
    }
}
