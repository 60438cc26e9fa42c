//! Sections of small batches of keys, all zero.
//!
//! They serve ops that are refused before they read them.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fss::{CmpKeys, DcfKeys},
};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpGenParams, DcfGenParams},
};

use crate::{Buf, Conditioned};

/// 33 keys, in rows of 64.
pub(super) const COUNT: u32 = 33;
pub(super) const ROW: usize = 64;

fn prg() -> PrgKeys {
    PrgKeys::from_nonce(*b"conformance fss.")
}

pub(super) fn cmp_params() -> CmpGenParams {
    CmpGenParams { key: prg().child, bits: 10, count: COUNT, reserved: [0; 2] }
}

pub(super) fn dcf_params() -> DcfGenParams {
    DcfGenParams { keys: prg(), bits: 3, count: COUNT, words: 3, width: 64 }
}

/// The sections of keys of [`cmp_params`].
pub(super) struct Cmp {
    roots: Buf<Label>,
    corrections: Buf<u128>,
    leaves: Buf<u128>,
}

impl Cmp {
    pub(super) fn new(q: &Conditioned) -> Result<Self, BackendError> {
        Ok(Self { roots: q.zeros(ROW)?, corrections: q.zeros(2 * ROW)?, leaves: q.zeros(2 * ROW)? })
    }

    pub(super) fn keys(&self) -> CmpKeys<'_, Conditioned> {
        CmpKeys { roots: self.roots.view(), corrections: self.corrections.view(), leaves: self.leaves.view() }
    }
}

/// The sections of keys of [`dcf_params`].
pub(super) struct Dcf {
    roots: Buf<Label>,
    corrections: Buf<u128>,
    values: Buf<u64>,
    last: Buf<u64>,
}

impl Dcf {
    pub(super) fn new(q: &Conditioned) -> Result<Self, BackendError> {
        let (roots, corrections) = (q.zeros(ROW)?, q.zeros(3 * ROW)?);
        Ok(Self { roots, corrections, values: q.zeros(9 * ROW)?, last: q.zeros(3 * ROW)? })
    }

    pub(super) fn keys(&self) -> DcfKeys<'_, Conditioned> {
        let (roots, corrections) = (self.roots.view(), self.corrections.view());
        DcfKeys { roots, corrections, values: self.values.view(), last: self.last.view() }
    }
}
