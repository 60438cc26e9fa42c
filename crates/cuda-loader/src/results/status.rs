//! The result of a driver call.

/// A result code of the driver: any 32-bit value, so codes from later releases fit as well.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a driver call may have failed"]
pub struct Status(pub i32);

impl Status {
    /// `Ok` for success, the code otherwise.
    ///
    /// # Errors
    /// The status itself, unless it is [`Status::SUCCESS`].
    pub fn ok(self) -> Result<(), Self> {
        if self == Self::SUCCESS { Ok(()) } else { Err(self) }
    }
}

impl std::error::Error for Status {}
