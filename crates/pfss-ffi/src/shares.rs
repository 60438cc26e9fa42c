//! Shares of a descriptor's bits, and wiping of shares when they are freed.

use pfss::{BoolShares, Shares};
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

/// Why bits that are XOR shares are not read as additive ones.
pub(crate) const NOT_ADDITIVE: &str = "the output bits are XOR shares";
/// Why bits that are additive shares are not read as XOR shares.
pub(crate) const NOT_PACKED: &str = "the output bits are additive shares";

/// Additive shares of the bits.
pub(crate) fn additive(shares: &Shares) -> Result<&[u64], CallFailure> {
    match &shares.bools {
        BoolShares::Additive(bools) => Ok(bools),
        BoolShares::Xor(_) => Err(CallFailure::state(NOT_ADDITIVE)),
    }
}

/// XOR shares of the bits, packed.
pub(crate) fn packed(shares: &Shares) -> Result<&[u32], CallFailure> {
    match &shares.bools {
        BoolShares::Xor(bools) => Ok(bools.words()),
        BoolShares::Additive(_) => Err(CallFailure::state(NOT_PACKED)),
    }
}

/// Overwrites shares; XOR shares do that by themselves.
pub(crate) fn wipe(shares: &mut Shares) {
    shares.words.zeroize();
    if let BoolShares::Additive(bools) = &mut shares.bools {
        bools.zeroize();
    }
}
