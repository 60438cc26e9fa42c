//! Interpolation from the first values on a domain.
//!
//! It is checked point by point against the definition.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::circle::{CircleInterpolatePart, CircleOps},
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::CirclePartParams,
};

use super::{
    model::{ElementStream, stored_point},
    transform::{expect_at, interpolated, tree},
};
use crate::{Case, Conditioned, Failure, OpSpec, spec::BATCHES};

fn interpolated_part(q: &Conditioned, params: CirclePartParams, values: &[M31]) -> Result<Vec<M31>, BackendError> {
    let tree = tree(q, params.log_domain)?;
    let mut columns = q.upload(values)?;
    q.circle_interpolate_part(CircleInterpolatePart {
        params: &params,
        inverse_twiddles: tree.inverse.view(),
        columns: columns.view_mut(),
    })?;
    q.download(&columns)
}

/// Checks that the interpolants of random values reproduce them on the part.
fn hold(q: &Conditioned, params: CirclePartParams) -> Result<(), Failure> {
    let CirclePartParams { log_size, log_domain, columns } = params;
    let mut stream = ElementStream::new(u64::from(log_size << 8 | log_domain));
    let values = stream.column((columns as usize) << log_size);
    let coefficients = interpolated_part(q, params, &values)?;
    expect_at([log_size; 2], &coefficients, &values, |p| stored_point(log_domain, p))
}

pub(super) fn interpolate_part() -> OpSpec {
    let mut cases = Vec::new();
    for log_domain in 1..=12 {
        cases.push(Case::new(format!("every part of 2^{log_domain} points"), move |q| {
            (1..=log_domain).try_for_each(|log_size| hold(q, CirclePartParams { log_size, log_domain, columns: 2 }))
        }));
    }
    for (log_size, log_domain) in
        [(3, 17), (12, 16), (12, 17), (13, 14), (13, 16), (14, 17), (15, 16), (17, 18), (18, 20), (20, 21)]
    {
        let columns = if log_domain < 15 { 2 } else { 1 };
        let params = CirclePartParams { log_size, log_domain, columns };
        cases.push(
            Case::new(format!("2^{log_size} of 2^{log_domain} points, sampled"), move |q| hold(q, params))
                .on_elements(1 << log_domain),
        );
    }
    for columns in BATCHES {
        cases.push(Case::new(format!("{columns} columns"), move |q| {
            for (log_size, log_domain) in [(1, 3), (2, 4), (5, 7)] {
                hold(q, CirclePartParams { log_size, log_domain, columns })?;
            }
            Ok(())
        }));
    }
    cases.push(Case::new("a whole domain, as interpolation of it", |q| {
        for log_size in (1..=9).chain([13]) {
            let values = ElementStream::new(31).column(3 << log_size);
            let params = CirclePartParams { log_size, log_domain: log_size, columns: 3 };
            Failure::unless_equal(&interpolated(q, log_size, 3, &values)?, &interpolated_part(q, params, &values)?)?;
        }
        Ok(())
    }));
    cases.push(Case::new("a part larger than the domain", |q| {
        let (twiddles, mut columns) = (q.zeros::<Twiddle>(4)?, q.zeros::<M31>(16)?);
        let params = CirclePartParams { log_size: 4, log_domain: 3, columns: 1 };
        let (inverse_twiddles, columns) = (twiddles.view(), columns.view_mut());
        let op = CircleInterpolatePart { params: &params, inverse_twiddles, columns };
        Failure::unless_refused("2^4 of 2^3 points", q.circle_interpolate_part(op))
    }));
    OpSpec { op: "circle.interpolate_part", cases }
}
