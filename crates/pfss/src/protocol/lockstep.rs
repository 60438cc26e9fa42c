//! Both parties of a gate in one process, without a channel.

use backend_api::ops::fss::FssOps;

use crate::{KeyBundle, MaskedKeys, Party, PfssError, Shares, Step, Task};

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
) -> Result<[Shares; 2], PfssError> {
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
) -> Result<[Shares; 2], PfssError> {
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
    finish(q, [zero, one], watch)
}

/// [`run_lockstep`] on masked inputs that are already open.
///
/// # Errors
/// As [`Session::eval`](crate::Session::eval).
pub fn eval_lockstep<Q: FssOps>(
    q: &Q,
    task: Task<'_>,
    [zero, one]: [MaskedKeys; 2],
    x_hat: &[u64],
) -> Result<[Shares; 2], PfssError> {
    finish(q, [zero.eval(q, task, x_hat)?, one.eval(q, task, x_hat)?], |_, _| {})
}

/// Exchanges the parties' messages until both gates are finished.
fn finish<Q: FssOps>(
    q: &Q,
    mut steps: [Step; 2],
    mut watch: impl FnMut(&[u32], &[u64]),
) -> Result<[Shares; 2], PfssError> {
    loop {
        steps = match steps {
            [Step::Done(zero), Step::Done(one)] => return Ok([zero, one]),
            [Step::Open(zero), Step::Open(one)] => {
                watch(zero.masked_bits(), zero.masked_words());
                watch(one.masked_bits(), one.masked_words());
                let (bits_zero, bits_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
                let (words_zero, words_one) = (zero.masked_words().to_vec(), one.masked_words().to_vec());
                [zero.finish_with(q, &bits_one, &words_one)?, one.finish_with(q, &bits_zero, &words_zero)?]
            }
            // both bundles carry the same program, whose rounds are public
            steps => {
                let [expected, got] = steps.map(|step| usize::from(matches!(step, Step::Open(_))));
                return Err(PfssError::Length { what: "rounds left", expected, got });
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
