use backend_api::{Buffer, ops::fss::FssOps};
use core_types::{
    Label, PrgKeys, Ring,
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
    let keys = CmpKeys::stage(q, bundle, index, program.domain())?;
    keys.eval(program.offsets(), x_hat)
}

/// One comparison tree in device memory.
pub(super) struct CmpKeys<'q, Q: FssOps> {
    q: &'q Q,
    params: CmpParams,
    domain: Ring,
    roots: Staged<'q, Q, Label>,
    cw: Q::Buf<u128>,
    leaf: Staged<'q, Q, u128>,
}

impl<'q, Q: FssOps> CmpKeys<'q, Q> {
    /// Uploads tree `index` of `bundle`, whose keys are over `domain`.
    pub(super) fn stage(q: &'q Q, bundle: &KeyBundle, index: usize, domain: Ring) -> Result<Self, PfssError> {
        let tree = bundle.tree(index);
        debug_assert_eq!(tree.shape, Tree::Cmp { bits: domain.bits() });
        let params = CmpParams {
            key: PrgKeys::from_nonce(bundle.nonce()).child,
            bits: domain.bits(),
            party: bundle.party().number().into(),
            count: bundle.count() as u32, // a bundle holds less than 2^32 elements
            points: 0,
        };
        // Correction words are common to both parties; roots, and leaves that are truth tables, are not.
        let roots = match tree.roots {
            [] => Staged::zeros(q, bundle.padded())?, // not read for truth tables
            roots => Staged::upload(q, roots)?,
        };
        Ok(Self { q, params, domain, roots, cw: q.upload(tree.cw)?, leaf: Staged::upload(q, tree.leaf)? })
    }

    /// XOR shares of `1[α <= y]` at the points `x_hat - offset`, `[offsets][padded / 32]`.
    pub(super) fn eval(&self, offsets: &[u64], x_hat: &[u64]) -> Result<Vec<u32>, PfssError> {
        let params = CmpParams { points: offsets.len() as u32, ..self.params };
        let points = self.q.upload(&place(self.domain, offsets, x_hat))?;
        let mut shares = self.q.zeros::<u32>(offsets.len() * x_hat.len().div_ceil(32))?;
        let (roots, leaf) = (self.roots.view(), self.leaf.view());
        self.q.cmp_eval(&params, roots, self.cw.view(), leaf, points.view(), shares.view_mut())?;
        Ok(self.q.download(&shares)?)
    }
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
    let (domain, words) = match tree.shape {
        Tree::Dcf { bits, words } => (Ring::new(bits).unwrap_or(ring), words), // 1 <= bits <= n for every gate
        Tree::Cmp { .. } => unreachable!("a payload tree"),
    };
    let params = DcfParams {
        keys: PrgKeys::from_nonce(bundle.nonce()),
        bits: domain.bits(),
        party: bundle.party().number().into(),
        count: bundle.count() as u32, // a bundle holds less than 2^32 elements
        points: offsets.len() as u32,
        words,
        width: ring.bits(),
        reserved: [0; 2],
    };
    let points = q.upload(&place(domain, offsets, x_hat))?;
    let mut shares = q.zeros::<u64>(offsets.len() * words as usize * x_hat.len())?;
    let (cw, vcw, last) = (q.upload(tree.cw)?, q.upload(tree.vcw)?, q.upload(tree.last)?);
    let roots = Staged::upload(q, tree.roots)?;
    q.dcf_eval(&params, roots.view(), cw.view(), vcw.view(), last.view(), points.view(), shares.view_mut())?;
    Ok(q.download(&shares)?)
}
