//! Transforms and low-degree extensions of columns of one size.
//!
//! `f(x, y) = sum over k of c_k y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ..` with the bits `b0 b1 ..` of `k`
//! and `pi(x) = 2 x^2 - 1`. Interpolation gives `c` from the values on a canonic domain, evaluation
//! the reverse (circle FFT, <https://eprint.iacr.org/2024/278>).

use core::marker::PhantomData;

use backend_api::{
    Queue,
    ops::circle::{CircleEvaluate, CircleExtend, CircleInterpolate, CircleLde, CircleOps},
};
use core_types::params::circle::{CircleExtendParams, CircleFftParams};

use crate::{
    BitReversed, CanonicDomain, Coefficients, Columns, ColumnsMut, ColumnsRef, FftError, TwiddleTree,
    domain::column_count,
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

    /// Interpolates values in stored order to coefficients, in place.
    ///
    /// They define the unique polynomials of the circle basis through the values.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn interpolate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<Columns<Q, Coefficients>, FftError> {
        self.interpolate_in_place(q, tree, values.view_mut())?;
        Ok(relabelled(values))
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
        check_shape(self.domain, self.params.columns, (values.domain, values.count))?;
        let inverse_twiddles = tree.inverse(self.domain)?;
        Ok(q.circle_interpolate(CircleInterpolate {
            params: &self.params,
            inverse_twiddles,
            columns: q.shorten_mut(values.view),
        })?)
    }

    /// Coefficients to values in stored order, in place.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn evaluate<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut coefficients: Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        self.evaluate_in_place(q, tree, coefficients.view_mut())?;
        Ok(relabelled(coefficients))
    }

    /// [`evaluate`](Self::evaluate) on a view, which has values then.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_in_place<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: ColumnsMut<'_, Q, Coefficients>,
    ) -> Result<(), FftError> {
        check_shape(self.domain, self.params.columns, (coefficients.domain, coefficients.count))?;
        let twiddles = tree.forward(self.domain)?;
        let columns = q.shorten_mut(coefficients.view);
        Ok(q.circle_evaluate(CircleEvaluate { params: &self.params, twiddles, columns })?)
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
        let params = CircleExtendParams {
            log_coefficients: coefficients.log_size(),
            log_size: domain.log_size(),
            columns: column_count(domain, columns)?,
        };
        Ok(Self { coefficients, domain, params })
    }

    /// The values of every polynomial on the plan's domain, in stored order.
    ///
    /// The coefficients are kept.
    ///
    /// Allocates the result. The first use of new pages takes as long as the transform on a
    /// processor; the queue reuses freed buffers, so repeated calls do not pay it.
    /// [`extend_into`](Self::extend_into) writes into a given buffer.
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: &Columns<Q, Coefficients>,
    ) -> Result<Columns<Q, BitReversed>, FftError> {
        check_shape(self.coefficients, self.params.columns, (coefficients.domain, coefficients.count()))?;
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
        check_shape(self.coefficients, self.params.columns, (coefficients.domain, coefficients.count))?;
        check_shape(self.domain, self.params.columns, (values.domain, values.count))?;
        let twiddles = tree.forward(self.domain)?;
        Ok(q.circle_extend(CircleExtend {
            params: &self.params,
            twiddles,
            coefficients: q.shorten(coefficients.view),
            values: q.shorten_mut(values.view),
        })?)
    }

    /// Interpolates `values` and extends them to the plan's domain.
    ///
    /// Returns the coefficients, and the values on the domain in stored order. On a GPU this takes
    /// one pass over memory less than [`CfftPlan::interpolate`] followed by
    /// [`extend`](Self::extend).
    ///
    /// # Errors
    /// [`FftError::Shape`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    #[expect(clippy::type_complexity, reason = "both representations of one batch")]
    pub fn interpolate_and_extend<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        mut values: Columns<Q, BitReversed>,
    ) -> Result<(Columns<Q, Coefficients>, Columns<Q, BitReversed>), FftError> {
        check_shape(self.coefficients, self.params.columns, (values.domain, values.count()))?;
        let mut extended = self.alloc(q)?;
        self.interpolate_and_extend_into(q, tree, values.view_mut(), extended.view_mut())?;
        Ok((relabelled(values), extended))
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
        check_shape(self.coefficients, self.params.columns, (values.domain, values.count))?;
        check_shape(self.domain, self.params.columns, (extended.domain, extended.count))?;
        let (inverse_twiddles, twiddles) = (tree.inverse(self.coefficients)?, tree.forward(self.domain)?);
        Ok(q.circle_lde(CircleLde {
            params: &self.params,
            inverse_twiddles,
            twiddles,
            columns: q.shorten_mut(values.view),
            values: q.shorten_mut(extended.view),
        })?)
    }

    /// Memory for the values.
    fn alloc<Q: CircleOps>(&self, q: &Q) -> Result<Columns<Q, BitReversed>, FftError> {
        let (domain, count) = (self.domain, self.params.columns);
        let buf = q.alloc(domain.len() * count as usize)?; // counted by `column_count`
        Ok(Columns { buf, domain, count, representation: PhantomData })
    }
}

pub(crate) fn check_shape(domain: CanonicDomain, columns: u32, got: (CanonicDomain, usize)) -> Result<(), FftError> {
    if (domain, columns as usize) == got {
        return Ok(());
    }
    Err(FftError::Shape {
        expected_log: domain.log_size(),
        expected_columns: columns as usize,
        got_log: got.0.log_size(),
        got_columns: got.1,
    })
}

fn relabelled<Q: Queue, R, S>(columns: Columns<Q, R>) -> Columns<Q, S> {
    let Columns { buf, domain, count, .. } = columns;
    Columns { buf, domain, count, representation: PhantomData }
}
