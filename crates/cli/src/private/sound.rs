//! What `trefoil pfss verify` finds in a party's folder.

use core::fmt;

use inference::tls::Fingerprint;
use pfss::Party;

/// A party's folder that is sound, and unused or used in part.
pub(super) struct Sound {
    /// The purpose of the keys.
    pub(super) purpose: String,
    /// Unused runs and all runs, if the keys are for many.
    pub(super) runs: Option<[u32; 2]>,
    pub(super) party: Party,
    /// Bytes of keys.
    pub(super) key_bytes: u64,
    pub(super) digest: String,
    /// What both folders of a deal have in common.
    pub(super) deal: Vec<u8>,
    /// The fingerprints of this party's certificate and of that it accepts.
    pub(super) own: Fingerprint,
    pub(super) peer: Fingerprint,
}

impl fmt::Display for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { purpose, runs, party, key_bytes, digest, .. } = self;
        match runs {
            None => write!(f, "sound and unused")?,
            Some([unused, all]) => write!(f, "sound with {unused} of {all} runs unused")?,
        }
        write!(f, ": {purpose}, {party}, {key_bytes} bytes of keys; digest {digest}")
    }
}
