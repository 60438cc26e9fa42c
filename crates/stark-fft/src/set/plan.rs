//! Transforms and extensions of a whole set, one size after the other.

use backend_api::ops::circle::CircleOps;

use super::{ColumnSet, ColumnSetMut, ColumnSetRef};
use crate::{
    BitReversed, CfftPlan, Coefficients, ColumnsMut, FftError, Group, LdePlan, Representation, SetShape, TwiddleTree,
};

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

    /// The shape of the sets.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// Values in stored order to coefficients, in place.
    ///
    /// # Errors
    /// [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn interpolate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: ColumnSet<Q, BitReversed>,
    ) -> Result<ColumnSet<Q, Coefficients>, FftError> {
        self.interpolate_in_place(q, tree, values.view_mut())?;
        Ok(ColumnSet::labelled(values.shape, values.buf))
    }

    /// [`interpolate`](Self::interpolate) on a view, which has coefficients then.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn interpolate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        values: ColumnSetMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        self.in_place(tree, values, |plan, own| plan.interpolate_in_place(q, tree, own))
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
        self.evaluate_in_place(q, tree, coefficients.view_mut())?;
        Ok(ColumnSet::labelled(coefficients.shape, coefficients.buf))
    }

    /// [`evaluate`](Self::evaluate) on a view, which has values then.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn evaluate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: ColumnSetMut<'_, Q, Coefficients>,
    ) -> Result<(), FftError> {
        self.in_place(tree, coefficients, |plan, own| plan.evaluate_in_place(q, tree, own))
    }

    /// Gives `transform` the plan and the columns of each group.
    fn in_place<'a, Q: CircleOps + 'a, R: Representation>(
        &self,
        tree: &TwiddleTree<Q>,
        columns: ColumnSetMut<'a, Q, R>,
        transform: impl Fn(&CfftPlan, ColumnsMut<'a, Q, R>) -> Result<(), FftError>,
    ) -> Result<(), FftError> {
        check_shape(&self.shape, columns.shape())?;
        check_tree(&self.shape, tree)?;
        self.groups.iter().zip(columns.into_groups()?).try_for_each(|(plan, own)| transform(plan, own))
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
    /// A plan for extending the polynomials of sets of `shape`.
    ///
    /// It evaluates them on domains `2^log_blowup` times as big as theirs.
    ///
    /// # Errors
    /// As [`SetShape::extended`].
    pub fn new(shape: &SetShape, log_blowup: u32) -> Result<Self, FftError> {
        let extended = shape.extended(log_blowup)?;
        let pairs = shape.groups().iter().zip(extended.groups());
        let plan = |(from, to): (&Group, &Group)| LdePlan::new(from.domain(), to.domain(), from.count());
        Ok(Self { groups: pairs.map(plan).collect::<Result<_, _>>()?, shape: shape.clone(), extended })
    }

    /// The shape of the sets that are extended.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// The shape of the values.
    #[must_use]
    pub fn extended(&self) -> &SetShape {
        &self.extended
    }

    /// The values of every polynomial, in stored order. The coefficients are kept.
    ///
    /// # Errors
    /// [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: &ColumnSet<Q, Coefficients>,
    ) -> Result<ColumnSet<Q, BitReversed>, FftError> {
        check_shape(&self.shape, coefficients.shape())?;
        let mut values = self.alloc(q)?;
        self.extend_into(q, tree, coefficients.view(), values.view_mut())?;
        Ok(values)
    }

    /// [`extend`](Self::extend) into a view, so that it can be recorded.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: ColumnSetRef<'_, Q, Coefficients>,
        values: ColumnSetMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        self.check(tree, coefficients.shape(), values.shape())?;
        for ((plan, from), into) in self.groups.iter().zip(coefficients.groups()).zip(values.into_groups()?) {
            plan.extend_into(q, tree, from, into)?;
        }
        Ok(())
    }

    /// Interpolates `values` and extends them.
    ///
    /// Returns the coefficients, and the values on the bigger domains in stored order.
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
        let mut extended = self.alloc(q)?;
        self.interpolate_and_extend_into(q, tree, values.view_mut(), extended.view_mut())?;
        Ok((ColumnSet::labelled(values.shape, values.buf), extended))
    }

    /// Interpolates a view in place and extends it into another view.
    ///
    /// It is [`interpolate_and_extend`](Self::interpolate_and_extend) on views, so that it can be
    /// recorded. The first view has the coefficients afterwards.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn interpolate_and_extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        values: ColumnSetMut<'_, Q, BitReversed>,
        extended: ColumnSetMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        self.check(tree, values.shape(), extended.shape())?;
        for ((plan, own), into) in self.groups.iter().zip(values.into_groups()?).zip(extended.into_groups()?) {
            plan.interpolate_and_extend_into(q, tree, own, into)?;
        }
        Ok(())
    }

    /// Memory for the values.
    fn alloc<Q: CircleOps>(&self, q: &Q) -> Result<ColumnSet<Q, BitReversed>, FftError> {
        Ok(ColumnSet::labelled(self.extended.clone(), q.alloc(self.extended.len())?))
    }

    /// Refuses, before the first group is touched, what would fail at some group.
    fn check<Q: CircleOps>(
        &self,
        tree: &TwiddleTree<Q>,
        columns: &SetShape,
        values: &SetShape,
    ) -> Result<(), FftError> {
        check_shape(&self.shape, columns)?;
        check_shape(&self.extended, values)?;
        check_tree(&self.extended, tree)
    }
}

fn check_shape(expected: &SetShape, got: &SetShape) -> Result<(), FftError> {
    if expected == got {
        return Ok(());
    }
    Err(FftError::SetShape { expected: expected.clone(), got: got.clone() })
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
