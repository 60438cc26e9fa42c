use core::ops::Range;

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Element, Mut, Queue, Ref,
    ops::fss::{CmpEvalAll, CmpEvalWindow, DcfEvalWindow, FssOps},
};
use core_types::{
    PrgKeys, Ring,
    cmp::cmp_blocks,
    params::fss::{CmpAllParams, CmpWindowParams, DcfWindowParams},
};
use zeroize::{Zeroize, Zeroizing};

use super::walk::{Activity, DeviceTree, Lent, Walk};
use crate::{
    KeyBundle, PfssError,
    cluster::{Cluster, Clusters},
    gate::Tree,
    predicate::Program,
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
pub(super) fn cmp_shares<W: Walk>(
    walk: &W,
    bundle: &KeyBundle,
    index: usize,
    program: &Program,
    x_hat: &[u64],
) -> Result<Zeroizing<Vec<u32>>, PfssError> {
    CmpKeys::stage(walk, bundle, index, program.domain())?.eval(program.offsets(), x_hat)
}

/// One comparison tree in device memory.
pub(super) struct CmpKeys<'w, W: Walk> {
    walk: &'w W,
    params: CmpWindowParams,
    tree: Lent<'w, W::Queue>,
}

impl<'w, W: Walk> CmpKeys<'w, W> {
    /// Tree `index` of `bundle`, whose keys are over `domain`.
    pub(super) fn stage(walk: &'w W, bundle: &KeyBundle, index: usize, domain: Ring) -> Result<Self, PfssError> {
        let tree = walk.tree(bundle, index)?;
        debug_assert_eq!(tree.shape, Tree::Cmp { bits: domain.bits() });
        let params = CmpWindowParams {
            key: PrgKeys::from_nonce(bundle.nonce()).child,
            bits: domain.bits(),
            party: bundle.party().number().into(),
            count: bundle.count() as u32, // a bundle holds less than 2^32 elements
            points: 0,
            window: domain.bits(),
            reserved: [0; 3],
        };
        Ok(Self { walk, params, tree })
    }

    /// XOR shares of `1[α <= y]` at the points `x_hat - offset`, `[offsets][padded / 32]`.
    pub(super) fn eval(&self, offsets: &[u64], x_hat: &[u64]) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        self.shares(offsets, x_hat)?.download(self.walk)
    }

    /// The same in device memory.
    pub(super) fn shares(&self, offsets: &[u64], x_hat: &[u64]) -> Result<CmpShares<'w, W>, PfssError> {
        let (tree, row) = (&self.tree, x_hat.len().div_ceil(32));
        Shares::eval(self.walk, (tree, row), offsets, x_hat, |q, of| {
            let At { tree, window, x_hat, offsets, shares } = of;
            let params = CmpWindowParams { points: offsets.len() as u32, window, ..self.params };
            q.cmp_eval_window(CmpEvalWindow {
                params: &params,
                keys: tree.cmp_keys(),
                x_hat: q.shorten(x_hat),
                offsets: q.shorten(offsets),
                shares: q.shorten_mut(shares),
            })
        })
    }

    /// XOR shares of the unit vectors of the masks of `elements`, which begin at a multiple of 32: `[blocks][elements]`,
    /// 128 points to a word.
    pub(super) fn units(&self, elements: Range<usize>) -> Result<Zeroizing<Vec<u128>>, PfssError> {
        let CmpWindowParams { key, bits, party, count, .. } = self.params;
        let (first, keys) = (elements.start as u32, elements.len() as u32); // both at most `count`
        let params = CmpAllParams { key, bits, party, count, first, keys, reserved: [0; 3] };
        let (q, tree) = (self.walk.queue(), &self.tree);
        let units = self.walk.during(Activity::Walk, || {
            let mut units = Staged::<_, u128>::alloc(q, cmp_blocks(bits) as usize * elements.len())?;
            q.cmp_eval_all(CmpEvalAll { params: &params, keys: tree.cmp_keys(), units: units.view_mut() })?;
            Ok::<_, BackendError>(units)
        })?;
        self.walk.meanwhile()?;
        Ok(Zeroizing::new(self.walk.during(Activity::CopyOut, || self.walk.results().read_secret(units.view()))?))
    }
}

