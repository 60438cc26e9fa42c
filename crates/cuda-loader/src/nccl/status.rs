//! The result of a call of NCCL.

use std::fmt;

/// A result code of NCCL: any 32-bit value, so codes of later releases fit as well.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a call may have failed"]
pub struct Status(pub i32);

/// One line for each code: value, constant, name, meaning.
macro_rules! codes {
    ($($value:literal $constant:ident $name:literal $text:literal;)*) => {
        impl Status {
            $(
                #[doc = concat!($text, ".")]
                pub const $constant: Self = Self($value);
            )*

            /// The name of the code in `nccl.h`; `None` for a code unknown to this crate.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some($name), )*
                    _ => None,
                }
            }

            /// The meaning of the code; `None` for a code unknown to this crate.
            #[must_use]
            pub const fn text(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some($text), )*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    0 SUCCESS "ncclSuccess" "the call succeeded";
    1 UNHANDLED_CUDA_ERROR "ncclUnhandledCudaError" "a call of CUDA failed";
    2 SYSTEM_ERROR "ncclSystemError" "a call of the operating system failed";
    3 INTERNAL_ERROR "ncclInternalError" "NCCL failed an internal check";
    4 INVALID_ARGUMENT "ncclInvalidArgument" "an argument is not valid";
    5 INVALID_USAGE "ncclInvalidUsage" "the call is not permitted here";
    6 REMOTE_ERROR "ncclRemoteError" "another rank ended or could not be reached";
    7 IN_PROGRESS "ncclInProgress" "the call is not done yet";
    8 TIMEOUT "ncclTimeout" "the call took too long";
}

impl Status {
    /// `Ok` for success, the code otherwise.
    ///
    /// # Errors
    /// The status itself, unless it is [`Status::SUCCESS`].
    pub fn ok(self) -> Result<(), Self> {
        if self == Self::SUCCESS { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.text()) {
            (Some(name), Some(text)) => write!(f, "{name} ({}): {text}", self.0),
            _ => write!(f, "unknown code {} of NCCL", self.0),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "Status({}, {name})", self.0),
            None => write!(f, "Status({})", self.0),
        }
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of `ncclResult_t` in `nccl.h`.
    #[test]
    fn codes_have_the_values_of_the_header() {
        let names = [
            "ncclSuccess",
            "ncclUnhandledCudaError",
            "ncclSystemError",
            "ncclInternalError",
            "ncclInvalidArgument",
            "ncclInvalidUsage",
            "ncclRemoteError",
            "ncclInProgress",
            "ncclTimeout",
        ];
        for (value, name) in (0..).zip(names) {
            assert_eq!(Status(value).name(), Some(name));
        }
        assert_eq!(Status(9).to_string(), "unknown code 9 of NCCL");
        assert_eq!(Status::IN_PROGRESS.to_string(), "ncclInProgress (7): the call is not done yet");
    }
}
