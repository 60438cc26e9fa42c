use core::ops::Range;

use backend_api::{BackendError, Buffer, Queue, ops::fss::FssOps};
use core_types::{
    PrgKeys, Ring,
    cmp::cmp_blocks,
    params::fss::{CmpAllParams, CmpParams, DcfParams},
};

use super::walk::{Activity, Lent, Walk};
use crate::{
    KeyBundle, PfssError,
    gate::Tree,
    predicate::{Program, place},
};

/// The masked inputs as representatives, one per element of the bundle.
pub(super) fn check_inputs(bundle: &KeyBundle, x_hat: &[u64]) -> Result<Vec<u64>, PfssError> {
    if x_hat.len() != bundle.count() {
        return Err(PfssError::Length { what: "elements", expected: bundle.count(), got: x_hat.len() });
    }
    Ok(x_hat.iter().map(|&x| bundle.gate().ring().reduce(x)).collect())
}

/// XOR shares of `1[α <= y]` at the points of `program` from comparison tree `index`, `[points][padded / 32]`.
pub(super) fn cmp_shares<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    index: usize,
    program: &Program,
    x_hat: &[u64],
) -> Result<Vec<u32>, PfssError> {
    CmpKeys::stage(walk, bundle, index, program.domain())?.eval(program.offsets(), x_hat)
}

/// One comparison tree in device memory.
pub(super) struct CmpKeys<'w, W: Walk> {
    walk: &'w W,
    params: CmpParams,
    domain: Ring,
    tree: Lent<'w, W::Queue>,
}

impl<'w, W: Walk> CmpKeys<'w, W> {
    /// Tree `index` of `bundle`, whose keys are over `domain`.
    pub(super) fn stage(walk: &'w W, bundle: &KeyBundle, index: usize, domain: Ring) -> Result<Self, PfssError> {
        let tree = walk.tree(bundle, index)?;
        debug_assert_eq!(tree.shape, Tree::Cmp { bits: domain.bits() });
        let params = CmpParams {
            key: PrgKeys::from_nonce(bundle.nonce()).child,
            bits: domain.bits(),
            party: bundle.party().number().into(),
            count: bundle.count() as u32, // a bundle holds less than 2^32 elements
            points: 0,
        };
        Ok(Self { walk, params, domain, tree })
    }

    /// XOR shares of `1[α <= y]` at the points `x_hat - offset`, `[offsets][padded / 32]`.
    pub(super) fn eval(&self, offsets: &[u64], x_hat: &[u64]) -> Result<Vec<u32>, PfssError> {
        let params = CmpParams { points: offsets.len() as u32, ..self.params };
        let (q, tree) = (self.walk.queue(), &self.tree);
        let points = place(self.domain, offsets, x_hat);
        let points = self.walk.during(Activity::CopyIn, || q.upload(&points))?;
        let shares = self.walk.during(Activity::Walk, || {
            let mut shares = q.zeros::<u32>(offsets.len() * x_hat.len().div_ceil(32))?;
            let (roots, leaf) = (tree.roots.view(), tree.leaf.view());
            q.cmp_eval(&params, roots, tree.cw.view(), leaf, points.view(), shares.view_mut())?;
            Ok::<_, BackendError>(shares)
        })?;
        self.walk.meanwhile()?;
        Ok(self.walk.during(Activity::CopyOut, || self.walk.results().download(&shares))?)
    }

    /// XOR shares of the unit vectors of the masks of `elements`, which begin at a multiple of 32: `[blocks][elements]`,
    /// 128 points to a word.
    pub(super) fn units(&self, elements: Range<usize>) -> Result<Vec<u128>, PfssError> {
        let CmpParams { key, bits, party, count, .. } = self.params;
        let (first, keys) = (elements.start as u32, elements.len() as u32); // both at most `count`
        let params = CmpAllParams { key, bits, party, count, first, keys, reserved: [0; 3] };
        let (q, tree) = (self.walk.queue(), &self.tree);
        let units = self.walk.during(Activity::Walk, || {
            let mut units = q.zeros::<u128>(cmp_blocks(bits) as usize * elements.len())?;
            let (roots, leaf) = (tree.roots.view(), tree.leaf.view());
            q.cmp_eval_all(&params, roots, tree.cw.view(), leaf, units.view_mut())?;
            Ok::<_, BackendError>(units)
        })?;
        self.walk.meanwhile()?;
        Ok(self.walk.during(Activity::CopyOut, || self.walk.results().download(&units))?)
    }
}

/// Additive shares of `β 1[y < α]` at the points `x_hat - offset` from payload tree `index`,
/// `[points][payload words][count]`.
pub(super) fn dcf_shares<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    index: usize,
    offsets: &[u64],
    x_hat: &[u64],
) -> Result<Vec<u64>, PfssError> {
    let (q, tree, ring) = (walk.queue(), walk.tree(bundle, index)?, bundle.gate().ring());
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
    let points = place(domain, offsets, x_hat);
    let points = walk.during(Activity::CopyIn, || q.upload(&points))?;
    let shares = walk.during(Activity::Walk, || {
        let mut shares = q.zeros::<u64>(offsets.len() * words as usize * x_hat.len())?;
        let (cw, vcw, last) = (tree.cw.view(), tree.vcw.view(), tree.last.view());
        q.dcf_eval(&params, tree.roots.view(), cw, vcw, last, points.view(), shares.view_mut())?;
        Ok::<_, BackendError>(shares)
    })?;
    walk.meanwhile()?;
    Ok(walk.during(Activity::CopyOut, || walk.results().download(&shares))?)
}
