//! Evaluation on one block of a domain, checked point by point against the definition.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::circle::{CircleOps, CircleRestrict},
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleRestrictParams,
};

use super::{
    model::{ElementStream, stored_point},
    transform::{PUBLISHED_EXTENSION, expect_at, tree, words},
};
use crate::{Case, Conditioned, Failure, OpSpec, spec::BATCHES};

fn restricted(q: &Conditioned, params: CircleRestrictParams, coefficients: &[M31]) -> Result<Vec<M31>, BackendError> {
    let tree = tree(q, params.log_domain)?;
    let coefficients = q.upload(coefficients)?;
    let mut values = q.zeros((params.columns as usize) << params.log_block)?;
    q.circle_restrict(CircleRestrict {
        params: &params,
        twiddles: tree.forward.view(),
        coefficients: coefficients.view(),
        values: values.view_mut(),
    })?;
    q.download(&values)
}

/// Evaluates random polynomials and compares the values with the definition.
fn hold(q: &Conditioned, params: CircleRestrictParams) -> Result<(), Failure> {
    let CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns } = params;
    let mut stream = ElementStream::new(u64::from(log_coefficients << 16 | log_domain << 8 | log_block));
    let coefficients = stream.column((columns as usize) << log_coefficients);
    let values = restricted(q, params, &coefficients)?;
    let first = (block as usize) << log_block;
    expect_at([log_coefficients, log_block], &coefficients, &values, |p| stored_point(log_domain, first + p))
}

/// The first block, the last and one between.
fn some_blocks(log_domain: u32, log_block: u32) -> Vec<u32> {
    let last = (1 << (log_domain - log_block)) - 1;
    let mut blocks = vec![0, last / 3 * 2, last];
    blocks.dedup();
    blocks
}

/// Coefficients, domain and block sizes that cover all launches.
///
/// They reach every first and every later launch: copies in a block, of tiles and of strips; parts
/// summed in tiles, in strips and in wide strips; the maximum number of parts in one run, and
/// several runs.
const LARGE: [(u32, u32, u32); 14] = [
    (9, 14, 11),
    (10, 15, 13),
    (13, 14, 12),
    (13, 16, 14),
    (14, 15, 13),
    (14, 16, 14),
    (15, 15, 2),
    (15, 16, 1),
    (15, 16, 3),
    (16, 17, 10),
    (16, 17, 13),
    (16, 18, 17),
    (20, 21, 18),
    (22, 22, 21),
];

pub(super) fn restrict() -> OpSpec {
    let mut cases = vec![Case::new("published values of 1..=8 on 16 points, block by block", |q| {
        let coefficients = words(&[1, 2, 3, 4, 5, 6, 7, 8]);
        for log_block in 1..=4 {
            for (block, expected) in (0..).zip(PUBLISHED_EXTENSION.chunks(1 << log_block)) {
                let params = CircleRestrictParams { log_coefficients: 3, log_domain: 4, log_block, block, columns: 1 };
                Failure::unless_equal(&words(expected), &restricted(q, params, &coefficients)?)?;
            }
        }
        Ok(())
    })];
    for log_domain in 1..=5 {
        cases.push(Case::new(format!("every block of 2^{log_domain} points"), move |q| {
            for log_coefficients in 0..=log_domain {
                for log_block in 1..=log_domain {
                    for block in 0..1 << (log_domain - log_block) {
                        let sizes = CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns: 2 };
                        hold(q, sizes)?;
                    }
                }
            }
            Ok(())
        }));
    }
    for log_domain in 6..=10 {
        cases.push(Case::new(format!("blocks of 2^{log_domain} points"), move |q| {
            for log_coefficients in [0, 3, log_domain - 2, log_domain - 1, log_domain] {
                for log_block in 1..=log_domain {
                    for block in some_blocks(log_domain, log_block) {
                        hold(q, CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns: 1 })?;
                    }
                }
            }
            Ok(())
        }));
    }
    for columns in BATCHES {
        cases.push(Case::new(format!("{columns} columns"), move |q| {
            for (log_coefficients, log_domain, log_block) in [(3, 4, 1), (4, 5, 2), (5, 6, 4), (2, 5, 4), (6, 7, 5)] {
                for block in some_blocks(log_domain, log_block) {
                    hold(q, CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns })?;
                }
            }
            Ok(())
        }));
    }
    for (log_coefficients, log_domain, log_block) in LARGE {
        let name =
            format!("2^{log_coefficients} coefficients, blocks of 2^{log_block} of 2^{log_domain} points, sampled");
        let check = move |q: &Conditioned| {
            let columns = if log_domain < 15 { 3 } else { 1 };
            some_blocks(log_domain, log_block).into_iter().try_for_each(|block| {
                hold(q, CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns })
            })
        };
        cases.push(Case::new(name, check).on_elements(1 << log_domain));
    }
    cases.push(Case::new("parameters of no block", refusals));
    OpSpec { op: "circle.restrict", cases }
}

/// Parameters that do not fit each other, with views of the lengths that they state.
fn refusals(q: &Conditioned) -> Result<(), Failure> {
    let refused = |what: &str, log_coefficients: u32, log_domain: u32, log_block: u32, block: u32| {
        let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns: 1 };
        let twiddles = q.zeros::<Twiddle>(1 << (log_domain.clamp(1, 6) - 1))?;
        let coefficients = q.zeros::<M31>(1 << log_coefficients)?;
        let mut values = q.zeros::<M31>(1 << log_block)?;
        let outcome = q.circle_restrict(CircleRestrict {
            params: &params,
            twiddles: twiddles.view(),
            coefficients: coefficients.view(),
            values: values.view_mut(),
        });
        Failure::unless_refused(what, outcome)
    };
    refused("the block after the last", 3, 4, 2, 4)?;
    refused("a block far outside", 3, 4, 2, u32::MAX)?;
    refused("a block of one value", 3, 4, 0, 1)?;
    refused("a block larger than the domain", 3, 4, 5, 0)?;
    refused("more coefficients than points", 5, 4, 2, 0)?;
    refused("a domain of one point", 0, 0, 1, 0)?;
    refused("a domain beyond the circle", 3, 31, 2, 0)
}
