//! Leaks that the checker has to report, and a selection that it must not.

use core::hint::black_box;

use anyhow::Result;
use cpu_backend::CpuQueue;
use pfss::{Gate, Task, run_lockstep};

use crate::{
    Check, batches, deal, memcheck,
    plain::plaintexts,
    sessions::{play, split},
    tasks::SQUARES,
};

/// Leaks in a few lines of their own.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        Check::leak("planted: a branch on a secret", on_secret(branch)),
        Check::leak("planted: a table read at a secret index", on_secret(look_up)),
        Check::clean("planted: a selection by a mask", on_secret(select)),
    ]
}

/// Leaks planted after the operations of other checks.
///
/// They prove that those operations carry secrets all the way.
pub(crate) fn after_gates() -> Vec<Check> {
    vec![
        Check::leak("planted: a branch on a byte of a dealt key", |q| {
            let [zero, _] = deal::bundles(q, &Gate::relu(64)?)?;
            zero.to_bytes().last().map(|&byte| black_box(branch(byte.into())));
            Ok(())
        }),
        Check::leak("planted: a branch on a share of a session's result", |q| {
            let [zero, _] =
                play(deal::bundles(q, &Gate::ars(64, 12)?)?, |session, keys, x| session.run(q, Task::Ars, keys, x))?;
            zero.words.first().map(|&share| black_box(branch(share)));
            Ok(())
        }),
        Check::leak("planted: a branch on a share of a super-batch's result", |q| {
            let [zero, _] = batches::relu(q)?;
            zero.first().map(|&share| black_box(branch(share)));
            Ok(())
        }),
        Check::leak("planted: openings of a table that nobody declares public", |q| {
            let gate = Gate::lut(9, 40)?;
            let [zero, one] = split(&plaintexts());
            run_lockstep(q, Task::Lut(&SQUARES), deal::bundles(q, &gate)?, [&zero, &one])?;
            Ok(())
        }),
    ]
}

fn on_secret(use_secret: fn(u64) -> u64) -> impl FnOnce(&CpuQueue) -> Result<()> {
    move |_| {
        let mut secret = [5u64];
        memcheck::hide(&mut secret);
        black_box(use_secret(secret[0]));
        Ok(())
    }
}

#[inline(never)]
fn branch(secret: u64) -> u64 {
    // the call keeps the compiler from turning the branch into a selection
    if secret > 3 { black_box(look_up(0)) } else { 1 }
}

#[inline(never)]
fn look_up(secret: u64) -> u64 {
    let table: [u64; 16] = black_box(core::array::from_fn(|i| i as u64));
    table[(secret % 16) as usize]
}

#[inline(never)]
fn select(secret: u64) -> u64 {
    let all = (secret & 1).wrapping_neg();
    (all & 7) | (!all & 9)
}
