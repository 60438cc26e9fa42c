//! Public words that are added to shares: a constant of the launch, a short row, or a copy.

use backend_api::{BufferRef as _, Element, Ref, ops::fss::FssOps};
use core_types::Ring;

use super::linear::{Factors, linear};
use crate::{
    PfssError,
    secret::staging::{SecretInput, StagedSecret},
};

/// Most words of a row that launches write, one word each, in place of a copy from the host.
const MOST_WRITTEN: usize = 4;

/// Public elements where ops read them. A copy is not wiped.
pub(super) fn public_input<'a, Q: FssOps, T: Element>(
    q: &'a Q,
    public: &'a [T],
) -> Result<SecretInput<'a, Q, T>, PfssError> {
    Ok(match q.host_view(public) {
        Some(view) => SecretInput::InPlace(view),
        None => SecretInput::Staged(StagedSecret::upload_parts(q, &[public], &[])?),
    })
}

/// The factors of a sum of `x` and public words in `ring`, and a row that repeats over `x`.
///
/// The row has the words from the first one that the others repeat. There is none for equal words.
pub(super) fn public_row<'a, Q: FssOps>(
    q: &'a Q,
    ring: Ring,
    x: Ref<'_, Q, u64>,
    public: &'a [u64],
) -> Result<(Factors, Option<SecretInput<'a, Q, u64>>), PfssError> {
    let repeats = |len: &usize| public.iter().zip(public.iter().skip(*len)).all(|(word, later)| word == later);
    let Some(&constant) = public.first() else { return Ok((Factors::COPY, None)) };
    let row = match (1..=MOST_WRITTEN.min(public.len())).find(repeats) {
        Some(1) => return Ok((Factors { constant, ..Factors::COPY }, None)),
        Some(len) => &public[..len],
        None => public,
    };
    if row.len() > MOST_WRITTEN || x.is_empty() || q.host_view(row).is_some() {
        return Ok((Factors::SUM, Some(public_input(q, row)?)));
    }
    let mut written = StagedSecret::alloc(q, row.len())?;
    written.set_public(true);
    for (at, &constant) in row.iter().enumerate() {
        let word = Factors { alpha: 0, constant, ..Factors::COPY };
        linear(q, ring, word, Some(x.slice(0..1)?), None, written.slice_mut(at..at + 1)?)?;
    }
    Ok((Factors::SUM, Some(SecretInput::Staged(written))))
}
