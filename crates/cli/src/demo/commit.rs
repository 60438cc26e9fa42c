//! Commit a real execution trace: interpolate, extend, and check the extension at a random out-of-domain point.

use anyhow::{Context as _, Result};
use backend_api::{Queue as _, ops::circle::CircleOps};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
};
use stark_fft::{
    BitReversed, CanonicDomain, CfftPlan, Coefficients, Columns, HostColumns, LdePlan, RowOrder, TwiddleTree,
    batch_inverse,
};

use super::{
    stage::{Context, Findings},
    wide_fibonacci::{COLUMNS, barycentric_denominators, combined_constraints, trace, vanishing},
};

/// The extension has twice as many points as the trace has rows.
const LOG_BLOWUP: u32 = 1;

/// Runs the workload.
pub(crate) fn run(ctx: &Context) -> Result<Findings> {
    let q = &ctx.stark;
    let log_rows = if ctx.small { 10 } else { 16 };
    let (rows_domain, domain) = (CanonicDomain::new(log_rows)?, CanonicDomain::new(log_rows + LOG_BLOWUP)?);
    let rows = rows_domain.len();
    let mut found = Findings::new("Commit an execution trace (stark-fft)");
    let bar = ctx.bar("commit a trace", 6)?;

    let columns = found.time("generate the trace", || Ok(trace(rows)))?;
    bar.inc(1);
    let tree = found.time("twiddle tree", || Ok(TwiddleTree::new(q, domain)?))?;
    let stored = HostColumns::<RowOrder>::new(rows_domain, columns)?.into_order::<BitReversed>();
    let values = Columns::upload(q, &stored)?;
    bar.inc(1);
    let polynomials = found.time("interpolate all columns", || {
        let polynomials = CfftPlan::new(rows_domain, COLUMNS)?.interpolate(q, &tree, values)?;
        q.finish()?;
        Ok(polynomials)
    })?;
    bar.inc(1);
    let extended = found.time("low-degree extension", || {
        let extended = LdePlan::new(rows_domain, domain, COLUMNS)?.extend(q, &tree, &polynomials)?;
        q.finish()?;
        Ok(extended)
    })?;
    let extended = extended.download(q)?;
    bar.inc(1);

    let (alpha, t) = (random_element()?, random_element()?);
    let z = CirclePoint::from_parameter(t).context("the drawn point is not on the circle")?;
    let at_z = found.time("evaluate at the out-of-domain point", || Ok(polynomials.eval_at_point(q, z)?))?;
    let from_values = found.time("the same from the extension's values", || {
        let denominators = barycentric_denominators(domain, z).context("the drawn point is in the domain")?;
        let weights = q.download(&batch_inverse(q, &q.upload(&denominators)?)?)?;
        let at_column = |c: usize| {
            let column = extended.column(c).unwrap_or_default();
            let sum = weights.iter().zip(column).fold(QM31::ZERO, |sum, (weight, &v)| sum + weight.scale(v));
            sum * vanishing(domain, z)
        };
        Ok((0..COLUMNS).map(at_column).collect::<Vec<_>>())
    })?;
    bar.inc(1);
    found.check("every column's extension takes the interpolant's value at a random point", at_z == from_values)?;

    let quotient = found
        .time("constraint quotient", || Ok(quotient(q, &tree, &extended, rows_domain, alpha)?.eval_at_point(q, z)?))?;
    bar.inc(1);
    let unit = |k: usize| QM31::from_coordinates(core::array::from_fn(|i| if i == k { M31::ONE } else { M31::ZERO }));
    let quotient_at_z = (0..4).fold(QM31::ZERO, |sum, k| sum + quotient[k] * unit(k));
    let constraints_at_z = combined_constraints(&at_z, &powers(alpha));
    found.check(
        "the 98 constraints, randomly combined, are divisible by the trace domain's vanishing polynomial",
        quotient_at_z * vanishing(rows_domain, z) == constraints_at_z,
    )?;
    bar.finish_and_clear();

    found.fact("trace", format!("{rows} rows x {COLUMNS} columns, {} KiB", (rows * COLUMNS * 4) >> 10));
    found.fact("extension", format!("{} rows, {} KiB", domain.len(), (domain.len() * COLUMNS * 4) >> 10));
    found.fact("out-of-domain point", format!("parameter {t:?}"));
    Ok(found)
}

/// The coordinates of `sum alpha^k C_k / V` as polynomials, computed point by point on the extension.
fn quotient<Q: CircleOps>(
    q: &Q,
    tree: &TwiddleTree<Q>,
    extended: &HostColumns<BitReversed>,
    rows_domain: CanonicDomain,
    alpha: QM31,
) -> Result<Columns<Q, Coefficients>> {
    let domain = extended.domain();
    let size = domain.len();
    let powers = powers(alpha);
    let vanishing: Vec<M31> = (0..size).map(|p| vanishing(rows_domain, domain.stored_point(p))).collect();
    let inverses = q.download(&batch_inverse(q, &q.upload(&vanishing)?)?)?;
    let mut coordinates = vec![M31::ZERO; 4 * size];
    let mut row = vec![M31::ZERO; COLUMNS];
    for (p, &inverse) in inverses.iter().enumerate() {
        for (c, value) in row.iter_mut().enumerate() {
            *value = extended.as_slice()[c * size + p];
        }
        let value = combined_constraints(&row, &powers).scale(inverse);
        for (plane, coordinate) in value.coordinates().into_iter().enumerate() {
            coordinates[plane * size + p] = coordinate;
        }
    }
    let values = Columns::upload(q, &HostColumns::<BitReversed>::new(domain, coordinates)?)?;
    Ok(CfftPlan::new(domain, 4)?.interpolate(q, tree, values)?)
}

fn powers(alpha: QM31) -> Vec<QM31> {
    std::iter::successors(Some(QM31::ONE), |&power| Some(power * alpha)).take(COLUMNS - 2).collect()
}

fn random_element() -> Result<QM31> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("asking the system for randomness")?;
    let word = |i: usize| u64::from_le_bytes(core::array::from_fn(|j| bytes[8 * i + j]));
    Ok(QM31::from_coordinates(core::array::from_fn(|i| M31::from_u64(word(i)))))
}