/// Additive shares of `β 1[y < α]` at the points `x_hat - offset` from payload tree `index`, in device memory.
pub(super) fn dcf_shares<'w, W: Walk>(
    walk: &'w W,
    bundle: &KeyBundle,
    index: usize,
    offsets: &[u64],
    x_hat: &[u64],
) -> Result<DcfShares<'w, W>, PfssError> {
    let (tree, ring) = (&walk.tree(bundle, index)?, bundle.gate().ring());
    let Tree::Dcf { bits, words } = tree.shape else { unreachable!("a payload tree") };
    let (keys, party) = (PrgKeys::from_nonce(bundle.nonce()), bundle.party().number().into());
    let (count, width) = (bundle.count() as u32, ring.bits()); // a bundle holds less than 2^32 elements
    let row = words as usize * x_hat.len();
    Shares::eval(walk, (tree, row), offsets, x_hat, |q, of| {
        let At { tree, window, x_hat, offsets, shares } = of;
        let points = offsets.len() as u32;
        let params = DcfWindowParams { keys, bits, party, count, points, words, width, window, reserved: 0 };
        q.dcf_eval_window(DcfEvalWindow {
            params: &params,
            keys: tree.dcf_keys(),
            x_hat: q.shorten(x_hat),
            offsets: q.shorten(offsets),
            shares: q.shorten_mut(shares),
        })
    })
}

/// Shares of bits, `[offsets][padded / 32]`, in the memory of a walk's device.
pub(super) type CmpShares<'w, W> = Shares<'w, <W as Walk>::Queue, u32>;

/// Shares of words, `[offsets][payload words][count]`, in the memory of a walk's device.
pub(super) type DcfShares<'w, W> = Shares<'w, <W as Walk>::Queue, u64>;

/// Shares of one tree at several points in device memory, one row for each point.
pub(super) struct Shares<'w, Q: Queue, T: Element> {
    pub(super) buf: Staged<'w, Q, T>,
    /// The row of each point: rows stand in the order of their evaluation.
    pub(super) rows: Vec<usize>,
}

/// A tree at one cluster of points.
struct At<'a, Q: FssOps, T: Element> {
    tree: &'a DeviceTree<'a, Q>,
    window: u32,
    x_hat: Ref<'a, Q, u64>,
    offsets: Ref<'a, Q, u64>,
    /// The rows of the cluster.
    shares: Mut<'a, Q, T>,
}

impl<'w, Q: FssOps, T: Element> Shares<'w, Q, T> {
    /// Evaluates `tree`, whose rows of shares are `row` elements, at the points `x_hat - offset`: by `call` for each
    /// cluster.
    fn eval<W: Walk<Queue = Q>>(
        walk: &'w W,
        (tree, row): (&DeviceTree<'_, Q>, usize),
        offsets: &[u64],
        x_hat: &[u64],
        call: impl Fn(&Q, At<'_, Q, T>) -> Result<(), BackendError>,
    ) -> Result<Self, PfssError> {
        let (q, clusters) = (walk.queue(), Clusters::new(tree.shape, offsets).clusters);
        let order: Vec<usize> = clusters.iter().flat_map(|cluster| cluster.points.iter().copied()).collect();
        #[expect(clippy::disallowed_methods, reason = "offsets are public, and both parties know what was opened")]
        let (x_hat, ordered) = walk.during(Activity::CopyIn, || {
            let ordered: Vec<u64> = order.iter().map(|&point| offsets[point]).collect();
            Ok::<_, BackendError>((q.upload(x_hat)?, q.upload(&ordered)?))
        })?;
        let buf = walk.during(Activity::Walk, || {
            let mut buf = Staged::<_, T>::alloc(q, offsets.len() * row)?;
            let mut first = 0;
            for Cluster { window, points } in &clusters {
                let cluster = first..first + points.len();
                let shares = buf.view_mut().slice(cluster.start * row..cluster.end * row)?;
                let (x_hat, offsets) = (x_hat.view(), ordered.slice(cluster)?);
                call(q, At { tree, window: *window, x_hat, offsets, shares })?;
                first += points.len();
            }
            Ok::<_, BackendError>(buf)
        })?;
        let mut rows = vec![0; offsets.len()];
        order.into_iter().enumerate().for_each(|(row, point)| rows[point] = row);
        Ok(Self { buf, rows })
    }

    /// The shares in the order of the offsets.
    fn download<W: Walk<Queue = Q>>(&self, walk: &W) -> Result<Zeroizing<Vec<T>>, PfssError>
    where
        T: Zeroize,
    {
        walk.meanwhile()?;
        let shares = Zeroizing::new(walk.during(Activity::CopyOut, || walk.results().read_secret(self.buf.view()))?);
        if self.rows.is_sorted() {
            return Ok(shares);
        }
        let row = shares.len() / self.rows.len(); // there is an unsorted row
        // the full capacity at once, since growing would leave copies behind
        let mut ordered = Zeroizing::new(Vec::with_capacity(shares.len()));
        self.rows.iter().for_each(|&at| ordered.extend_from_slice(&shares[at * row..][..row]));
        Ok(ordered)
    }
}
