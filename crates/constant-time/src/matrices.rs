//! Products of secret matrices, and the opening of shares to one party.

use anyhow::{Context, Result, ensure};
use cpu_backend::CpuQueue;
use pfss::Party;

use crate::{
    Check,
    deal::{self, MATRICES},
    memcheck,
    sessions::{both, split},
};

pub(crate) fn check() -> Check {
    Check::clean("session: product of matrices, revealed to one party", products)
}

fn products(q: &CpuQueue) -> Result<()> {
    let [left, right, _] = MATRICES.lens();
    let x: Vec<i64> = (0..(left + right) as i64).map(|e| e * 7919 - 100_000).collect();
    let [zero, one] = deal::dealer().deal_matrix(MATRICES)?;
    let [revealed, nothing] = both(zero, one, split(&x), |session, triple, x| {
        let product = session.matmul(q, triple, [&x[..left], &x[left..]])?;
        session.reveal(q, Party::Zero, &product)
    })?;
    let revealed = revealed.context("party 0 learns the product")?;
    memcheck::publish(&revealed);
    let x: Vec<u64> = x.into_iter().map(i64::cast_unsigned).collect();
    ensure!(revealed == MATRICES.multiply(&x[..left], &x[left..]), "the product of other matrices");
    ensure!(nothing.is_none(), "party 1 learned something");
    Ok(())
}
