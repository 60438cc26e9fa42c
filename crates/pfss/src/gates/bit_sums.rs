//! Predicates from the bits of their points: sums of bits, formed where the key trees were walked.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::share::{CombineBits, ShareOps as _},
};
use core_types::params::share::{BitParams, BitTerm};

use super::{
    tree::CmpKeys,
    walk::{Activity, Walk},
};
use crate::{KeyBundle, PfssError, predicate::Program, staging::Staged};

/// XOR shares of the predicates of `program` from comparison tree `index`, one row of `count.div_ceil(32)` words each, but for
/// the top bit of the mask. Bits past the last element are zero.
pub(super) fn predicate_shares<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    index: usize,
    program: &Program,
    x_hat: &[u64],
) -> Result<Vec<u32>, PfssError> {
    let shares = CmpKeys::stage(walk, bundle, index, program.domain())?.shares(program.offsets(), x_hat)?;
    combine(walk, bundle, &program.sums(&shares.rows), x_hat, &shares.buf)
}

/// The same from the shares of all points of `program`, one row after the other.
pub(super) fn combine_rows<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    program: &Program,
    x_hat: &[u64],
    rows: &[u32],
) -> Result<Vec<u32>, PfssError> {
    let order: Vec<usize> = (0..program.offsets().len()).collect();
    let rows = walk.during(Activity::CopyIn, || Staged::upload(walk.queue(), rows))?;
    combine(walk, bundle, &program.sums(&order), x_hat, &rows)
}

fn combine<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    terms: &[BitTerm],
    x_hat: &[u64],
    rows: &Staged<'_, W::Queue, u32>,
) -> Result<Vec<u32>, PfssError> {
    let q = walk.queue();
    // a bundle holds less than 2^32 elements
    let params = BitParams { count: x_hat.len() as u32, party: bundle.party().number().into() };
    #[expect(clippy::disallowed_methods, reason = "both parties know what was opened")]
    let x_hat = walk.during(Activity::CopyIn, || q.upload(x_hat))?;
    let sums = walk.during(Activity::Walk, || {
        let sums = terms.iter().filter(|term| term.last == 1).count();
        let mut sums = Staged::<_, u32>::alloc(q, sums * (params.count as usize).div_ceil(32))?;
        q.combine_bits(CombineBits {
            params: &params,
            terms,
            x: x_hat.view(),
            rows: rows.view(),
            sums: sums.view_mut(),
        })?;
        Ok::<_, BackendError>(sums)
    })?;
    walk.meanwhile()?;
    Ok(walk.during(Activity::CopyOut, || walk.results().read_secret(sums.view()))?)
}
