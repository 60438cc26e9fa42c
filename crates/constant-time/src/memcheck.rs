//! Requests to valgrind's memcheck, the checker this program runs under.
//!
//! Memcheck follows every bit that it believes to be uninitialised through all arithmetic, and
//! reports a branch or an address that depends on one. So a secret declared uninitialised is
//! followed from its source to every use.

/// Whether the program runs under valgrind.
pub(crate) fn is_running() -> bool {
    request([0x1001, 0, 0]) != 0
}

/// Errors reported so far, repetitions included.
pub(crate) fn reports() -> usize {
    request([0x1201, 0, 0])
}

/// Declares the content of `values` secret.
///
/// From here on, no branch and no address may depend on it.
///
/// The reference is mutable so that the compiler assumes the content has changed, and reads it
/// again.
pub(crate) fn hide<T: Copy>(values: &mut [T]) {
    let len = size_of_val(values);
    request([MEMCHECK + 1, values.as_mut_ptr().expose_provenance(), len]);
}

/// Declares the content of `values` public, whatever it was computed from.
pub(crate) fn publish<T: Copy>(values: &[T]) {
    request([MEMCHECK + 2, values.as_ptr().expose_provenance(), size_of_val(values)]);
}

/// First request of memcheck: the letters `MC`.
const MEMCHECK: usize = 0x4d43_0000;

/// Passes a request and its arguments to valgrind.
///
/// Without valgrind, and on other processors, the answer is 0.
#[cfg(target_arch = "x86_64")]
fn request([code, first, second]: [usize; 3]) -> usize {
    let arguments = [code, first, second, 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: the rotations add up to 128 and leave `rdi` as it was, the exchange changes nothing; valgrind recognises
    // the sequence, reads six words at `rax` and answers in `rdx`. It writes no memory, only its own shadow state.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_arguments: [usize; 3]) -> usize {
    0
}
