//! Low-degree extensions: the ops, a plan against its op, and blockwise against whole.

use backend_api::{
    Buffer, Queue as _,
    ops::circle::{CircleExtend, CircleLde, CircleOps as _, CircleRestrict},
};
use core_types::{
    field::M31,
    params::circle::{CircleExtendParams, CircleRestrictParams},
};
use cpu_backend::SimdLevel;
use runtime::AnyQueue;
use stark_fft::{
    BitReversed, CanonicDomain, Coefficients, Columns, ColumnsMut, HostColumns, LdeBlockPlan, LdePlan, TwiddleTree,
};

use super::twiddles::twiddles;
use crate::{
    Goal, Line, LineError,
    host::{M31_BYTES, elements},
    line::RunSize,
};

/// Log of the coefficients of a column on the processor, and the number of columns.
const LOG_COEFFICIENTS: u32 = 16;
const COLUMNS: u32 = 100;

/// The log of twice the coefficients.
const LOG_SIZE: u32 = LOG_COEFFICIENTS + 1;

/// Log of the number of blocks.
const LOG_BLOCKS: u32 = 3;

/// Low-degree extension by a factor of two.
pub(super) fn extend(log_coefficients: u32, columns: u32) -> Line {
    let (log_size, count) = (log_coefficients + 1, (columns as usize) << log_coefficients);
    let work = 2.0 * count as f64 * f64::from(log_coefficients);
    let size = RunSize::streaming("element-layer", work, 3.0 * M31_BYTES * count as f64);
    Line::new(&format!("circle.extend/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_size)?;
        let (coefficients, mut values) = (q.upload(&elements(count))?, q.zeros::<M31>(2 * count)?);
        let params = CircleExtendParams { log_coefficients, log_size, columns };
        Ok(Box::new(move |q| {
            let (twiddles, coefficients, values) = (forward.view(), coefficients.view(), values.view_mut());
            Ok(q.circle_extend(CircleExtend { params: &params, twiddles, coefficients, values })?)
        }))
    })
}

/// The same from values, coefficients included.
pub(super) fn lde(log_coefficients: u32, columns: u32) -> Line {
    let (log_size, count) = (log_coefficients + 1, (columns as usize) << log_coefficients);
    let work = 3.0 * count as f64 * f64::from(log_coefficients);
    let bytes = M31_BYTES * count as f64;
    let size = RunSize { resident: 3.0 * bytes, ..RunSize::streaming("element-layer", work, 4.0 * bytes) };
    Line::new(&format!("circle.lde/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_size)?;
        let [_, inverse] = twiddles(q, log_coefficients)?;
        let (mut from, mut values) = (q.upload(&elements(count))?, q.zeros::<M31>(2 * count)?);
        let params = CircleExtendParams { log_coefficients, log_size, columns };
        Ok(Box::new(move |q| {
            let (inverse_twiddles, twiddles) = (inverse.view(), forward.view());
            let (params, columns, values) = (&params, from.view_mut(), values.view_mut());
            Ok(q.circle_lde(CircleLde { params, inverse_twiddles, twiddles, columns, values })?)
        }))
    })
}

/// Evaluates one of eight blocks of a domain with two points per coefficient.
pub(super) fn restrict(log_coefficients: u32, columns: u32) -> Line {
    let (log_domain, log_block) = (log_coefficients + 1, log_coefficients - 2);
    let (count, values_len) = ((columns as usize) << log_coefficients, (columns as usize) << log_block);
    // A sum of four parts counts as a layer for each.
    let work = values_len as f64 * f64::from(log_block + 4);
    let size = RunSize::streaming("element-layer", work, M31_BYTES * (count + values_len) as f64);
    Line::new(&format!("circle.restrict/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_domain)?;
        let (coefficients, mut values) = (q.upload(&elements(count))?, q.zeros::<M31>(values_len)?);
        let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block: 5, columns };
        Ok(Box::new(move |q| {
            let (twiddles, coefficients, values) = (forward.view(), coefficients.view(), values.view_mut());
            Ok(q.circle_restrict(CircleRestrict { params: &params, twiddles, coefficients, values })?)
        }))
    })
}

/// The overhead of a plan over its op: checks, and no memory.
pub(super) fn plan() -> Line {
    let line = Line::new("circle.extend_plan/100x2^16", size(), |q| {
        let ((tree, coefficients), large) = (prepared(q)?, domain(LOG_SIZE));
        let plan = LdePlan::new(domain(LOG_COEFFICIENTS), large, COLUMNS as usize)?;
        let mut values = q.alloc::<M31>((COLUMNS as usize) << LOG_SIZE)?;
        Ok(Box::new(move |q| {
            let values = ColumnsMut::<AnyQueue, BitReversed>::new(large, values.view_mut())?;
            Ok(plan.extend_into(q, &tree, coefficients.view(), values)?)
        }))
    });
    let line = line.ours("trefoil, plan", SimdLevel::Avx512).in_nanoseconds();
    line.variant("trefoil, bare op", extend(LOG_COEFFICIENTS, COLUMNS))
        .goal(Goal::Ratio { peer: 1, ratio: 1.0 / 1.03 }, "")
}

/// The cost of holding an eighth of the values at a time: weighted sums replace three layers.
pub(super) fn blocks() -> Line {
    let line = Line::new("circle.extend_blocks/100x2^16", size(), |q| {
        let (tree, coefficients) = prepared(q)?;
        let plan = LdeBlockPlan::new(domain(LOG_COEFFICIENTS), domain(LOG_SIZE), COLUMNS as usize, LOG_BLOCKS)?;
        let mut values = q.alloc::<M31>(plan.values_len())?;
        Ok(Box::new(move |q| {
            for block in 0..plan.blocks() {
                plan.extend_into(q, &tree, coefficients.view(), block, values.view_mut())?;
            }
            Ok(())
        }))
    });
    let line = line.ours("trefoil, 8 blocks", SimdLevel::Avx512).in_nanoseconds();
    line.variant("trefoil, whole", extend(LOG_COEFFICIENTS, COLUMNS)).goal(Goal::Ratio { peer: 1, ratio: 0.65 }, "")
}

fn size() -> RunSize {
    let work = f64::from(COLUMNS) * f64::from(LOG_COEFFICIENTS) * f64::from(1u32 << LOG_SIZE);
    RunSize::computing("element-layer", work, 0.0)
}

fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).expect("a small domain")
}

/// The inputs of both plans.
fn prepared(q: &AnyQueue) -> Result<(TwiddleTree<AnyQueue>, Columns<AnyQueue, Coefficients>), LineError> {
    let words = elements(1 << LOG_COEFFICIENTS).repeat(COLUMNS as usize);
    let host = HostColumns::new(domain(LOG_COEFFICIENTS), words)?;
    Ok((TwiddleTree::new(q, domain(LOG_SIZE))?, Columns::upload(q, &host)?))
}
