//! Products of secret matrices and by opened weights, and the opening of shares to one party.

use core::hint::black_box;

use anyhow::{Context, Result, ensure};
use cpu_backend::CpuQueue;
use pfss::{DeviceShares, MatrixShape, Party, Ring, WeightShape};

use crate::{
    Check,
    deal::{self, MATRICES},
    memcheck,
    sessions::{both, split},
};

/// Weights, and rows of the factor that they multiply.
const WEIGHTS: WeightShape = WeightShape { inner: 4, cols: 5 };
const ROWS: usize = 3;

pub(crate) fn checks() -> Vec<Check> {
    vec![
        Check::clean("session: product of matrices, revealed to one party", products),
        Check::clean("session: products of matrices in device memory", on_device),
        Check::clean("deal and serialise weights", dealt_weights),
        Check::clean("session: products by opened weights", by_weights),
    ]
}

fn products(q: &CpuQueue) -> Result<()> {
    let (ring, [left, ..], x) = (ring()?, MATRICES.lens(), factors(MATRICES));
    let [zero, one] = deal::dealer().deal_matrix(q, ring, MATRICES)?;
    let revealed = both(zero, one, split(&x), |session, triple, x| {
        let product = session.matmul(q, triple, [&x[..left], &x[left..]])?;
        session.reveal(q, ring, Party::Zero, &product)
    })?;
    expect(MATRICES, &x, revealed)
}

fn dealt_weights(q: &CpuQueue) -> Result<()> {
    let mut dealer = deal::dealer();
    let (keys, mask) = dealer.deal_weights(ring()?, WEIGHTS)?;
    black_box((mask.to_bytes(), keys.map(|key| key.to_bytes())));
    for triple in dealer.deal_weight_triple(q, &mask, ROWS)? {
        black_box(triple.to_bytes());
    }
    Ok(())
}

fn by_weights(q: &CpuQueue) -> Result<()> {
    let shape = WEIGHTS.product(ROWS);
    let (ring, [left, ..], x) = (ring()?, shape.lens(), factors(shape));
    let mut dealer = deal::dealer();
    let ([zero_key, one_key], mask) = dealer.deal_weights(ring, WEIGHTS)?;
    let [zero, one] = dealer.deal_weight_triple(q, &mask, ROWS)?;
    let revealed = both((zero_key, zero), (one_key, one), split(&x), |session, (key, triple), x| {
        let weights = session.open_weights(q, key, &x[left..])?;
        black_box(weights.to_bytes());
        let product = session.matmul_weights(q, triple, &x[..left], &weights)?;
        session.reveal(q, ring, Party::Zero, &product)
    })?;
    expect(shape, &x, revealed)
}

/// The product of two matrices, and the same by opened weights, in device memory.
fn on_device(q: &CpuQueue) -> Result<()> {
    let shape = WEIGHTS.product(ROWS);
    let (ring, [left, ..], x) = (ring()?, shape.lens(), factors(shape));
    let mut dealer = deal::dealer();
    let ([zero_key, one_key], mask) = dealer.deal_weights(ring, WEIGHTS)?;
    let [zero, one] = dealer.deal_weight_triple(q, &mask, ROWS)?;
    let [matrix, by_host] = [dealer.deal_matrix(q, ring, shape)?, dealer.deal_matrix(q, ring, shape)?];
    let ([zero_matrix, one_matrix], [zero_by_host, one_by_host]) = (matrix, by_host);
    let keys = ((zero_key, zero, zero_matrix, zero_by_host), (one_key, one, one_matrix, one_by_host));
    let revealed = both(keys.0, keys.1, split(&x), |session, (key, triple, matrix, by_host), x| {
        let weights = session.open_weights(q, key, &x[left..])?;
        let upload = |words: &[u64]| DeviceShares::upload(q, session.party(), ring, words);
        let (y, (x, placed)) = (&x[left..], (upload(&x[..left])?, upload(&x[left..])?));
        let by_weights = session.matmul_weights_on_device(triple, &x, &weights)?;
        let by_host = session.matmul_by_host_on_device(by_host, &x, y)?;
        let product = session.matmul_on_device(matrix, [&x, &placed])?;
        let product = product.add(&by_host)?.sub(&by_weights)?.download()?;
        session.reveal(q, ring, Party::Zero, &product)
    })?;
    expect(shape, &x, revealed)
}

fn ring() -> Result<Ring> {
    Ring::new(64).context("a ring of 64 bits")
}

/// Both factors.
fn factors(shape: MatrixShape) -> Vec<i64> {
    let [left, right, _] = shape.lens();
    (0..(left + right) as i64).map(|e| e * 7919 - 100_000).collect()
}

/// Checks that party 0 alone learned the product.
fn expect(shape: MatrixShape, x: &[i64], [revealed, nothing]: [Option<Vec<u64>>; 2]) -> Result<()> {
    let revealed = revealed.context("party 0 learns the product")?;
    memcheck::publish(&revealed);
    let x: Vec<u64> = x.iter().map(|x| x.cast_unsigned()).collect();
    let (left, right) = x.split_at(shape.lens()[0]);
    ensure!(revealed == shape.multiply(left, right), "the product of other matrices");
    ensure!(nothing.is_none(), "party 1 learned something");
    Ok(())
}
