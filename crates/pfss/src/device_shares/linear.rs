//! The op that forms sums of shares: `alpha x + beta row + constant`.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _, Mut, Ref,
    ops::{fss::FssOps, share::LinearWords},
};
use core_types::{Ring, params::share::LinearWordsParams};

/// The public numbers of a sum `alpha x + beta row + constant`.
#[derive(Clone, Copy)]
pub(crate) struct Factors {
    pub(crate) alpha: u64,
    pub(crate) beta: u64,
    pub(crate) constant: u64,
}

impl Factors {
    /// `x + row`.
    pub(crate) const SUM: Self = Self { alpha: 1, beta: 1, constant: 0 };
    /// `x - row`.
    pub(crate) const DIFFERENCE: Self = Self { beta: u64::MAX, ..Self::SUM };
    /// `x` alone.
    pub(crate) const COPY: Self = Self { beta: 0, ..Self::SUM };

    /// `alpha x + beta row`.
    pub(super) const fn of([alpha, beta]: [u64; 2]) -> Self {
        Self { alpha, beta, constant: 0 }
    }
}

/// Writes a sum in `ring`, an element for each of `out`, which are less than `2^32`.
///
/// Without `x` it is in place. The row repeats.
pub(crate) fn linear<Q: FssOps>(
    q: &Q,
    ring: Ring,
    Factors { alpha, beta, constant }: Factors,
    x: Option<Ref<'_, Q, u64>>,
    row: Option<Ref<'_, Q, u64>>,
    out: Mut<'_, Q, u64>,
) -> Result<(), BackendError> {
    if out.is_empty() {
        return Ok(()); // a row is empty, too
    }
    let params = LinearWordsParams {
        alpha,
        beta,
        constant,
        count: out.len() as u32, // as the caller promises
        period: row.map_or(0, |row| row.len() as u32),
        bits: ring.bits(),
        reserved: 0,
    };
    q.linear_words(LinearWords {
        params: &params,
        x: x.map(|x| q.shorten(x)),
        row: row.map(|row| q.shorten(row)),
        out: q.shorten_mut(out),
    })
}
