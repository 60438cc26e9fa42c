//! Transforms and low-degree extensions of columns, one size after the other.
//!
//! `f(x, y) = sum over k of c_k y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ..` with the bits `b0 b1 ..` of `k`
//! and `pi(x) = 2 x^2 - 1`. Interpolation gives `c` from the values on a canonic domain, evaluation
//! the reverse (circle FFT, <https://eprint.iacr.org/2024/278>).

use backend_api::ops::circle::{CircleEvaluate, CircleExtend, CircleInterpolate, CircleLde, CircleOps};
use core_types::params::circle::{CircleExtendParams, CircleFftParams};

use crate::{
    BitReversed, CanonicDomain, Coefficients, Columns, ColumnsMut, ColumnsRef, FftError, Group, SetShape, TwiddleTree,
    shape::check_sizes,
};

/// A checked batch shape for transforms between values and coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfftPlan {
    shape: SetShape,
}

impl CfftPlan {
    /// A plan for `columns` columns on `domain`.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] if the batch exceeds the address space or 2^32 - 1 columns.
    pub fn new(domain: CanonicDomain, columns: usize) -> Result<Self, FftError> {
        Ok(Self { shape: SetShape::new(&[(domain, columns)])? })
    }

    /// A plan for columns of `shape`.
    #[must_use]
    pub fn with_shape(shape: &SetShape) -> Self {
        Self { shape: shape.clone() }
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// Interpolates values in stored order to coefficients, in place.
    ///
    /// They define the unique polynomials of the circle basis through the values.
    ///
    /// # Errors
    /// [`FftError::Shape`], [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any
    /// device work; [`FftError::Backend`] after.
    pub fn interpolate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<Columns<Q, Coefficients>, FftError> {
        self.interpolate_in_place(q, tree, values.view_mut())?;
        Ok(values.relabelled())
    }

    /// [`interpolate`](Self::interpolate) on a view, which has coefficients then.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn interpolate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        values: ColumnsMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        check_sizes(self.shape.groups(), values.sizes())?;
        // The largest domain comes first: missing twiddles are noticed before any transform.
        for (group, own) in self.shape.groups().iter().zip(values.into_groups()?) {
            q.circle_interpolate(CircleInterpolate {
                params: &transform(group),
                inverse_twiddles: tree.inverse(group.domain())?,
                columns: q.shorten_mut(own.view),
            })?;
        }
        Ok(())
    }

    /// Coefficients to values in stored order, in place.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn evaluate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut coefficients: Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        self.evaluate_in_place(q, tree, coefficients.view_mut())?;
        Ok(coefficients.relabelled())
    }

    /// [`evaluate`](Self::evaluate) on a view, which has values then.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn evaluate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: ColumnsMut<'_, Q, Coefficients>,
    ) -> Result<(), FftError> {
        check_sizes(self.shape.groups(), coefficients.sizes())?;
        // The largest domain comes first: missing twiddles are noticed before any transform.
        for (group, own) in self.shape.groups().iter().zip(coefficients.into_groups()?) {
            q.circle_evaluate(CircleEvaluate {
                params: &transform(group),
                twiddles: tree.forward(group.domain())?,
                columns: q.shorten_mut(own.view),
            })?;
        }
        Ok(())
    }
}

/// A checked batch shape for low-degree extension, of every column by the same factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdePlan {
    shape: SetShape,
    extended: SetShape,
}

impl LdePlan {
    /// A plan for evaluating `columns` polynomials on `domain`.
    ///
    /// The polynomials have the coefficients of `coefficients`.
    ///
    /// # Errors
    /// [`FftError::DomainTooSmall`] if `domain` has fewer points than there are coefficients,
    /// [`FftError::TooManyColumns`] if the batch exceeds the address space or 2^32 - 1 columns.
    pub fn new(coefficients: CanonicDomain, domain: CanonicDomain, columns: usize) -> Result<Self, FftError> {
        if domain < coefficients {
            return Err(FftError::DomainTooSmall { coefficients: coefficients.log_size(), domain: domain.log_size() });
        }
        let extended = SetShape::new(&[(domain, columns)])?;
        Ok(Self { shape: SetShape::new(&[(coefficients, columns)])?, extended })
    }

    /// A plan for extending the polynomials of `shape`.
    ///
    /// It evaluates them on domains `2^log_blowup` times as big as theirs.
    ///
    /// # Errors
    /// As [`SetShape::extended`].
    pub fn with_shape(shape: &SetShape, log_blowup: u32) -> Result<Self, FftError> {
        Ok(Self { shape: shape.clone(), extended: shape.extended(log_blowup)? })
    }

