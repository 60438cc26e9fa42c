//! The root of preprocessed columns, without a prover.
//!
//! The tree is built as in [`commit`](crate::protocol::commit). Its height is the lifting size, or
//! the log size of the largest column without one.

use backend_api::{
    Buffer as _, Queue,
    ops::{
        circle::{CircleLde, CircleOps},
        merkle::MerkleOps,
    },
};
use core_types::{
    field::M31,
    params::{circle::CircleExtendParams, columns::ColumnAt},
};
use stark_fft::{CanonicDomain, TwiddleTree};
use stark_verifier::{Digest, PcsConfig, StatementError};

use crate::{ProverError, protocol::commit::build_tree, prover::digest, storage::answers};

/// Computes the root of the preprocessed columns' tree, which the verifier needs.
///
/// The columns are given in stored order.
///
/// # Errors
/// [`ProverError::Statement`] for parameters that no proof has, [`ProverError::Rows`] for columns
/// whose number of rows is no power of two, [`ProverError::Fft`] for one without a domain, and any
/// error that the device reports.
pub fn preprocessed_root<Q: Queue + CircleOps + MerkleOps>(
    q: &Q,
    config: &PcsConfig,
    columns: &[&[M31]],
) -> Result<Digest, ProverError> {
    // Parameters are in range, and every column has a power of two of rows.
    config.validate().map_err(StatementError::Config)?;
    for (column, rows) in columns.iter().enumerate() {
        let got = rows.len();
        if !got.is_power_of_two() {
            return Err(ProverError::Rows { tree: 0, column, expected: got.next_power_of_two(), got });
        }
    }
    // Values are laid out as leaves hash them, the smallest columns first.
    let log_blowup = config.fri_config.log_blowup_factor;
    let mut smallest_first = columns.to_vec();
    smallest_first.sort_by_key(|rows| rows.len());
    let words: usize = columns.iter().map(|rows| rows.len() << log_blowup).sum();
    let mut values = q.alloc::<M31>(words)?;
    let (mut places, mut first) = (Vec::with_capacity(columns.len()), 0);
    let largest = smallest_first.last().map_or(0, |rows| rows.len().ilog2() + log_blowup);
    if config.lifting_log_size.is_some_and(|lifting| lifting < largest) {
        return Err(StatementError::Lifting { log_size: largest }.into());
    }
    // Each column is interpolated and extended, with the twiddles of the largest domain.
    if largest > 0 {
        let twiddles = TwiddleTree::new(q, CanonicDomain::new(largest)?)?;
        for rows in smallest_first {
            let small = CanonicDomain::new(rows.len().ilog2())?;
            let log_size = small.log_size() + log_blowup;
            let mut coefficients = q.upload(rows)?;
            let end = first + (rows.len() << log_blowup);
            q.circle_lde(CircleLde {
                params: &CircleExtendParams { log_coefficients: small.log_size(), log_size, columns: 1 },
                inverse_twiddles: twiddles.inverse(small)?,
                twiddles: twiddles.forward(CanonicDomain::new(log_size)?)?,
                columns: coefficients.view_mut(),
                values: values.slice_mut(first..end)?,
            })?;
            places.push(ColumnAt::new(first as u64, log_size));
            first = end;
        }
    }
    // The tree has the lifting size, or the size of the largest column.
    let log_leaves = match config.lifting_log_size {
        Some(lifting) if !columns.is_empty() => lifting,
        _ => largest,
    };
    let mut nodes = q.alloc((2 << log_leaves) - 1)?;
    build_tree(q, log_leaves, &places, &values, &mut nodes)?;
    let root = q.read(nodes.slice(answers::root(nodes.len()))?)?;
    Ok(digest(root[0]))
}
