//! Failures of the environment, and refusals of ops.

use thiserror::Error;

/// A failure that a caller could not foresee from shapes alone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// A reservation would exceed the queue's byte budget. Nothing was allocated.
    #[error("budget exceeded: {need_bytes} bytes needed, {free_bytes} of {limit_bytes} bytes free")]
    BudgetExceeded {
        /// Requested bytes.
        need_bytes: u64,
        /// Bytes still free under the limit when the request was made.
        free_bytes: u64,
        /// The limit of the budget.
        limit_bytes: u64,
    },
    /// The device or host allocator refused. Nothing was allocated.
    #[error("out of memory: {bytes} bytes refused by the allocator")]
    OutOfMemory {
        /// Requested bytes.
        bytes: u64,
    },
    /// A length in bytes does not fit the address space.
    #[error("length overflow: {len} elements of {element_bytes} bytes")]
    LengthOverflow {
        /// Requested elements.
        len: usize,
        /// Size of one element in bytes.
        element_bytes: usize,
    },
    /// A requested view is outside its buffer.
    #[error("range {start}..{end} is outside a buffer of {len} elements")]
    OutOfRange {
        /// First requested element.
        start: usize,
        /// One past the last requested element.
        end: usize,
        /// Elements in the buffer.
        len: usize,
    },
    /// A view does not have the length that the other arguments of its op state.
    #[error("op `{op}`: view `{view}` has {got} elements, expected {expected}")]
    Length {
        /// Name of the op.
        op: &'static str,
        /// Name of the view.
        view: &'static str,
        /// Elements it should have.
        expected: usize,
        /// Elements it has.
        got: usize,
    },
    /// A downloaded word is not a valid value of its type.
    ///
    /// The device computed or stored a wrong value.
    #[error("corrupt {type_name} at element {index}: not a valid bit pattern")]
    Corrupt {
        /// Index of the first invalid element.
        index: usize,
        /// Name of the element type.
        type_name: &'static str,
    },
    /// The views, queues or graphs of one call belong to different backends or devices.
    #[error("op `{op}` got buffers of different backends or devices")]
    MixedBackend {
        /// Name of the op.
        op: &'static str,
    },
    /// The op exists but this device cannot run it with these parameters.
    #[error("op `{op}` is not supported here: {why}")]
    Unsupported {
        /// Name of the op.
        op: &'static str,
        /// The missing feature or the violated condition.
        why: &'static str,
    },
    /// The input makes the result undefined.
    ///
    /// Only the data on the device shows this, for example a zero to invert.
    #[error("op `{op}` has no result for element {index}: {why}")]
    Undefined {
        /// Name of the op.
        op: &'static str,
        /// First offending element.
        index: usize,
        /// The reason.
        why: &'static str,
    },
    /// A call to the device's driver failed. The device is still usable.
    #[error("{call} failed with {name} ({code}): {text}")]
    Driver {
        /// The driver function.
        call: &'static str,
        /// Its return code.
        code: i32,
        /// The code's name.
        name: &'static str,
        /// The meaning of the code.
        text: &'static str,
    },
    /// A device error that outlives the call.
    ///
    /// Nothing in the device's memory can be trusted, and no later call can succeed.
    #[error("device lost: {cause}; launches in flight: {}", names(.in_flight))]
    DeviceLost {
        /// The first error, as text.
        cause: String,
        /// Kernels that had been launched and not been waited for, oldest first.
        in_flight: Vec<String>,
    },
    /// A kernel cannot be launched as requested.
    ///
    /// It is missing from the module, or its arguments or grid do not fit it.
    #[error("kernel `{kernel}`: {reason}")]
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
}

fn names(kernels: &[String]) -> String {
    if kernels.is_empty() { "none".to_owned() } else { kernels.join(", ") }
}