    /// The sizes of the columns that are extended.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// The sizes of the values.
    #[must_use]
    pub fn extended(&self) -> &SetShape {
        &self.extended
    }

    /// The values of every polynomial on its bigger domain, in stored order.
    ///
    /// The coefficients are kept.
    ///
    /// Allocates the result. The first use of new pages takes as long as the transform on a
    /// processor; the queue reuses freed buffers, so repeated calls do not pay it.
    /// [`extend_into`](Self::extend_into) writes into a given buffer.
    ///
    /// # Errors
    /// [`FftError::Shape`], [`FftError::SetShape`] or [`FftError::TwiddlesTooSmall`] before any
    /// device work; [`FftError::Backend`] after.
    pub fn extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: &Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        check_sizes(self.shape.groups(), coefficients.shape().groups())?;
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
        coefficients: ColumnsRef<'_, Q, Coefficients>,
        values: ColumnsMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        self.check(tree, coefficients.sizes(), values.sizes())?;
        for ((params, from), into) in self.params().zip(coefficients.groups()).zip(values.into_groups()?) {
            q.circle_extend(CircleExtend {
                params: &params,
                twiddles: tree.forward(CanonicDomain::new(params.log_size)?)?,
                coefficients: q.shorten(from.view),
                values: q.shorten_mut(into.view),
            })?;
        }
        Ok(())
    }

    /// Interpolates `values` and extends them to the bigger domains.
    ///
    /// Returns the coefficients, and the values on the bigger domains in stored order. On a GPU
    /// this takes one pass over memory less than [`CfftPlan::interpolate`] followed by
    /// [`extend`](Self::extend).
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    #[expect(clippy::type_complexity, reason = "both representations of one batch")]
    pub fn interpolate_and_extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<(Columns<Q, Coefficients>, Columns<Q, BitReversed>), FftError> {
        check_sizes(self.shape.groups(), values.shape().groups())?;
        let mut extended = self.alloc(q)?;
        self.interpolate_and_extend_into(q, tree, values.view_mut(), extended.view_mut())?;
        Ok((values.relabelled(), extended))
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
        values: ColumnsMut<'_, Q, BitReversed>,
        extended: ColumnsMut<'_, Q, BitReversed>,
    ) -> Result<(), FftError> {
        self.check(tree, values.sizes(), extended.sizes())?;
        for ((params, own), into) in self.params().zip(values.into_groups()?).zip(extended.into_groups()?) {
            q.circle_lde(CircleLde {
                params: &params,
                inverse_twiddles: tree.inverse(CanonicDomain::new(params.log_coefficients)?)?,
                twiddles: tree.forward(CanonicDomain::new(params.log_size)?)?,
                columns: q.shorten_mut(own.view),
                values: q.shorten_mut(into.view),
            })?;
        }
        Ok(())
    }

    /// The launch record of each size.
    fn params(&self) -> impl Iterator<Item = CircleExtendParams> {
        self.shape.groups().iter().zip(self.extended.groups()).map(|(from, to)| CircleExtendParams {
            log_coefficients: from.domain().log_size(),
            log_size: to.domain().log_size(),
            columns: from.columns_in_record(),
        })
    }

    /// Memory for the values.
    fn alloc<Q: CircleOps>(&self, q: &Q) -> Result<Columns<Q, BitReversed>, FftError> {
        Ok(Columns::labelled(self.extended.clone(), q.alloc(self.extended.len())?))
    }

    /// Refuses, before the first size is touched, what would fail at some size.
    fn check<Q: CircleOps>(&self, tree: &TwiddleTree<Q>, columns: &[Group], values: &[Group]) -> Result<(), FftError> {
        check_sizes(self.shape.groups(), columns)?;
        check_sizes(self.extended.groups(), values)?;
        check_tree(&self.extended, tree)
    }
}

/// The launch record of a transform of one size.
fn transform(group: &Group) -> CircleFftParams {
    CircleFftParams { log_size: group.domain().log_size(), columns: group.columns_in_record() }
}

/// Refuses twiddles of a smaller domain than the biggest of a shape.
fn check_tree<Q: CircleOps>(shape: &SetShape, tree: &TwiddleTree<Q>) -> Result<(), FftError> {
    shape.domain().map_or(Ok(()), |domain| tree.forward(domain).map(drop))
}
