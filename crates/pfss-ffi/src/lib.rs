//! The C interface of `pfss`.
//!
//! It deals keys for gates and evaluates them as one of two parties, from C or C++.
//!
//! It follows the layouts of SUF's composite evaluation: a single descriptor, or many gates in a
//! super-batch. Plans are computations of one gate or several: functions, softmax, products; the
//! cost of a model is a sum over plans. The header is `include/trefoil_pfss.h`;
//! `examples/composite.cpp` and `examples/batch.cpp` are programs that use it, and
//! `examples/device.cpp` is one whose arrays are in device memory. SUF's own calls, one key for
//! each input, are in `include/suf_compat.hpp`.
//!
//! # Conventions
//!
//! - Every function that can fail returns a [`Status`]; [`trefoil_pfss_last_error`] then describes
//!   the expected and the received value. Results go to the last arguments, which are written only
//!   on success.
//! - Handles are opaque and belong to the caller, who frees each once with the function named after
//!   it; freeing null does nothing.
//! - Handles may move between threads. Threads may share backends, gates, plans, weights and bytes,
//!   and dealers, whose calls wait for each other. A call on any other handle that another thread
//!   is using, or on a gate that another thread changes, is refused with
//!   [`Status::TREFOIL_PFSS_STATE`]. A handle is freed once no call on it runs or waits.
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
//!
//! Arrays of inputs, of masked and opened words, and of shares may be in memory of a device
//! instead: of the device of the thread's stream ([`trefoil_pfss_set_stream`]), or of the context's
//! device in SUF's bridge to SIGMA. Such an array is read after the work that the stream holds, and
//! filled before the work that it gets later; until then only work of the stream uses it. It is not
//! freed before that. During a call the stream gets no work that uses the arrays, and no capture of
//! the stream begins. An address that the driver does not know, as of freed device memory, counts
//! as host memory.
//!
//! A call looks up all its arrays, and copies its inputs, before it spends keys. It waits until
//! inputs in device memory are read.

#![allow(missing_debug_implementations, reason = "handles are opaque and hold secrets")]
#![allow(clippy::missing_safety_doc, reason = "the requirements of all functions are stated above, once")]

mod arrays;
mod backend;
mod batch;
mod compat;
mod dealer;
mod evaluation;
mod gate;
mod keys;
mod memory;
mod parts;
mod plan;
mod resident;
mod shares;
mod status;
mod stream;
mod wires;

pub use backend::{Backend, trefoil_pfss_backend_free, trefoil_pfss_backend_name, trefoil_pfss_backend_open};
pub use batch::{
    BatchCounters, BatchHandle, BatchOptions, trefoil_pfss_batch_absorb, trefoil_pfss_batch_bool_share,
    trefoil_pfss_batch_bool_share_packed, trefoil_pfss_batch_clear, trefoil_pfss_batch_counters,
    trefoil_pfss_batch_digest, trefoil_pfss_batch_flush, trefoil_pfss_batch_free, trefoil_pfss_batch_haty_share,
    trefoil_pfss_batch_masked, trefoil_pfss_batch_open, trefoil_pfss_batch_options_default, trefoil_pfss_batch_pending,
    trefoil_pfss_batch_submit, trefoil_pfss_batch_y_share,
};
pub use compat::sigma::{
    context::SigmaContext,
    functions::{
        suf_sigma_eval_activation, suf_sigma_eval_inverse, suf_sigma_eval_nexp, suf_sigma_eval_rsqrt,
        suf_sigma_keygen_activation, suf_sigma_keygen_inverse, suf_sigma_keygen_nexp, suf_sigma_keygen_rsqrt,
        trefoil_pfss_sigma_eval_activation, trefoil_pfss_sigma_eval_inverse, trefoil_pfss_sigma_eval_nexp,
        trefoil_pfss_sigma_eval_rsqrt, trefoil_pfss_sigma_keygen_activation, trefoil_pfss_sigma_keygen_inverse,
        trefoil_pfss_sigma_keygen_nexp, trefoil_pfss_sigma_keygen_rsqrt,
    },
    peer::{Exchange, SigmaPeer, SigmaStats},
    setup::{
        suf_layernorm_enabled, suf_sigma_clear, suf_sigma_consume_key, suf_sigma_reset_eval, suf_sigma_reset_keygen,
        suf_sigma_set_keybuf_ptr, suf_softmax_enabled, trefoil_pfss_sigma_clear, trefoil_pfss_sigma_consume_key,
        trefoil_pfss_sigma_enable, trefoil_pfss_sigma_free, trefoil_pfss_sigma_open, trefoil_pfss_sigma_open_global,
        trefoil_pfss_sigma_reset_eval, trefoil_pfss_sigma_reset_keygen, trefoil_pfss_sigma_set_keybuf_ptr,
        trefoil_pfss_sigma_set_stream, trefoil_pfss_sigma_set_stream_global,
    },
};
pub use compat::suf::{
    SufKeys, trefoil_pfss_suf_eval_dcf_many, trefoil_pfss_suf_eval_interval_lut_many,
    trefoil_pfss_suf_eval_packed_lt_many, trefoil_pfss_suf_gen_dcf, trefoil_pfss_suf_gen_interval_lut,
    trefoil_pfss_suf_gen_packed_lt, trefoil_pfss_suf_keys_free, trefoil_pfss_suf_keys_mask_inputs,
    trefoil_pfss_suf_keys_read,
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
pub use plan::{
    FunctionParameters, PlanHandle, PlanInfo,
    cost::{ModelCost, ModelStep, trefoil_pfss_model_cost},
    query::Query,
    run::{
        RunHandle, trefoil_pfss_run_absorb, trefoil_pfss_run_free, trefoil_pfss_run_masked, trefoil_pfss_run_pending,
        trefoil_pfss_run_start, trefoil_pfss_run_y_share,
    },
    trefoil_pfss_plan_deal, trefoil_pfss_plan_free, trefoil_pfss_plan_function, trefoil_pfss_plan_gate,
    trefoil_pfss_plan_inspect, trefoil_pfss_plan_key_bytes, trefoil_pfss_plan_matmul, trefoil_pfss_plan_predicates,
    trefoil_pfss_plan_product, trefoil_pfss_plan_softmax,
    weights::{
        WeightsHandle, trefoil_pfss_run_weights, trefoil_pfss_weights_bytes, trefoil_pfss_weights_deal,
        trefoil_pfss_weights_deal_product, trefoil_pfss_weights_free, trefoil_pfss_weights_open,
        trefoil_pfss_weights_product, trefoil_pfss_weights_read,
    },
};
pub use status::{Status, trefoil_pfss_last_error};
pub use stream::trefoil_pfss_set_stream;
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
