//! Transforms and low-degree extensions of columns of one size.

use core::marker::PhantomData;

use backend_api::{
    Buffer, Mut, Queue, Ref,
    ops::circle::{CircleEvaluate, CircleExtend, CircleInterpolate, CircleLde, CircleOps},
};
use core_types::{
    field::M31,
    params::circle::{CircleExtendParams, CircleFftParams},
};

use crate::{
    BitReversed, CanonicDomain, Coefficients, Columns, FftError, Representation, TwiddleTree, columns::column_count,
};

/// A checked batch shape for transforms between values and coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfftPlan {
    domain: CanonicDomain,
    params: CircleFftParams,
}

impl CfftPlan {
    /// A plan for `columns` columns on `domain`.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] if the batch exceeds the address space or 2^32 - 1 columns.
    pub fn new(domain: CanonicDomain, columns: usize) -> Result<Self, FftError> {
        let params = CircleFftParams { log_size: domain.log_size(), columns: column_count(domain, columns)? };
        Ok(Self { domain, params })
    }

    /// Values in stored order to coefficients, in place: the unique polynomials of the circle basis through them.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    pub fn interpolate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<Columns<Q, Coefficients>, FftError> {
        check_shape(self.domain, self.params.columns, &values)?;
        self.interpolate_in_place(q, tree, values.buf.view_mut())?;
        Ok(relabelled(values))
    }

    /// [`interpolate`](Self::interpolate) on a view of the plan's columns, one after the other, in a buffer of the caller's.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] for a view of another length, and after.
    pub fn interpolate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        columns: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        let inverse_twiddles = tree.inverse(self.domain)?;
        Ok(q.circle_interpolate(CircleInterpolate {
            params: &self.params,
            inverse_twiddles,
            columns: q.shorten_mut(columns),
        })?)
    }

    /// Coefficients to values in stored order, in place.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    pub fn evaluate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut coefficients: Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        check_shape(self.domain, self.params.columns, &coefficients)?;
        self.evaluate_in_place(q, tree, coefficients.buf.view_mut())?;
        Ok(relabelled(coefficients))
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
        let twiddles = tree.forward(self.domain)?;
        Ok(q.circle_evaluate(CircleEvaluate { params: &self.params, twiddles, columns: q.shorten_mut(columns) })?)
    }
}

/// A checked batch shape for low-degree extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdePlan {
    coefficients: CanonicDomain,
    domain: CanonicDomain,
    params: CircleExtendParams,
}

impl LdePlan {
    /// A plan for evaluating `columns` polynomials with the coefficients of `coefficients` on `domain`.
    ///
    /// # Errors
    /// [`FftError::DomainTooSmall`] if `domain` has fewer points than there are coefficients,
    /// [`FftError::TooManyColumns`] if the batch exceeds the address space or 2^32 - 1 columns.
    pub fn new(coefficients: CanonicDomain, domain: CanonicDomain, columns: usize) -> Result<Self, FftError> {
        if domain < coefficients {
            return Err(FftError::DomainTooSmall { coefficients: coefficients.log_size(), domain: domain.log_size() });
        }
        let params = CircleExtendParams {
            log_coefficients: coefficients.log_size(),
            log_size: domain.log_size(),
            columns: column_count(domain, columns)?,
        };
        Ok(Self { coefficients, domain, params })
    }

    /// The values of every polynomial on the plan's domain, in stored order. The coefficients stay.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    pub fn extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: &Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        check_shape(self.coefficients, self.params.columns, coefficients)?;
        let mut buf = q.alloc(self.domain.len() * coefficients.count())?;
        self.extend_into(q, tree, coefficients.buf.view(), buf.view_mut())?;
        Ok(self.values(buf))
    }

    /// [`extend`](Self::extend) between views of the plan's columns, one after the other, in buffers of the caller's.
    ///
    /// # Errors
    /// [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] for a view of another length, and after.
    pub fn extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: Ref<'_, Q, M31>,
        values: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        let twiddles = tree.forward(self.domain)?;
        Ok(q.circle_extend(CircleExtend {
            params: &self.params,
            twiddles,
            coefficients: q.shorten(coefficients),
            values: q.shorten_mut(values),
        })?)
    }

    /// Interpolates `values` and extends: the coefficients and the values on the plan's domain, in stored order. On a GPU
    /// a pass over memory less than [`CfftPlan::interpolate`] and [`extend`](Self::extend).
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work; [`FftError::Backend`] after.
    #[expect(clippy::type_complexity, reason = "both representations of one batch")]
    pub fn interpolate_and_extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<(Columns<Q, Coefficients>, Columns<Q, BitReversed>), FftError> {
        check_shape(self.coefficients, self.params.columns, &values)?;
        let mut buf = q.alloc(self.domain.len() * values.count())?;
        self.interpolate_and_extend_into(q, tree, values.buf.view_mut(), buf.view_mut())?;
        Ok((relabelled(values), self.values(buf)))
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
        let (inverse_twiddles, twiddles) = (tree.inverse(self.coefficients)?, tree.forward(self.domain)?);
        Ok(q.circle_lde(CircleLde {
            params: &self.params,
            inverse_twiddles,
            twiddles,
            columns: q.shorten_mut(columns),
            values: q.shorten_mut(values),
        })?)
    }

    fn values<Q: CircleOps>(&self, buf: Q::Buf<M31>) -> Columns<Q, BitReversed> {
        Columns { buf, domain: self.domain, count: self.params.columns, representation: PhantomData }
    }
}

fn check_shape<Q: Queue, R: Representation>(
    domain: CanonicDomain,
    columns: u32,
    got: &Columns<Q, R>,
) -> Result<(), FftError> {
    if (domain, columns) == (got.domain, got.count) {
        return Ok(());
    }
    Err(FftError::Shape {
        expected_log: domain.log_size(),
        expected_columns: columns as usize,
        got_log: got.domain.log_size(),
        got_columns: got.count(),
    })
}

fn relabelled<Q: Queue, R, S>(columns: Columns<Q, R>) -> Columns<Q, S> {
    let Columns { buf, domain, count, .. } = columns;
    Columns { buf, domain, count, representation: PhantomData }
}
