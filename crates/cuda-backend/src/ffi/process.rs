use core::ffi::c_int;

unsafe extern "C" {
    /// Of the C library: ends the process without what its libraries would do as it ends.
    safe fn _exit(status: c_int) -> !;
}

/// Ends this process with a code, at once and without its libraries' leave: the driver's would wait for work that hangs
/// ([`abandoned`](super::abandoned)). What is not flushed is lost.
pub fn leave(code: u8) -> ! {
    _exit(code.into())
}
