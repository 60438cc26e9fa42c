//! The C interface of `pfss`.
//!
//! It deals keys for gates and evaluates them as one of two parties, from C or C++.
//!
//! It follows the layouts of SUF's composite evaluation: a single descriptor, or many gates in a
//! super-batch. The header is `include/trefoil_pfss.h`; `examples/composite.cpp` and
//! `examples/batch.cpp` are programs that use it.
//!
//! # Conventions
//!
//! - Every function that can fail returns a [`Status`]; [`trefoil_pfss_last_error`] then describes
//!   the expected and the received value. Results go to the last arguments, which are written only
//!   on success.
//! - Handles are opaque and belong to the caller, who frees each once with the function named after
//!   it; freeing null does nothing. A handle must not be used by two threads at once, but may move
//!   between threads.
//! - An array is a pointer and a number of elements, which is checked against the size that the
//!   call needs. An empty array may be null.
//! - Anything with `hat` in its name is public: masked inputs `hatx = x + r`, and masked outputs
//!   `haty = y + r_out`, meant to be opened. Shares of `y` and of bits add up to the secrets
//!   themselves.
//! - No panic crosses the boundary: it becomes [`Status::TREFOIL_PFSS_INTERNAL`].
//! - Keys and bundles inside handles are wiped when freed, and so are shares once their whole batch
//!   is computed. The caller's arrays are the caller's to wipe.
//!
//! # Safety
//!
//! Every function requires from its caller: each pointer is null, or points at initialised elements
//! whose number is given by the argument next to it (for results: at writable memory of that size
//! without other references), or is a live handle from this interface. Null, misalignment and
//! impossible lengths are refused; whether the memory is there cannot be checked.

#![allow(missing_debug_implementations, reason = "handles are opaque and hold secrets")]

mod backend;
mod batch;
mod dealer;
mod evaluation;
mod gate;
mod keys;
mod memory;
mod shares;
mod status;
mod wires;

pub use backend::{Backend, trefoil_pfss_backend_free, trefoil_pfss_backend_name, trefoil_pfss_backend_open};
pub use batch::{
    BatchCounters, BatchHandle, BatchOptions, trefoil_pfss_batch_absorb, trefoil_pfss_batch_bool_share,
    trefoil_pfss_batch_bool_share_packed, trefoil_pfss_batch_clear, trefoil_pfss_batch_counters,
    trefoil_pfss_batch_digest, trefoil_pfss_batch_flush, trefoil_pfss_batch_free, trefoil_pfss_batch_haty_share,
    trefoil_pfss_batch_masked, trefoil_pfss_batch_open, trefoil_pfss_batch_options_default, trefoil_pfss_batch_pending,
    trefoil_pfss_batch_submit, trefoil_pfss_batch_y_share,
};
pub use dealer::{
    DealerHandle, trefoil_pfss_deal, trefoil_pfss_dealer_free, trefoil_pfss_dealer_insecure_from_seed,
    trefoil_pfss_dealer_open,
};
pub use evaluation::{
    Evaluation, trefoil_pfss_bool_share, trefoil_pfss_bool_share_packed, trefoil_pfss_evaluate,
    trefoil_pfss_evaluation_free, trefoil_pfss_evaluation_masked_bits, trefoil_pfss_evaluation_pending,
    trefoil_pfss_evaluation_resume, trefoil_pfss_haty_share, trefoil_pfss_y_share,
};
pub use gate::{
    GateHandle, GateParameters, trefoil_pfss_gate_free, trefoil_pfss_gate_mask_outputs, trefoil_pfss_gate_named,
    trefoil_pfss_gate_read,
};
pub use keys::{
    Bytes, Keys, KeysInfo, trefoil_pfss_bytes_data, trefoil_pfss_bytes_free, trefoil_pfss_bytes_len,
    trefoil_pfss_keys_free, trefoil_pfss_keys_inspect, trefoil_pfss_keys_mask_inputs, trefoil_pfss_keys_read,
};
pub use status::{Status, trefoil_pfss_last_error};
pub use wires::{Wires, trefoil_pfss_deal_wired, trefoil_pfss_wires_free};

/// The version of this interface.
///
/// It changes whenever a program compiled against an older header could go wrong.
#[unsafe(no_mangle)]
pub extern "C" fn trefoil_pfss_abi_version() -> u32 {
    3
}

/// The version of the library, a string that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn trefoil_pfss_version() -> *const core::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
