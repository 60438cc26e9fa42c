use backend_api::{Buffer, ops::fss::FssOps};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpParams, DcfParams},
};
use zeroize::Zeroizing;

use super::secrets::power_of_negative;
use crate::{
    Gate, PfssError,
    bundle::{Keys, LANES},
    gate::Tree,
    staging::Staged,
};

/// The tree sections of both parties for the thresholds `r`, which the op reduces to the domain of the gate's tree.
pub(super) fn tree_keys<Q: FssOps>(
    q: &Q,
    gate: &Gate,
    nonce: &[u8; 16],
    r: &[u64],
    roots: Zeroizing<Vec<Label>>,
) -> Result<[Keys; 2], PfssError> {
    let prg = PrgKeys::from_nonce(*nonce);
    let count = r.len() as u32; // a bundle holds less than 2^32 elements
    let padded = r.len().next_multiple_of(LANES as usize);
    let device_roots = Staged::upload(q, &roots)?;
    let rows = |rows: u64| rows as usize * padded; // checked with the layout
    let mut cw = q.zeros::<u128>(rows(gate.cw_rows()))?;
    let mut keys = [Keys::default(), Keys::default()];
    match gate.tree() {
        Tree::Cmp { bits } => {
            let params = CmpParams { key: prg.child, bits, party: 0, count, points: 0 };
            let mut leaf = Staged::<_, u128>::zeros(q, 2 * padded)?;
            let alphas = Staged::upload(q, r)?;
            q.cmp_gen(&params, alphas.view(), device_roots.view(), cw.view_mut(), leaf.view_mut())?;
            let leaf = Zeroizing::new(leaf.download()?);
            if gate.root_rows() == 0 {
                let (zero, one) = leaf.split_at(padded);
                keys[0].leaf = Zeroizing::new(zero.to_vec());
                keys[1].leaf = Zeroizing::new(one.to_vec());
            } else {
                keys.iter_mut().for_each(|keys| keys.leaf = leaf.clone());
            }
        }
        Tree::Dcf { bits, words } => {
            let params =
                DcfParams { keys: prg, bits, party: 0, count, points: 0, words, width: gate.n(), reserved: [0; 2] };
            // the full capacity at once, since growing would leave copies behind
            let mut powers = Zeroizing::new(Vec::with_capacity(words as usize * r.len()));
            for j in 0..words {
                powers.extend(r.iter().map(|&r| power_of_negative(gate.ring(), r, j)));
            }
            let (betas, alphas) = (Staged::upload(q, &powers)?, Staged::upload(q, r)?);
            let mut vcw = q.zeros::<u64>(rows(gate.vcw_rows()))?;
            let mut last = q.zeros::<u64>(rows(gate.last_rows()))?;
            q.dcf_gen(
                &params,
                alphas.view(),
                betas.view(),
                device_roots.view(),
                cw.view_mut(),
                vcw.view_mut(),
                last.view_mut(),
            )?;
            let (vcw, last) = (Zeroizing::new(q.download(&vcw)?), Zeroizing::new(q.download(&last)?));
            for keys in &mut keys {
                (keys.vcw, keys.last) = (vcw.clone(), last.clone());
            }
        }
    }
    let cw = Zeroizing::new(q.download(&cw)?);
    for (party, keys) in keys.iter_mut().enumerate() {
        keys.cw = cw.clone();
        if gate.root_rows() > 0 {
            keys.roots = Zeroizing::new(roots[party * padded..][..padded].to_vec());
        }
    }
    Ok(keys)
}
