//! Both parties of a gate in one process, without a channel.

use backend_api::ops::fss::FssOps;

use crate::{GateKind, KeyBundle, MaskedKeys, Party, Pending, PfssError, SufShares, SufStep, Task};

/// Runs `task` for both parties in this process, step by step.
///
/// It uses no threads and no channel, and is for tests, examples and measurements. Party 0 comes
/// first in every pair.
///
/// Returns both parties' shares, bit for bit as two [`Session`](crate::Session)s compute them from
/// the same bundles.
///
/// # Errors
/// [`PfssError::WrongParty`] if a bundle is in the other's place, [`PfssError::NonceMismatch`] if
/// the bundles are not from one deal, and as [`Session::run`](crate::Session::run).
pub fn run_lockstep<Q: FssOps>(
    q: &Q,
    task: Task<'_>,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
) -> Result<[Vec<u64>; 2], PfssError> {
    run_lockstep_watched(q, task, bundles, x, |_, _| {})
}

/// [`run_lockstep`] with a callback for words and bits that become public.
///
/// `watch` is called with them before they are used: with the opened masked inputs, then with each
/// party's part of later openings. A check for secret-dependent timing needs them.
///
/// # Errors
/// As [`run_lockstep`].
pub fn run_lockstep_watched<Q: FssOps>(
    q: &Q,
    task: Task<'_>,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
    mut watch: impl FnMut(&[u32], &[u64]),
) -> Result<[Vec<u64>; 2], PfssError> {
    for party in Party::BOTH {
        let bundle = &bundles[party.index()];
        bundle.check_party(party)?;
        task.check_keys(bundle, x[party.index()].len())?;
    }
    let plans = [task.plan(bundles[0].gate())?, task.plan(bundles[1].gate())?];
    let ([zero, one], x_hat) = open_inputs(bundles, x)?;
    watch(&[], &x_hat);
    let zero = plans[0].eval(q, zero, x_hat.clone())?;
    let one = plans[1].eval(q, one, x_hat)?;
    exchange(q, zero, one, &mut watch)
}

/// Exchanges the parties' messages, and finishes both gates.
fn exchange<Q: FssOps, T>(
    q: &Q,
    zero: Pending<T>,
    one: Pending<T>,
    watch: &mut impl FnMut(&[u32], &[u64]),
) -> Result<[T; 2], PfssError> {
    watch(zero.masked_bits(), zero.masked_words());
    watch(one.masked_bits(), one.masked_words());
    let (bits_zero, bits_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
    let (words_zero, words_one) = (zero.masked_words().to_vec(), one.masked_words().to_vec());
    Ok([zero.finish_with(q, &bits_one, &words_one)?, one.finish_with(q, &bits_zero, &words_zero)?])
}

/// Evaluates a descriptor for both parties, as [`run_lockstep`] runs a task.
///
/// # Errors
/// As [`Session::suf`](crate::Session::suf) and [`run_lockstep`].
pub fn run_suf_lockstep<Q: FssOps>(
    q: &Q,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
) -> Result<[SufShares; 2], PfssError> {
    run_suf_lockstep_watched(q, bundles, x, |_, _| {})
}

/// [`run_suf_lockstep`], with `watch` as in [`run_lockstep_watched`].
///
/// # Errors
/// As [`run_suf_lockstep`].
pub fn run_suf_lockstep_watched<Q: FssOps>(
    q: &Q,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
    mut watch: impl FnMut(&[u32], &[u64]),
) -> Result<[SufShares; 2], PfssError> {
    for party in Party::BOTH {
        let bundle = &bundles[party.index()];
        bundle.check_party(party)?;
        bundle.check_use(GateKind::Suf, x[party.index()].len())?;
    }
    let ([zero, one], x_hat) = open_inputs(bundles, x)?;
    watch(&[], &x_hat);
    let (mut zero, mut one) = (zero.eval_suf(q, &x_hat)?, one.eval_suf(q, &x_hat)?);
    loop {
        (zero, one) = match (zero, one) {
            (SufStep::Done(zero), SufStep::Done(one)) => return Ok([zero, one]),
            (SufStep::Open(zero), SufStep::Open(one)) => {
                let [zero, one] = exchange(q, zero, one, &mut watch)?;
                (zero, one)
            }
            // both bundles carry the same program, whose rounds are public
            (zero, one) => {
                let rounds = |step: &SufStep| usize::from(matches!(step, SufStep::Open(_)));
                return Err(PfssError::Length { what: "rounds left", expected: rounds(&zero), got: rounds(&one) });
            }
        }
    }
}

/// Opens `x + r`, given bundles from one deal.
fn open_inputs([zero, one]: [KeyBundle; 2], x: [&[u64]; 2]) -> Result<([MaskedKeys; 2], Vec<u64>), PfssError> {
    let (nonce, other) = (zero.nonce(), one.nonce());
    if nonce != other {
        return Err(PfssError::NonceMismatch { expected: nonce, got: other });
    }
    let ((from_zero, zero), (from_one, one)) = (zero.mask(x[0])?, one.mask(x[1])?);
    let ring = zero.gate().ring();
    Ok(([zero, one], from_zero.iter().zip(&from_one).map(|(&a, &b)| ring.add(a, b)).collect()))
}
