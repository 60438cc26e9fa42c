//! Shares of a descriptor's bits, and wiping of shares when they are freed.

use pfss::{SufBools, SufShares, batch::Shares};
use zeroize::Zeroize;

use crate::status::CallFailure;

/// Rejects masked words if bare words are expected, and the other way round.
pub(crate) fn unless_masked(masked: bool, expected: bool) -> Result<(), CallFailure> {
    match (masked, expected) {
        (true, false) => Err(CallFailure::state("output words are masked: read the shares of haty")),
        (false, true) => {
            Err(CallFailure::state("output words are unmasked and must not be opened: read the shares of y"))
        }
        _ => Ok(()),
    }
}

/// Additive shares of the bits.
pub(crate) fn additive(shares: &SufShares) -> Result<&[u64], CallFailure> {
    match &shares.bools {
        SufBools::Additive(bools) => Ok(bools),
        SufBools::Xor(_) => Err(CallFailure::state("the output bits are XOR shares")),
    }
}

/// XOR shares of the bits, packed.
pub(crate) fn packed(shares: &SufShares) -> Result<&[u32], CallFailure> {
    match &shares.bools {
        SufBools::Xor(bools) => Ok(bools.words()),
        SufBools::Additive(_) => Err(CallFailure::state("the output bits are additive shares")),
    }
}

/// Overwrites a descriptor's shares; XOR shares do that by themselves.
pub(crate) fn wipe(shares: &mut SufShares) {
    shares.words.zeroize();
    if let SufBools::Additive(bools) = &mut shares.bools {
        bools.zeroize();
    }
}

/// Overwrites the shares of a job.
pub(crate) fn wipe_job(shares: &mut Shares) {
    match shares {
        Shares::Words(words) => words.zeroize(),
        Shares::Suf(shares) => wipe(shares),
    }
}
