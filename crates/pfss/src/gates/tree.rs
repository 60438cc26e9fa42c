use backend_api::{Buffer, ops::fss::FssOps};
use core_types::{
    PrgKeys,
    params::fss::{CmpParams, DcfParams},
};

use crate::{
    KeyBundle, PfssError,
    gate::Tree,
    predicate::{Program, place},
    staging::Staged,
};

/// The masked inputs as representatives, one per element of the bundle.
pub(super) fn check_inputs(bundle: &KeyBundle, x_hat: &[u64]) -> Result<Vec<u64>, PfssError> {
    if x_hat.len() != bundle.count() {
        return Err(PfssError::Length { what: "elements", expected: bundle.count(), got: x_hat.len() });
    }
    Ok(x_hat.iter().map(|&x| bundle.gate().ring().reduce(x)).collect())
}

/// XOR shares of `1[α <= y]` at the points of `program` from comparison tree `index`, `[points][padded / 32]`.
pub(super) fn cmp_shares<Q: FssOps>(
    q: &Q,
    bundle: &KeyBundle,
    index: usize,
    program: &Program,
    x_hat: &[u64],
) -> Result<Vec<u32>, PfssError> {
    let tree = bundle.tree(index);
    let params = CmpParams {
        key: PrgKeys::from_nonce(bundle.nonce()).child,
        bits: program.domain().bits(),
        party: bundle.party().number().into(),
        count: bundle.count() as u32, // a bundle holds less than 2^32 elements
        points: program.points() as u32,
    };
    debug_assert_eq!(tree.shape, Tree::Cmp { bits: params.bits });
    let points = q.upload(&program.place(x_hat))?;
    let mut shares = q.zeros::<u32>(program.points() * x_hat.len().div_ceil(32))?;
    // Correction words are common to both parties; roots, and leaves that are truth tables, are not.
    let roots = match tree.roots {
        [] => Staged::zeros(q, bundle.padded())?, // not read for truth tables
        roots => Staged::upload(q, roots)?,
    };
    let (cw, leaf) = (q.upload(tree.cw)?, Staged::upload(q, tree.leaf)?);
    q.cmp_eval(&params, roots.view(), cw.view(), leaf.view(), points.view(), shares.view_mut())?;
    Ok(q.download(&shares)?)
}

/// Additive shares of `β 1[y < α]` at the points `x_hat - offset` from payload tree `index`,
/// `[points][payload words][count]`.
pub(super) fn dcf_shares<Q: FssOps>(
    q: &Q,
    bundle: &KeyBundle,
    index: usize,
    offsets: &[u64],
    x_hat: &[u64],
) -> Result<Vec<u64>, PfssError> {
    let (tree, ring) = (bundle.tree(index), bundle.gate().ring());
    let words = bundle.gate().payload_words() as u32;
    let params = DcfParams {
        keys: PrgKeys::from_nonce(bundle.nonce()),
        bits: ring.bits(),
        party: bundle.party().number().into(),
        count: bundle.count() as u32, // a bundle holds less than 2^32 elements
        points: offsets.len() as u32,
        words,
        width: ring.bits(),
        reserved: [0; 2],
    };
    let points = q.upload(&place(ring, offsets, x_hat))?;
    let mut shares = q.zeros::<u64>(offsets.len() * words as usize * x_hat.len())?;
    let (cw, vcw, last) = (q.upload(tree.cw)?, q.upload(tree.vcw)?, q.upload(tree.last)?);
    let roots = Staged::upload(q, tree.roots)?;
    q.dcf_eval(&params, roots.view(), cw.view(), vcw.view(), last.view(), points.view(), shares.view_mut())?;
    Ok(q.download(&shares)?)
}
