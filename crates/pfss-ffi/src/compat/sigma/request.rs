//! The function that a call names, with its public parameters.

use core::{ffi::c_int, fmt};

use pfss::{
    PfssError,
    functions::{WiredFn, WiredGates},
    suf::SufModes,
};

use crate::status::CallFailure;

/// A function of SIGMA's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigmaFunction {
    Gelu,
    Silu,
    NegExp,
    /// The reciprocal up to the greatest input.
    Inverse {
        max: u32,
    },
    /// The reciprocal square root of a quotient.
    Rsqrt {
        divisor: u32,
    },
}

/// A function of numbers of `bits` bits, `scale` of them after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) function: SigmaFunction,
    bits: u32,
    scale: u32,
}

impl SigmaFunction {
    /// The activation that the flag of SUF's bridge stands for.
    pub(super) const fn activation(silu: bool) -> Self {
        if silu { Self::Silu } else { Self::Gelu }
    }

    pub(super) fn inverse(max: c_int) -> Result<Self, CallFailure> {
        Ok(Self::Inverse { max: positive("nmax", max)? })
    }

    pub(super) fn rsqrt(divisor: c_int) -> Result<Self, CallFailure> {
        Ok(Self::Rsqrt { divisor: positive("extradiv", divisor)? })
    }
}

impl Request {
    /// A request with the numbers that a caller gives.
    pub(super) fn new(function: SigmaFunction, bw: c_int, scale: c_int) -> Result<Self, CallFailure> {
        Ok(Self { function, bits: positive("bw", bw)?, scale: positive("scale", scale)? })
    }

    /// The request as numbers of a key record: function, bits, scale, parameter.
    pub(super) fn to_words(self) -> [u64; 4] {
        let (number, parameter) = match self.function {
            SigmaFunction::Gelu => (0, 0),
            SigmaFunction::Silu => (1, 0),
            SigmaFunction::NegExp => (2, 0),
            SigmaFunction::Inverse { max } => (3, max),
            SigmaFunction::Rsqrt { divisor } => (4, divisor),
        };
        [number, self.bits.into(), self.scale.into(), parameter.into()]
    }

    /// The inverse of [`to_words`](Self::to_words); none for anything else.
    pub(super) fn from_words([number, bits, scale, parameter]: [u64; 4]) -> Option<Self> {
        let parameter = u32::try_from(parameter).ok()?;
        let function = match (number, parameter) {
            (0, 0) => SigmaFunction::Gelu,
            (1, 0) => SigmaFunction::Silu,
            (2, 0) => SigmaFunction::NegExp,
            (3, max) => SigmaFunction::Inverse { max },
            (4, divisor) => SigmaFunction::Rsqrt { divisor },
            _ => return None,
        };
        Some(Self { function, bits: u32::try_from(bits).ok()?, scale: u32::try_from(scale).ok()? })
    }

    /// The gates of the function on wires of the request's bits.
    pub(super) fn gates(self) -> Result<WiredGates, PfssError> {
        let Self { function, bits, scale } = self;
        let wired = match function {
            SigmaFunction::Gelu => WiredFn::gelu(bits, scale),
            SigmaFunction::Silu => WiredFn::silu(bits, scale),
            SigmaFunction::NegExp => WiredFn::neg_exp(bits, scale),
            SigmaFunction::Inverse { max } => WiredFn::reciprocal(bits, scale, max),
            SigmaFunction::Rsqrt { divisor } => WiredFn::rsqrt(bits, scale, divisor),
        };
        wired?.gates(SufModes::default())
    }
}

/// The form of messages.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function {
            SigmaFunction::Gelu => f.write_str("gelu")?,
            SigmaFunction::Silu => f.write_str("silu")?,
            SigmaFunction::NegExp => f.write_str("nexp")?,
            SigmaFunction::Inverse { max } => write!(f, "inverse with nmax = {max}")?,
            SigmaFunction::Rsqrt { divisor } => write!(f, "rsqrt with extradiv = {divisor}")?,
        }
        write!(f, " (bw = {}, scale = {})", self.bits, self.scale)
    }
}

fn positive(what: &str, number: c_int) -> Result<u32, CallFailure> {
    match u32::try_from(number) {
        Ok(number @ 1..) => Ok(number),
        _ => Err(CallFailure::argument(format!("expected {what} of at least 1, got {number}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_from_their_words() {
        let functions = [
            SigmaFunction::activation(false),
            SigmaFunction::activation(true),
            SigmaFunction::NegExp,
            SigmaFunction::inverse(7).unwrap(),
            SigmaFunction::rsqrt(9).unwrap(),
        ];
        for (number, function) in (0..).zip(functions) {
            let request = Request::new(function, 50, 12).unwrap();
            let words = request.to_words();
            assert_eq!((words[0], Request::from_words(words)), (number, Some(request)));
        }
        for words in [[5, 50, 12, 0], [0, 50, 12, 1], [3, 1 << 32, 12, 7], [3, 50, 1 << 40, 7], [4, 50, 12, 1 << 32]] {
            assert_eq!(Request::from_words(words), None);
        }
    }
}
